"""CSV, TSV and Parquet as named columns of text or numbers."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass

import numpy as np

from rankwise.exceptions import ReadError
from rankwise.io.source import Source
from rankwise.validation import refuse_too_large

MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}
TRUTH = {"true": "1", "false": "0"}
DELIMITERS = "\t,;"
INTEGER = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)


@dataclass
class Columns:
    """Named columns; `lines` are the line numbers of the rows, from 1 (in Parquet: row numbers)."""

    name: str
    values: dict[str, np.ndarray]
    lines: np.ndarray

    def __len__(self) -> int:
        return len(self.lines)

    def error(self, reason: str, row: int, column: str) -> ReadError:
        return ReadError(reason, self.name, int(self.lines[row]), column)

    def numbers(self, column: str) -> np.ndarray | None:
        """The column as numbers, missing ones nan; None where a cell is no number."""
        try:
            return self.must_be_numbers(column)
        except ReadError:
            return None

    def must_be_numbers(self, column: str) -> np.ndarray:
        """The column as numbers, missing ones nan; a ReadError names a cell that is no number."""
        values = self.values[column]
        if values.dtype.kind in "biuf":
            out = values.astype(float)
        else:
            cells, out = values.tolist(), np.empty(len(values))
            for row, cell in enumerate(cells):
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
        """The column as numbers; a ReadError names the first that is missing."""
        numbers = self.must_be_numbers(column)
        if np.isnan(numbers).any():
            raise self.error("a value is missing.", int(np.argmax(np.isnan(numbers))), column)
        return numbers

    def text(self, column: str) -> np.ndarray:
        """The column as text; missing cells are empty."""
        cells = self.values[column]
        if not all(type(cell) is str for cell in cells):
            cells = np.array(["" if cell is None else str(cell) for cell in cells.tolist()], object)
        return cells

    def labels(self, column: str) -> np.ndarray:
        """Integers where every cell is one as str() writes it, else text; none may be missing."""
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
        if column not in self.values:
            raise ValueError(
                f"{self.name} has no column {column!r} ({option}); it has "
                f"{', '.join(map(repr, self.values))}."
            )
        return column


def read_columns(source: Source) -> Columns:
    """A table with a header line; without one (all cells numbers) columns are named 1, 2, ..."""
    if source.data.startswith(b"PAR1"):
        return _read_parquet(source)
    rows, lines = split_rows(source, None)
    if not rows:
        raise ReadError("the file is empty.", source.name)
    header = rows[0]
    has_header = not all(_is_number(cell) for cell in header)
    names = header if has_header else [str(j + 1) for j in range(len(header))]
    if has_header:
        rows, lines = rows[1:], lines[1:]
    if not rows:
        raise ReadError("the file has a header line but no rows.", source.name)
    return columns_of(source.name, names, rows, lines)


def columns_of(name: str, names: list[str], rows: list[list[str]], lines: list[int]) -> Columns:
    """Rows of as many cells as there are names."""
    if len(set(names)) < len(names):
        twice = next(column for column in names if names.count(column) > 1)
        raise ReadError(f"two columns are called {twice[:40]!r}.", name, lines[0])
    for row, line in zip(rows, lines):
        if len(row) != len(names):
            raise ReadError(f"expected {len(names)} columns, found {len(row)}.", name, line)
    values = {column: np.array(cells, dtype=object) for column, cells in zip(names, zip(*rows))}
    return Columns(name, values, np.array(lines))


def split_rows(source: Source, delimiter: str | None) -> tuple[list[list[str]], list[int]]:
    """Cells, stripped, and line numbers of all rows that are not blank.

    None finds the delimiter: of tab, comma and semicolon the most frequent in the first line, or
    blanks where there is none of them and the line is all numbers.
    """
    text = source.text()
    if delimiter is None:
        first = next((line for line in text.splitlines() if line.strip()), "")
        delimiter = max(DELIMITERS, key=lambda mark: (first.count(mark), mark == ","))
        if delimiter not in first and all(map(_is_number, first.split())):
            return split_words(text, None)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows, lines = [], []
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells):
                rows.append(cells)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise ReadError(f"not a table: {error}.", source.name, reader.line_num) from None
    return rows, lines


def split_words(text: str, separator: str | None) -> tuple[list[list[str]], list[int]]:
    """The same for lines cut at a separator of several characters, or at blanks (None)."""
    rows, lines = [], []
    for number, line in enumerate(text.split("\n"), 1):
        cells = [cell.strip() for cell in line.split(separator)] if separator else line.split()
        if any(cells):
            rows.append(cells)
            lines.append(number)
    return rows, lines


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
        raise ReadError("cannot be read as Parquet: columns differ in length.", source.name)
    return Columns(source.name, values, np.arange(1, table.num_rows + 1))


def _from_arrow(column) -> np.ndarray:
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
