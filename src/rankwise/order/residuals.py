"""Sums over pairs of residuals that lie further apart than ε: sort, two pointers, running sums.

A cost of (h_j − h_i) − (y_j − y_i) depends on the residuals e = h − y alone, so no tree over
scores is needed. O(m log m) to sort, O(m) a sum.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from rankwise.order.swaps import sorted_within
from rankwise.queries import Queries


class SortedResiduals:
    """Residuals e (m,) by query in ascending order, and sums over the items beyond ε of each."""

    def __init__(self, e: np.ndarray, queries: Queries, epsilon: float):
        self._order = sorted_within(e, queries)
        self._starts = queries.starts
        self._sorted = e[self._order]
        self._epsilon = float(epsilon)

    def sums(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For every item i the sums of x_j over j of its query with e_i − e_j > ε ("below") and
        with e_j − e_i > ε ("above"), each in the items' own order."""
        below, above = np.empty(len(x)), np.empty(len(x))
        _beyond(self._sorted, x, self._order, self._starts, self._epsilon, below, above)
        return below, above


@njit(cache=True, nogil=True)
def _beyond(e, x, order, starts, epsilon, below, above):
    for query in range(len(starts) - 1):
        start, stop = starts[query], starts[query + 1]
        total, j = 0.0, start
        for i in range(start, stop):
            while e[i] - e[j] > epsilon:
                total += x[order[j]]
                j += 1
            below[order[i]] = total
        total, j = 0.0, stop - 1
        for i in range(stop - 1, start - 1, -1):
            while e[j] - e[i] > epsilon:
                total += x[order[j]]
                j -= 1
            above[order[i]] = total
