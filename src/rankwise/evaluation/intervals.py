"""Confidence intervals of concordance and AUC, never outside [0, 1]."""

from __future__ import annotations

import numbers

import numpy as np
from scipy import stats
from sklearn.utils import check_random_state

from rankwise.exceptions import UndefinedMetric
from rankwise.losses.item_concordance import auc_components, item_concordance
from rankwise.losses.pair_counts import concordant_pairs
from rankwise.metrics.inputs import true_and_predicted
from rankwise.supervision.queries import Queries
from rankwise.validation import check_choice

METHODS = {
    "auto": "bootstrap with queries, else delong for two values of y, else jackknife",
    "delong": "AUC: DeLong's variance, O(m log m)",
    "jackknife": "concordance of real scores: items left out one by one, O(m log m)",
    "bootstrap": "mean over queries: queries resampled",
}
RESAMPLES = 10_000
FEW_PAIRS = 15
"""With fewer pairs without a common item, Wilson's interval replaces the normal one."""
TRAINING = 2.5
"""Variance of a cross-validated estimate over items in units of that of one model's scores.

An item is judged and also trains the models that judge the others: at no signal both count the
same, which doubles the variance. Simulation asks for a little more (docs/papers/evaluation.md).
"""
FEW_QUERIES = 8
"""Resampling fewer queries says too little: Student's interval replaces the bootstrap."""


def confidence_interval(
    y, s, qid=None, *, level=0.95, method="auto", random_state=None
) -> tuple[float, float]:
    """Low and high end of an interval for the concordance of s with y; the AUC where y is binary.

    The scores s must come from data that the model has not seen, by one model: items (with qid:
    queries) are taken to be independent. For leave-pair-out see `leave_pair_out_interval`.

    `method` "auto": with queries the bootstrap over queries of the mean over queries; else
    DeLong's variance where y has two values, and the jackknife over items where it has more, all
    in O(m log m). Where items are few or the estimate A is within three standard errors of 0 or
    1, the normal interval is too short, and Wilson's takes its place, for A(1 − A)/variance
    independent pairs; with fewer than 8 queries Student's interval stands in for the bootstrap.
    method="delong" is always the plain normal interval, cut at 0 and 1. Simulated coverage is in
    docs/papers/evaluation.md.
    """
    check_choice("method", method, METHODS)
    check_level(level)
    y, s = true_and_predicted(y, s)
    queries = Queries.from_labels(qid, len(y))
    if method == "auto" and len(queries) > 1:
        method = "bootstrap"
    if method == "bootstrap":
        return _over_queries(y, s, queries, level, random_state)
    if len(queries) > 1:
        raise ValueError(f"method={method!r} judges a single query: leave qid out, or bootstrap.")
    if not np.any(y != y[0]):
        raise UndefinedMetric("y holds only one value, so there is no pair to order.")
    if not np.any(s != s[0]):
        raise UndefinedMetric("s is constant: scores that order nothing have no interval.")
    low, high = y.min(), y.max()
    is_binary = bool(np.all((y == low) | (y == high)))
    if method == "delong" and not is_binary:
        raise ValueError('method="delong" needs two values of y: use "jackknife".')
    if method == "jackknife" or not is_binary:
        estimate, variance = _jackknife(y, s, queries)
        return score_interval(estimate, variance, level, apart=len(y) // 2, freedom=len(y) - 1)
    estimate, variance, fewer, freedom = delong(s[y == low], s[y == high])
    if method == "delong":
        if fewer < 2:
            raise UndefinedMetric('method="delong" needs two items of each class.')
        return normal_interval(estimate, variance, level, cut=True)
    return score_interval(estimate, variance, level, apart=fewer, freedom=freedom)


def check_level(level) -> None:
    if not (isinstance(level, numbers.Real) and 0 < float(level) < 1):
        raise ValueError(f"level must lie between 0 and 1, for example 0.95; got {level!r}.")


def delong(low: np.ndarray, high: np.ndarray) -> tuple[float, float, int, float]:
    """AUC, its variance (DeLong et al. 1988), the size of the rarer class, degrees of freedom."""
    estimate, spread_high, spread_low = auc_components(low, high)
    return (estimate, *two_sample_variance(spread_high, len(high), spread_low, len(low)))


def two_sample_variance(spread_high, n_high, spread_low, n_low) -> tuple[float, int, float]:
    """Variance of a mean over two samples, the smaller size, Satterthwaite's freedom."""
    parts = [
        max(spread, 0.0) / (n * (n - 1)) if n > 1 else 0.0
        for spread, n in ((spread_high, n_high), (spread_low, n_low))
    ]
    variance, fewer = sum(parts), min(n_high, n_low)
    if variance == 0.0 or fewer < 2:
        return 0.0, fewer, np.inf
    freedom = variance**2 / (parts[0] ** 2 / (n_high - 1) + parts[1] ** 2 / (n_low - 1))
    return variance, fewer, freedom


def normal_interval(estimate, variance, level, cut=False) -> tuple[float, float]:
    reach = stats.norm.ppf(0.5 + level / 2) * np.sqrt(variance)
    low, high = float(estimate - reach), float(estimate + reach)
    return (max(low, 0.0), min(high, 1.0)) if cut else (low, high)


def score_interval(estimate, variance, level, *, apart, freedom=np.inf) -> tuple[float, float]:
    """The normal interval where it can be trusted, else Wilson's with Student's quantile.

    Pairs that share items tell as much as A(1 − A)/variance independent ones. `apart` is the
    number of pairs without a common item, as many as there can be: a variance that claims more
    than four times their worth was underestimated, and one of zero is worth as much as they are.
    """
    error = np.sqrt(variance)
    if apart >= FEW_PAIRS and 1e-12 < error <= min(estimate, 1 - estimate) / 3:
        return normal_interval(estimate, variance, level)
    if error <= 1e-12:
        return wilson(estimate, apart, stats.norm.ppf(0.5 + level / 2))
    worth = max(estimate * (1 - estimate) / variance, 1e-3)
    return wilson(estimate, min(worth, 4 * apart), stats.t.ppf(0.5 + level / 2, freedom))


def student_interval(mean, variance, level, q: int) -> tuple[float, float]:
    """Of a mean over q queries, cut at 0 and 1; Wilson's where all queries agree."""
    if variance < 1e-24 or q < 2:
        return wilson(mean, q, stats.norm.ppf(0.5 + level / 2))
    reach = stats.t.ppf(0.5 + level / 2, q - 1) * np.sqrt(variance)
    return max(float(mean - reach), 0.0), min(float(mean + reach), 1.0)


def wilson(estimate, pairs, quantile) -> tuple[float, float]:
    """Wilson's score interval of a proportion among so many independent pairs."""
    squared = quantile**2
    centre = (estimate + squared / (2 * pairs)) / (1 + squared / pairs)
    inner = estimate * (1 - estimate) / pairs + squared / (4 * pairs**2)
    reach = quantile * np.sqrt(max(inner, 0.0)) / (1 + squared / pairs)
    low, high = min(centre - reach, estimate), max(centre + reach, estimate)
    return max(float(low), 0.0), min(float(high), 1.0)


def _jackknife(y, s, queries: Queries) -> tuple[float, float]:
    """Concordance and the variance of its leave-one-item-out values."""
    counted, right = item_concordance(y, s, queries)
    pairs, hits, m = counted.sum() / 2, right.sum() / 2, len(y)
    left = pairs - counted
    some = left > 0
    values = (hits - right)[some] / left[some]
    return hits / pairs, (m - 1) / m * float(((values - values.mean()) ** 2).sum())


def _over_queries(y, s, queries: Queries, level, random_state) -> tuple[float, float]:
    """Percentiles of the resampled mean, widened to a t interval's reach where queries are few."""
    pairs, right = concordant_pairs(y, s[:, None], queries)
    judged = pairs > 0
    values = right[judged, 0] / pairs[judged]
    q = len(values)
    if q == 0:
        raise UndefinedMetric("no query holds two values of y, so there is no pair to order.")
    if q == 1:
        raise UndefinedMetric(
            "only one query has a pair: a bootstrap over queries needs two. Leave qid out to "
            "judge the items of that query."
        )
    order, starts = queries.order, queries.starts[:-1]
    if np.all(np.maximum.reduceat(s[order], starts) == np.minimum.reduceat(s[order], starts)):
        raise UndefinedMetric(
            "s is constant within every query: scores that order nothing have no interval."
        )
    if q < FEW_QUERIES or np.ptp(values) < 1e-12:
        return student_interval(values.mean(), values.var(ddof=1) / q, level, q)
    means = _resampled_means(values, check_random_state(random_state))
    outer = stats.norm.cdf(-np.sqrt(q / (q - 1)) * stats.t.ppf(0.5 + level / 2, q - 1))
    low, high = np.quantile(means, [outer, 1 - outer])
    return float(max(low, 0.0)), float(min(high, 1.0))


def _resampled_means(values: np.ndarray, random_state) -> np.ndarray:
    q = len(values)
    at_once = max(1, 4_000_000 // q)
    parts = []
    for start in range(0, RESAMPLES, at_once):
        drawn = random_state.randint(q, size=(min(at_once, RESAMPLES - start), q))
        parts.append(values[drawn].mean(axis=1))
    return np.concatenate(parts)
