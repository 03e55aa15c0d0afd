"""Checks of what statements about pairs of items are made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankwise.validation import refuse_masked, refuse_unreal

Values = Sequence[float] | np.ndarray


MOST_ITEMS = 2**31
"""Row numbers are below this, so that the number of a pair of items fits into 64 bits."""


def checked_item_numbers(values: Values, name: str) -> np.ndarray:
    refuse_masked(values, name)
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}.")
    if array.size == 0:
        return np.zeros(0, dtype=np.intp)
    whole = array.dtype.kind == "f" and np.isfinite(array).all() and np.all(array % 1 == 0)
    if array.dtype.kind not in "iu" and not whole:
        raise ValueError(f"{name} must hold row numbers (integers), got {array.dtype}.")
    outside = ~((array >= 0) & (array < MOST_ITEMS))
    if outside.any():
        i = int(np.argmax(outside))
        raise ValueError(
            f"preference {i}: {name} is {array[i]}, which is no row number: rows are numbered from "
            "0. Preferences.from_votes takes names of items instead."
        )
    return array.astype(np.intp)


def checked_values(values: Values | None, name: str, length: int) -> np.ndarray:
    if values is None:
        return np.ones(length)
    refuse_unreal(values, name)
    array = np.array(values, dtype=float)
    if array.shape != (length,):
        raise ValueError(f"{name} must have shape ({length},), got {array.shape}.")
    refuse_where(~np.isfinite(array), f"{name} must be finite")
    return array


def checked_marks(tie: Sequence[bool] | np.ndarray | None, length: int) -> np.ndarray:
    if tie is None:
        return np.zeros(length, dtype=bool)
    refuse_masked(tie, "tie")
    marks = np.asarray(tie)
    if marks.shape != (length,):
        raise ValueError(f"tie must have shape ({length},), got {marks.shape}.")
    if marks.dtype != bool and not np.isin(marks, (0, 1)).all():
        raise ValueError("tie must hold True and False only.")
    return marks.astype(bool)


def checked_positions(chosen: np.ndarray, length: int) -> np.ndarray:
    """Positions of `length` things, from a mask of that length or from numbers below it."""
    if chosen.dtype == bool:
        if chosen.shape != (length,):
            raise ValueError(f"a mask must have shape ({length},), got {chosen.shape}.")
        return np.flatnonzero(chosen)
    if chosen.size == 0:
        return np.zeros(0, dtype=np.intp)
    if chosen.dtype.kind not in "iu" or chosen.ndim != 1:
        raise ValueError("positions must be integers, a mask or a slice.")
    outside = (chosen < -length) | (chosen >= length)
    if outside.any():
        raise IndexError(f"position {chosen[np.argmax(outside)]} is not among {length}.")
    return np.where(chosen < 0, chosen + length, chosen)


def refuse_where(bad: np.ndarray, reason: str) -> None:
    if bad.any():
        raise ValueError(f"preference {int(np.argmax(bad))}: {reason}.")
