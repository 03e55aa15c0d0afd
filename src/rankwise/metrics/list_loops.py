"""Compiled loops of the list measures over the queries.

Threads take blocks of queries. Items of equal score form a tie, for which each loop adds the
expected value over all orders of the tied items.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rankwise.losses.pair_counts import descending_within, values_descending
from rankwise.numerics.compiled import compiled
from rankwise.numerics.threads import run
from rankwise.supervision.queries import Queries

_BLOCK = 65_536
"""Items of a block: about a millisecond of work."""
_FEW_RANKS = 32
"""Up to this number of ranks, keeping the best items is faster than sorting all."""


class Lists(NamedTuple):
    """Scores (m,) and values (m,) of items by query; query i is starts[i]:starts[i + 1]."""

    scores: np.ndarray
    values: np.ndarray
    starts: np.ndarray


def over_queries(
    loop: Callable[..., None], s: np.ndarray, values: np.ndarray, queries: Queries, *options: object
) -> np.ndarray:
    """(q, 2) what `loop(lists, *options, first, last, out)` writes for each query.

    The loop gets the items of each query from the highest score down. O(m log m).
    """
    order = descending_within(s, queries)
    return _in_blocks(loop, Lists(s[order], values[order], queries.starts), options)


def _in_blocks(loop: Callable[..., None], lists: Lists, options: tuple[object, ...]) -> np.ndarray:
    starts = lists.starts
    out = np.zeros((len(starts) - 1, 2))
    edges = np.append(np.arange(0, starts[-1], _BLOCK), starts[-1])
    cuts = np.unique(np.searchsorted(starts, edges)).tolist()
    run([partial(loop, lists, *options, *block, out) for block in pairwise(cuts)])
    return out


def discounted_gains(
    s: np.ndarray, gains: np.ndarray, queries: Queries, discount: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q,) DCG and (q,) ideal DCG, for as many ranks as there are discounts.

    With few ranks nothing is sorted: O(m_q + k² log m_q) for each query on average.
    """
    if len(discount) <= _FEW_RANKS:
        in_order = (s, gains) if queries.is_sorted else (s[queries.order], gains[queries.order])
        reached, ideal = _in_blocks(_top_loop, Lists(*in_order, queries.starts), (discount,)).T
        return reached, ideal
    reached, _ = over_queries(_gain_loop, s, gains, queries, discount).T
    best = values_descending(gains, queries)
    ideal, _ = _in_blocks(_gain_loop, Lists(best, best, queries.starts), (discount,)).T
    return reached, ideal


@compiled
def _gain_loop(lists: Lists, discount: np.ndarray, first: int, last: int, out: np.ndarray) -> None:
    """The DCG of sorted items."""
    for query in range(first, last):
        start, stop = lists.starts[query], lists.starts[query + 1]
        kept = min(len(discount), stop - start)
        s, g = lists.scores[start:stop], lists.values[start:stop]
        out[query, 0] = _shared_gain(s, g, discount, kept)


@compiled
def _top_loop(lists: Lists, discount: np.ndarray, first: int, last: int, out: np.ndarray) -> None:
    """DCG and ideal DCG of items in any order: the best k are kept while the others pass by."""
    room = np.empty((2, len(discount)))
    for query in range(first, last):
        start, stop = lists.starts[query], lists.starts[query + 1]
        kept = min(len(discount), stop - start)
        s, g = lists.scores[start:stop], lists.values[start:stop]
        out[query, 0] = _top_gain(s, g, discount, room[0, :kept], room[1, :kept])
        out[query, 1] = _top_ideal(g, discount, room[0, :kept])


@compiled
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


@compiled
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


@compiled
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


@compiled
def precision_loop(lists: Lists, first: int, last: int, out: np.ndarray) -> None:
    """The sum of the precisions at the relevant items, and the number of relevant items.

    Let a tie have t items, r of them relevant, and let it follow N items, R of them relevant. At
    its p-th rank it adds r/t · (R + 1 + (p − 1)(r − 1)/(t − 1)) / (N + p).
    """
    for query in range(first, last):
        start, stop = lists.starts[query], lists.starts[query + 1]
        s, relevant = lists.scores[start:stop], lists.values[start:stop]
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


@compiled
def reciprocal_loop(lists: Lists, k: int, first: int, last: int, out: np.ndarray) -> None:
    """Expected reciprocal rank of the first k ranks; the values are probabilities to stop.

    A user reads rank r with the probability that no earlier item satisfied, Π (1 − R). In a random
    order of t tied items the mean product of p of them is a_p = e_p / C(t, p) with the elementary
    symmetric polynomial e_p of 1 − R. The p-th rank of the tie adds (a_(p−1) − a_p) / rank.
    """
    for query in range(first, last):
        start, stop = lists.starts[query], lists.starts[query + 1]
        s, stops = lists.scores[start:stop], lists.values[start:stop]
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
                a = np.empty(kept + 1)
                _mean_products(stops[low:high], a)
                for p in range(1, kept + 1):
                    total += reads * (a[p - 1] - a[p]) / (low + p)
                reads *= a[kept]
            low = high
        out[query, 0] = total


@compiled
def _mean_products(stops: np.ndarray, a: np.ndarray) -> None:
    """a_p = mean over all sets of p items of Π (1 − R), for p < len(a); O(t · len(a))."""
    a[:] = 0.0
    a[0] = 1.0
    for i in range(len(stops)):
        x = 1 - stops[i]
        for p in range(min(i + 1, len(a) - 1), 0, -1):
            a[p] = ((i + 1 - p) * a[p] + p * x * a[p - 1]) / (i + 1)
