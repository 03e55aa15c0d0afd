"""Values of pairs of objects from files: lists of edges, matrices with names, arrays of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from rankwise.exceptions import ReadError
from rankwise.io import table_rows
from rankwise.io.array_files import NamedEdges, NamedMatrix, holds_arrays, read_labels
from rankwise.io.edge_columns import ROLES, Names, Reading, is_header, is_number, roles_of
from rankwise.io.edge_lists import split_lines
from rankwise.io.source import Readable, Source, read_source
from rankwise.io.table_columns import INTEGER, Columns, did_you_mean
from rankwise.io.tables import read_columns

if TYPE_CHECKING:
    from sklearn.utils import Bunch

FORMS = ("auto", "edges", "matrix")


@dataclass
class EdgeTable:
    """Edges by number, and what is needed for errors: lines, and the columns of the file by role.

    The fields are those of the result of `read_edges`.
    """

    edges: np.ndarray
    y: np.ndarray | None
    row_names: np.ndarray | None
    column_names: np.ndarray | None
    source: str
    line: Callable[[int], int] | None = None
    roles: dict[str, str] = field(default_factory=dict)


def read_edges(
    path: Readable,
    *,
    rows: Names | None = None,
    columns: Names | None = None,
    one_domain: bool = False,
    row_column: str | None = None,
    column_column: str | None = None,
    value: str | None = None,
    form: str = "auto",
) -> Bunch:
    r"""Read the values of pairs of objects, the labelled edges that ConditionalRanker learns from.

    The file is a list of edges, a matrix, or an array of NumPy:

    - a list has lines `row column [value]`, with separators, comments and a header line as in
      `read_preferences`. Columns of any names are found (`drug,target,pKi`): the value is the
      column with a usual name, or else the only other column of numbers
    - a matrix has a line with the names of the columns, then for each row its name and its values;
      missing cells are pairs that were not observed. A file of numbers alone with more than three
      columns is a matrix without names
    - an .npz file has `edges` (q, 2) and `y` (q,), or one matrix with nan for what was not
      observed, or it is a sparse matrix of SciPy, whose stored entries are the edges; `row_names`
      and `column_names` name the objects. A .npy file is a matrix

    Objects are numbers from 0, or names. Names are numbered as in `rows` and `columns`; without
    these they are numbered in sorted order. If both are given, the names decide which objects of
    the file are rows, unless `row_column` or `column_column` says so.

    Parameters
    ----------
    path
        As in `read_preferences`.
    rows, columns
        Names of the row nodes and of the column nodes, in order.
    one_domain
        Whether both sides are the same nodes, with the same numbers.
    row_column, column_column, value
        The columns of a list of edges that has a header line.
    form
        "edges", "matrix", or "auto" to tell them apart by their content.

    Returns
    -------
    Bunch
        With edges (q, 2); y (q,) or None; row_names and column_names, the names in the order of
        their numbers, or None if the file has numbers; lines (q,), where each edge is in the file,
        or None for arrays.

    Examples
    --------
    >>> import io
    >>> from rankwise.datasets import read_edges
    >>> data = read_edges(io.StringIO("row,column,value\naspirin,cox1,6.2\naspirin,cox2,5.1\n"))
    >>> data.edges.tolist(), data.y, data.column_names
    ([[0, 0], [0, 1]], array([6.2, 5.1]), array(['cox1', 'cox2'], dtype='<U4'))
    """
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}; got {form!r}.")
    wanted = Reading(row_column, column_column, value, rows, columns, one_domain, form)
    table = read_relation(path, wanted)
    lines = None if table.line is None else np.array([*map(table.line, range(len(table.edges)))])
    from sklearn.utils import Bunch

    return Bunch(
        edges=table.edges,
        y=table.y,
        row_names=table.row_names,
        column_names=table.column_names,
        lines=lines,
    )


def read_relation(path: Readable, wanted: Reading) -> EdgeTable:
    """The edges of a file of any form."""
    if wanted.one_domain and wanted.columns is None:
        wanted = replace(wanted, columns=wanted.rows)
    source = read_source(path)
    if holds_arrays(source):
        found = read_labels(source)
        edges = found if isinstance(found, NamedEdges) else _observed(found, source.name)
        return _of_arrays(edges, wanted, source.name)
    if source.data.startswith(b"PAR1"):
        return _of_list(read_columns(source), True, wanted)
    lines = [row for row in split_lines(source) if not row[1][0].startswith("#")]
    if not lines:
        raise ReadError("the file is empty.", source.name)
    if wanted.form == "matrix" or (wanted.form == "auto" and _is_matrix(lines, wanted)):
        return _of_matrix(source.name, lines, wanted)
    return _of_list(*_list_columns(source, lines, wanted), wanted)


def _is_matrix(lines: list[table_rows.Row], wanted: Reading) -> bool:
    """Whether the lines are a matrix with names: by its header, distinct row names and numbers."""
    header, body = lines[0][1], lines[1:]
    if wanted.named or not body:
        return False
    if len(header) > 3 and all(map(is_number, header)):
        return True
    width = len(body[0][1])
    names = header[1:] if len(header) == width else header
    if len(names) != width - 1 or width < 3 or any(map(wanted.role_of, names)):
        return False
    cells = [row for _, row in body if len(row) == width]
    are_distinct = len({row[0] for row in cells}) == len(cells)
    if not (are_distinct or width > 3) or not all(is_number(c) for c in cells[0][1:]):
        return False
    if wanted.columns is not None and wanted.rows is not None:
        known = {str(name) for names in (wanted.rows, wanted.columns) for name in names}
        return any(name in known for name in names)
    if width > 3 or len(header) < width:
        return True
    are_numbers = all(map(is_number, header))
    return not (are_numbers or all(INTEGER.fullmatch(row[1]) for row in cells))


def _of_matrix(path: str, lines: list[table_rows.Row], wanted: Reading) -> EdgeTable:
    matrix, line_of = read_named_matrix(path, lines, nameless=True)
    found = _observed(matrix, path)
    table = _of_arrays(found, wanted, path)
    numbers = found.edges[:, 0]
    table.line = lambda edge: line_of[int(numbers[edge])]
    return table


def read_named_matrix(
    path: str, lines: list[table_rows.Row], nameless: bool = False
) -> tuple[NamedMatrix, list[int]]:
    """A matrix from lines, nan where a cell is missing, and the line of each of its rows.

    The first line has the names of the columns, the first cell of the others the names of the rows.
    With `nameless` a file of numbers alone has no names.
    """
    header, body = lines[0][1], lines[1:]
    if nameless and header[0] and all(map(is_number, header)):
        table = table_rows.columns_of(path, [*map(str, range(len(header)))], lines, lines[0][0])
        values = np.column_stack([table.must_be_numbers(column) for column in table.values])
        return NamedMatrix(values, None, None), [line for line, _ in lines]
    if not body:
        raise ReadError("the file has a header line but nothing else.", path)
    width = len(body[0][1])
    if len(header) == width - 1:
        header = ["", *header]
    if len(header) < 2:
        raise ReadError("a matrix needs a column of names and columns of values.", path)
    header = [" (names)", *header[1:]]
    table = table_rows.columns_of(path, header, body, lines[0][0])
    names = [str(name) for name in table.text(header[0])]
    first: dict[str, int] = {}
    for row, name in enumerate(names):
        if not name:
            raise ReadError("a row has no name.", path, table.line(row))
        if first.setdefault(name, row) != row:
            reason = f"{name[:40]!r} is also the row of line {table.line(first[name])}."
            raise ReadError(reason, path, table.line(row))
    values = np.column_stack([table.must_be_numbers(column) for column in header[1:]])
    return NamedMatrix(values, names, header[1:]), [table.line(row) for row in range(len(table))]


def _observed(matrix: NamedMatrix, path: str) -> NamedEdges:
    """The cells that are not missing as edges, row by row."""
    edges = np.argwhere(~np.isnan(matrix.values))
    if not len(edges):
        raise ReadError("every cell is missing.", path)
    return NamedEdges(edges, matrix.values[tuple(edges.T)], matrix.rows, matrix.columns)


def _of_arrays(found: NamedEdges, wanted: Reading, path: str) -> EdgeTable:
    """Edges whose objects have numbers in the file, renumbered where they also have names."""
    if not len(found.edges):
        raise ReadError("the file has no edges.", path)
    if found.y is not None and not np.isfinite(found.y).all():
        raise ReadError(f"edge {int(np.argmax(~np.isfinite(found.y)))} is not finite.", path)
    sides = [found.rows, found.columns]
    if _is_turned(wanted, *(None if names is None else set(names) for names in sides)):
        table = _of_arrays(
            NamedEdges(found.edges[:, ::-1], found.y, found.columns, found.rows), wanted, path
        )
        return table
    edges, names = found.edges.copy(), []
    shared = _shared_names(sides) if wanted.one_domain and wanted.rows is None else None
    for side, given in enumerate((wanted.rows, wanted.columns)):
        own = sides[side]
        known = given if given is not None else shared
        known = known if known is not None else own
        names.append(None if known is None else np.asarray(known))
        if known is None:
            continue
        if own is None:
            if edges[:, side].max() >= len(known) or edges.min() < 0:
                reason = f"it has {edges[:, side].max() + 1} {ROLES[side]}s without names, but "
                reason += f"{wanted.where[side]} has {len(known)}."
                raise ReadError(reason, path)
            continue
        numbers = numbered(known, wanted.where[side])
        place = np.array([numbers.get(name, -1) for name in own])
        unknown = place[edges[:, side]] < 0
        if unknown.any():
            name = own[edges[int(np.argmax(unknown)), side]]
            raise ReadError(unknown_name(name, wanted.where[side], numbers), path)
        edges[:, side] = place[edges[:, side]]
    return EdgeTable(edges, found.y, names[0], names[1], path)


def _shared_names(sides: list[list[str] | None]) -> list[str] | None:
    if any(names is None for names in sides):
        return None
    return sorted({name for names in sides for name in names or ()})


def _is_turned(wanted: Reading, rows: set[str] | None, columns: set[str] | None) -> bool:
    """Whether the rows of the file are our column objects, and its columns our row objects."""
    if wanted.rows is None or wanted.columns is None or rows is None or columns is None:
        return False
    if wanted.row is not None or wanted.column is not None or wanted.one_domain:
        return False
    known_rows, known_columns = (
        {str(name) for name in names} for names in (wanted.rows, wanted.columns)
    )
    straight = rows <= known_rows and columns <= known_columns
    return not straight and rows <= known_columns and columns <= known_rows


def _list_columns(
    source: Source, lines: list[table_rows.Row], wanted: Reading
) -> tuple[Columns, bool]:
    """The columns of a list of edges, and whether its header names them."""
    line, first = lines[0]
    body = lines[1:]
    has_header = bool(wanted.named) or is_header(first, [cells for _, cells in body], wanted)
    if not has_header:
        if not 2 <= len(first) <= 3:
            reason = (
                f"expected row column [value], but found {len(first)} columns: a header line must "
                "name them, or the first cell of each line a row of a matrix."
            )
            raise ReadError(reason, source.name, line)
        return table_rows.columns_of(source.name, list(ROLES[: len(first)]), lines, line), False
    if not body:
        raise ReadError("the file has a header line but nothing else.", source.name)
    return table_rows.columns_of(source.name, first, body, line), True


def _of_list(table: Columns, has_header: bool, wanted: Reading) -> EdgeTable:
    roles = roles_of(table, wanted) if has_header else {role: role for role in table.values}
    labels = [table.labels(roles[role]) for role in ROLES[:2]]
    rows, columns = ({str(name) for name in np.unique(found)} for found in labels)
    if _is_turned(wanted, rows, columns):
        roles |= {"row": roles["column"], "column": roles["row"]}
        labels = labels[::-1]
    shared = None
    numeric = all(found.dtype.kind == "i" for found in labels)
    if wanted.one_domain and wanted.rows is None and not numeric:
        shared = np.unique(np.concatenate([found.astype(str) for found in labels]))
    edges, names = [], []
    for side, given in enumerate((wanted.rows, wanted.columns)):
        found = labels[side]
        if given is None and (shared is not None or found.dtype.kind != "i"):
            given = np.unique(found.astype(str)) if shared is None else shared
        names.append(None if given is None else np.asarray(given))
        numbers = None if given is None else numbered(given, wanted.where[side])
        edges.append(_node_numbers(table, roles[ROLES[side]], numbers, wanted.where[side]))
    y = table.without_missing(roles["value"]) if "value" in roles else None
    return EdgeTable(np.column_stack(edges), y, names[0], names[1], table.name, table.line, roles)


def numbered(names: Names, what: str) -> dict[str, int]:
    """{name: number}; an error if a name occurs twice."""
    numbers = {str(name): number for number, name in enumerate(names)}
    if len(numbers) < len(names):
        raise ValueError(f"{what} contains a name twice.")
    return numbers


def unknown_name(name: str, where: str, known: dict[str, int]) -> str:
    """The message about an object that is not among those that are known."""
    return f"{name[:40]!r} is not in {where}.{did_you_mean(name, known)}"


def _node_numbers(
    table: Columns, column: str, numbers: dict[str, int] | None, where: str
) -> np.ndarray:
    """The numbers of the objects that a column names, or the column itself if it has numbers."""
    cells = table.text(column).tolist()
    found = np.empty(len(cells), dtype=np.int64)
    for row, cell in enumerate(cells):
        if numbers is not None:
            if cell not in numbers:
                raise table.error(unknown_name(cell, where, numbers), row, column)
            found[row] = numbers[cell]
        elif INTEGER.fullmatch(cell) and cell[0] != "-":
            found[row] = int(cell)
        else:
            reason = f"{cell[:40]!r} is not a row number, from 0; for names give {where}=."
            raise table.error(reason, row, column)
    return found
