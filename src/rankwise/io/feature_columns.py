"""How columns of a table become features: the same at training and whenever a model is applied.

A FeatureColumn keeps what training found: that a column holds percentages, dates, or categories
with these levels. A model file keeps it as plain values, and new data are read in the same way.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rankwise.exceptions import ReadError
from rankwise.io.cell_numbers import DECIMALS, KINDS, Style
from rankwise.io.table_columns import Columns, did_you_mean
from rankwise.numerics.memory import refuse_too_large


@dataclass(frozen=True)
class FeatureColumn:
    """A column, what its cells are, its decimal sign, and the levels of a category."""

    name: str
    kind: str = "number"
    decimal: str = "auto"
    levels: tuple[str, ...] = ()

    @property
    def features(self) -> list[str]:
        """The names of its features: `city=Bonn` and the like for a category."""
        if self.kind != "category":
            return [self.name]
        return [f"{self.name}={level}" for level in self.levels]

    @property
    def is_plain(self) -> bool:
        return self == FeatureColumn(self.name)

    def record(self) -> dict[str, Any]:
        """Plain values; what is usual is left out."""
        usual = asdict(FeatureColumn(self.name))
        values = {k: v for k, v in asdict(self).items() if k == "name" or v != usual[k]}
        return values | ({"levels": list(self.levels)} if self.levels else {})

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> FeatureColumn:
        known = {name: record[name] for name in cls.__dataclass_fields__ if name in record}
        column = cls(**{**known, "levels": tuple(map(str, known.get("levels", ())))})
        if column.kind not in KINDS or column.decimal not in DECIMALS:
            raise ValueError(f"the model reads column {column.name!r} in a way unknown here.")
        return column


def learnt_columns(
    columns: Columns, chosen: Sequence[str], categorical: Collection[str] = ()
) -> tuple[np.ndarray, list[FeatureColumn]]:
    """X (m, n) of the chosen columns, nan for missing values, and how each column was read.

    A ReadError names the line, the column and the cell that is no number.
    """
    numbers = _numbers(columns, [name for name in chosen if name not in categorical])
    found: list[FeatureColumn] = []
    parts: list[np.ndarray] = []
    for name in chosen:
        if name in categorical:
            block, levels = columns.categories(name)
            if not levels:
                raise ReadError("every value is missing, so there is no category.", columns.name)
            found.append(FeatureColumn(name, "category", levels=tuple(levels)))
            parts.append(block)
        else:
            read = numbers[name]
            parts.append((columns.must_be_numbers(name) if read is None else read)[:, None])
            style = columns.styles.get(name, Style("number", columns.decimal))
            decimal = style.decimal if style.decimal == "," else "auto"
            found.append(FeatureColumn(name, style.kind, decimal))
    names = [feature for column in found for feature in column.features]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{columns.name}: two features would be called {twice!r}.")
    return stacked_columns(parts, len(columns)), found


def read_as_learnt(
    columns: Columns, learnt: Sequence[FeatureColumn]
) -> tuple[np.ndarray, dict[str, list[str]]]:
    """X of new data with the features of training, and {column: levels that training lacked}."""
    refuse_absent(columns, [column.name for column in learnt])
    parts, unknown = [], {}
    for column in learnt:
        if column.kind == "category":
            block, _ = columns.categories(column.name, list(column.levels))
            strange = {*np.array(columns.cells(column.name), object)[block.sum(axis=1) == 0]}
            if strange:
                unknown[column.name] = sorted(strange)
            parts.append(block)
        else:
            decimal = columns.decimal if columns.decimal != "auto" else column.decimal
            columns.styles[column.name] = Style(column.kind, decimal)
            parts.append(columns.must_be_numbers(column.name)[:, None])
    return stacked_columns(parts, len(columns)), unknown


def read_frame(X: Any, records: Sequence[dict[str, Any]]) -> np.ndarray:
    """X of a pandas or polars frame with the raw columns of a training table, read as these were.

    `records` are those of FeatureColumn. Categories that training lacked are told by a warning.
    """
    learnt = [FeatureColumn.from_record(record) for record in records]
    given = set(X.columns)
    values = {c.name: _cells_of(np.asarray(X[c.name])) for c in learnt if c.name in given}
    if not values:
        values = {str(name): np.zeros(0) for name in X.columns}
    columns = Columns("the frame", values, np.arange(1, len(X) + 1))
    found, unknown = read_as_learnt(columns, learnt)
    warn_of_unknown("the frame", unknown)
    return found


def _cells_of(values: np.ndarray) -> np.ndarray:
    """Numbers as they are, and everything else as cells of text, dates as ISO 8601 writes them."""
    if values.dtype.kind in "biuf":
        return values
    if values.dtype.kind == "M":
        days = values.astype("datetime64[D]")
        values = days if np.all((days == values) | np.isnat(values)) else values
        return np.array(["" if np.isnat(v) else str(v) for v in values], dtype=object)
    missing = [cell is None or cell != cell for cell in values.tolist()]
    return np.array(["" if m else str(v) for v, m in zip(values.tolist(), missing)], dtype=object)


def warn_of_unknown(source: str, unknown: dict[str, list[str]]) -> None:
    """Tell categories of new data that the model has never seen."""
    for name, levels in unknown.items():
        shown = ", ".join(map(repr, levels[:3])) + (", ..." if len(levels) > 3 else "")
        warnings.warn(
            f"{source}: {name!r} has categories that the model has never seen ({shown}); they "
            "count as none of its categories.",
            UserWarning,
            stacklevel=3,
        )


def refuse_absent(columns: Columns, names: Sequence[str]) -> None:
    """Raise a ValueError if the table lacks columns that a model needs."""
    absent = [name for name in names if name not in columns.values]
    if absent:
        shown = ", ".join(map(repr, absent[:5])) + (", ..." if len(absent) > 5 else "")
        near = did_you_mean(absent[0], [name for name in columns.values if name not in names])
        raise ValueError(
            f"{columns.name} lacks {len(absent)} of the model's {len(names)} features: {shown}."
            f"{near.replace('Did you mean', 'It has').replace('?', '.') if near else ''}"
        )


def _numbers(columns: Columns, names: Sequence[str]) -> dict[str, np.ndarray | None]:
    """The columns as numbers, None for those that cannot be read.

    Where one column has decimal commas for sure, doubtful ones are read with commas too: in such a
    table "1.234" is a thousand and more.
    """
    numbers = {name: columns.numbers(name) for name in names}
    signs = {columns.styles[name].decimal for name in names if name in columns.styles}
    if columns.decimal != "auto" or "," not in signs or "." in signs:
        return numbers
    for name in names:
        before = columns.styles.get(name)
        if before is None or before == Style("number", "auto"):
            columns.styles[name] = Style("auto", ",")
            with_commas = columns.numbers(name)
            if with_commas is not None:
                numbers[name] = with_commas
            elif before is None:
                del columns.styles[name]
            else:
                columns.styles[name] = before
    return numbers


def stacked_columns(parts: Sequence[np.ndarray], m: int) -> np.ndarray:
    """The blocks (m, n_j) side by side."""
    n = sum(part.shape[1] for part in parts)
    refuse_too_large(m, n, "the table", "read fewer columns")
    X = np.empty((m, n))
    at = 0
    for part in parts:
        X[:, at : at + part.shape[1]] = part
        at += part.shape[1]
    return X
