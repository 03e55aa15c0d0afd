"""Columns of data frames by their names: a frame in another order gives the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def column_names(X: Any) -> np.ndarray | None:
    """The names of the columns of a pandas or polars frame, or None if X has no names of text."""
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return None
    names = list(X.columns)
    return np.array(names, dtype=object) if all(isinstance(n, str) for n in names) else None


def matched_columns(X: Any, names: Sequence[str] | np.ndarray | None) -> Any:
    """The frame X with the columns `names` in this order, where it has them all.

    Other columns are left out. If one of the names is absent, X keeps what it has of them in their
    order, so that the caller's check can say what is missing. Arrays, and frames whose columns have
    no names, stay as they are.
    """
    if names is None or not len(names):
        return X
    given = column_names(X)
    if given is None or list(given) == list(names) or len(set(given)) < len(given):
        return X
    present = set(given)
    found = [str(name) for name in names if name in present]
    return X[found] if found else X


def require_columns(X: Any, names: Sequence[str] | np.ndarray, what: str) -> Any:
    """The columns `names` of the frame X; a ValueError names those that are absent."""
    given = column_names(X)
    absent = [] if given is None else [str(name) for name in names if name not in set(given)]
    if absent:
        shown = ", ".join(map(repr, absent[:5])) + (", ..." if len(absent) > 5 else "")
        raise ValueError(
            f"{what} lacks {len(absent)} of the model's {len(names)} features: {shown}."
        )
    return matched_columns(X, names)
