"""Integers that a conversion to float64 would change."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

LARGEST_EXACT = 2**53
"""All integers up to this are exact as float64; beyond it, neighbours are the same float."""


def first_inexact(array: np.ndarray) -> tuple[int, ...] | None:
    """The place of the first integer that differs from its float64, if there is any.

    One pass over integers of 64 bits, one over the entries of an object array; else nothing.
    """
    if array.dtype.kind == "O":
        wrong = np.array([_is_inexact(value) for value in array.ravel()], dtype=bool)
    elif array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size:
        if int(array.min()) >= -LARGEST_EXACT and int(array.max()) <= LARGEST_EXACT:
            return None
        with np.errstate(invalid="ignore"):
            wrong = (array.astype(np.float64).astype(array.dtype) != array).ravel()
    else:
        return None
    if not wrong.any():
        return None
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), array.shape))


def _is_inexact(value: Any) -> bool:
    if not isinstance(value, Integral) or -LARGEST_EXACT <= int(value) <= LARGEST_EXACT:
        return False
    try:
        return int(float(int(value))) != int(value)
    except OverflowError:
        return True
