"""From the items of a request, which are objects with values by name, to the matrix of a model."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from rankwise.validation import refuse_unreal

SHOWN = 60
"""Characters of a value in an error."""
EXACT = 2.0**53
"""Larger integers may not equal any float64."""

Item = dict[str, Any]


def numeric_rows(items: Sequence[Item], features: Sequence[str]) -> np.ndarray:
    """(m, n) numbers; nan where an item has null or lacks the feature.

    A feature that all items lack is an error, and so is a value that is no number. O(m n).
    """
    try:
        values = list(map(itemgetter(*features), items))
        X = np.array(values).reshape(len(items), len(features))
    except (KeyError, ValueError):  # lacking features, or lists of different lengths as values
        X = None
    if X is not None and X.dtype.kind in "fiub":
        if X.dtype.kind in "iu":
            refuse_unreal(X, "X")
        X = X.astype(np.float64)
        if not (np.abs(X) > EXACT).any():
            return X
    return _row_by_row(items, features)


def _row_by_row(items: Sequence[Item], features: Sequence[str]) -> np.ndarray:
    present = set().union(*items)
    absent = [name for name in features if name not in present]
    if absent:
        shown = ", ".join(map(repr, absent[:5])) + (", ..." if len(absent) > 5 else "")
        raise ValueError(
            f"the items lack {len(absent)} of the model's {len(features)} features: {shown}."
        )
    X = np.empty((len(items), len(features)))
    for i, item in enumerate(items):
        for j, name in enumerate(features):
            X[i, j] = _number(item.get(name), i, name)
    return X


def _number(value: Any, row: int, name: str) -> float:
    if value is None:
        return float("nan")
    if not isinstance(value, int | float):
        raise ValueError(f"items[{row}]: {name!r} holds {shown(value)}, which is not a number.")
    number = float(value)
    if number != value and number == number:
        raise ValueError(
            f"items[{row}]: {name!r} holds the integer {value}, which is no float64: subtract an "
            "offset first."
        )
    return number


def framed_rows(items: Sequence[Item], features: Sequence[str]) -> Any:
    """A pandas frame with the columns of the model, for pipelines that encode text."""
    import pandas

    present = set().union(*items)
    absent = [name for name in features if name not in present]
    if absent:
        raise ValueError(
            f"the items lack {len(absent)} of the model's {len(features)} features: "
            f"{', '.join(map(repr, absent[:5]))}."
        )
    for i, item in enumerate(items):
        for name in features:
            if isinstance(item.get(name), dict | list):
                raise ValueError(f"items[{i}]: {name!r} holds {shown(item[name])}, no value.")
    columns = {name: [item.get(name) for item in items] for name in features}
    return pandas.DataFrame(columns, columns=list(features))


def shown(value: Any) -> str:
    """A value of a request in an error: short, whatever was sent."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
