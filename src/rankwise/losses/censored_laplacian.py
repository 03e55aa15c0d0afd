"""The Laplacian of comparable pairs of censored outcomes, L = R Rᵀ with R in closed form, O(m).

Levels order the items of a stratum (rankwise.supervision.censored): an item with the event is
compared with all items of greater levels. Seen from the last level down, a level of events joins
each of its items to everything seen so far, and a censored level joins nothing. The eigenvectors
of such a graph do not depend on what comes later: joining a set adds its weight to the eigenvalues
of everything seen so far. With the item weights v, D = diag(v), the weight V_k of level k, E the
weight of the events of smaller levels, and W the weight of all greater levels,

    L = c D^½ [ Σ_k μ_k (projection on level k without its mean)  +  Σ_k ν_k ĝ_k ĝ_kᵀ ] D^½ ,

    μ_k = E + W  and  ν_k = E + V_k + W   for a level of events,       μ_k = ν_k = E   otherwise,

where ĝ_k compares the mean of level k with the mean of all greater levels. If all items have the
event, this is the complete multipartite graph of rankwise.losses.laplacian.ScoreLaplacian.

R has one column for each of these comparisons. Rᵀ X visits the items from the last to the first and
keeps two running means, so that no digits are lost to an offset of X.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rankwise.losses.laplacian import Laplacian, Target
from rankwise.losses.query_weights import QueryWeighting
from rankwise.numerics.arrays import LazyRows, Matrix, dense
from rankwise.numerics.compiled import compiled
from rankwise.numerics.products import add_squares
from rankwise.numerics.threads import one_blas_thread, over_ranges
from rankwise.numerics.tiles import mirror_upper, transpose_in_place
from rankwise.supervision.queries import Queries

BLOCK_BYTES = 4e6
SHORTEST = 256
"""Blocks of rows that are summed at once have no fewer rows, whatever the number of columns."""


class LevelSums(NamedTuple):
    """Items sorted by query, then from the greatest level down; one entry for each of these places.

    `opens` and `closes` mark the first and the last item of each level. E and W are the weights
    of the events of smaller levels, and of all items of greater levels.
    """

    order: np.ndarray
    query: np.ndarray
    weight: np.ndarray
    event: np.ndarray
    opens: np.ndarray
    closes: np.ndarray
    E: np.ndarray
    W: np.ndarray

    @classmethod
    def of(
        cls, level: np.ndarray, event: np.ndarray, queries: Queries, weight: np.ndarray
    ) -> LevelSums:
        """O(m log m)."""
        order = np.lexsort((-level, queries.codes))
        query, sorted_level = queries.codes[order], level[order]
        differs = np.ones(len(order) + 1, dtype=bool)
        differs[1:-1] = (query[1:] != query[:-1]) | (sorted_level[1:] != sorted_level[:-1])
        v, had_event = weight[order], event[order]
        opens, closes = differs[:-1], differs[1:]
        E, W = _level_sums(query, v, np.where(had_event, v, 0.0), opens)
        return cls(order, query, v, had_event, opens, closes, E, W)

    def pair_weights(self, n_queries: int) -> np.ndarray:
        """(q,) U, the sum of v_j v_h over the comparable pairs of each query."""
        return np.bincount(self.query, self.weight * self.event * self.W, minlength=n_queries)

    def eigenvalues(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """c μ and c ν of the level at each place; ν counts at the last place of a level only."""
        C = _class_weights(self.weight, self.opens)
        within = c * np.where(self.event, self.E + self.W, self.E)
        between = c * np.where(self.event, self.E + C + self.W, self.E)
        return within, between


class Contrasts(NamedTuple):
    """What each place of LevelSums contributes to R; see `_contrast_rows`.

    `within` and `between` are the factors of the two kinds of comparison. `share` is the weight
    of the item in the mean of its level so far, and `absorb` that of the level in the mean of all
    levels so far. The comparison of a level with greater ones is the row of item `row`.
    """

    order: np.ndarray
    row: np.ndarray
    opens: np.ndarray
    closes: np.ndarray
    within: np.ndarray
    between: np.ndarray
    share: np.ndarray
    absorb: np.ndarray

    @classmethod
    def of(cls, sums: LevelSums, within: np.ndarray, between: np.ndarray) -> Contrasts:
        """With the given eigenvalues of the comparisons within levels, and between them."""
        C = _class_weights(sums.weight, sums.opens)  # of the level up to and with this item
        before, v, W = np.where(sums.opens, 0.0, np.roll(C, 1)), sums.weight, sums.W
        first = np.maximum.accumulate(np.where(sums.opens, np.arange(len(v)), 0))
        starts = np.concatenate(([True], sums.query[1:] != sums.query[:-1]))
        new_query = np.maximum.accumulate(np.where(starts, np.arange(len(v)), 0)) == first
        nothing_before = new_query | (W == 0)  # the mean of greater levels starts anew
        share = np.where(sums.opens, 1.0, _ratio(v, before + v))
        absorb = np.where(nothing_before, 1.0, _ratio(C, C + W))
        within = np.sqrt(within * before * _ratio(v, before + v))
        between = np.sqrt(between * W * _ratio(C, C + W)) * sums.closes
        places = (sums.opens, sums.closes, within, between, share, absorb)
        return cls(sums.order, sums.order[first], *places)


class CensoredLaplacian(Laplacian):
    """Comparable pairs (i, j) of a query, weighing c_q v_i v_j; O(m) for each column to apply."""

    def __init__(
        self,
        level: np.ndarray,
        event: np.ndarray,
        queries: Queries,
        weight: np.ndarray,
        weighting: QueryWeighting,
    ):
        self.queries, self.weight = queries, weight
        self.sums = LevelSums.of(level, event, queries, weight)
        V = np.bincount(queries.codes, weight, minlength=len(queries))
        self.scale = weighting.scale(V, self.sums.pair_weights(len(queries)))
        self._c = self.scale[self.sums.query]
        self._contrasts = Contrasts.of(self.sums, *self.sums.eigenvalues(self._c))

    @property
    def n_items(self) -> int:
        return len(self.weight)

    @property
    def rank(self) -> int:
        return self.n_items

    def unit_target(self) -> np.ndarray:
        """(m,) b of the unit loss: c v times (weight of shorter events − weight outlived by)."""
        sums, b = self.sums, np.empty(self.n_items)
        b[sums.order] = self._c * sums.weight * (sums.E - sums.event * sums.W)
        return b

    def factor(self, Y: np.ndarray) -> np.ndarray:
        return self._over_columns(_contrast_sums, Y)

    def factor_t(self, X: np.ndarray) -> np.ndarray:
        return self._over_columns(_contrast_rows, X)

    def _over_columns(
        self, kernel: Any, X: np.ndarray, out: np.ndarray | None = None
    ) -> np.ndarray:
        Z = np.ascontiguousarray(X.reshape(len(X), -1), dtype=np.float64)
        written = np.empty_like(Z) if out is None else out

        def task(low: int, high: int) -> None:
            kernel(Z, self._contrasts, (low, high), written)

        over_ranges(task, Z.shape[1], work=Z.size)
        return written.reshape(X.shape)

    def sandwich(self, K: np.ndarray, overwrite: bool = False) -> np.ndarray:
        A = K if overwrite and K.flags.c_contiguous else np.array(K, order="C")
        self._over_columns(_contrast_rows, A, A)
        transpose_in_place(A)
        return self._over_columns(_contrast_rows, A, A)

    def gram(self, F: Matrix | LazyRows, target: Target) -> tuple[np.ndarray, np.ndarray]:
        """FᵀLF and Fᵀb in O(m n²) time and O(n²) extra memory: rows of Rᵀ F, block by block."""
        n = F.shape[1]
        beta, order, m = target.beta, self._contrasts.order, self.n_items
        G, moments = np.zeros((n, n), order="F"), np.zeros((n, beta.shape[1]))
        step = min(m, max(SHORTEST, int(BLOCK_BYTES / (8 * max(n, 1)))))
        A, rows = np.empty((step + 1, n)), np.empty(step + 1, dtype=np.intp)
        means = np.zeros((2, n))
        with one_blas_thread():
            for low in range(0, m, step):
                high = min(low + step, m)
                items = order[low:high]
                Z = F.rows(items) if isinstance(F, LazyRows) else dense(F[items])
                Z = np.ascontiguousarray(Z, dtype=np.float64)
                count = _contrast_block(Z, self._contrasts, low, means, A, rows)
                add_squares(G, A[:count])
                moments += A[:count].T @ beta[rows[:count]]
        G = G.T
        mirror_upper(G)
        return F.finish(G, moments) if isinstance(F, LazyRows) else (G, moments)

    def closure(self, items: np.ndarray) -> np.ndarray:
        codes = self.queries.codes
        return np.flatnonzero(np.isin(codes, codes[items]))

    def rows_of(self, items: np.ndarray) -> np.ndarray:
        return items

    def solve_factor(self, b: np.ndarray) -> np.ndarray:
        """The contrasts of b/v with inverse eigenvalues; 0 where the eigenvalue is 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            g = np.where(self.weight[:, None] > 0, b / self.weight[:, None], 0.0)
        out = np.empty_like(g)
        _contrast_rows(np.ascontiguousarray(g), self._inverse, (0, g.shape[1]), out)
        return out

    @cached_property
    def _inverse(self) -> Contrasts:
        within, between = self.sums.eigenvalues(self._c)
        return Contrasts.of(self.sums, _ratio(1.0, within), _ratio(1.0, between))


def _ratio(a: np.ndarray | float, b: np.ndarray) -> np.ndarray:
    """a/b, and 0 where b is 0."""
    return np.divide(a, b, out=np.zeros_like(b), where=b != 0)


@compiled
def _level_sums(
    query: np.ndarray, weight: np.ndarray, event_weight: np.ndarray, opens: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """E and W of LevelSums, by running sums that only add."""
    m = len(query)
    E, W = np.empty(m), np.empty(m)
    seen = level = 0.0
    for place in range(m):
        if place > 0 and query[place] != query[place - 1]:
            seen = level = 0.0
        elif opens[place]:
            seen, level = seen + level, 0.0
        W[place] = seen
        level += weight[place]
    seen = level = 0.0
    for place in range(m - 1, -1, -1):
        if place < m - 1 and query[place] != query[place + 1]:
            seen = level = 0.0
        elif place < m - 1 and opens[place + 1]:
            seen, level = seen + level, 0.0
        E[place] = seen
        level += event_weight[place]
    return E, W


@compiled
def _class_weights(weight: np.ndarray, opens: np.ndarray) -> np.ndarray:
    """The weight of each level up to and with each place."""
    C, total = np.empty(len(weight)), 0.0
    for place in range(len(weight)):
        total = weight[place] if opens[place] else total + weight[place]
        C[place] = total
    return C


@compiled
def _contrast_rows(
    X: np.ndarray, contrasts: Contrasts, columns: tuple[int, int], out: np.ndarray
) -> None:
    """Rᵀ X for a range of columns; `out` may be X itself."""
    order, row, opens, closes, within, between, share, absorb = contrasts
    first, last = columns
    width = last - first
    level, greater = np.zeros(width), np.zeros(width)
    for place in range(len(order)):
        x, target = X[order[place], first:last], out[order[place], first:last]
        for j in range(width):
            value = x[j]
            if opens[place]:
                level[j] = value
            else:
                step = value - level[j]
                level[j] += share[place] * step
                target[j] = within[place] * step
        if closes[place]:
            target = out[row[place], first:last]
            for j in range(width):
                step = level[j] - greater[j]
                target[j] = between[place] * step if between[place] > 0 else 0.0
                if absorb[place] == 1.0:
                    greater[j] = level[j]
                else:
                    greater[j] += absorb[place] * step


@compiled
def _contrast_sums(
    Y: np.ndarray, contrasts: Contrasts, columns: tuple[int, int], out: np.ndarray
) -> None:
    """R Y for a range of columns: `_contrast_rows` transposed, so its steps run backwards."""
    order, row, opens, closes, within, between, share, absorb = contrasts
    first, last = columns
    width = last - first
    of_level, of_greater = np.zeros(width), np.zeros(width)
    for place in range(len(order) - 1, -1, -1):
        if closes[place]:
            y = Y[row[place], first:last]
            for j in range(width):
                pull = between[place] * y[j]
                of_level[j] = pull + absorb[place] * of_greater[j]
                of_greater[j] = (1.0 - absorb[place]) * of_greater[j] - pull
        target = out[order[place], first:last]
        if opens[place]:
            for j in range(width):
                target[j] = of_level[j]
            continue
        y = Y[order[place], first:last]
        for j in range(width):
            pull = within[place] * y[j]
            target[j] = pull + share[place] * of_level[j]
            of_level[j] = (1.0 - share[place]) * of_level[j] - pull


@compiled
def _contrast_block(
    Z: np.ndarray,
    contrasts: Contrasts,
    start: int,
    means: np.ndarray,
    out: np.ndarray,
    rows: np.ndarray,
) -> int:
    """The rows of Rᵀ F that places `start` and later complete, Z holding their rows of F.

    `means` carries the running means from block to block. Returns the number of rows written to
    `out`; `rows` tells whose rows they are.
    """
    order, row, opens, closes, within, between, share, absorb = contrasts
    level, greater = means
    count, width = 0, Z.shape[1]
    for i in range(len(Z)):
        place, z = start + i, Z[i]
        if opens[place]:
            for j in range(width):
                level[j] = z[j]
        else:
            rows[count] = order[place]
            for j in range(width):
                step = z[j] - level[j]
                level[j] += share[place] * step
                out[count, j] = within[place] * step
            count += 1
        if closes[place]:
            starts_anew = absorb[place] == 1.0
            if between[place] > 0:
                rows[count] = row[place]
                for j in range(width):
                    out[count, j] = between[place] * (level[j] - greater[j])
                count += 1
            for j in range(width):
                if starts_anew:
                    greater[j] = level[j]
                else:
                    greater[j] += absorb[place] * (level[j] - greater[j])
    return count
