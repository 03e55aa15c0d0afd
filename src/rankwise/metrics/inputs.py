"""The one door of all measures: real vectors of equal length, finite and not empty."""

from __future__ import annotations

import numpy as np

from rankwise.exceptions import UndefinedMetric
from rankwise.validation import refuse_non_finite


def real_array(values, name: str) -> np.ndarray:
    """Real numbers as float64, nan and inf still in place."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise TypeError("complex numbers")
        return array.astype(np.float64, order="C", copy=False)
    except (TypeError, ValueError) as error:
        reason = str(error).rstrip(".")
        raise ValueError(f"{name} must hold real numbers: {reason}.") from error


def finite_vector(values, name: str) -> np.ndarray:
    """Finite float64 (m,); a single column (m, 1) is taken as a vector."""
    array = real_array(values, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0].copy()
    if array.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, one score an item, got shape {array.shape}; "
            "measure the columns one by one."
        )
    refuse_non_finite(array, name)
    return array


def true_and_predicted(y, s) -> tuple[np.ndarray, np.ndarray]:
    """y and s as finite float64 (m,), m at least 1."""
    y, s = finite_vector(y, "y"), finite_vector(s, "s")
    if len(y) != len(s):
        raise ValueError(f"y and s must have the same length, got {len(y)} and {len(s)}.")
    if not len(y):
        raise UndefinedMetric("y and s are empty: a measure needs at least one item.")
    return y, s
