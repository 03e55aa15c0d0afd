"""Rows of text tables with their line numbers: the reader that every other one must equal."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import numpy as np

from rankwise.exceptions import ReadError
from rankwise.io.cell_numbers import is_missing, plain_number
from rankwise.io.source import Source
from rankwise.io.table_columns import Columns

DELIMITERS = "\t,;"

Row = tuple[int, list[str]]
"""A line number, and the cells of that line."""


def columns_of(name: str, names: list[str], rows: list[Row], header: int) -> Columns:
    """Columns from rows, each of which must have one cell per name; `header` is the names' line."""
    if len(set(names)) < len(names):
        repeated = next(column for column in names if names.count(column) > 1)
        raise ReadError(f"two columns are called {repeated[:40]!r}.", name, header)
    for line, cells in rows:
        if len(cells) != len(names):
            raise ReadError(f"expected {len(names)} columns, but found {len(cells)}.", name, line)
    columns = zip(names, zip(*(cells for _, cells in rows)))
    values = {column: np.array(cells, dtype=object) for column, cells in columns}
    return Columns(name, values, np.array([line for line, _ in rows]))


def delimiter_of(first: str) -> str | None:
    """The most frequent of tab, comma and semicolon in the first line; None for blanks.

    Blanks separate if the line has none of these and only numbers.
    """
    delimiter = max(DELIMITERS, key=lambda mark: (first.count(mark), mark == ","))
    if delimiter not in first and all(map(is_number_or_missing, first.split())):
        return None
    return delimiter


def split_rows(source: Source, delimiter: str | None) -> list[Row]:
    """All rows that are not blank, with stripped cells; delimiter=None asks `delimiter_of`."""
    text = source.text()
    if delimiter is None:
        first = next((line for line in text.splitlines() if line.strip()), "")
        delimiter = delimiter_of(first)
        if delimiter is None:
            return split_words(text, None)
    return list(iterate_rows(source.name, io.StringIO(text, newline=""), delimiter))


def iterate_rows(name: str, text: io.TextIOBase, delimiter: str) -> Iterator[Row]:
    """The rows one by one; the number of a row is that of its last line."""
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            cells = [cell.strip() for cell in cells]
            if any(cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise ReadError(f"not a table: {error}.", name, reader.line_num) from None


def split_words(text: str, separator: str | None) -> list[Row]:
    """As `split_rows`, for a separator of several characters, or blanks (None)."""
    lines = enumerate(text.split("\n"), 1)
    if separator is None:
        return [(number, line.split()) for number, line in lines if line.strip()]
    rows = [(number, [cell.strip() for cell in line.split(separator)]) for number, line in lines]
    return [row for row in rows if any(row[1])]


def is_number_or_missing(text: str) -> bool:
    return plain_number(text) is not None or is_missing(text)
