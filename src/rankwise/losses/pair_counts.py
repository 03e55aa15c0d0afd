"""Pairs that two orders agree on, swap or tie: the counting behind the measures, in O(m log m).

Items sorted by (y, s) have one inversion of s for each pair with y_i < y_j and s_i > s_j, so a
merge sort that counts its inversions counts the swapped pairs, for any real scores, exactly in
int64. Scores are finite floats, checked by the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from rankwise.numerics.compiled import compiled
from rankwise.numerics.threads import run
from rankwise.supervision.queries import Queries

TIED_Y, TIED_S, TIED_BOTH, SWAPPED = range(4)

# Measured: below _DIRECT items comparing all pairs beats sorting, below _INSERTION items insertion
# beats merging; a block of _BLOCK values takes about a millisecond.
_DIRECT = 64
_INSERTION = 16
_BLOCK = 65_536
_FEW = 20_000  # so few pairs are not worth the time of a compiler
_GRADED_FROM, _LEVELS = 4096, 32
"""A longer query with so few values of y is counted in one pass over the items sorted by s."""


def sorted_within(values: np.ndarray, queries: Queries) -> np.ndarray:
    """The items sorted by query, then by value: one argsort and one counting sort."""
    by_value = np.argsort(values)
    if len(queries) == 1:
        return by_value
    return _by_query(by_value, queries.codes, queries.starts)


def descending_within(values: np.ndarray, queries: Queries) -> np.ndarray:
    """The items sorted by query, then from the greatest value down.

    Queries of equal size are the rows of a matrix that NumPy sorts at once, which is several times
    faster than one sort of all items. If almost all sizes differ, all items are sorted together.
    """
    if not _has_few_sizes(queries):
        return sorted_within(-values, queries)
    return _by_rows(_order_rows, values, queries, queries.order.dtype)


def values_descending(values: np.ndarray, queries: Queries) -> np.ndarray:
    """The values themselves in that order."""
    if not _has_few_sizes(queries):
        return values[sorted_within(-values, queries)]
    return _by_rows(_value_rows, values, queries, values.dtype)


def _has_few_sizes(queries: Queries) -> bool:
    return len(queries) > 1 and 8 * len(np.unique(queries.sizes)) <= len(queries)


def _by_rows(
    sort: Callable[..., None], values: np.ndarray, queries: Queries, dtype: np.dtype
) -> np.ndarray:
    out = np.empty(len(values), dtype=dtype)
    for size in np.unique(queries.sizes):
        first = queries.starts[:-1][queries.sizes == size]
        parts = [part for part in np.array_split(first, 4) if len(part)]
        run([partial(sort, values, queries.order, part, size, out) for part in parts])
    return out


def _order_rows(
    values: np.ndarray, order: np.ndarray, first: np.ndarray, size: int, out: np.ndarray
) -> None:
    places = first[:, None] + np.arange(size)
    items = order[places]
    out[places] = np.take_along_axis(items, np.argsort(-values[items], axis=1), axis=1)


def _value_rows(
    values: np.ndarray, order: np.ndarray, first: np.ndarray, size: int, out: np.ndarray
) -> None:
    places = first[:, None] + np.arange(size)
    out[places] = np.sort(values[order[places]], axis=1)[:, ::-1]


def pair_counts(y: np.ndarray, S: np.ndarray, queries: Queries) -> np.ndarray:
    """For each query and each column of S (m, k): the pairs tied in y, in s, in both, and swapped.

    The result is int64 (q, k, 4), its last axis read with TIED_Y, TIED_S, TIED_BOTH and SWAPPED.
    O(k m log m), in threads over blocks of queries and columns.
    """
    y, S = np.asarray(y, dtype=np.float64), np.ascontiguousarray(S, dtype=np.float64)
    counts = np.zeros((len(queries), S.shape[1], 4), dtype=np.int64)
    if len(queries) == 1 and len(y) * S.size <= _FEW:
        counts[0] = [_compare_at_once(y, s) for s in S.T]
        return counts
    order = sorted_within(y, queries)
    y_sorted = y[order]
    if len(queries) == 1 and len(y) > _GRADED_FROM:
        level = np.empty(len(y), dtype=np.int64)
        level[order] = np.concatenate(([0], np.cumsum(y_sorted[1:] != y_sorted[:-1])))
        n_levels = int(level[order[-1]]) + 1
        if n_levels <= _LEVELS:
            by_score = run([partial(np.argsort, column) for column in S.T])
            for column, ascending in enumerate(by_score):
                s = S[ascending, column]
                _count_graded(s, level[ascending], n_levels, counts[0, column])
            return counts
    count = _count_block if queries.sizes.max(initial=0) > _DIRECT else _compare_block
    run(
        [
            partial(count, y_sorted, S, order, queries.starts, block, counts)
            for block in _blocks(queries.starts, S.shape[1])
        ]
    )
    return counts


def _compare_at_once(y: np.ndarray, s: np.ndarray) -> list[int]:
    same_y, same_s = y[:, None] == y, s[:, None] == s
    ties = [(same.sum() - len(y)) // 2 for same in (same_y, same_s, same_y & same_s)]
    return [*ties, ((y[:, None] < y) & (s[:, None] > s)).sum()]


class Block(NamedTuple):
    """A range of queries and a range of columns."""

    first_query: int
    last_query: int
    first_column: int
    last_column: int


def _blocks(starts: np.ndarray, k: int) -> list[Block]:
    """Blocks of about _BLOCK values each, or of one long column."""
    m = starts[-1]
    cuts = np.unique(np.searchsorted(starts, np.append(np.arange(0, m, max(1, _BLOCK // k)), m)))
    blocks = []
    for first, last in zip(cuts[:-1].tolist(), cuts[1:].tolist()):
        width = max(1, _BLOCK // int(starts[last] - starts[first]))
        for column in range(0, k, width):
            blocks.append(Block(first, last, column, min(column + width, k)))
    return blocks


def concordant_pairs(
    y: np.ndarray, S: np.ndarray, queries: Queries
) -> tuple[np.ndarray, np.ndarray]:
    """For each query the number of pairs y_i ≠ y_j, int64 (q,), and how many of them each column of
    S (m, k) puts in the order of y, float64 (q, k); a tie counts ½. O(k m log m)."""
    counts = pair_counts(y, S, queries)
    tied_in_s_only = counts[..., TIED_S] - counts[..., TIED_BOTH]
    pairs = all_pairs(queries.sizes) - counts[:, 0, TIED_Y]
    return pairs, pairs[:, None] - counts[..., SWAPPED] - 0.5 * tied_in_s_only


def all_pairs(sizes: np.ndarray) -> np.ndarray:
    """The number of unordered pairs among so many items."""
    return sizes * (sizes - 1) // 2


@compiled
def _by_query(by_value: np.ndarray, codes: np.ndarray, starts: np.ndarray) -> np.ndarray:
    free = starts[:-1].copy()
    order = np.empty_like(by_value)
    for item in by_value:
        order[free[codes[item]]] = item
        free[codes[item]] += 1
    return order


@compiled
def _compare_block(
    y: np.ndarray,
    S: np.ndarray,
    order: np.ndarray,
    starts: np.ndarray,
    block: Block,
    counts: np.ndarray,
) -> None:
    """`_count_block` without the code for queries of more than _DIRECT items."""
    first_query, last_query, first_column, last_column = block
    s = np.empty(_DIRECT)
    for query in range(first_query, last_query):
        start, stop = starts[query], starts[query + 1]
        for column in range(first_column, last_column):
            for i in range(start, stop):
                s[i - start] = S[order[i], column]
            _compare_all(y[start:stop], s[: stop - start], counts[query, column])


@compiled
def _count_block(
    y: np.ndarray,
    S: np.ndarray,
    order: np.ndarray,
    starts: np.ndarray,
    block: Block,
    counts: np.ndarray,
) -> None:
    """Count for a range of queries and columns; y is sorted inside each query, S is not."""
    first_query, last_query, first_column, last_column = block
    largest = 0
    for query in range(first_query, last_query):
        largest = max(largest, starts[query + 1] - starts[query])
    scores, spare = np.empty(largest), np.empty(largest)
    for query in range(first_query, last_query):
        start, stop = starts[query], starts[query + 1]
        s, room = scores[: stop - start], spare[: stop - start]
        for column in range(first_column, last_column):
            for i in range(start, stop):
                s[i - start] = S[order[i], column]
            if stop - start <= _DIRECT:
                _compare_all(y[start:stop], s, counts[query, column])
            else:
                _sort_and_count(y[start:stop], s, room, counts[query, column])


@compiled
def _count_graded(s: np.ndarray, level: np.ndarray, n_levels: int, counts: np.ndarray) -> None:
    """The same from ascending s and few levels of y: items seen so far are counted by level."""
    seen, tied = np.zeros(n_levels, dtype=np.int64), np.zeros(n_levels, dtype=np.int64)
    tied_s = tied_both = swapped = start = 0
    m = len(s)
    while start < m:
        stop = start + 1
        while stop < m and s[stop] == s[start]:
            stop += 1
        for i in range(start, stop):
            for above in range(level[i] + 1, n_levels):
                swapped += seen[above]
        if stop - start > 1:
            tied_s += (stop - start) * (stop - start - 1) // 2
            for i in range(start, stop):
                tied_both += tied[level[i]]
                tied[level[i]] += 1
            tied[:] = 0
        for i in range(start, stop):
            seen[level[i]] += 1
        start = stop
    tied_y = int(np.sum(seen * (seen - 1) // 2))
    counts[0], counts[1], counts[2], counts[3] = tied_y, tied_s, tied_both, swapped


@compiled
def _compare_all(y: np.ndarray, s: np.ndarray, counts: np.ndarray) -> None:
    tied_y = tied_s = tied_both = swapped = 0
    for j in range(len(y)):
        for i in range(j):
            same_y, same_s = y[i] == y[j], s[i] == s[j]
            tied_y += same_y
            tied_s += same_s
            tied_both += same_y & same_s
            swapped += (not same_y) & (s[i] > s[j])
    counts[0], counts[1], counts[2], counts[3] = tied_y, tied_s, tied_both, swapped


@compiled
def _sort_and_count(y: np.ndarray, s: np.ndarray, room: np.ndarray, counts: np.ndarray) -> None:
    """The same from sorted y. Sorts s, first inside each tie of y so that no tie has inversions."""
    m = len(y)
    tied_y = tied_both = run_y = run_both = start = 0
    for stop in range(1, m + 1):
        if stop == m or y[stop] != y[start]:
            if stop - start > 1:
                _sort_counting(s[start:stop], room[start:stop])
            start = stop
    for i in range(1, m):
        same_y = y[i] == y[i - 1]
        run_y = run_y + 1 if same_y else 0
        run_both = run_both + 1 if same_y and s[i] == s[i - 1] else 0
        tied_y += run_y
        tied_both += run_both
    swapped = _sort_counting(s, room)
    tied_s = run_s = 0
    for i in range(1, m):
        run_s = run_s + 1 if s[i] == s[i - 1] else 0
        tied_s += run_s
    counts[0], counts[1], counts[2], counts[3] = tied_y, tied_s, tied_both, swapped


@compiled
def _sort_counting(s: np.ndarray, room: np.ndarray) -> int:
    """Merge sort s in place and return the number of its inversions i < j, s_i > s_j."""
    m = len(s)
    inversions = 0
    for low in range(0, m, _INSERTION):
        for i in range(low + 1, min(low + _INSERTION, m)):
            x, j = s[i], i
            while j > low and s[j - 1] > x:
                s[j] = s[j - 1]
                j -= 1
            s[j] = x
            inversions += i - j
    source, target = s, room
    width, sorted_in_room = _INSERTION, False
    while width < m:
        for low in range(0, m, 2 * width):
            middle, high = min(low + width, m), min(low + 2 * width, m)
            inversions += _merge_counting(source, target, low, middle, high)
        source, target = target, source
        width, sorted_in_room = 2 * width, not sorted_in_room
    if sorted_in_room:
        for i in range(m):
            s[i] = room[i]
    return inversions


@compiled
def _merge_counting(
    source: np.ndarray, target: np.ndarray, low: int, middle: int, high: int
) -> int:
    """Merge without branches on the data: a mispredicted branch costs more than the rest."""
    if middle == high or source[middle - 1] <= source[middle]:
        _copy(source, target, low, low, high - low)
        return 0
    inversions = 0
    i, j, k = low, middle, low
    while i < middle and j < high:
        left, right = source[i], source[j]
        swap = right < left
        target[k] = right if swap else left
        inversions += middle - i if swap else 0
        j += swap
        i += not swap
        k += 1
    _copy(source, target, i, k, middle - i)
    _copy(source, target, j, k + middle - i, high - j)
    return inversions


@compiled
def _copy(source: np.ndarray, target: np.ndarray, i: int, k: int, length: int) -> None:
    for step in range(length):
        target[k + step] = source[i + step]
