"""Large CSV and Parquet files through pyarrow: the same columns as the plain reader, faster.

CSV is split by Arrow on all cores into columns of text, and numbers are converted when they are
asked for. Whatever Arrow refuses, and whatever it might read in another way than Python's csv,
goes to the plain reader, which also finds the line of an error.
"""

from __future__ import annotations

import csv
import io
import os
from typing import Any

import numpy as np

from rankwise.exceptions import ReadError
from rankwise.io.array_files import first_line
from rankwise.io.cell_numbers import MISSING
from rankwise.io.source import BYTE_ORDER_MARK, Source
from rankwise.io.table_columns import Columns
from rankwise.io.table_rows import delimiter_of, is_number_or_missing, iterate_rows
from rankwise.numerics.compiled import compiled
from rankwise.numerics.memory import refuse_too_large

FAST_FROM = 1 << 20
"""Smaller files are read at once by the plain reader."""
LONGEST_HEADER = 1 << 20
BLOCK = 1 << 23
THREADS_FROM = 1 << 24
"""Larger Parquet files are read on all cores."""


def read_large_csv(source: Source) -> Columns | None:
    """The columns of a text table, or None if the plain reader must read it, or refuse it."""
    data = source.data
    if len(data) < FAST_FROM or b"\x00" in data:
        return None
    try:
        import pyarrow
        import pyarrow.csv
    except ImportError:
        return None
    start = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    head = _head(data, start)
    if head is None:
        return None
    names, delimiter, body = head
    has_quotes = data.find(b'"', body) >= 0
    if not is_regular(np.frombuffer(data, np.uint8), body, ord(delimiter)):
        return None
    try:
        table = pyarrow.csv.read_csv(
            pyarrow.BufferReader(pyarrow.py_buffer(data).slice(body)),
            read_options=pyarrow.csv.ReadOptions(column_names=names, block_size=BLOCK),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=has_quotes
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pyarrow.string()), strings_can_be_null=False
            ),
        )
    except (pyarrow.ArrowException, ValueError, OSError):
        return None
    table = _without_blank_rows(table)
    if not table.num_rows:
        return None
    values = dict(zip(names, table.columns))
    has_header = body > start

    def line(row: int) -> int:
        text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
        rows = iterate_rows(source.name, text, delimiter)
        return next(number for i, (number, _) in enumerate(rows) if i == row + has_header)

    return Columns(source.name, values, line)


def _head(data: bytes, start: int) -> tuple[list[str], str, int] | None:
    """Names of columns, delimiter, and where the rows begin; None for an unusual first line."""
    while data[start : start + 1] in (b"\n", b"\r"):
        start += 1
    end = data.find(b"\n", start)
    if end < 0 or end - start > LONGEST_HEADER:
        return None
    try:
        first = data[start:end].decode()
        delimiter = delimiter_of(first)
        if delimiter is None or not first.strip():
            return None
        (names,) = csv.reader(io.StringIO(first, newline=""), delimiter=delimiter, strict=True)
    except (UnicodeDecodeError, ValueError, csv.Error):
        return None
    names = [name.strip() for name in names]
    if all(map(is_number_or_missing, names)):
        return [str(j + 1) for j in range(len(names))], delimiter, start
    return None if len(set(names)) < len(names) else (names, delimiter, end + 1)


@compiled
def is_regular(data, start, delimiter):
    """Whether every reader must split these bytes alike: quotes only around whole cells, doubled
    within them, and no line end but \\n and \\r\\n."""
    inside, at_start, n = False, True, len(data)
    i = start
    while i < n:
        c = data[i]
        if inside:
            if c == 34:
                if i + 1 < n and data[i + 1] == 34:
                    i += 1
                else:
                    inside = False
                    follows = data[i + 1] if i + 1 < n else np.uint8(10)
                    if follows != delimiter and follows != 10 and follows != 13:
                        return False
        elif c == 34:
            if not at_start:
                return False
            inside = True
            at_start = False
        elif c == 13 and (i + 1 >= n or data[i + 1] != 10):
            return False
        else:
            at_start = c == delimiter or c == 10
        i += 1
    return not inside


def _without_blank_rows(table: Any) -> Any:
    """Rows whose cells are all empty are left out, as blank lines are."""
    import pyarrow.compute as compute

    blank = None
    for column in table.columns:
        empty = compute.equal(compute.utf8_trim_whitespace(column), "")
        blank = empty if blank is None else compute.and_(blank, empty)
        if not compute.any(blank).as_py():
            return table
    return table.filter(compute.invert(blank))


def stripped(column: Any) -> Any:
    """A column of text without white space around the cells; missing cells are empty."""
    import pyarrow.compute as compute

    return compute.fill_null(compute.utf8_trim_whitespace(column), "")


def distinct_text(column: Any) -> tuple[list[str], np.ndarray]:
    """The distinct cells of a column of text, and for each cell its number."""
    coded = stripped(column).combine_chunks().dictionary_encode()
    return coded.dictionary.to_pylist(), np.asarray(coded.indices.to_numpy(), dtype=np.int64)


def plain_numbers(column: Any) -> np.ndarray | None:
    """A column of text as numbers, nan for missing cells; None if a cell is no plain number."""
    import pyarrow
    import pyarrow.compute as compute

    try:
        return _as_floats(column)
    except pyarrow.ArrowInvalid:
        pass
    cells = stripped(column)
    try:
        missing = compute.is_in(compute.utf8_lower(cells), value_set=pyarrow.array(sorted(MISSING)))
        return _as_floats(compute.if_else(missing, pyarrow.scalar(None, pyarrow.string()), cells))
    except pyarrow.ArrowInvalid:
        return None


def _as_floats(column: Any) -> np.ndarray:
    import pyarrow
    import pyarrow.compute as compute

    return np.array(compute.cast(column, pyarrow.float64()).to_numpy(), dtype=float)


def read_parquet(source: Source) -> Columns:
    """The columns of a Parquet file; text stays in Arrow until it is asked for."""
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
        table = file.read(use_threads=len(source.data) > THREADS_FROM and (os.cpu_count() or 1) > 1)
        table.validate(full=True)
        values = {str(name): _from_arrow(table.column(name)) for name in table.column_names}
    except damage as error:
        raise ReadError(f"cannot be read as Parquet: {first_line(error)}", source.name) from None
    if not table.num_rows:
        raise ReadError("the file has no rows.", source.name)
    if any(len(column) != table.num_rows for column in values.values()):
        raise ReadError("cannot be read as Parquet: its columns differ in length.", source.name)
    return Columns(source.name, values, lambda row: row + 1)


def _from_arrow(column: Any) -> Any:
    import pyarrow

    kind = column.type
    if pyarrow.types.is_floating(kind) or (
        pyarrow.types.is_integer(kind) and not column.null_count
    ):
        return np.asarray(column.to_numpy())
    if pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind):
        return column.cast(pyarrow.string()) if pyarrow.types.is_string(kind) else column
    cells = np.empty(len(column), dtype=object)
    cells[:] = column.to_pylist()
    return cells
