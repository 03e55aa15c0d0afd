"""Lists of preferences, of edges and of ratings: a line each, in any of the usual separators."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.utils import Bunch

from rankwise.exceptions import ReadError
from rankwise.io.columns import (
    DELIMITERS,
    INTEGER,
    Columns,
    columns_of,
    split_rows,
    split_words,
)
from rankwise.io.source import Source, read_source
from rankwise.supervision.preferences import Preferences

HEADERS = {
    "winner": {"winner", "better", "preferred", "first"},
    "loser": {"loser", "worse", "other", "second"},
    "magnitude": {"magnitude", "margin"},
    "weight": {"weight", "count"},
    "row": {"row", "from", "source", "start", "u"},
    "column": {"column", "col", "to", "target", "end", "v"},
    "value": {"value", "y", "label", "score", "affinity"},
    "user": {"user", "userid", "user_id", "query", "qid"},
    "item": {"item", "itemid", "item_id", "movieid", "movie_id", "product", "id"},
    "rating": {"rating", "score", "stars", "value"},
    "timestamp": {"timestamp", "time", "date"},
}
"""Names a header line may give to the columns, in lower case."""
UNUSED = " (unused)"


def read_preferences(path, *, items: Sequence | None = None, n_items: int | None = None):
    """Read lines `winner loser [magnitude [weight]]` as Preferences, O(bytes).

    Separated by blanks, tabs, commas, semicolons or ::, with or without a header line, which may
    name the columns in any order; # starts a comment line. Items are row numbers of X, from 0, or
    names, which need `items`.

    Parameters
    ----------
    path : a path, "-" for standard input, or an open file; gzip, xz and bzip2 by their content
    items : names of the rows of X, in order
    n_items : number of rows of X; default len(items), or unknown
    """
    table = _read(path, ("winner", "loser"), ("magnitude", "weight"))
    names = None if items is None else _places(items, "items")
    winner, loser = (_rows(table, role, names, "items") for role in ("winner", "loser"))
    if (winner == loser).any():
        row = int(np.argmax(winner == loser))
        raise table.error("an item cannot be preferred over itself.", row, "loser")
    values = {}
    for role in ("magnitude", "weight"):
        if role in table.values:
            values[role] = table.without_missing(role)
            wrong = values[role] <= 0 if role == "magnitude" else values[role] < 0
            if wrong.any():
                row = int(np.argmax(wrong))
                reason = f"{table.values[role][row]!r} must be positive: swap winner and loser."
                if role == "weight":
                    reason = f"{table.values[role][row]!r} is negative: leave the preference out."
                raise table.error(reason, row, role)
    if n_items is None and items is not None:
        n_items = len(items)
    return Preferences(winner, loser, n_items=n_items, **values)


def read_edges(
    path, *, rows: Sequence | None = None, columns: Sequence | None = None, one_domain=False
) -> Bunch:
    """Read lines `row column [value]`, the labelled edges that ConditionalRanker learns from.

    Separators, header and comments as in `read_preferences` (row, column, value). Nodes are row
    numbers from 0, or names; names are numbered by `rows` and `columns` where given, else in
    sorted order.

    Returns a Bunch of edges (q, 2), y (q,) or None, row_names and column_names: the names in the
    order of their numbers, None where the file holds numbers. one_domain: both sides are the same
    nodes and share one numbering.
    """
    table = _read(path, ("row", "column"), ("value",))
    if one_domain and columns is None:
        columns = rows
    sides: dict[str, np.ndarray] = {}
    names: dict[str, np.ndarray | None] = {}
    given: Sequence | np.ndarray | None
    labels = {side: table.labels(side) for side in ("row", "column")}
    shared = None
    if one_domain and rows is None and any(v.dtype.kind != "i" for v in labels.values()):
        shared = np.unique(np.concatenate([v.astype(str) for v in labels.values()]))
    for side, listed in (("row", rows), ("column", columns)):
        given = shared if listed is None else listed
        if given is None and labels[side].dtype.kind != "i":
            given = np.unique(labels[side].astype(str))
        names[side] = None if given is None else np.asarray(given)
        places = None if given is None else _places(given, f"{side}s")
        sides[side] = _rows(table, side, places, f"{side}s")
    return Bunch(
        edges=np.column_stack([sides["row"], sides["column"]]),
        y=table.without_missing("value") if "value" in table.values else None,
        row_names=names["row"],
        column_names=names["column"],
    )


def read_ratings(path) -> Bunch:
    """Read lines `user item rating [time]` in any of the usual separators, :: among them.

    Header and comments as in `read_preferences` (user, item, rating); further columns are left out.
    Returns a Bunch of edges (q, 2), numbers of user and item; y (q,) ratings; user_names and
    item_names, in the order of their numbers: sorted integers, or text.
    """
    table = _read(path, ("user", "item", "rating"), ("timestamp",))
    user_names, user = np.unique(table.labels("user"), return_inverse=True)
    item_names, item = np.unique(table.labels("item"), return_inverse=True)
    return Bunch(
        edges=np.column_stack([user, item]),
        y=table.without_missing("rating"),
        user_names=user_names,
        item_names=item_names,
    )


def _read(path, roles: tuple[str, ...], optional: tuple[str, ...]) -> Columns:
    source = read_source(path)
    rows, lines = _split(source)
    kept = [i for i, row in enumerate(rows) if not row[0].startswith("#")]
    rows, lines = [rows[i] for i in kept], [lines[i] for i in kept]
    if not rows:
        raise ReadError("the file is empty.", source.name)
    names = _header(rows[0], roles, optional)
    if names is None:
        names = [*roles, *optional][: len(rows[0])]
        if not len(roles) <= len(rows[0]) <= len(roles) + len(optional):
            form = " ".join(roles) + "".join(f" [{role}]" for role in optional)
            reason = f"expected {form}, but found {len(rows[0])} columns."
            raise ReadError(reason, source.name, lines[0])
    else:
        rows, lines = rows[1:], lines[1:]
        if absent := [role for role in roles if role not in names]:
            raise ReadError(f"no column is called {absent[0]!r}.", source.name, 1)
        if not rows:
            raise ReadError("the file has a header line but nothing else.", source.name)
    return columns_of(source.name, names, rows, lines)


def _split(source: Source) -> tuple[list[list[str]], list[int]]:
    text = source.text()
    first = next((x for x in text.splitlines() if x.strip() and x.strip()[0] != "#"), "")
    if "::" in first or not any(mark in first for mark in DELIMITERS):
        return split_words(text, "::" if "::" in first else None)
    return split_rows(source, max(DELIMITERS, key=first.count))


def _header(cells: list[str], required, optional) -> list[str] | None:
    """The roles of the columns, or None where the first line is data.

    Columns of unknown names take the roles that must be there and are not, in order.
    """
    roles = required + optional
    found, left = [], list(roles)
    for cell in cells:
        role = next((r for r in left if cell.lower() in HEADERS[r]), None)
        if role is not None:
            left.remove(role)
        found.append(role or cell + UNUSED)
    if len(left) == len(roles):
        return None
    unnamed = iter([role for role in left if role in required])
    return [next(unnamed, name) if name.endswith(UNUSED) else name for name in found]


def _places(names: Sequence | np.ndarray, option: str) -> dict[str, int]:
    places = {str(name): place for place, name in enumerate(names)}
    if len(places) < len(names):
        raise ValueError(f"{option} names an object twice.")
    return places


def _rows(table: Columns, role: str, places: dict[str, int] | None, option: str) -> np.ndarray:
    """Row numbers, from 0, of what a column names."""
    cells = table.text(role).tolist()
    out = np.empty(len(cells), dtype=np.int64)
    for row, cell in enumerate(cells):
        if places is not None:
            if cell not in places:
                raise table.error(f"{cell[:40]!r} is not among {option}.", row, role)
            out[row] = places[cell]
        elif INTEGER.fullmatch(cell) and cell[0] != "-":
            out[row] = int(cell)
        else:
            reason = f"{cell[:40]!r} is not a row number, from 0; for names give {option}=."
            raise table.error(reason, row, role)
    return out
