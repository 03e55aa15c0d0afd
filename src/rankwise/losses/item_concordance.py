"""The pairs that each item is in, and how many of them two orders agree on, in O(m log m).

A comparable pair of censored outcomes is an item j with the event and an item h of a greater level,
h above j: see rankwise.supervision.censored. It weighs a_j, which is 1 unless a measure corrects
for censoring by inverse probabilities. Equal scores count ½.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from rankwise.losses.margin_window import ScoreRanks
from rankwise.losses.pair_counts import concordant_pairs, sorted_within
from rankwise.numerics.compiled import compiled
from rankwise.numerics.threads import run
from rankwise.numerics.wide_tree import add_to_cell, sum_of_first, tree_length
from rankwise.supervision.censored import Censored
from rankwise.supervision.queries import Queries


def item_concordance(
    y: np.ndarray | Censored, s: np.ndarray, queries: Queries
) -> tuple[np.ndarray, np.ndarray]:
    """For each item its pairs y_i ≠ y_j of the same query, and those that s orders right, a tie ½.

    Both float64 (m,); each pair counts at both of its items. The pairs of censored outcomes are
    the comparable ones.
    """
    if isinstance(y, Censored):
        return comparable_items(y, s, queries)
    scores = ScoreRanks(y, queries)
    order = sorted_within(s, queries)
    return _concordance(scores.ranks, s, order, queries.starts, scores.levels)


@compiled
def _concordance(
    ranks: np.ndarray, s: np.ndarray, order: np.ndarray, starts: np.ndarray, levels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    counted, right = np.zeros(len(s)), np.zeros(len(s))
    for query in range(len(starts) - 1):
        first, stop = starts[query], starts[query + 1]
        n = levels[query]
        tree = np.zeros(tree_length(n), dtype=np.int64)
        up_to = np.zeros(n + 1, dtype=np.int64)
        for place in range(first, stop):
            up_to[ranks[order[place]] + 1] += 1
        up_to = np.cumsum(up_to)
        low = first
        while low < stop:
            high = low + 1
            while high < stop and s[order[high]] == s[order[low]]:
                high += 1
            for place in range(low, high):
                item = order[place]
                rank = ranks[item]
                below = sum_of_first(tree, n, rank)
                above = (low - first) - sum_of_first(tree, n, rank + 1)
                # those left of the tie in s, and half of the tie itself, less what is swapped
                right[item] += 0.5 * (below - above)
            for place in range(low, high):
                add_to_cell(tree, n, ranks[order[place]], 1)
            for place in range(low, high):
                item = order[place]
                rank = ranks[item]
                less, more = up_to[rank], up_to[n] - up_to[rank + 1]
                below = sum_of_first(tree, n, rank)
                above = (high - first) - sum_of_first(tree, n, rank + 1)
                right[item] += 0.5 * (below - above) + more
                counted[item] = less + more
            low = high
    return counted, right


def query_concordance(
    y: np.ndarray | Censored, S: np.ndarray, queries: Queries
) -> tuple[np.ndarray, np.ndarray]:
    """For each query the number of its pairs, (q,), and how many of them each column of S (m, k)
    puts in the order of y, (q, k); a tie counts ½. O(k m log m)."""
    if isinstance(y, Censored):
        return comparable_pairs(y, S, queries)
    return concordant_pairs(y, S, queries)


def auc_components(low: np.ndarray, high: np.ndarray) -> tuple[float, float, float]:
    """AUC of the scores of two classes, and the spread of DeLong's structural components.

    Returns the area, Σ(V₁₀ − AUC)² over the positives and Σ(V₀₁ − AUC)² over the negatives. Two
    sorts and one merge; the sums are taken around ½ and in pairs counted exactly.
    """
    return _auc_components(np.sort(low), np.sort(high))


@compiled
def _auc_components(low: np.ndarray, high: np.ndarray) -> tuple[float, float, float]:
    n, p = len(low), len(high)
    i = j = 0
    total = total_low = squares_high = squares_low = 0.0
    while i < n or j < p:
        if i < n and (j == p or low[i] <= high[j]):
            value = low[i]
        else:
            value = high[j]
        i_end, j_end = i, j
        while i_end < n and low[i_end] == value:
            i_end += 1
        while j_end < p and high[j_end] == value:
            j_end += 1
        if j_end > j:
            share = 0.5 * (i + i_end) / n - 0.5
            total += (j_end - j) * share
            squares_high += (j_end - j) * share * share
        if i_end > i:
            share = 0.5 - 0.5 * (j + j_end) / p
            total_low += (i_end - i) * share
            squares_low += (i_end - i) * share * share
        i, j = i_end, j_end
    mean, mean_low = total / p, total_low / n
    return 0.5 + mean, squares_high - p * mean * mean, squares_low - n * mean_low * mean_low


def comparable_items(
    outcome: Censored, s: np.ndarray, queries: Queries, event_weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """For each item the weight of its comparable pairs, and of those that s orders right.

    Both float64 (m,); each pair counts at both of its items. `event_weight` (m,) holds a, which is
    0 without the event.
    """
    counts = _Comparable(outcome, queries, event_weight)
    return counts.counted, counts.right(s)


def comparable_pairs(
    outcome: Censored, S: np.ndarray, queries: Queries, event_weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """For each query the weight of its comparable pairs, (q,), and how much of it each column of S
    (m, k) puts in the right order, (q, k)."""
    counts = _Comparable(outcome, queries, event_weight)
    of_items = run([partial(counts.right, column) for column in np.ascontiguousarray(S.T)])
    pairs, *right = (
        np.bincount(queries.codes, values, minlength=len(queries)) / 2
        for values in (counts.counted, *of_items)
    )
    return pairs, np.column_stack(right)


class _Comparable:
    """Levels and weights, once for all scores."""

    def __init__(self, outcome: Censored, queries: Queries, event_weight: np.ndarray | None):
        ranked = ScoreRanks(outcome.levels(), queries)
        self._ranks, self._levels, self._queries = ranked.ranks, ranked.levels, queries
        self._a = np.where(outcome.event, 1.0 if event_weight is None else event_weight, 0.0)
        self.counted, self._longer = _count_comparable(
            self._ranks, self._a, queries.order, queries.starts, self._levels
        )

    def right(self, s: np.ndarray) -> np.ndarray:
        """(m,) the weight of each item's pairs in the right order."""
        order, out = sorted_within(s, self._queries), np.empty(len(s))
        known = (self._ranks, self._a, self._longer)
        _right_of_items(known, s, order, self._queries.starts, self._levels, out)
        return out


@compiled
def _count_comparable(
    ranks: np.ndarray, a: np.ndarray, order: np.ndarray, starts: np.ndarray, levels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The weight of each item's pairs, and the number of items of greater levels."""
    counted, longer = np.empty(len(a)), np.empty(len(a))
    for query in range(len(starts) - 1):
        first, stop = starts[query], starts[query + 1]
        number, shorter = np.zeros(levels[query] + 1), np.zeros(levels[query] + 1)
        for place in range(first, stop):
            number[ranks[order[place]]] += 1
            shorter[ranks[order[place]] + 1] += a[order[place]]
        for level in range(levels[query] - 1, -1, -1):
            number[level] += number[level + 1]
        for level in range(levels[query]):
            shorter[level + 1] += shorter[level]
        for place in range(first, stop):
            item = order[place]
            longer[item] = number[ranks[item] + 1]
            counted[item] = a[item] * longer[item] + shorter[ranks[item]]
    return counted, longer


@compiled
def _right_of_items(
    known: tuple[np.ndarray, np.ndarray, np.ndarray],
    s: np.ndarray,
    order: np.ndarray,
    starts: np.ndarray,
    levels: np.ndarray,
    out: np.ndarray,
) -> None:
    """Items enter two trees over levels in the order of s, those of equal s together.

    Each item of a tie is counted before and after the tie has entered, half each.
    """
    ranks, a, longer = known
    for query in range(len(starts) - 1):
        first, stop = starts[query], starts[query + 1]
        n = levels[query]
        weights, numbers = np.zeros(tree_length(n)), np.zeros(tree_length(n))
        low = first
        while low < stop:
            high = low + 1
            while high < stop and s[order[high]] == s[order[low]]:
                high += 1
            for place in range(low, high):
                item = order[place]
                shorter = sum_of_first(weights, n, ranks[item])
                passed = (low - first) - sum_of_first(numbers, n, ranks[item] + 1)
                out[item] = 0.5 * shorter + a[item] * (longer[item] - 0.5 * passed)
            for place in range(low, high):
                add_to_cell(weights, n, ranks[order[place]], a[order[place]])
                add_to_cell(numbers, n, ranks[order[place]], 1.0)
            for place in range(low, high):
                item = order[place]
                shorter = sum_of_first(weights, n, ranks[item])
                passed = (high - first) - sum_of_first(numbers, n, ranks[item] + 1)
                out[item] += 0.5 * shorter - a[item] * 0.5 * passed
            low = high
