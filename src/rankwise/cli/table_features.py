"""Features from the columns of a table, with errors that name the options of the command."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from rankwise.cli.data_options import CellOptions
from rankwise.exceptions import ReadError
from rankwise.io.cell_numbers import AMBIGUOUS
from rankwise.io.feature_columns import (
    FeatureColumn,
    learnt_columns,
    read_as_learnt,
    stacked_columns,
    warn_of_unknown,
)
from rankwise.io.table_columns import Columns


def new_features(
    columns: Columns, chosen: list[str], categorical: Sequence[str] = ()
) -> tuple[np.ndarray, list[FeatureColumn]]:
    """X of the chosen columns, and how each was read."""
    for name in categorical:
        columns.require(name, "--categorical")
        if name not in chosen:
            raise ValueError(f"--categorical {name!r} has another meaning too, and is no feature.")
    if not chosen:
        return stacked_columns([], len(columns)), []
    try:
        X, learnt = learnt_columns(columns, chosen, categorical)
    except ReadError as error:
        raise _with_options(error, columns, chosen, categorical) from None
    dates = [repr(column.name) for column in learnt if column.kind.startswith("date")]
    if dates:
        warnings.warn(
            f"{columns.name}: {', '.join(dates)}: dates count as days since 1970-01-01.",
            UserWarning,
            stacklevel=2,
        )
    return X, learnt


def _with_options(
    error: ReadError, columns: Columns, chosen: list[str], categorical: Sequence[str]
) -> ReadError:
    """The error with the options of the command that are a way out."""
    if not isinstance(error.column, str) or "finite" in error.reason:
        return error
    if AMBIGUOUS in error.reason:
        reason = error.reason.replace(AMBIGUOUS, "say which with --decimal , or --decimal .")
        return ReadError(reason, error.path, error.line, error.column)
    others = [
        name
        for name in chosen
        if name not in (error.column, *categorical) and columns.numbers(name) is None
    ]
    ignored = " ".join(f"--ignore {name!r}" for name in [error.column, *others][:8])
    also = f" ({', '.join(map(repr, others[:7]))} too)" if others else ""
    reason = (
        f"{error.reason} Say what the column is (--categorical, --query, --id), or leave it out"
        f"{also}: {ignored}."
    )
    return ReadError(reason, error.path, error.line, error.column)


def known_features(columns: Columns, features: list[str], cells: CellOptions) -> np.ndarray:
    """X with the features of a model; categories that it has never seen are told."""
    learnt = [FeatureColumn.from_record(record) for record in cells.learnt]
    learnt = learnt or [FeatureColumn(name) for name in features]
    X, unknown = read_as_learnt(columns, learnt)
    warn_of_unknown(columns.name, unknown)
    return X


def records_of(learnt: Sequence[FeatureColumn]) -> tuple[dict[str, Any], ...]:
    """What a model keeps about the columns; nothing if all of them are plain numbers."""
    if all(column.is_plain for column in learnt):
        return ()
    return tuple(column.record() for column in learnt)


def width_of(arrays: Sequence[dict[str, Any]]) -> int:
    """The number of features in arrays that training found."""
    return sum(int(array["width"]) for array in arrays)
