"""RankBoost's two inner steps: what each item's rank is worth, and the best threshold for it.

Freund, Iyer, Schapire, Singer (2003). The weight of a pair x₁ ≻ x₀ after any number of rounds is
v₀ v₁ exp(H(x₀) − H(x₁)), a product over its items. So no pair is ever enumerated, however many
score levels there are: sums over the levels below and above give every item's potential in O(m).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from rankwise.losses.pair_counts import sorted_within
from rankwise.numerics.threads import over_ranges
from rankwise.supervision.queries import Queries

EQUAL = 1e-10
"""Advantages closer than this are equal, so that rounding does not choose between rankers."""


@dataclass(frozen=True)
class Threshold:
    """h(x) = 1 where x[feature] > threshold, else 0; `missing` where x[feature] is nan."""

    feature: int
    threshold: float
    missing: float
    advantage: float
    """r = Σ D(x₀, x₁)(h(x₁) − h(x₀)), between −1 and 1."""


class PairDistribution:
    """D(x₀, x₁) ∝ v₀ v₁ exp(H(x₀) − H(x₁)) over the pairs y₁ > y₀ of the same query."""

    def __init__(self, y: np.ndarray, queries: Queries, weight: np.ndarray):
        self._order = sorted_within(y, queries)
        self._y, self._starts = y[self._order], queries.starts
        self._log_weight = np.log(weight)

    def potentials(self, H: np.ndarray) -> tuple[np.ndarray, float]:
        """π(x) = Σ D over pairs that x wins − Σ D over those it loses, and log Σ of the weights.

        r of a weak ranker h is then Σ π(x) h(x). Sums are kept as logarithms, so that no H
        overflows; the second value is −∞ where there is no pair.
        """
        won, lost = np.empty(len(H)), np.empty(len(H))
        _log_shares(H, self._log_weight, self._order, self._y, self._starts, won, lost)
        largest = won.max()
        if largest == -np.inf:
            return np.zeros(len(H)), -np.inf
        won, lost = np.exp(won - largest), np.exp(lost - largest)
        return (won - lost) / won.sum(), float(largest + np.log(won.sum()))


class ThresholdRankers:
    """All thresholds between neighbouring values of each feature; O(m n log m) once, then O(m n)
    a search, in threads over features."""

    def __init__(self, X: np.ndarray):
        self._X = X
        self._order = np.ascontiguousarray(np.argsort(X, axis=0, kind="stable").T, dtype=np.int32)
        self._present = np.count_nonzero(~np.isnan(X), axis=0)
        values = np.take_along_axis(X.T, self._order, axis=1)
        self._steps = np.ones(values.shape, dtype=bool)
        self._steps[:, 1:] = values[:, 1:] != values[:, :-1]

    def best(self, potential: np.ndarray) -> Threshold:
        """The ranker of the largest |r|; the first feature and highest threshold among equals."""
        n = len(self._order)
        advantage, place, missing = np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n)

        def search(low, high):
            data = (potential, self._order, self._steps, self._present)
            _search(*data, low, high, advantage, place, missing)

        over_ranges(search, n, 4.0 * self._order.size)
        j = int(np.argmax(np.abs(advantage) > np.abs(advantage).max() - EQUAL))
        return Threshold(j, self._cut(j, int(place[j])), float(missing[j]), float(advantage[j]))

    def _cut(self, feature: int, place: int) -> float:
        """Halfway below the value at `place` of the ascending order; −∞ below them all."""
        if place == 0:
            return -np.inf
        low, high = self._X[self._order[feature, place - 1 : place + 1], feature]
        middle = 0.5 * low + 0.5 * high
        return float(middle if low <= middle < high else low)


@njit(cache=True, nogil=True)
def _log_shares(H, log_weight, order, y, starts, won, lost):
    """log of Σ D over the pairs that an item wins, and over those it loses, up to one factor."""
    for query in range(len(starts) - 1):
        start, stop = starts[query], starts[query + 1]
        shift, total, low = -np.inf, 0.0, start
        while low < stop:
            high = low
            while high < stop and y[high] == y[low]:
                i = order[high]
                won[i] = log_weight[i] - H[i] + shift + np.log(total) if total > 0 else -np.inf
                high += 1
            for place in range(low, high):
                i = order[place]
                shift, total = _include(log_weight[i] + H[i], shift, total)
            low = high
        shift, total, high = -np.inf, 0.0, stop - 1
        while high >= start:
            low = high
            while low >= start and y[low] == y[high]:
                i = order[low]
                lost[i] = log_weight[i] + H[i] + shift + np.log(total) if total > 0 else -np.inf
                low -= 1
            for place in range(low + 1, high + 1):
                i = order[place]
                shift, total = _include(log_weight[i] - H[i], shift, total)
            high = low


@njit(cache=True, nogil=True)
def _include(value, shift, total):
    """One more term of a sum total·exp(shift)."""
    if value <= shift:
        return shift, total + np.exp(value - shift)
    return value, total * np.exp(shift - value) + 1.0


@njit(cache=True, nogil=True)
def _search(potential, order, steps, present, first, last, advantage, place, missing):
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
                best, advantage[j], place[j], missing[j] = abs(above), above, i, 0.0
            if present[j] < m and abs(above + absent) > best + EQUAL:
                best = abs(above + absent)
                advantage[j], place[j], missing[j] = above + absent, i, 1.0
