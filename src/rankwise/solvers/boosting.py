"""RankBoost: a weighted sum of threshold rankers, boosted on pairs that are never enumerated.

Freund, Iyer, Schapire, Singer (2003). The weight of a pair x₁ ≻ x₀ after any number of rounds is
v₀ v₁ exp(H(x₀) − H(x₁)), a product of one factor per item. So sums over the score levels below and
above give the potential of every item in O(m), however many levels there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from rankwise.losses.pair_counts import sorted_within
from rankwise.numerics.compiled import compiled
from rankwise.numerics.threads import over_ranges
from rankwise.supervision.queries import Queries

EQUAL = 1e-10
"""Advantages closer than this are equal, so that rounding does not choose between rankers."""
USELESS = 1e-12
"""Boosting ends if no threshold has a larger advantage over chance than this."""
RANKER = np.dtype([("feature", np.int64), ("threshold", np.float64), ("missing", np.float64)])


class Threshold(NamedTuple):
    """h(x) = 1 if x[feature] > threshold, else 0; `missing` if x[feature] is nan."""

    feature: int
    threshold: float
    missing: float

    def ranks(self, X: np.ndarray) -> np.ndarray:
        """h(x) for every row of X."""
        x = X[:, self.feature]
        return np.where(np.isnan(x), self.missing, x > self.threshold)


def boost(
    X: np.ndarray, pairs: PairDistribution, rounds: int, learning_rate: float
) -> tuple[np.ndarray, np.ndarray]:
    """The threshold rankers (a structured array) of at most so many rounds, and their weights.

    Each round takes the ranker with the largest |r| and weighs it by ½ ln((1 + r)/(1 − r)), where r
    is smoothed by the share of one pair, so that a perfect ranker has a finite weight.
    """
    thresholds, H = ThresholdRankers(X), np.zeros(len(X))
    rankers: list[Threshold] = []
    weights: list[float] = []
    potential, log_total = pairs.potentials(H)
    smoothing = max(np.exp(-log_total), np.finfo(float).eps)
    for _ in range(rounds):
        ranker, r = thresholds.best(potential)
        if abs(r) <= USELESS:
            break
        rankers.append(ranker)
        weights.append(learning_rate * 0.5 * np.log((1 + r + smoothing) / (1 - r + smoothing)))
        H += weights[-1] * ranker.ranks(X)
        potential, _ = pairs.potentials(H)
    return np.array(rankers, dtype=RANKER), np.array(weights)


def staged_scores(X: np.ndarray, rankers: Iterable, weights: np.ndarray) -> Iterator[np.ndarray]:
    """Scores (m,) after one round, after two, and so on; O(m) per round."""
    scores = np.zeros(len(X))
    for ranker, weight in zip(rankers, weights):
        scores = scores + weight * Threshold(*ranker).ranks(X)
        yield scores


class PairDistribution:
    """D(x₀, x₁) ∝ v₀ v₁ exp(H(x₀) − H(x₁)) over the pairs y₁ > y₀ of the same query."""

    def __init__(self, y: np.ndarray, queries: Queries, weight: np.ndarray):
        order, starts = sorted_within(y, queries), queries.starts
        self._ascending = order, y[order], starts
        self._descending = order[::-1].copy(), y[order[::-1]], len(y) - starts[::-1]
        self._log_weight = np.log(weight)

    def potentials(self, H: np.ndarray) -> tuple[np.ndarray, float]:
        """π(x) = Σ D over pairs that x wins − Σ D over those it loses, and log Σ of the weights.

        r of a weak ranker h is then Σ π(x) h(x). Sums are kept as logarithms, so that no H
        overflows; the second value is −∞ if there is no pair.
        """
        as_winner, as_loser = self._log_weight - H, self._log_weight + H
        won = as_winner + _log_sums_before(as_loser, *self._ascending)
        lost = as_loser + _log_sums_before(as_winner, *self._descending)
        largest = won.max()
        if largest == -np.inf:
            return np.zeros(len(H)), -np.inf
        won, lost = np.exp(won - largest), np.exp(lost - largest)
        return (won - lost) / won.sum(), float(largest + np.log(won.sum()))


class ThresholdRankers:
    """All thresholds between neighbouring values of each feature.

    O(m n log m) once, then O(m n) per search, with the features divided among threads.
    """

    def __init__(self, X: np.ndarray):
        order = np.ascontiguousarray(np.argsort(X, axis=0, kind="stable").T, dtype=np.int32)
        values = np.take_along_axis(X.T, order, axis=1)
        steps = np.ones(values.shape, dtype=bool)
        steps[:, 1:] = values[:, 1:] != values[:, :-1]
        self._X = X
        self._sorted = SortedFeatures(order, steps, np.count_nonzero(~np.isnan(X), axis=0))

    def best(self, potential: np.ndarray) -> tuple[Threshold, float]:
        """The ranker with the largest |r|, and r = Σ D(x₀, x₁)(h(x₁) − h(x₀)), −1 ≤ r ≤ 1.

        Among equal rankers it is the one of the first feature, with the highest threshold.
        """
        n = len(self._sorted.order)
        best = BestThresholds(np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n))

        def search(low: int, high: int) -> None:
            _search(potential, self._sorted, low, high, best)

        over_ranges(search, n, 4.0 * self._sorted.order.size)
        size = np.abs(best.advantage)
        j = int(np.argmax(size > size.max() - EQUAL))
        threshold = Threshold(j, self._cut(j, int(best.position[j])), float(best.missing[j]))
        return threshold, float(best.advantage[j])

    def _cut(self, feature: int, position: int) -> float:
        """Halfway below the value at `position` of the ascending order; −∞ below all values."""
        if position == 0:
            return -np.inf
        rows = self._sorted.order[feature, position - 1 : position + 1]
        low, high = self._X[rows, feature]
        middle = 0.5 * low + 0.5 * high
        return float(middle if low <= middle < high else low)


class SortedFeatures(NamedTuple):
    """Per feature: its items in ascending order (nan last), where the value changes, and how many
    values are present."""

    order: np.ndarray
    steps: np.ndarray
    present: np.ndarray


class BestThresholds(NamedTuple):
    """Per feature: r of its best threshold, the position just above it, and h of missing values."""

    advantage: np.ndarray
    position: np.ndarray
    missing: np.ndarray


@compiled
def _log_sums_before(
    values: np.ndarray, order: np.ndarray, y: np.ndarray, starts: np.ndarray
) -> np.ndarray:
    """log Σ exp(values) over the items of a query whose level of y stands before an item's own.

    `order` lists the items by query and level, y has their levels, `starts` bounds the queries.
    """
    sums = np.empty(len(values))
    for query in range(len(starts) - 1):
        shift, total, low = -np.inf, 0.0, starts[query]
        while low < starts[query + 1]:
            high, before = low, shift + np.log(total) if total > 0 else -np.inf
            while high < starts[query + 1] and y[high] == y[low]:
                sums[order[high]] = before
                high += 1
            for position in range(low, high):
                shift, total = _include(values[order[position]], shift, total)
            low = high
    return sums


@compiled
def _include(value: float, shift: float, total: float) -> tuple[float, float]:
    """Add exp(value) to the sum total·exp(shift)."""
    if value <= shift:
        return shift, total + np.exp(value - shift)
    return value, total * np.exp(shift - value) + 1.0


@compiled
def _search(
    potential: np.ndarray, features: SortedFeatures, first: int, last: int, out: BestThresholds
) -> None:
    """The best thresholds of the features `first` to `last`."""
    order, steps, present = features
    advantage, position, missing = out
    m = len(potential)
    for j in range(first, last):
        absent = 0.0
        for i in range(present[j], m):
            absent += potential[order[j, i]]
        above, best = 0.0, 0.0
        for i in range(present[j] - 1, -1, -1):
            above += potential[order[j, i]]
            if not steps[j, i] or (i == 0 and present[j] == m):
                continue
            if abs(above) > best + EQUAL:
                best, advantage[j], position[j], missing[j] = abs(above), above, i, 0.0
            if present[j] < m and abs(above + absent) > best + EQUAL:
                best = abs(above + absent)
                advantage[j], position[j], missing[j] = above + absent, i, 1.0
