"""Compiled loops of the list measures: every query is sorted and summed on its own.

Threads take blocks of queries. In each query items are sorted by descending score, and items of
equal score form a tie, for which each loop adds the expected value over all orders of the tied
items.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit

from rankwise.numerics.threads import run
from rankwise.supervision.queries import Queries

_BLOCK = 65_536
"""Items of a block: about a millisecond of work."""
_INSERTION = 16
"""Measured: below this number of items insertion is faster than merging."""


class Lists(NamedTuple):
    """Scores (m,) and the value of each item (m,); query i is order[starts[i]:starts[i + 1]]."""

    scores: np.ndarray
    values: np.ndarray
    order: np.ndarray
    starts: np.ndarray


def over_queries(
    loop: Callable[..., None], s: np.ndarray, values: np.ndarray, queries: Queries, *options: object
) -> np.ndarray:
    """(q, 2) what `loop(lists, *options, first, last, out)` writes for each query; O(m log m)."""
    lists = Lists(s, values, queries.order, queries.starts)
    out = np.zeros((len(queries), 2))
    edges = np.append(np.arange(0, queries.n_items, _BLOCK), queries.n_items)
    cuts = np.unique(np.searchsorted(queries.starts, edges)).tolist()
    run([partial(loop, lists, *options, *block, out) for block in pairwise(cuts)])
    return out


@njit(cache=True, nogil=True)
def gain_loop(
    lists: Lists, discount: np.ndarray, k: int, first: int, last: int, out: np.ndarray
) -> None:
    """DCG and ideal DCG of the first k ranks; the values are gains, and tied items share theirs.

    If k is small the best k items are kept in a short sorted list while the others pass by:
    O(m_q + k² log m_q) on average instead of O(m_q log m_q).
    """
    room = np.empty((4, _longest(lists.starts, first, last)))
    for query in range(first, last):
        start, stop = lists.starts[query], lists.starts[query + 1]
        n = stop - start
        s, g, spare, spare_g = room[0, :n], room[1, :n], room[2, :n], room[3, :n]
        for i in range(n):
            s[i] = lists.scores[lists.order[start + i]]
            g[i] = lists.values[lists.order[start + i]]
        kept = min(k, n)
        if kept <= 32 and 4 * kept <= n:
            out[query, 0] = _top_gain(s, g, discount, spare[:kept], spare_g[:kept])
            out[query, 1] = _top_ideal(g, discount, spare[:kept])
            continue
        sort_descending(s, g, spare, spare_g)
        out[query, 0] = _shared_gain(s, g, discount, kept)
        sort_descending(g, s, spare, spare_g)
        total = 0.0
        for rank in range(kept):
            total += discount[rank] * g[rank]
        out[query, 1] = total


@njit(cache=True, nogil=True)
def _longest(starts: np.ndarray, first: int, last: int) -> int:
    largest = 0
    for query in range(first, last):
        largest = max(largest, starts[query + 1] - starts[query])
    return largest


@njit(cache=True, nogil=True)
def _shared_gain(s: np.ndarray, g: np.ndarray, discount: np.ndarray, kept: int) -> float:
    """The DCG of sorted items, each with the mean gain of its tie."""
    total, low, n = 0.0, 0, len(s)
    while low < kept:
        high, gain = low + 1, g[low]
        while high < n and s[high] == s[low]:
            gain += g[high]
            high += 1
        gain /= high - low
        for rank in range(low, min(high, kept)):
            total += discount[rank] * gain
        low = high
    return total


@njit(cache=True, nogil=True)
def _top_gain(
    s: np.ndarray, g: np.ndarray, discount: np.ndarray, top: np.ndarray, top_g: np.ndarray
) -> float:
    """The same from items in any order: the items of the last tie are found by a second pass."""
    k = len(top)
    filled, lowest = 0, -np.inf
    for i in range(len(s)):
        x = s[i]
        if filled == k and not x > lowest:
            continue
        j = min(filled, k - 1)
        while j > 0 and top[j - 1] < x:
            top[j], top_g[j] = top[j - 1], top_g[j - 1]
            j -= 1
        top[j], top_g[j] = x, g[i]
        filled = min(filled + 1, k)
        lowest = top[filled - 1]
    above = k
    while above > 0 and top[above - 1] == lowest:
        above -= 1
    count, gain = 0, 0.0
    for i in range(len(s)):
        if s[i] == lowest:
            count += 1
            gain += g[i]
    for rank in range(above, k):
        top_g[rank] = gain / count
    return _shared_gain(top, top_g, discount, k)


@njit(cache=True, nogil=True)
def _top_ideal(g: np.ndarray, discount: np.ndarray, top: np.ndarray) -> float:
    k = len(top)
    filled, lowest = 0, -np.inf
    for x in g:
        if filled == k and not x > lowest:
            continue
        j = min(filled, k - 1)
        while j > 0 and top[j - 1] < x:
            top[j] = top[j - 1]
            j -= 1
        top[j] = x
        filled = min(filled + 1, k)
        lowest = top[filled - 1]
    total = 0.0
    for rank in range(k):
        total += discount[rank] * top[rank]
    return total


@njit(cache=True, nogil=True)
def precision_loop(lists: Lists, first: int, last: int, out: np.ndarray) -> None:
    """The sum of the precisions at the relevant items, and the number of relevant items.

    Let a tie have t items, r of them relevant, and let it follow N items, R of them relevant. At
    its p-th rank it adds r/t · (R + 1 + (p − 1)(r − 1)/(t − 1)) / (N + p).
    """
    room = np.empty((4, _longest(lists.starts, first, last)))
    for query in range(first, last):
        s, relevant = _sorted_query(lists, query, room)
        n, low, before, total = len(s), 0, 0.0, 0.0
        while low < n:
            high, inside = low + 1, relevant[low]
            while high < n and s[high] == s[low]:
                inside += relevant[high]
                high += 1
            t = high - low
            if inside > 0:
                step = (inside - 1) / max(t - 1, 1)
                for p in range(t):
                    total += inside / t * (before + 1 + p * step) / (low + p + 1)
            before += inside
            low = high
        out[query, 0], out[query, 1] = total, before


@njit(cache=True, nogil=True)
def reciprocal_loop(lists: Lists, k: int, first: int, last: int, out: np.ndarray) -> None:
    """Expected reciprocal rank of the first k ranks; the values are probabilities to stop.

    A user reads rank r with the probability that no earlier item satisfied, Π (1 − R). In a random
    order of t tied items the mean product of p of them is a_p = e_p / C(t, p) with the elementary
    symmetric polynomial e_p of 1 − R. The p-th rank of the tie adds (a_(p−1) − a_p) / rank.
    """
    room = np.empty((5, _longest(lists.starts, first, last) + 1))
    for query in range(first, last):
        s, stops = _sorted_query(lists, query, room)
        n, low, reads, total = len(s), 0, 1.0, 0.0
        while low < min(n, k):
            high, any_stop = low + 1, stops[low] > 0
            while high < n and s[high] == s[low]:
                any_stop = any_stop or stops[high] > 0
                high += 1
            if high == low + 1:
                total += reads * stops[low] / high
                reads *= 1 - stops[low]
            elif any_stop:
                kept = min(high, k) - low
                a = room[4, : kept + 1]
                _mean_products(stops[low:high], a)
                for p in range(1, kept + 1):
                    total += reads * (a[p - 1] - a[p]) / (low + p)
                reads *= a[kept]
            low = high
        out[query, 0] = total


@njit(cache=True, nogil=True)
def _mean_products(stops: np.ndarray, a: np.ndarray) -> None:
    """a_p = mean over all sets of p items of Π (1 − R), for p < len(a); O(t · len(a))."""
    a[:] = 0.0
    a[0] = 1.0
    for i in range(len(stops)):
        x = 1 - stops[i]
        for p in range(min(i + 1, len(a) - 1), 0, -1):
            a[p] = ((i + 1 - p) * a[p] + p * x * a[p - 1]) / (i + 1)


@njit(cache=True, nogil=True)
def _sorted_query(lists: Lists, query: int, room: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores and values of a query by descending score; room has four rows."""
    start, stop = lists.starts[query], lists.starts[query + 1]
    n = stop - start
    s, v = room[0, :n], room[1, :n]
    for i in range(n):
        s[i] = lists.scores[lists.order[start + i]]
        v[i] = lists.values[lists.order[start + i]]
    sort_descending(s, v, room[2, :n], room[3, :n])
    return s, v


@njit(cache=True, nogil=True)
def sort_descending(s: np.ndarray, v: np.ndarray, spare: np.ndarray, spare_v: np.ndarray) -> None:
    """Merge sort of s in place from the greatest down, with the values v beside it."""
    n = len(s)
    for low in range(0, n, _INSERTION):
        for i in range(low + 1, min(low + _INSERTION, n)):
            x, value, j = s[i], v[i], i
            while j > low and s[j - 1] < x:
                s[j], v[j] = s[j - 1], v[j - 1]
                j -= 1
            s[j], v[j] = x, value
    source, source_v, target, target_v = s, v, spare, spare_v
    width, in_spare = _INSERTION, False
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            i, j = low, middle
            for place in range(low, high):
                left = j >= high or (i < middle and source[i] >= source[j])
                taken = i if left else j
                target[place], target_v[place] = source[taken], source_v[taken]
                i += left
                j += not left
        source, source_v, target, target_v = target, target_v, source, source_v
        width, in_spare = 2 * width, not in_spare
    if in_spare:
        s[:] = spare
        v[:] = spare_v
