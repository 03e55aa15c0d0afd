"""Tables of votes: each row says who met whom and who won, in columns of any name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.io.source import Readable, read_source
from rankwise.io.tables import Columns, read_columns
from rankwise.supervision.preferences import Preferences
from rankwise.supervision.votes import VoteError

VOTE_ROLES = ("a", "b", "outcome")
OPTIONAL_ROLES = ("weight", "judge")
ENDS = ("a", "b", "tie")
"""How a vote can end; `outcomes` tells what a file writes for each of them."""


@dataclass
class VoteTable:
    """The columns of a file of votes, and which of them has which role."""

    table: Columns
    roles: Mapping[str, str]
    outcomes: Mapping[str, str]

    def __len__(self) -> int:
        return len(self.table)

    def preferences(self, items: Sequence | np.ndarray | None = None) -> Preferences:
        """The votes as preferences; `items` are the names of all items, in their order.

        An error names the line and the column of the file.
        """
        names = {role: self._names(role) for role in ("a", "b")}
        values: dict[str, Any] = {}
        if "weight" in self.roles:
            values["weight"] = self.table.without_missing(self.roles["weight"])
            negative = values["weight"] < 0
            if negative.any():
                row = int(np.argmax(negative))
                raise self.table.error("a weight is negative.", row, self.roles["weight"])
        if "judge" in self.roles:
            values["judge"] = self.table.labels(self.roles["judge"])
        known = None if items is None else [str(item) for item in items]  # a file holds text
        try:
            found = Preferences.from_votes(
                names["a"], names["b"], self._ends(), items=known, **values
            )
        except VoteError as error:
            reason = error.reason.replace("among items", "in the table of items")
            column = self.roles[error.argument]
            raise self.table.error(reason.split(" (the number")[0], error.row, column) from None
        if items is not None:
            found.items = np.asarray(items)
        return found

    def labels(self, column: str) -> np.ndarray:
        """(l,) the cells of another column of the file."""
        return self.table.labels(column)

    def _names(self, role: str) -> np.ndarray:
        """(l,) the names of one side; an empty one is refused."""
        cells = self.table.text(self.roles[role])
        for row, cell in enumerate(cells):
            if not cell.strip():
                raise self.table.error("an item has no name.", row, self.roles[role])
        return cells

    def _ends(self) -> np.ndarray:
        """(l,) the outcomes in the words of `Preferences.from_votes`."""
        column = self.roles["outcome"]
        cells = self.table.text(column)
        said = {}
        for end in ENDS[:2]:
            # A column called model_a, and votes that say model_a; not if it is an item's own name.
            name = self.roles[end]
            if name not in set(self.table.text(self.roles["a"])) | set(
                self.table.text(self.roles["b"])
            ):
                said[name] = end
        if not self.outcomes:
            return np.array([said.get(cell, cell) for cell in cells], dtype=object)
        said = {text: end for end, text in self.outcomes.items()}
        for row, cell in enumerate(cells):
            if cell not in said:
                expected = ", ".join(f"{text!r} ({end})" for end, text in self.outcomes.items())
                reason = f"{cell[:80]!r} is no outcome; you said that these are: {expected}."
                raise self.table.error(reason, row, column)
        return np.array([said[cell] for cell in cells], dtype=object)


def read_vote_table(
    path: Readable, columns: Mapping[str, str], outcomes: Mapping[str, str] | None = None
) -> VoteTable:
    """Read a CSV, TSV or Parquet file of votes; O(bytes).

    Parameters
    ----------
    path : a path, "-" for standard input, or an open file; may be gzip, xz or bzip2
    columns : {role: name of a column} with the roles a, b and outcome, and where wanted weight and
        judge. One column may have two roles: a file with the columns winner and loser has
        {"a": "winner", "b": "loser", "outcome": "winner"}
    outcomes : {"a": text, "b": text, "tie": text}, what the file writes if a won, if b won, and
        if neither did; default: as in `Preferences.from_votes`, or the name of a's or b's column
    """
    if absent := [role for role in VOTE_ROLES if role not in columns]:
        raise ValueError(f"columns must name {', '.join(VOTE_ROLES)}; {absent[0]!r} is missing.")
    known = (*VOTE_ROLES, *OPTIONAL_ROLES)
    if unknown := [role for role in columns if role not in known]:
        raise ValueError(f"columns has no role {unknown[0]!r}: the roles are {', '.join(known)}.")
    if columns["a"] == columns["b"]:
        raise ValueError(f"a and b are both the column {columns['a']!r}: they must be two.")
    if unknown := [end for end in outcomes or () if end not in ENDS]:
        raise ValueError(f"outcomes are told for {', '.join(ENDS)}; got {unknown[0]!r}.")
    texts = list((outcomes or {}).values())
    if len(set(texts)) < len(texts):
        raise ValueError(
            "outcomes must be written in different ways, or they cannot be told apart."
        )
    table = read_columns(read_source(path))
    for role, name in columns.items():
        table.require(name, f"the column of {role}")
    return VoteTable(table, columns, dict(outcomes or {}))
