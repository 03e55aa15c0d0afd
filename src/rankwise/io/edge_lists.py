"""Lists of preferences and ratings: each line relates two objects, and may give values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankwise.exceptions import ReadError
from rankwise.io import table_rows
from rankwise.io.source import Readable, Source, read_source
from rankwise.io.table_columns import INTEGER, Columns
from rankwise.io.vote_tables import VOTE_ROLES, read_vote_table
from rankwise.supervision.preferences import Preferences

if TYPE_CHECKING:
    from sklearn.utils import Bunch

HEADERS = {
    "winner": {"winner", "better", "preferred", "first"},
    "loser": {"loser", "worse", "other", "second"},
    "magnitude": {"magnitude", "margin"},
    "weight": {"weight", "count"},
    "tie": {"tie", "tied", "draw", "equal"},
    "row": {"row", "from", "source", "start", "u"},
    "column": {"column", "col", "to", "target", "end", "v"},
    "value": {"value", "y", "label", "score", "affinity"},
    "user": {"user", "userid", "user_id", "query", "qid"},
    "item": {"item", "itemid", "item_id", "movieid", "movie_id", "product", "id"},
    "rating": {"rating", "score", "stars", "value"},
    "timestamp": {"timestamp", "time", "date"},
}
"""The names, in lower case, by which a header line may call a column of each role."""
UNUSED = " (unused)"
YES_OR_NO = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}

Names = Sequence | np.ndarray


def read_preferences(
    path: Readable,
    *,
    items: Names | None = None,
    n_items: int | None = None,
    columns: Mapping[str, str] | None = None,
    judge: str | None = None,
) -> Preferences:
    r"""Read lines `winner loser [magnitude [weight [tie]]]` as Preferences, O(bytes).

    Columns are separated by blanks, tabs, commas, semicolons or ::. A header line is optional, and
    may name the columns in any order. Lines that begin with # are comments. Items are row numbers
    of X, from 0, or names, which need `items`.

    Parameters
    ----------
    path
        A path, "-" for standard input, or an open file; may be gzip, xz or bzip2.
    items
        Names of the rows of X, in order.
    n_items
        Number of rows of X; default len(items), or unknown.
    columns
        {role: column name} for a file with a header line, where the roles are winner and loser, and
        if there are such columns magnitude, weight and tie (true, yes or 1; else false, no or 0).
        With the roles a, b and outcome, and where wanted weight and judge, the lines are votes as
        in `Preferences.from_votes`, and items are names even without `items`. The outcome may also
        be the name of a's or of b's column.
    judge
        The column of judges, in a file with a header line.

    Examples
    --------
    >>> import io
    >>> from rankwise.datasets import read_preferences
    >>> read_preferences(io.StringIO("winner loser\n0 1\n2 1\n"), n_items=3)
    Preferences(2 preferences about 3 items, 0 ties, 1 component)
    """
    if columns is not None and {*VOTE_ROLES} & columns.keys():
        roles = columns if judge is None else {**columns, "judge": judge}
        return read_vote_table(path, roles).preferences(items)
    optional = ("magnitude", "weight", "tie")
    table = _read(path, ("winner", "loser"), optional, columns, judge)
    numbers = None if items is None else _numbered(items, "items")
    winner, loser = (_rows(table, role, numbers, "items") for role in ("winner", "loser"))
    if (winner == loser).any():
        row = int(np.argmax(winner == loser))
        raise table.error("an item cannot be preferred over itself.", row, "loser")
    tie = _yes_or_no(table, "tie") if "tie" in table.values else np.zeros(len(winner), dtype=bool)
    values = {}
    for role, way_out in (
        ("magnitude", "must be positive: swap winner and loser"),
        ("weight", "is negative: leave the preference out"),
    ):
        if role in table.values:
            values[role] = table.without_missing(role)
            wrong = values[role] < 0
            if role == "magnitude":
                wrong |= (values[role] == 0) & ~tie
            if wrong.any():
                row = int(np.argmax(wrong))
                raise table.error(f"{table.values[role][row]!r} {way_out}.", row, role)
    if n_items is None and items is not None:
        n_items = len(items)
    found = Preferences(winner, loser, n_items=n_items, tie=tie, **values)
    if items is not None:
        found.items = np.asarray(items)
    if judge is not None:
        found.judge = table.labels("judge")
    return found


def _yes_or_no(table: Columns, role: str) -> np.ndarray:
    cells = table.text(role).tolist()
    for row, cell in enumerate(cells):
        if cell.strip().lower() not in YES_OR_NO:
            raise table.error(f"{cell[:40]!r} is neither true nor false.", row, role)
    return np.array([YES_OR_NO[cell.strip().lower()] for cell in cells])


def read_ratings(path: Readable) -> Bunch:
    r"""Read lines `user item rating [time]`; further columns are ignored.

    O(bytes). Separators, header line (user, item, rating) and comments are as in
    `read_preferences`.

    Parameters
    ----------
    path
        As in `read_preferences`.

    Returns
    -------
    Bunch
        edges (q, 2), the numbers of user and item; y (q,) the ratings; user_names and
        item_names in the order of their numbers, sorted: integers if all names are, else text.

    Examples
    --------
    >>> import io
    >>> from rankwise.datasets import read_ratings
    >>> data = read_ratings(io.StringIO("7::31::2.5\n7::1029::3.0\n9::31::4\n"))
    >>> data.edges.tolist(), data.y, data.item_names
    ([[0, 0], [0, 1], [1, 0]], array([2.5, 3. , 4. ]), array([  31, 1029]))
    """
    table = _read(path, ("user", "item", "rating"), ("timestamp",))
    user_names, user = np.unique(table.labels("user"), return_inverse=True)
    item_names, item = np.unique(table.labels("item"), return_inverse=True)
    edges, y = np.column_stack([user, item]), table.without_missing("rating")
    from sklearn.utils import Bunch

    return Bunch(edges=edges, y=y, user_names=user_names, item_names=item_names)


def _read(
    path: Readable,
    required: tuple[str, ...],
    optional: tuple[str, ...],
    columns: Mapping[str, str] | None = None,
    judge: str | None = None,
) -> Columns:
    """The columns under the names of their roles; `columns` and `judge` are names of the file."""
    source = read_source(path)
    rows = [row for row in split_lines(source) if not row[1][0].startswith("#")]
    if not rows:
        raise ReadError("the file is empty.", source.name)
    line, cells = rows[0]
    if judge is not None and judge not in cells:
        shown = ", ".join(cells[:12])
        raise ReadError(f"no column is called {judge!r}; the columns are {shown}.", source.name, 1)
    if columns is None:
        names = _header(cells, required, optional, judge)
    else:
        names = _given_header(cells, columns, (*required, *optional), source.name)
        names = ["judge" if cell == judge else name for cell, name in zip(cells, names)]
    if names is None:
        names = [*required, *optional][: len(cells)]
        if not len(required) <= len(cells) <= len(required) + len(optional):
            form = " ".join(required) + "".join(f" [{role}]" for role in optional)
            reason = f"expected {form}, but found {len(cells)} columns."
            raise ReadError(reason, source.name, line)
    else:
        rows = rows[1:]
        if absent := [role for role in required if role not in names]:
            raise ReadError(f"no column is called {absent[0]!r}.", source.name, 1)
        if not rows:
            raise ReadError("the file has a header line but nothing else.", source.name)
    return table_rows.columns_of(source.name, names, rows, line)


def split_lines(source: Source) -> list[table_rows.Row]:
    """The cells of every line, separated by the mark that the first line uses most, or blanks."""
    text = source.text()
    first = next((x for x in text.splitlines() if x.strip() and x.strip()[0] != "#"), "")
    if "::" in first or not any(mark in first for mark in table_rows.DELIMITERS):
        return table_rows.split_words(text, "::" if "::" in first else None)
    return table_rows.split_rows(source, max(table_rows.DELIMITERS, key=first.count))


def _header(
    cells: list[str],
    required: tuple[str, ...],
    optional: tuple[str, ...],
    judge: str | None = None,
) -> list[str] | None:
    """The role of each column, or None if the first line is data.

    Columns with unknown names take the required roles that no column has, in order.
    """
    names, left = [], [*required, *optional]
    for cell in cells:
        if cell == judge:
            names.append("judge")
            continue
        role = next((r for r in left if cell.lower() in HEADERS[r]), None)
        if role is not None:
            left.remove(role)
        names.append(role or cell + UNUSED)
    if len(left) == len(required + optional) and judge is None:
        return None
    unnamed = iter([role for role in left if role in required])
    return [next(unnamed, name) if name.endswith(UNUSED) else name for name in names]


def _given_header(
    cells: list[str], columns: Mapping[str, str], roles: tuple[str, ...], source: str
) -> list[str]:
    """The role of each column whose name is given."""
    if unknown := [role for role in columns if role not in roles]:
        raise ValueError(f"columns has no role {unknown[0]!r}: the roles are {', '.join(roles)}.")
    for name in columns.values():
        if name not in cells:
            shown = ", ".join(cells[:12])
            raise ReadError(f"no column is called {name!r}; the columns are {shown}.", source, 1)
    role_of = {name: role for role, name in columns.items()}
    return [role_of.get(cell, cell + UNUSED) for cell in cells]


def _numbered(names: Names, option: str) -> dict[str, int]:
    numbers = {str(name): number for number, name in enumerate(names)}
    if len(numbers) < len(names):
        raise ValueError(f"{option} contains a name twice.")
    return numbers


def _rows(table: Columns, role: str, numbers: dict[str, int] | None, option: str) -> np.ndarray:
    """Row numbers, from 0: the `numbers` of the names in a column, or the column as it is."""
    cells = table.text(role).tolist()
    rows = np.empty(len(cells), dtype=np.int64)
    for row, cell in enumerate(cells):
        if numbers is not None:
            if cell not in numbers:
                raise table.error(f"{cell[:40]!r} is not in {option}.", row, role)
            rows[row] = numbers[cell]
        elif INTEGER.fullmatch(cell) and cell[0] != "-":
            rows[row] = int(cell)
        else:
            reason = f"{cell[:40]!r} is not a row number, from 0; for names give {option}=."
            raise table.error(reason, row, role)
    return rows
