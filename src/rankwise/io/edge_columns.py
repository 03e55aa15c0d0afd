"""Which column of a list of edges is which: as named, by usual names, or what is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rankwise.exceptions import ReadError
from rankwise.io.cell_numbers import is_missing, number_with, plain_number
from rankwise.io.edge_lists import HEADERS
from rankwise.io.table_columns import Columns, no_column

ROLES = ("row", "column", "value")

Names = Sequence | np.ndarray


@dataclass(frozen=True)
class Reading:
    """How to read a relation: the names of columns, the objects that are known, and the form.

    `row`, `column` and `value` name columns of a list of edges; None means that they are found.
    `usual` are names of columns by role that are taken where the file has them. `rows` and
    `columns` are the names of the objects in their order; `where` says for an error in what they
    are listed, and `options` how a caller names its arguments for the three columns.
    """

    row: str | None = None
    column: str | None = None
    value: str | None = None
    rows: Names | None = None
    columns: Names | None = None
    one_domain: bool = False
    form: str = "auto"
    where: tuple[str, str] = ("rows", "columns")
    options: tuple[str, str, str] = ("row_column=", "column_column=", "value=")
    usual: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def named(self) -> dict[str, str]:
        """The columns of the file that the caller has named, by role."""
        given = zip(ROLES, (self.row, self.column, self.value))
        return {role: name for role, name in given if name is not None}

    def role_of(self, name: str, among: Sequence[str] = ROLES) -> str | None:
        """The role that a column of this name usually has; None if the name says nothing."""
        known = (role for role in among if self.usual.get(role) == name)
        common = (role for role in among if name.lower() in HEADERS[role])
        return next(known, None) or next(common, None)


def is_header(first: list[str], body: list[list[str]], wanted: Reading) -> bool:
    """Whether the first line names columns: a usual name, or text above a column of numbers."""
    if any(map(wanted.role_of, first)):
        return True
    if any(map(is_number, first)):
        return False
    below = body[0] if body and len(body[0]) == len(first) else []
    return any(
        not is_number(name) and is_number(cell) and not is_missing(cell)
        for name, cell in zip(first, below)
    )


def roles_of(table: Columns, wanted: Reading) -> dict[str, str]:
    """The column of each role: as named, by a usual name, or what is left."""
    columns, roles = list(table.values), dict(wanted.named)
    for role, option in zip(ROLES, wanted.options):
        if role in roles and roles[role] not in columns:
            raise ReadError(
                no_column(table.name, roles[role], option, columns).removeprefix(f"{table.name} "),
                table.name,
            )
    if len(set(roles.values())) < len(roles):
        raise ReadError("two of row, column and value are the same column.", table.name)
    for role in ROLES:
        if role not in roles:
            free = [name for name in columns if name not in roles.values()]
            fits = [name for name in free if wanted.role_of(name, (role,))]
            best = [name for name in fits if name == wanted.usual.get(role)]
            if fits:
                roles[role] = [*best, *fits][0]
    free = [name for name in columns if name not in roles.values()]
    numbers = [name for name in free if table.numbers(name) is not None]
    texts = [name for name in free if name not in numbers]
    roles |= dict(zip([role for role in ROLES[:2] if role not in roles], [*texts, *numbers]))
    for role, option in zip(ROLES[:2], wanted.options):
        if role not in roles:
            listed = ", ".join(map(repr, columns[:12]))
            reason = f"which column names the {role}? Give {option} one of {listed}."
            raise ReadError(reason, table.name)
    left = [name for name in numbers if name not in roles.values()]
    if "value" not in roles and len(left) > 1:
        listed = ", ".join(map(repr, left[:12]))
        reason = f"which column holds the values? Give {wanted.options[2]} one of {listed}."
        raise ReadError(reason, table.name)
    if "value" not in roles and left:
        roles["value"] = left[0]
    return roles


def is_number(cell: str) -> bool:
    known = plain_number(cell) is not None or is_missing(cell)
    return known or any(number_with(sign, cell) is not None for sign in ".,")
