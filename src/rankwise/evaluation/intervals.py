"""Confidence intervals of concordance and AUC, never outside [0, 1], and of paired differences.

A test of a difference pairs two estimates on the same units.
"""

from __future__ import annotations

import numbers
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.utils import check_random_state

from rankwise.evaluation.truths import Truth, most_units
from rankwise.exceptions import EstimateWarning
from rankwise.losses.item_concordance import auc_components
from rankwise.model_selection.choosing import EQUAL
from rankwise.model_selection.folds import RandomState

RESAMPLES = 10_000
FEW_PAIRS = 15
"""With fewer disjoint pairs, Wilson's interval replaces the normal one."""
TRAINING = 2.5
"""The variance of a cross-validated estimate over items, divided by the variance for one model.

Each item is judged, and it also trains the models that judge the others. Without signal both
effects are equal, which doubles the variance. Simulations need a little more
(docs/papers/evaluation.md).
"""
FEW_QUERIES = 8
"""With fewer queries resampling is unreliable: Student's interval replaces the bootstrap."""
TOO_FEW = 4
"""With fewer queries even Student's interval says little, and a warning tells so."""
CLEAR = 4.0
"""A model whose score is this many standard errors above chance has learnt something for sure."""
SETTLED = 8.0
"""So far above chance, what a model has learnt no longer depends on single queries."""


class Interval(NamedTuple):
    """Lower and upper limit."""

    low: float
    high: float


def check_level(level: float) -> None:
    if not (isinstance(level, numbers.Real) and 0 < float(level) < 1):
        raise ValueError(f"level must lie between 0 and 1, for example 0.95; got {level!r}.")


def delong(low: np.ndarray, high: np.ndarray) -> tuple[float, float, int, float]:
    """AUC, its variance (DeLong et al. 1988), size of the rarer class, degrees of freedom."""
    estimate, spread_high, spread_low = auc_components(low, high)
    return (estimate, *two_sample_variance(spread_high, len(high), spread_low, len(low)))


def two_sample_variance(
    spread_high: float, n_high: int, spread_low: float, n_low: int
) -> tuple[float, int, float]:
    """Variance of a mean over two samples, the smaller size, Satterthwaite's degrees of freedom."""
    parts = [
        max(spread, 0.0) / (n * (n - 1)) if n > 1 else 0.0
        for spread, n in ((spread_high, n_high), (spread_low, n_low))
    ]
    variance, fewer = sum(parts), min(n_high, n_low)
    if variance == 0.0 or fewer < 2:
        return 0.0, fewer, np.inf
    freedom = variance**2 / (parts[0] ** 2 / (n_high - 1) + parts[1] ** 2 / (n_low - 1))
    return variance, fewer, freedom


def score_interval(
    estimate: float, variance: float, level: float, *, disjoint: int, freedom: float = np.inf
) -> tuple[float, float]:
    """The normal interval if it can be trusted, else Wilson's with Student's quantile.

    Pairs that share items carry as much information as A(1 − A)/variance independent pairs.
    `disjoint` is the largest possible number of pairs without a common item. A variance that
    implies more than four times as many independent pairs is underestimated, so that bound is
    used in its place; a variance of zero counts as `disjoint` independent pairs.
    """
    error = np.sqrt(variance)
    if disjoint >= FEW_PAIRS and 1e-12 < error <= min(estimate, 1 - estimate) / 3:
        return normal_interval(estimate, variance, level)
    if error <= 1e-12:
        return _wilson(estimate, disjoint, stats.norm.ppf(0.5 + level / 2))
    independent = max(estimate * (1 - estimate) / variance, 1e-3)
    return _wilson(estimate, min(independent, 4 * disjoint), stats.t.ppf(0.5 + level / 2, freedom))


def interval_of_share(
    share: float, variance: float, level: float, units: int
) -> tuple[float, float]:
    """For a share of statements whose variance was taken over `units` pairs of items, or groups.

    Student's interval, or Wilson's if the share is within three standard errors of 0 or 1; for as
    many trials as there are units if the variance is zero.
    """
    if not np.isfinite(variance) or variance < 1e-24:
        return _wilson(share, units, stats.norm.ppf(0.5 + level / 2))
    error, quantile = np.sqrt(variance), stats.t.ppf(0.5 + level / 2, max(units - 1, 1))
    if error <= min(share, 1 - share) / 3:
        return max(float(share - quantile * error), 0.0), min(float(share + quantile * error), 1.0)
    return _wilson(share, max(share * (1 - share) / variance, 1e-3), quantile)


def student_interval(
    mean: float,
    variance: float,
    level: float,
    q: int,
    limits: tuple[float, float] = (0.0, 1.0),
) -> tuple[float, float]:
    """For a mean over q queries of a measure that lies between the `limits`, where it is cut.

    If all queries agree, or if there is only one, they say nothing about the variance. A measure
    between two limits varies at most as much as one that takes only these two values, so its
    interval is then Wilson's for a share of q trials; without limits it is the whole range.
    """
    least, greatest = limits
    if variance < 1e-24 or q < 2:
        width = greatest - least
        if not np.isfinite(width):
            return limits
        share = min(max((mean - least) / width, 0.0), 1.0)
        low, high = _wilson(share, q, stats.norm.ppf(0.5 + level / 2))
        return min(least + width * low, float(mean)), max(least + width * high, float(mean))
    reach = stats.t.ppf(0.5 + level / 2, q - 1) * np.sqrt(variance)
    return max(float(mean - reach), least), min(float(mean + reach), greatest)


def interval_over_queries(
    values: np.ndarray,
    level: float,
    random_state: RandomState,
    limits: tuple[float, float] = (0.0, 1.0),
) -> tuple[float, float]:
    """For the mean of one value per query: Student's interval for few queries, else the bootstrap.

    It never has zero width unless the measure has none left: see `student_interval`.
    """
    q = len(values)
    if q < FEW_QUERIES or np.ptp(values) < 1e-12:
        variance = values.var(ddof=1) / q if q > 1 else 0.0
        return student_interval(float(values.mean()), variance, level, q, limits)
    low, high = bootstrap_interval(values, level, check_random_state(random_state))
    return max(low, limits[0]), min(high, limits[1])


def warn_of_few(units: int, what: str = "queries", stacklevel: int = 2) -> None:
    """Say that an estimate over so few queries or folds tells little."""
    if units < TOO_FEW:
        warnings.warn(
            f"the estimate rests on {units} {what} only: its standard error and interval say "
            f"little. {TOO_FEW} are the least that can be trusted.",
            EstimateWarning,
            stacklevel=stacklevel + 1,
        )


def bootstrap_interval(
    values: np.ndarray, level: float, random_state: np.random.RandomState
) -> tuple[float, float]:
    """For the mean of one value per query: percentiles of the means of resampled queries.

    The percentiles are moved outwards to the width of Student's interval, because the plain ones
    are too narrow for few queries.
    """
    q = len(values)
    at_once = max(1, 4_000_000 // q)
    means = []
    for start in range(0, RESAMPLES, at_once):
        drawn = random_state.randint(q, size=(min(at_once, RESAMPLES - start), q))
        means.append(values[drawn].mean(axis=1))
    outer = stats.norm.cdf(-np.sqrt(q / (q - 1)) * stats.t.ppf(0.5 + level / 2, q - 1))
    low, high = np.quantile(np.concatenate(means), [outer, 1 - outer])
    return float(low), float(high)


def normal_interval(estimate: float, variance: float, level: float) -> tuple[float, float]:
    reach = stats.norm.ppf(0.5 + level / 2) * np.sqrt(variance)
    return float(estimate - reach), float(estimate + reach)


def _wilson(estimate: float, pairs: float, quantile: float) -> tuple[float, float]:
    """Wilson's score interval of a share among this number of independent pairs."""
    squared = quantile**2
    centre = (estimate + squared / (2 * pairs)) / (1 + squared / pairs)
    inner = estimate * (1 - estimate) / pairs + squared / (4 * pairs**2)
    reach = quantile * np.sqrt(max(inner, 0.0)) / (1 + squared / pairs)
    low, high = min(centre - reach, estimate), max(centre + reach, estimate)
    return max(float(low), 0.0), min(float(high), 1.0)


def freedom_of_units(y: Truth, units: int) -> dict[str, int]:
    """Pairs without a common item (or group), each of which takes an event, and degrees of freedom.

    `units` is the number of items, or of groups of items.
    """
    most = most_units(y, units)
    return {"disjoint": max(min(most, units // 2), 1), "freedom": max(most - 1, 1)}


def jackknife_of_shares(counted: np.ndarray, right: np.ndarray) -> tuple[float, float]:
    """The share of pairs in the right order, and its jackknife variance over items; O(m).

    Item i is in pairs of weight counted_i, of which right_i are in the right order.
    """
    pairs, hits, m = counted.sum() / 2, right.sum() / 2, len(counted)
    left = pairs - counted
    some = left > 0
    values = (hits - right)[some] / left[some]
    return hits / pairs, (m - 1) / m * float(((values - values.mean()) ** 2).sum())


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
