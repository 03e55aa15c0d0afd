"""Sums over the pairs that two orders swap, or that lie far apart, in O(m log m)."""

from __future__ import annotations

import numpy as np

from rankwise.losses.pair_counts import sorted_within
from rankwise.numerics.compiled import compiled
from rankwise.supervision.queries import Queries


def swapped_sums(y: np.ndarray, s: np.ndarray, v: np.ndarray, queries: Queries) -> np.ndarray:
    """(q, 2) Σ(v_i − v_j) and Σ(v_i − v_j)² over the pairs with y_i < y_j and s_i > s_j of a query.

    O(m log m).
    """
    order = np.lexsort((s, y, queries.codes))
    return _merge_sums_by_query(s[order], v[order], queries.starts)


def excess_sums(e: np.ndarray, epsilon: float, queries: Queries) -> np.ndarray:
    """(q, 2) Σ(d − ε) and Σ(d − ε)² over the pairs of a query with d = |e_i − e_j| > ε.

    O(m log m).
    """
    by_query = e[sorted_within(e, queries)] if len(queries) > 1 else np.sort(e)
    return _excess_by_query(by_query, queries.starts, float(epsilon))


@compiled
def _include(x: float, count: int, mean: float, spread: float) -> tuple[int, float, float]:
    """Add a value to a running count, mean and Σ(x − mean)², without cancellation."""
    count += 1
    step = x - mean
    mean += step / count
    return count, mean, spread + step * (x - mean)


@compiled
def _merge_sums(s: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """Merge from the top, so that the values swapped with an item only have to be added."""
    m = len(s)
    s_next, v_next = np.empty_like(s), np.empty_like(v)
    total, squares, width = 0.0, 0.0, 1
    while width < m:
        for low in range(0, m, 2 * width):
            middle, high = min(low + width, m), min(low + 2 * width, m)
            i, j = middle - 1, high - 1
            count, mean, spread = 0, 0.0, 0.0
            for k in range(high - 1, low - 1, -1):
                if j < middle or (i >= low and s[i] > s[j]):
                    s_next[k], v_next[k] = s[i], v[i]
                    count, mean, spread = _include(v[i], count, mean, spread)
                    i -= 1
                else:
                    s_next[k], v_next[k] = s[j], v[j]
                    gap = mean - v[j]
                    total += count * gap
                    squares += spread + count * gap * gap
                    j -= 1
        s, s_next, v, v_next = s_next, s, v_next, v
        width *= 2
    return total, squares


@compiled
def _excess_of_sorted(e: np.ndarray, epsilon: float) -> tuple[float, float]:
    total, squares = 0.0, 0.0
    count, mean, spread = 0, 0.0, 0.0
    for x in e:
        while x - e[count] > epsilon:
            count, mean, spread = _include(e[count], count, mean, spread)
        gap = x - epsilon - mean
        total += count * gap
        squares += spread + count * gap * gap
    return total, squares


@compiled
def _merge_sums_by_query(s: np.ndarray, v: np.ndarray, starts: np.ndarray) -> np.ndarray:
    sums = np.empty((len(starts) - 1, 2))
    for query in range(len(starts) - 1):
        start, stop = starts[query], starts[query + 1]
        sums[query] = _merge_sums(s[start:stop], v[start:stop])
    return sums


@compiled
def _excess_by_query(e: np.ndarray, starts: np.ndarray, epsilon: float) -> np.ndarray:
    sums = np.empty((len(starts) - 1, 2))
    for query in range(len(starts) - 1):
        sums[query] = _excess_of_sorted(e[starts[query] : starts[query + 1]], epsilon)
    return sums
