"""Ranks that scores leave open, for all items at once.

An item is surely above another if the difference of their scores exceeds c standard errors, where
the largest of all |error|/(standard error) stays below c with probability `level`. Then all such
statements are right together, and the rank of item i lies between 1 + (items surely above i) and
n − (items surely below i): the joint confidence region of Klein, Wright and Wieczorek (2020), *A
joint confidence region for an overall ranking of populations*, with the max-t critical value of
Mogstad, Romano, Shaikh and Wilhelm (2024), *Inference for ranks*.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import stats

from rankwise.numerics.compiled import compiled
from rankwise.numerics.threads import over_ranges

DRAWS = 5000
MANY_ITEMS = 1000
"""Beyond so many items c is Bonferroni's, which is somewhat larger, instead of simulated."""
ROWS = 512
"""Rows of the covariance that are looked at together."""
NO_ERROR = 1e-12
"""Differences whose variance is below this share of the largest one are not errors at all."""


def critical_value(
    covariance: np.ndarray, level: float, degrees: int | None, random_state: int | None
) -> float:
    """c: the quantile of max |error_i − error_j| / (standard error), over all pairs.

    `degrees` are those of Student's distribution; None is the normal one. DRAWS simulations, in
    O(DRAWS n²), with a fixed seed by default.
    """
    n = len(covariance)
    if n > MANY_ITEMS:
        tail = (1 - level) / (n * (n - 1))
        return float(stats.norm.isf(tail) if degrees is None else stats.t.isf(tail, degrees))
    rng = np.random.default_rng(0 if random_state is None else random_state)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    errors = rng.standard_normal((DRAWS, n)) @ root.T
    if degrees is not None:
        errors *= np.sqrt(degrees / rng.chisquare(degrees, DRAWS))[:, None]
    largest = np.zeros(DRAWS)
    inverse = inverse_deviations(covariance)
    over_ranges(partial(_largest_differences, errors, inverse, largest), DRAWS, DRAWS * n * n)
    rank = min(int(np.ceil(level * (DRAWS + 1))), DRAWS) - 1
    return float(np.partition(largest, rank)[rank])


def rank_bounds(f: np.ndarray, covariance: np.ndarray, c: float) -> np.ndarray:
    """(n, 2) first and last plausible rank, 1 being the best; O(n²) time, a few rows at a time."""
    bounds, largest = np.empty((len(f), 2), dtype=int), _largest_variance(covariance)
    for low in range(0, len(f), ROWS):
        rows = slice(low, low + ROWS)
        z = (f[rows, None] - f) * _inverse_deviations(covariance, rows, largest)
        bounds[rows, 0] = 1 + (z < -c).sum(axis=1)
        bounds[rows, 1] = len(f) - (z > c).sum(axis=1)
    return bounds


def inverse_deviations(covariance: np.ndarray) -> np.ndarray:
    """(n, n) 1 / standard error of each difference, 0 where it is no error."""
    return _inverse_deviations(covariance, slice(None), _largest_variance(covariance))


def _variances(covariance: np.ndarray, rows: slice) -> np.ndarray:
    diagonal = covariance.diagonal()
    return np.asarray(diagonal[rows, None] + diagonal - 2 * covariance[rows])


def _largest_variance(covariance: np.ndarray) -> float:
    starts = range(0, len(covariance), ROWS)
    return max(float(_variances(covariance, slice(low, low + ROWS)).max()) for low in starts)


def _inverse_deviations(covariance: np.ndarray, rows: slice, largest: float) -> np.ndarray:
    variance = _variances(covariance, rows)
    counts = variance > NO_ERROR * max(largest, np.finfo(float).tiny)
    return np.where(counts, 1.0 / np.sqrt(np.where(counts, variance, 1.0)), 0.0)


@compiled
def _largest_differences(
    errors: np.ndarray, inverse: np.ndarray, largest: np.ndarray, low: int, high: int
) -> None:
    n = errors.shape[1]
    for b in range(low, high):
        most = 0.0
        for i in range(n):
            for j in range(i):
                most = max(most, abs(errors[b, i] - errors[b, j]) * inverse[i, j])
        largest[b] = most
