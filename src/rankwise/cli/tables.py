"""CSV, TSV and Parquet as named columns of text or numbers."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

import numpy as np

from rankwise.datasets.source import Source
from rankwise.exceptions import ReadError

MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}


@dataclass
class Columns:
    """Named columns; `lines` are the line numbers of the rows, from 1."""

    name: str
    values: dict[str, np.ndarray]
    lines: np.ndarray

    def __len__(self) -> int:
        return len(self.lines)

    def numbers(self, column: str) -> np.ndarray | None:
        """The column as numbers, missing ones nan; None where a cell is no number."""
        try:
            return self._numbers(column)
        except ReadError:
            return None

    def must_be_numbers(self, column: str) -> np.ndarray:
        """The column as numbers; a ReadError names the first cell that is none."""
        return self._numbers(column)

    def _numbers(self, column: str) -> np.ndarray:
        values = self.values[column]
        if values.dtype.kind in "biuf":
            return values.astype(float)
        out = np.empty(len(values))
        for row, cell in enumerate(values):
            text = "" if cell is None else str(cell).strip()
            if text.lower() in MISSING:
                out[row] = np.nan
                continue
            try:
                out[row] = float(text)
            except ValueError:
                reason = f"{text[:40]!r} is not a number."
                raise ReadError(reason, self.name, int(self.lines[row]), column) from None
        return out

    def text(self, column: str) -> np.ndarray:
        return np.array([str(cell) for cell in self.values[column]])

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
    text = source.text()
    lines = text.splitlines()
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise ReadError("the file is empty.", source.name)
    delimiter = "\t" if "\t" in first else (";" if ";" in first and "," not in first else ",")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows, numbers = [], []
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append([cell.strip() for cell in row])
                numbers.append(reader.line_num)
    except csv.Error as error:
        raise ReadError(f"{error}.", source.name, reader.line_num) from None
    header = rows[0]
    has_header = not all(_is_number(cell) for cell in header)
    names = header if has_header else [str(j + 1) for j in range(len(header))]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ReadError(f"two columns are called {twice!r}.", source.name, numbers[0])
    body, lines_of = (rows[1:], numbers[1:]) if has_header else (rows, numbers)
    for row, line in zip(body, lines_of):
        if len(row) != len(names):
            reason = f"expected {len(names)} columns, found {len(row)}."
            raise ReadError(reason, source.name, line)
    if not body:
        raise ReadError("the file has a header line but no rows.", source.name)
    values = {name: np.array([row[j] for row in body]) for j, name in enumerate(names)}
    return Columns(source.name, values, np.array(lines_of))


def _read_parquet(source: Source) -> Columns:
    try:
        import pyarrow.parquet
    except ImportError:
        raise ValueError("Parquet files need pyarrow: pip install rankwise[frames].") from None
    try:
        table = pyarrow.parquet.read_table(pyarrow.BufferReader(source.data))
    except pyarrow.ArrowException as error:
        raise ReadError(f"cannot be read as Parquet: {error}", source.name) from None
    if not table.num_rows:
        raise ReadError("the file has no rows.", source.name)
    values = {}
    for name in table.column_names:
        column = table.column(name)
        numeric = pyarrow.types.is_integer(column.type) or pyarrow.types.is_floating(column.type)
        if numeric and column.null_count:
            column = column.cast(pyarrow.float64())
        values[str(name)] = np.asarray(column.to_pandas() if numeric else column.to_pylist())
    return Columns(source.name, values, np.arange(1, table.num_rows + 1))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text.strip().lower() in MISSING
    return True
