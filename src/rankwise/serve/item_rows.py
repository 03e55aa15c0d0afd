"""From the items of a request, which are objects with values by name, to the matrix of a model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
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


def categorical_rows(
    items: Sequence[Item], columns: Sequence[str], levels: dict[str, list[str]]
) -> np.ndarray:
    """As `numeric_rows`, but a column with levels becomes one column of 0 and 1 for each of them.

    A value that is none of the levels has 0 everywhere, a missing one nan, as in training.
    """
    numbers = [name for name in columns if name not in levels]
    plain = dict(zip(numbers, numeric_rows(items, numbers).T)) if numbers else {}
    present = set().union(*items)
    blocks = []
    for name in columns:
        if name not in levels:
            blocks.append(plain[name][:, None])
            continue
        if name not in present:
            raise ValueError(f"the items lack {name!r}, one of the model's {len(columns)} columns.")
        values = [_text(item.get(name), i, name) for i, item in enumerate(items)]
        known = np.array(levels[name], dtype=object)
        block = (np.array(values, dtype=object)[:, None] == known).astype(float)
        block[[value is None for value in values]] = np.nan
        blocks.append(block)
    return np.hstack(blocks)


def _text(value: Any, row: int, name: str) -> str | None:
    if isinstance(value, dict | list):
        raise ValueError(f"items[{row}]: {name!r} holds {shown(value)}, which is no category.")
    text = "" if value is None else str(value).strip()
    return text or None


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


def missing_values(
    items: Sequence[Item], columns: Sequence[str], categories: Collection[str] = ()
) -> list[tuple[int, str]]:
    """The items and columns without a value, in the order of the items.

    A blank text is no value of a column of `categories`.
    """
    return [
        (i, name)
        for i, item in enumerate(items)
        for name in columns
        if item.get(name) is None or (name in categories and not str(item[name]).strip())
    ]


def shown(value: Any) -> str:
    """A value of a request in an error: short, whatever was sent."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
