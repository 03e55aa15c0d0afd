"""Input checks that all measures share: real, finite vectors of equal length, at least one item."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.exceptions import UndefinedMetric
from rankwise.supervision.censored import Censored, read_censored
from rankwise.validation import refuse_non_finite, refuse_unreal


def real_array(values: ArrayLike, name: str) -> np.ndarray:
    """Real numbers as float64; nan and infinity are kept for the caller to judge."""
    try:
        refuse_unreal(values, name)
        array = np.asarray(values)
        refuse_unreal(array, name)
        return array.astype(np.float64, order="C", copy=False)
    except (TypeError, ValueError) as error:
        if str(error).startswith((name, "Complex")):
            raise
        reason = str(error).rstrip(".")
        raise ValueError(f"{name} must hold real numbers: {reason}.") from error


def finite_vector(values: ArrayLike, name: str) -> np.ndarray:
    """Finite float64 (m,); a single column (m, 1) is accepted as a vector."""
    array = real_array(values, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0].copy()
    if array.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional with one score per item, got shape {array.shape}; "
            "measure the columns one by one."
        )
    refuse_non_finite(array, name)
    return array


def true_and_predicted(y: ArrayLike, s: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """y and s as finite float64 (m,) with m ≥ 1."""
    y, s = finite_vector(y, "y"), finite_vector(s, "s")
    if len(y) != len(s):
        raise ValueError(f"y and s must have the same length, got {len(y)} and {len(s)}.")
    if not len(y):
        raise UndefinedMetric("y and s are empty: a measure needs at least one item.")
    return y, s


def outcome_and_predicted(y: Any, s: ArrayLike) -> tuple[Any, np.ndarray]:
    """The same where y may also be censored outcomes: a Censored, or a structured array."""
    outcome = read_censored(y)
    if outcome is None:
        return true_and_predicted(y, s)
    return outcome, true_and_predicted(outcome.time, s)[1]


def no_pair_to_order(with_queries: bool, y: Any = None) -> UndefinedMetric:
    """The error for a y that prefers no item to another."""
    if isinstance(y, Censored):
        where = "in any stratum " if with_queries else ""
        return UndefinedMetric(
            f"no item {where}is known to have lived longer than one that had the event, so there "
            f"is no pair to order ({len(y)} items, {int(y.event.sum())} events)."
        )
    which = "no query holds two values of y" if with_queries else "y holds only one value"
    return UndefinedMetric(f"{which}, so there is no pair to order.")
