"""Tests and intervals of a difference between two estimates on the same units."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from rankwise.evaluation.intervals import TRAINING, student_interval
from rankwise.model_selection.choosing import EQUAL

CLEAR = 4.0
"""A model whose score is this many standard errors above chance has learnt something for sure."""
SETTLED = 8.0
"""So far above chance, what a model has learnt no longer depends on single queries."""


class PairedDifference(NamedTuple):
    """A difference of two scores; the squares of `influence` sum to its squared standard error.

    `n_units` queries or folds were paired; None if the units are single items, which are many.
    """

    difference: float
    influence: np.ndarray
    n_units: int | None = None

    def interval(
        self, level: float = 0.95, limits: tuple[float, float] = (-1.0, 1.0)
    ) -> tuple[float, float]:
        """Student's interval, or the normal one over items; it never has zero width."""
        squared = float(self.influence @ self.influence)
        variance = squared if np.isfinite(squared) else 0.0
        if self.n_units is not None or variance < EQUAL**2:
            units = _disjoint(self.influence) if self.n_units is None else self.n_units
            return student_interval(self.difference, variance, level, units, limits)
        reach = stats.norm.ppf(0.5 + level / 2) * np.sqrt(variance)
        low, high = self.difference - reach, self.difference + reach
        return max(float(low), limits[0]), min(float(high), limits[1])

    @property
    def p_value(self) -> float:
        return paired_p(self.difference, self.influence, self.n_units)


def training_factor(
    difference: np.ndarray, trained: tuple[np.ndarray, ...], above_chance: float
) -> float:
    """By how much training increases the variance of a difference with these influence values.

    `trained` are the influence values of those of the two models that were trained.

    Both: TRAINING, as for a single estimate. None: 1, because existing scores do not depend on the
    queries that judge them. One: the part of the variance that is the model's own is multiplied by
    TRAINING if the model is at chance, and by less the further its score is above chance (in
    standard errors): a model that has found the signal changes little if one query of its training
    set is exchanged. docs/evaluation.md has the simulated levels.
    """
    if len(trained) == 2:
        return TRAINING
    whole = float(difference @ difference)
    if not trained or not whole > EQUAL**2:
        return 1.0
    doubt = min(max(1.0 - above_chance / SETTLED, 0.0), 1.0)
    own = min(float(trained[0] @ trained[0]), whole)
    return 1.0 + (TRAINING - 1.0) * doubt * own / whole


def paired_p(difference: float, influence: np.ndarray, n_units: int | None = None) -> float:
    """Two-sided p-value of a difference whose squared standard error is the sum of influence².

    Over items the difference is about normal. The error over a few queries is uncertain itself:
    Student's distribution with q − 1 degrees of freedom. If all q differences are equal, they say
    nothing about the error, and p is 2^(1 − q), the share of all combinations of signs in which
    every difference has the same sign; items count as pairs without a common item.
    """
    if abs(difference) < EQUAL:
        return 1.0
    if n_units is not None and n_units < 2:
        return 1.0
    error = float(np.sqrt(influence @ influence))
    if error < EQUAL:
        return 2.0 ** (1 - (_disjoint(influence) if n_units is None else n_units))
    statistic = abs(difference) / error
    distribution = stats.norm if n_units is None else stats.t(n_units - 1)
    return float(2 * distribution.sf(statistic))


def _disjoint(influence: np.ndarray) -> int:
    """The number of pairs without a common item."""
    return max(len(influence) // 2, 1)


def holm(p_values: ArrayLike) -> np.ndarray:
    """Holm's step-down correction of p-values in ascending order."""
    p = np.asarray(p_values)
    return np.minimum(np.maximum.accumulate(p * np.arange(len(p), 0, -1)), 1.0)
