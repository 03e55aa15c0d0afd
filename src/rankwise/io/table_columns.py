"""The named columns of a table, read as numbers, text or labels when a caller asks.

A message says which columns there are if one is absent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np

from rankwise.exceptions import ReadError
from rankwise.io.cell_numbers import CellError, Style, is_missing, read_cells

INTEGER = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)


@dataclass
class Columns:
    """Named columns: arrays of numbers or of cells, or columns of text that Arrow holds.

    `lines` has the line number of each row, from 1 (Parquet: the row number), or is a function that
    finds the line of a row, for tables so large that lines are only counted for an error.
    """

    name: str
    values: dict[str, Any]
    lines: np.ndarray | Callable[[int], int]
    decimal: str = "auto"
    styles: dict[str, Style] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))

    def line(self, row: int) -> int:
        return self.lines(row) if callable(self.lines) else int(self.lines[row])

    def error(self, reason: str, row: int, column: str) -> ReadError:
        return ReadError(reason, self.name, self.line(row), column)

    def cells(self, column: str) -> list[str]:
        """The cells as stripped text; missing cells are empty."""
        values = self.values[column]
        if is_arrow(values):
            from rankwise.io.arrow_tables import stripped

            return stripped(values).to_pylist()
        return ["" if cell is None else str(cell).strip() for cell in values.tolist()]

    def numbers(self, column: str) -> np.ndarray | None:
        """The column as numbers, nan for missing cells; None if a cell is not a number."""
        try:
            return self.must_be_numbers(column)
        except ReadError:
            return None

    def must_be_numbers(self, column: str) -> np.ndarray:
        """The column as numbers, nan for missing cells; a ReadError if a cell is not a number.

        The style in which they are written is taken from `styles`, or found and kept there.
        """
        style = self.styles.get(column, Style("auto", self.decimal))
        plain = self._plain(column) if style in PLAIN_STYLES else None
        if plain is None:
            plain = self._styled(column, style)
        elif style.kind == "auto":
            self.styles[column] = Style("number", style.decimal)
        if np.isinf(plain).any():
            row = int(np.argmax(np.isinf(plain)))
            cell = self.cells(column)[row]
            raise self.error(f"{cell[:40]!r} is not a finite number.", row, column)
        return plain

    def _plain(self, column: str) -> np.ndarray | None:
        """The column as numbers without looking at single cells; None if that is not possible."""
        values = self.values[column]
        if is_arrow(values):
            from rankwise.io.arrow_tables import plain_numbers

            return plain_numbers(values)
        if values.dtype.kind in "biuf":
            return values.astype(float)
        try:  # a cell of 1_000 is a number to Python, but not in a table
            return None if any("_" in cell for cell in values) else values.astype(float)
        except (ValueError, TypeError):
            return None

    def _styled(self, column: str, style: Style) -> np.ndarray:
        cells = self.cells(column)
        try:
            number, self.styles[column] = read_cells(cells, style)
        except CellError as error:
            row = cells.index(error.cell)
            raise self.error(f"{error.cell[:40]!r} {error.reason}.", row, column) from None
        return np.fromiter((number[cell] for cell in cells), float, len(cells))

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
        values = self.values[column]
        if is_arrow(values):
            from rankwise.io.arrow_tables import stripped

            return stripped(values).to_numpy()
        if all(type(cell) is str for cell in values):
            return values
        return np.array(["" if cell is None else str(cell) for cell in values.tolist()], object)

    def labels(self, column: str) -> np.ndarray:
        """Integers if str() would write every cell the same, else text; no cell may be missing."""
        values = self.values[column]
        if is_arrow(values):
            from rankwise.io.arrow_tables import distinct_text

            distinct, codes = distinct_text(values)
        else:
            distinct, codes = distinct_cells(self.text(column))
        if not all(map(str.strip, distinct)):
            empty = next(i for i, cell in enumerate(distinct) if not cell.strip())
            raise self.error("a label is missing.", int(np.argmax(codes == empty)), column)
        if all(map(INTEGER.fullmatch, distinct)):
            return np.array([int(cell) for cell in distinct], dtype=np.int64)[codes]
        kind = object if distinct and max(map(len, distinct)) > 200 else str
        return np.array(distinct, dtype=kind)[codes]

    def categories(self, column: str, levels: list[str] | None = None) -> tuple[Any, list[str]]:
        """One column of 0 and 1 per level, and the levels, sorted, or as given.

        A cell that is none of the given levels has 0 everywhere, a missing one nan everywhere.
        """
        distinct, codes = distinct_cells(np.array(self.cells(column), dtype=object))
        if levels is None:
            levels = sorted(cell for cell in distinct if not is_missing(cell))
        place = {level: j for j, level in enumerate(levels)}
        rows = np.zeros((len(distinct), len(levels)))
        for i, cell in enumerate(distinct):
            if cell in place:
                rows[i, place[cell]] = 1.0
            elif is_missing(cell):
                rows[i] = np.nan
        return rows[codes], levels

    def require(self, column: str, option: str) -> str:
        """The column's name; a ValueError that lists the columns if there is none of that name."""
        if column not in self.values:
            raise ValueError(no_column(self.name, column, option, self.values))
        return column


PLAIN_STYLES = {Style(kind, decimal) for kind in ("auto", "number") for decimal in ("auto", ".")}
"""Styles in which a number as Python writes it means what it says."""


def is_arrow(values: Any) -> bool:
    """Whether a column is text that Arrow holds."""
    return not isinstance(values, np.ndarray)


def distinct_cells(cells: np.ndarray) -> tuple[list[str], np.ndarray]:
    """The distinct cells in the order in which they occur, and for each cell its number."""
    number: dict[str, int] = {}
    codes = np.fromiter((number.setdefault(c, len(number)) for c in cells), np.int64, len(cells))
    return list(number), codes


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """ " Did you mean 'score'?", or nothing if no known name is near."""
    by_lower: dict[str, str] = {}
    for one in known:
        by_lower.setdefault(one.lower(), one)
    near = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return f" Did you mean {by_lower[near[0]]!r}?" if near else ""


def no_column(table: str, name: str, role: str, known: Iterable[str]) -> str:
    """The message for a column that a table does not have."""
    names = list(known)
    listed = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
    return f"{table} has no column {name!r} ({role}); it has {listed}.{did_you_mean(name, names)}"
