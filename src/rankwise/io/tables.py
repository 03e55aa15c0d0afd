"""Tables, from CSV, TSV or Parquet: `read_table`, and the named columns behind it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.exceptions import ReadError
from rankwise.io.source import Readable, Source, read_source
from rankwise.numerics.memory import refuse_too_large

if TYPE_CHECKING:
    from sklearn.utils import Bunch

MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}
TRUTH = {"true": "1", "false": "0"}
DELIMITERS = "\t,;"
INTEGER = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)

Row = tuple[int, list[str]]
"""A line number, and the cells of that line."""


def read_table(
    path: Readable,
    target: str | None = None,
    query: str | None = None,
    *,
    comments: str | None = None,
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    missing: str = "error",
) -> Bunch:
    """Read CSV, TSV (separated by tab, comma or semicolon) or Parquet with named columns.

    The format is recognised by content; Parquet needs pyarrow. Without a header line, that is with
    a first line of numbers, the columns are called "1", "2", ... A cell that cannot be read is a
    ReadError with the file, line and column; the lines of a Parquet file are its rows.

    Parameters
    ----------
    path : a path, "-" for standard input, or an open file; may be gzip, xz or bzip2
    target : column of scores; None if there is none, as for items that are to be ranked
    query : column of query labels, any text or numbers
    comments : column that is kept as text, such as the id of a document
    features : columns of X, in this order; None for all other columns, which must be numbers
    drop : columns to leave out
    missing : "error", or "nan" to keep missing values in X, for learners that accept them

    Returns
    -------
    Bunch of X (m, n) array; y (m,), qid (m,) integers or text, comments (m,) text, each None if its
    column was not named; feature_names, a list
    """
    if missing not in ("error", "nan"):
        raise ValueError(f'missing must be "error" or "nan"; got {missing!r}.')
    for name, value in (("features", features), ("drop", drop)):
        if isinstance(value, str):
            raise ValueError(f"{name} must be a list of columns; got the text {value!r}.")
    columns = read_columns(read_source(path))
    return table_of(columns, target, query, comments, features, drop, missing)


def table_of(
    columns: Columns,
    target: str | None = None,
    query: str | None = None,
    comments: str | None = None,
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    missing: str = "error",
) -> Bunch:
    """What `read_table` returns, from columns that were read."""
    named = {"target": target, "query": query, "comments": comments}
    taken = [columns.require(column, role) for role, column in named.items() if column is not None]
    taken += [columns.require(column, "drop") for column in drop]
    if features is None:
        chosen = [column for column in columns.values if column not in taken]
    else:
        chosen = [columns.require(column, "features") for column in features]
    if not chosen:
        raise ReadError("no column is left that could be a feature.", columns.name)
    from sklearn.utils import Bunch

    return Bunch(
        X=_features(columns, chosen, missing),
        y=None if target is None else columns.without_missing(target),
        qid=None if query is None else columns.labels(query),
        comments=None if comments is None else columns.text(comments),
        feature_names=chosen,
    )


def _features(columns: Columns, chosen: list[str], missing: str) -> np.ndarray:
    refuse_too_large(len(columns), len(chosen), "the table", "read fewer columns")
    read = columns.without_missing if missing == "error" else columns.must_be_numbers
    X = np.empty((len(columns), len(chosen)))
    for j, column in enumerate(chosen):
        try:
            X[:, j] = read(column)
        except ReadError as error:
            way_out = 'impute it, drop the column, or read with missing="nan"'
            if "missing" not in error.reason:
                way_out = f"leave the column out with drop=[{column!r}], or encode it as numbers"
            reason = f"{error.reason[:-1]}; {way_out}."
            raise ReadError(reason, columns.name, error.line, column) from None
    return X


@dataclass
class Columns:
    """Named columns; `lines` has the line number of each row, from 1 (Parquet: the row number)."""

    name: str
    values: dict[str, np.ndarray]
    lines: np.ndarray

    def __len__(self) -> int:
        return len(self.lines)

    def error(self, reason: str, row: int, column: str) -> ReadError:
        return ReadError(reason, self.name, int(self.lines[row]), column)

    def numbers(self, column: str) -> np.ndarray | None:
        """The column as numbers, nan for missing cells; None if a cell is not a number."""
        try:
            return self.must_be_numbers(column)
        except ReadError:
            return None

    def must_be_numbers(self, column: str) -> np.ndarray:
        """The column as numbers, nan for missing cells; a ReadError if a cell is not a number."""
        values = self.values[column]
        if values.dtype.kind in "biuf":
            out = values.astype(float)
        else:
            out = np.empty(len(values))
            for row, cell in enumerate(values.tolist()):
                out[row] = self._number("" if cell is None else str(cell), row, column)
        if np.isinf(out).any():
            row = int(np.argmax(np.isinf(out)))
            raise self.error(f"{str(values[row])[:40]!r} is not a finite number.", row, column)
        return out

    def _number(self, text: str, row: int, column: str) -> float:
        text = TRUTH.get(text.strip().lower(), text.strip())
        try:
            if "_" not in text:
                return float(text)
        except ValueError:
            if text.lower() in MISSING:
                return np.nan
        raise self.error(f"{text[:40]!r} is not a number.", row, column)

    def without_missing(self, column: str) -> np.ndarray:
        """The column as numbers; a ReadError if a cell is missing."""
        numbers = self.must_be_numbers(column)
        if np.isnan(numbers).any():
            raise self.error("a value is missing.", int(np.argmax(np.isnan(numbers))), column)
        return numbers

    def times(self, column: str) -> np.ndarray:
        """The column as numbers that are not negative; a ReadError names the first other cell."""
        numbers = self.without_missing(column)
        if (numbers < 0).any():
            row = int(np.argmax(numbers < 0))
            raise self.error(f"{numbers[row]:g} is no time: it is negative.", row, column)
        return numbers

    def events(self, column: str) -> np.ndarray:
        """The column as bool, from 0 and 1, true and false, or yes and no."""
        numbers = self.without_missing(column)
        wrong = (numbers != 0) & (numbers != 1)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise self.error(
                f"{numbers[row]:g} is neither 1 (the event was seen) nor 0 (censored).", row, column
            )
        return numbers == 1

    def text(self, column: str) -> np.ndarray:
        """The column as text; missing cells are empty."""
        cells = self.values[column]
        if all(type(cell) is str for cell in cells):
            return cells
        return np.array(["" if cell is None else str(cell) for cell in cells.tolist()], object)

    def labels(self, column: str) -> np.ndarray:
        """Integers if str() would write every cell the same, else text; no cell may be missing."""
        cells = self.text(column)
        if not all(map(str.strip, cells)):
            row = [cell.strip() for cell in cells].index("")
            raise self.error("a label is missing.", row, column)
        distinct = set(cells)
        if all(map(INTEGER.fullmatch, distinct)):
            number = {cell: int(cell) for cell in distinct}
            return np.fromiter((number[cell] for cell in cells), np.int64, len(cells))
        return cells if len(cells) and max(map(len, cells)) > 200 else cells.astype(str)

    def require(self, column: str, option: str) -> str:
        """The column's name; a ValueError that lists the columns if there is none of that name."""
        if column not in self.values:
            raise ValueError(
                f"{self.name} has no column {column!r} ({option}); it has "
                f"{', '.join(map(repr, self.values))}."
            )
        return column


def read_columns(source: Source) -> Columns:
    """The columns of a table; without a header line (a first line of numbers) named 1, 2, ..."""
    if source.data.startswith(b"PAR1"):
        return _read_parquet(source)
    rows = split_rows(source, None)
    if not rows:
        raise ReadError("the file is empty.", source.name)
    names = rows[0][1]
    if all(map(_is_number, names)):
        names = [str(j + 1) for j in range(len(names))]
    elif not rows[1:]:
        raise ReadError("the file has a header line but no rows.", source.name)
    else:
        rows = rows[1:]
    return columns_of(source.name, names, rows)


def columns_of(name: str, names: list[str], rows: list[Row]) -> Columns:
    """Columns from rows, each of which must have one cell per name."""
    if len(set(names)) < len(names):
        repeated = next(column for column in names if names.count(column) > 1)
        raise ReadError(f"two columns are called {repeated[:40]!r}.", name, rows[0][0])
    for line, cells in rows:
        if len(cells) != len(names):
            raise ReadError(f"expected {len(names)} columns, but found {len(cells)}.", name, line)
    columns = zip(names, zip(*(cells for _, cells in rows)))
    values = {column: np.array(cells, dtype=object) for column, cells in columns}
    return Columns(name, values, np.array([line for line, _ in rows]))


def split_rows(source: Source, delimiter: str | None) -> list[Row]:
    """All rows that are not blank, with stripped cells.

    With delimiter=None it is the most frequent of tab, comma and semicolon in the first line, or
    blanks if the line has none of these and only numbers.
    """
    text = source.text()
    if delimiter is None:
        first = next((line for line in text.splitlines() if line.strip()), "")
        delimiter = max(DELIMITERS, key=lambda mark: (first.count(mark), mark == ","))
        if delimiter not in first and all(map(_is_number, first.split())):
            return split_words(text, None)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        rows = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader]
    except csv.Error as error:
        raise ReadError(f"not a table: {error}.", source.name, reader.line_num) from None
    return [row for row in rows if any(row[1])]


def split_words(text: str, separator: str | None) -> list[Row]:
    """As `split_rows`, for a separator of several characters, or blanks (None)."""
    lines = enumerate(text.split("\n"), 1)
    if separator is None:
        return [(number, line.split()) for number, line in lines if line.strip()]
    rows = [(number, [cell.strip() for cell in line.split(separator)]) for number, line in lines]
    return [row for row in rows if any(row[1])]


def _read_parquet(source: Source) -> Columns:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ValueError("Parquet files need pyarrow: pip install rankwise[frames].") from None
    damage = (pyarrow.ArrowException, OSError, ValueError, TypeError, KeyError, MemoryError)
    try:
        file = pyarrow.parquet.ParquetFile(
            pyarrow.BufferReader(source.data), page_checksum_verification=True
        )
        refuse_too_large(file.metadata.num_rows, file.metadata.num_columns, "the table", "split it")
        table = file.read(use_threads=False)
        table.validate(full=True)
        values = {str(name): _from_arrow(table.column(name)) for name in table.column_names}
    except damage as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise ReadError(f"cannot be read as Parquet: {reason}", source.name) from None
    if not table.num_rows:
        raise ReadError("the file has no rows.", source.name)
    if any(len(column) != table.num_rows for column in values.values()):
        raise ReadError("cannot be read as Parquet: its columns differ in length.", source.name)
    return Columns(source.name, values, np.arange(1, table.num_rows + 1))


def _from_arrow(column: Any) -> np.ndarray:
    import pyarrow

    kind = column.type
    if pyarrow.types.is_floating(kind) or (
        pyarrow.types.is_integer(kind) and not column.null_count
    ):
        return np.asarray(column.to_numpy())
    cells = np.empty(len(column), dtype=object)
    cells[:] = column.to_pylist()
    return cells


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text.lower() in MISSING
    return True
