"""Counts and sums over the pairs inside the margin window, O(m log m) for any real scores.

Airola, Pahikkala, Salakoski (2011), Algorithm 3. The scores never change during a fit, so their
dense ranks are taken once, and a flat tree with wide nodes over ranks stands in for the red-black
tree: the same counts, no allocation, contiguous memory. Up to 63 score levels are one node.
Queries are independent; blocks of them run on all cores.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from rankwise.losses.censored_laplacian import LevelSums
from rankwise.losses.pair_counts import sorted_within
from rankwise.losses.query_weights import pair_totals
from rankwise.numerics.compiled import compiled
from rankwise.numerics.threads import run
from rankwise.numerics.wide_tree import add_to_cell, sum_of_first, tree_length
from rankwise.supervision.queries import Queries

BLOCK_ITEMS = 16384


class ScoreRanks:
    """Dense score ranks inside each query; O(m log m), once per fit.

    ``pairs[k]`` is the number N of pairs with y_i < y_j (equation 4) in query k. With the weights
    v of the items it is the sum of v_i v_j over these pairs. If `event` (m,) is given, only pairs
    count whose lower item i had the event: censored outcomes, y being their levels
    (rankwise.supervision.censored). Evaluations share one workspace, so two threads must not share
    the object.
    """

    def __init__(
        self,
        y: np.ndarray,
        queries: Queries,
        weight: np.ndarray | None = None,
        event: np.ndarray | None = None,
    ):
        ascending = sorted_within(y, queries)
        first = queries.starts[:-1]
        opens_level = np.ones(len(y), dtype=bool)
        opens_level[1:] = y[ascending[1:]] != y[ascending[:-1]]
        opens_level[first] = True
        level = np.cumsum(opens_level) - 1
        v = None if weight is None else weight[ascending]
        query_levels = np.append(level[first], level[-1] + 1)

        self.queries, self.weight, self.event = queries, weight, event
        self.ranks = np.empty(len(y), dtype=np.int32)
        self.ranks[ascending] = level - np.repeat(level[first], queries.sizes)
        self.levels = np.add.reduceat(opens_level, first, dtype=np.int64)
        if event is None:
            self.pairs = pair_totals(np.bincount(level, v), query_levels)
        else:
            sums = LevelSums.of(
                self.ranks, event, queries, np.ones(len(y)) if weight is None else weight
            )
            self.pairs = sums.pair_weights(len(queries))
        self.blocks = _blocks(queries.starts)
        lengths = [tree_length(int(self.levels[low:high].max()) - 1) for low, high in self.blocks]
        self.tree_starts = [0, *accumulate(lengths)]
        self.workspace = np.empty((2, len(y)))
        self.trees = np.empty((2, self.tree_starts[-1]))

    def window(self, p: np.ndarray, margin: float = 1.0) -> Window:
        return Window(self, p, margin)


class Window:
    """The pairs i, j of a query with y_i < y_j and p_i > p_j − margin: those with a hinge loss.

    Of censored outcomes, those where i had the event. One sort of p to open. Both counts evaluate
    the same inequality, so equations 5 and 6 always speak of the same pairs, even where
    p_j − margin and p_i + margin round differently.
    """

    def __init__(self, scores: ScoreRanks, p: np.ndarray, margin: float):
        self._scores, self._margin = scores, margin
        self._items = sorted_within(p, scores.queries)
        self._ranks = scores.ranks[self._items]
        self._ascending = p[self._items]
        self._event = None if scores.event is None else scores.event[self._items]

    def with_margin(self, margin: float) -> Window:
        """The window of another margin at the same p, which shares the sorted items."""
        other = copy(self)
        other._margin = margin
        return other

    def counts(self) -> tuple[np.ndarray, np.ndarray]:
        """c and d of equations 5 and 6: rivals above and rivals below each item.

        Their number, or with item weights the sum of their weights.
        """
        weight = self._scores.weight
        if weight is None:
            above, below = self._sweep(np.broadcast_to(np.int32(1), len(self._items)))
        else:
            above, below = self._sweep(weight[self._items])
        return self._scatter(above), self._scatter(below)

    def sums(self, v: np.ndarray) -> np.ndarray:
        """The (weighted) sum of v over each item's rivals, above and below together."""
        weight = self._scores.weight
        above, below = self._sweep((v if weight is None else weight * v)[self._items])
        above += below
        return self._scatter(above)

    def _sweep(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Both sums over sorted positions, in the shared workspace.

        An item without the event is no rival below any other, and has no rivals above.
        """
        scores, m = self._scores, len(values)
        above, below = (row.view(values.dtype)[:m] for row in scores.workspace)
        trees = [row.view(values.dtype) for row in scores.trees]
        starts, levels = scores.queries.starts, scores.levels
        of_all = _Sorted(values, self._ranks, self._ascending, starts, levels, self._margin)
        of_events = of_all
        if self._event is not None:
            of_events = of_all._replace(values=np.where(self._event, values, values.dtype.type(0)))
        run(
            [
                partial(sweep, items, block, tree[place:], out)
                for block, place in zip(scores.blocks, scores.tree_starts)
                for sweep, items, tree, out in zip(
                    (_sum_above, _sum_below), (of_all, of_events), trees, (above, below)
                )
            ]
        )
        if self._event is not None:
            above *= self._event
        return above, below

    def _scatter(self, sorted_values: np.ndarray) -> np.ndarray:
        result = np.empty_like(sorted_values)
        result[self._items] = sorted_values
        return result


class _Sorted(NamedTuple):
    """Items sorted by query, then by p; the compiled sums read them."""

    values: np.ndarray
    ranks: np.ndarray
    p: np.ndarray
    starts: np.ndarray
    levels: np.ndarray
    margin: float


def _blocks(starts: np.ndarray) -> list[tuple[int, int]]:
    """Runs of whole queries, first to last, of at least BLOCK_ITEMS items each but the last."""
    edges = [0]
    while edges[-1] < len(starts) - 1:
        reach = starts[edges[-1]] + BLOCK_ITEMS
        edges.append(min(int(np.searchsorted(starts, reach)), len(starts) - 1))
    return list(pairwise(edges))


@compiled
def _sum_above(items: _Sorted, block: tuple[int, int], cells: np.ndarray, out: np.ndarray) -> None:
    """Lines 5-13 of Algorithm 3, over sorted positions: sums over rivals of larger score."""
    values, ranks, p, starts, levels, margin = items
    for query in range(block[0], block[1]):
        j, stop, top = starts[query], starts[query + 1], levels[query] - 1
        tree = cells[: tree_length(top)]
        tree[:] = 0
        for i in range(j, stop):
            while j < stop and p[i] > p[j] - margin:
                add_to_cell(tree, top, top - ranks[j], values[j])
                j += 1
            out[i] = sum_of_first(tree, top, top - ranks[i])


@compiled
def _sum_below(items: _Sorted, block: tuple[int, int], cells: np.ndarray, out: np.ndarray) -> None:
    """Lines 14-22 of Algorithm 3, over sorted positions: sums over rivals of smaller score."""
    values, ranks, p, starts, levels, margin = items
    for query in range(block[0], block[1]):
        start, j, top = starts[query], starts[query + 1] - 1, levels[query] - 1
        tree = cells[: tree_length(top)]
        tree[:] = 0
        for i in range(j, start - 1, -1):
            while j >= start and p[j] > p[i] - margin:
                add_to_cell(tree, top, ranks[j], values[j])
                j -= 1
            out[i] = sum_of_first(tree, top, ranks[i])
