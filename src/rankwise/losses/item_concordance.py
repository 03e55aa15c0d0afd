"""The pairs that each item is in, and how many of them two orders agree on, in O(m log m)."""

from __future__ import annotations

import numpy as np

from rankwise.losses.comparable_counts import comparable_items, comparable_pairs
from rankwise.losses.margin_window import ScoreRanks
from rankwise.losses.pair_counts import concordant_pairs, sorted_within
from rankwise.numerics.compiled import compiled
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
