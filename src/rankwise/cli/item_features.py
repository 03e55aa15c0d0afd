"""Features from the columns of a table, and from .npy and .npz files beside it.

Errors name the options of the command. Arrays are found in training, and asked for in prediction.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from rankwise.cli.console import Mistake
from rankwise.cli.data_options import CellOptions
from rankwise.cli.run_files import named_file
from rankwise.exceptions import ReadError
from rankwise.io.array_files import as_features, read_arrays
from rankwise.io.cell_numbers import AMBIGUOUS
from rankwise.io.feature_columns import (
    FeatureColumn,
    learnt_columns,
    read_as_learnt,
    stacked_columns,
    warn_of_unknown,
)
from rankwise.io.table_columns import Columns
from rankwise.workflow.ranking_data import Items, counted

DEFAULT_NAME = "features"


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


def array_features(
    items: Items, cells: CellOptions, trained: bool
) -> tuple[list[str], list[np.ndarray], tuple[dict[str, Any], ...]]:
    """Names of features, blocks (m, n_j) in float64, and name and width of each array.

    An array of a .npz file is called by its key, that of a .npy file by the name that was given,
    NAME=FILE, else "features", "features2", ... With a model the arrays must be those of training.
    """
    found = _named_arrays(cells.features)
    for name, (path, array) in found.items():
        if len(array) != len(items):
            what = f"{path}, array {name!r}" if path.endswith("z") else path
            raise Mistake(
                f"{what} has {counted(len(array), 'row')}, but {items.source} has "
                f"{counted(len(items), 'item')}: they must be the same items in the same order."
            )
    if trained:
        _check_trained(found, cells)
        found = {record["name"]: found[record["name"]] for record in cells.arrays}
    names, blocks = [], []
    for name, (path, array) in found.items():
        names += [f"{name}_{j}" for j in range(array.shape[1])]
        blocks.append(as_features(array, path))
    clash = next((name for name in names if name in set(items.features)), None)
    if clash is not None:
        raise Mistake(f"{items.source} has a feature {clash!r} too: give --features NAME=FILE.")
    arrays = tuple({"name": name, "width": int(a.shape[1])} for name, (_, a) in found.items())
    return names, blocks, arrays


def _named_arrays(given: tuple[str, ...]) -> dict[str, tuple[str, np.ndarray]]:
    """{name: (path, array)} of all files."""
    found: dict[str, tuple[str, np.ndarray]] = {}
    unnamed = 0
    for one in given:
        prefix, path = named_file(one)
        if path == "-":
            raise Mistake("--features names a file: arrays are mapped, not read from a pipe.")
        for key, array in read_arrays(path).items():
            name = key or prefix
            if not name:
                unnamed += 1
                name = DEFAULT_NAME + (str(unnamed) if unnamed > 1 else "")
            elif key and prefix:
                name = f"{prefix}.{key}"
            if name in found:
                raise Mistake(f"two arrays are called {name!r}: give --features NAME=FILE.")
            found[name] = (path, array)
    return found


def _check_trained(found: dict[str, tuple[str, np.ndarray]], cells: CellOptions) -> None:
    """Raise an error unless the arrays are those of training."""
    wanted = {record["name"]: int(record["width"]) for record in cells.arrays}
    for name, width in wanted.items():
        if name not in found:
            has = f"; {', '.join(found)} is given" if found else ""
            raise Mistake(
                f"the model was trained with {width} features of the array {name!r}: give it with "
                f"--features (NAME=FILE names a .npy file){has}."
            )
        path, array = found[name]
        if array.shape[1] != width:
            raise Mistake(
                f"{path} has {counted(array.shape[1], 'column')}, but the model was trained on "
                f"{width} of the array {name!r}."
            )
    extra = next((name for name in found if name not in wanted), None)
    if extra is not None:
        raise Mistake(f"the model was trained without the array {extra!r}: leave it out.")
