"""Sums over pairs of residuals that lie further apart than ε: sort, two pointers, running sums.

A cost of (h_j − h_i) − (y_j − y_i) depends on the residuals e = h − y alone, so no tree over
scores is needed. O(m log m) to sort, O(m) per sum.
"""

from __future__ import annotations

import numpy as np

from rankwise.losses.pair_counts import sorted_within
from rankwise.numerics.compiled import compiled
from rankwise.supervision.queries import Queries


class SortedResiduals:
    """Residuals e (m,) sorted within queries, and for each item sums over the items beyond ε."""

    def __init__(self, e: np.ndarray, queries: Queries, epsilon: float):
        self._order, self._starts = sorted_within(e, queries), queries.starts
        self._ends = _ends(e[self._order], queries.starts, float(epsilon))

    def sums(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For every item i the sums of x_j over j of its query with e_i − e_j > ε ("below") and
        with e_j − e_i > ε ("above"), each in the items' own order."""
        return _beyond(x, self._order, self._starts, self._ends)


@compiled
def _ends(e: np.ndarray, starts: np.ndarray, epsilon: float) -> np.ndarray:
    """(m, 2) where the items below end and where those above begin, for each sorted position."""
    ends = np.empty((len(e), 2), dtype=np.int64)
    for query in range(len(starts) - 1):
        start, stop = starts[query], starts[query + 1]
        low = high = start
        for i in range(start, stop):
            while e[i] - e[low] > epsilon:
                low += 1
            while high < stop and not e[high] - e[i] > epsilon:
                high += 1
            ends[i, 0], ends[i, 1] = low, high
    return ends


@compiled
def _beyond(
    x: np.ndarray, order: np.ndarray, starts: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    m = len(x)
    upto, below, above = np.empty(m + 1), np.empty(m), np.empty(m)
    for query in range(len(starts) - 1):
        start, stop = starts[query], starts[query + 1]
        upto[start] = 0.0
        for i in range(start, stop):
            upto[i + 1] = upto[i] + x[order[i]]
        total = upto[stop]
        for i in range(start, stop):
            low, high = ends[i]
            below[order[i]] = upto[low] if low > start else 0.0
            above[order[i]] = total - upto[high] if high < stop else 0.0
    return below, above
