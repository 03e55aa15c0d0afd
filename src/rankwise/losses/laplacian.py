"""Laplacians L = R Rᵀ of preference graphs as operators: complete, tie-free, weighted.

Every quadratic ranking problem reads fᵀLf − 2fᵀRβ + λ‖w‖². All that the solvers and hold-outs
ever need is R, in O(m) a column, so the graph of all pairs in a query is never formed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse

from rankwise.numerics.threads import one_blas_thread, over_ranges, run
from rankwise.numerics.tiles import transpose_in_place
from rankwise.supervision.queries import Queries

CHUNK_BYTES = 4e6
PARTS = 16


@dataclass
class Target:
    """The linear term b = R β of the objective, one column an output.

    Given as `scores` s with b = L s, or as b itself; the other forms follow when asked for.
    """

    laplacian: Any
    scores: np.ndarray | None = None
    given: np.ndarray | None = None

    @cached_property
    def beta(self) -> np.ndarray:
        if self.scores is not None:
            return self.laplacian.factor_t(self.scores)
        return self.laplacian.solve_factor(self.given)

    @cached_property
    def b(self) -> np.ndarray:
        return self.laplacian.apply(self.scores) if self.given is None else self.given


class ScoreLaplacian:
    """Pairs of a query that fall in different tie classes, pair (i, j) weighing c_q v_i v_j.

    With V_q and V_k the weights of a query and of a tie class, D = diag(v):

        L = D^½ [ Σ_k c (V_q − V_k) E_k  +  c V_q (P_q − û û ᵀ) ] D^½

    where P_q projects on the span of the classes' √v, û is √v normalised over the query and
    E_k the rest of class k: the Laplacian of a complete multipartite graph has eigenvalue
    V_q − V_k inside a class and V_q between classes. So R = D^½ [...]^½ in closed form, O(m).
    Ties kept are classes of one item each: L = ⊕ c (V D − v vᵀ), equation 25 of Pahikkala et al.
    """

    def __init__(self, order, class_starts, query_classes, weight, scale):
        self.order = order
        self.class_starts = class_starts
        self.query_classes = query_classes
        self.weight = weight
        self.scale = scale
        self.query_starts = class_starts[query_classes]
        self.root_weight = np.sqrt(weight)
        ordered = weight[order]
        self.class_weight = np.add.reduceat(ordered, class_starts[:-1])
        self.query_weight = np.add.reduceat(ordered, self.query_starts[:-1])
        self._ones = np.ones(len(weight))

    @cached_property
    def _query_of_item(self) -> np.ndarray:
        query = np.empty(len(self.order), dtype=np.intp)
        query[self.order] = np.repeat(np.arange(len(self.scale)), np.diff(self.query_starts))
        return query

    @cached_property
    def _place(self) -> np.ndarray:
        place = np.empty(len(self.order), dtype=np.intp)
        place[self.order] = np.arange(len(place))
        return place

    def take(self, items: np.ndarray) -> ScoreLaplacian:
        """That of whole queries, given by their items; the queries follow as they first appear."""
        queries, first, member = np.unique(
            self._query_of_item[items], return_index=True, return_inverse=True
        )
        appearance = np.argsort(first)
        queries = queries[appearance]
        n_classes = np.diff(self.query_classes)[queries]
        skipped = np.repeat(self.query_classes[queries] - _before(n_classes), n_classes)
        sizes = np.diff(self.class_starts)[skipped + np.arange(len(skipped))]
        order = np.lexsort((self._place[items], np.argsort(appearance)[member]))
        starts = (order, _starts(sizes), _starts(n_classes))
        return ScoreLaplacian(*starts, self.weight[items], self.scale[queries])

    @classmethod
    def keeping_ties(cls, queries: Queries, weight, scale) -> ScoreLaplacian:
        items = np.arange(queries.n_items + 1)
        return cls(queries.order, items, queries.starts, weight, scale)

    @property
    def n_items(self) -> int:
        return len(self.weight)

    @property
    def rank(self) -> int:
        """Rows of the space that R maps from; here row i belongs to item i."""
        return len(self.weight)

    @property
    def stiffness(self) -> np.ndarray:
        """c_q V_q, the eigenvalue of each query's block between its classes."""
        return self.scale * self.query_weight

    def _arrays(self, before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, ...]:
        classes = (self.class_starts, self.query_classes, self.class_weight, self.query_weight)
        return before, after, self.root_weight, self.order, *classes, self.scale

    @property
    def forward(self) -> tuple[np.ndarray, ...]:
        """R for the compiled half_rows."""
        return self._arrays(self._ones, self.root_weight)

    @property
    def transposed(self) -> tuple[np.ndarray, ...]:
        """Rᵀ for the compiled half_rows."""
        return self._arrays(self.root_weight, self._ones)

    def factor(self, Y: np.ndarray) -> np.ndarray:
        """R Y."""
        return self._half(Y, self.forward)

    def factor_t(self, X: np.ndarray) -> np.ndarray:
        """Rᵀ X: rows centred by query and scaled."""
        return self._half(X, self.transposed)

    def apply(self, X: np.ndarray) -> np.ndarray:
        """L X."""
        return self.factor(self.factor_t(X))

    def rows_of(self, items: np.ndarray) -> np.ndarray:
        """Rows of R's space that belong to whole blocks given by their items."""
        return items

    def closed(self, groups: list[np.ndarray]) -> np.ndarray:
        """Of groups with at least one item each: whether no pair connects them to others."""
        sizes = np.array([len(items) for items in groups])
        queries = self._query_of_item[np.concatenate(groups)]
        starts = np.cumsum(sizes) - sizes
        first, last = (f.reduceat(queries, starts) for f in (np.minimum, np.maximum))
        closed = (first == last) & (sizes == np.diff(self.query_starts)[first])
        for i in np.flatnonzero(first != last):
            closed[i] = len(self.closure(groups[i])) == sizes[i]
        return closed

    def closure(self, items: np.ndarray) -> np.ndarray:
        """The items together with all that pairs connect them to, in ascending order."""
        touched = np.unique(self._query_of_item[items])
        starts, stops = self.query_starts[touched], self.query_starts[touched + 1]
        if (stops - starts).sum() == len(items):
            return np.sort(items)
        return np.sort(np.concatenate([self.order[a:b] for a, b in zip(starts, stops)]))

    def sandwich(self, K: np.ndarray) -> np.ndarray:
        """Rᵀ K R for symmetric K, in one matrix of its size beside it."""
        A = self.factor_t(K)
        transpose_in_place(A)
        return self._half(A, self.transposed, A)

    def _half(self, X: np.ndarray, arrays: tuple[np.ndarray, ...], out=None) -> np.ndarray:
        Z = np.ascontiguousarray(X.reshape(len(X), -1), dtype=np.float64)
        out = np.empty_like(Z) if out is None else out
        n_queries, columns = len(self.scale), Z.shape[1]
        by_query = n_queries >= 4

        def task(low, high):
            queries = (low, high) if by_query else (0, n_queries)
            span = (0, columns) if by_query else (low, high)
            half_rows(Z, arrays, *queries, *span, 0, -1, out)

        over_ranges(task, n_queries if by_query else columns, work=Z.size)
        return out.reshape(X.shape)

    def gram(self, F, target: Target) -> tuple[np.ndarray, np.ndarray]:
        """(FᵀLF, Fᵀb) in O(m n²) time and O(n²) extra memory; F dense or CSR."""
        if sparse.issparse(F):
            return self._sparse_gram(F), np.asarray(F.T @ target.b)
        F, beta = np.ascontiguousarray(F), target.beta
        rows = min(int(CHUNK_BYTES / (8 * max(F.shape[1], 1))), len(F) // PARTS)
        chunks = np.array(list(_query_chunks(self.query_starts, rows)))
        with one_blas_thread():
            parts = np.array_split(chunks, min(PARTS, len(chunks)))
            sums = run([partial(self._gram_of, F, beta, part) for part in parts])
        return sum(G for G, _ in sums), sum(moments for _, moments in sums)

    def _gram_of(self, F, beta, chunks) -> tuple[np.ndarray, np.ndarray]:
        n = F.shape[1]
        G, moments = np.zeros((n, n)), np.zeros((n, beta.shape[1]))
        bounds = self.query_starts[chunks]
        buffer = np.empty((int(np.diff(bounds).max()), n))
        for (low, high), (start, stop) in zip(chunks, bounds):
            A = buffer[: stop - start]
            half_rows(F, self.transposed, low, high, 0, n, 0, start, A)
            G += A.T @ A
            moments += A.T @ beta[self.order[start:stop]]
        return G, moments

    def _sparse_gram(self, F) -> np.ndarray:
        class_sizes = np.diff(self.class_starts)
        classes = np.repeat(np.arange(len(class_sizes)), class_sizes)
        queries = np.repeat(np.arange(len(self.scale)), np.diff(self.query_starts))
        v, tied = self.weight[self.order], class_sizes[classes] > 1
        own_class = np.where(tied, self.class_weight[classes], 0.0)
        diagonal = self.scale[queries] * v * (self.query_weight[queries] - own_class)
        rows = F[self.order]
        G = rows.T @ sparse.diags_array(diagonal) @ rows
        for groups, factor, sign in ((queries, v, -1.0), (classes, v * tied, 1.0)):
            root = np.sqrt(self.scale[queries]) * factor
            sums = sparse.csr_array((root, (groups, np.arange(len(v))))) @ rows
            G = G + sign * (sums.T @ sums)
        return np.asarray(G.todense())


@njit(cache=True, nogil=True)
def half_rows(Z, arrays, low, high, first, last, given, base, out):
    """after · M^½ (before · Z) for queries low..high, columns first..last, M as in the class.

    Z and out, which may be Z itself, begin with the row of item `given`; with base ≥ 0 rows are
    written to their places in `order` − base instead.
    """
    before, after, root, order, class_starts, query_classes = arrays[:6]
    class_weight, query_weight, scale = arrays[6:]
    width = last - first
    total, within = np.empty(width), np.empty(width)
    for q in range(low, high):
        V = query_weight[q]
        between = np.sqrt(scale[q] * V)
        total[:] = 0.0
        for place in range(class_starts[query_classes[q]], class_starts[query_classes[q + 1]]):
            i = order[place]
            factor, row = root[i] * before[i], Z[i - given, first:last]
            for j in range(width):
                total[j] += factor * row[j]
        if V > 0:
            total /= V
        for k in range(query_classes[q], query_classes[q + 1]):
            tied = class_starts[k + 1] - class_starts[k] > 1
            inside = between
            if tied:
                inside = np.sqrt(scale[q] * max(V - class_weight[k], 0.0))
                within[:] = 0.0
                for place in range(class_starts[k], class_starts[k + 1]):
                    i = order[place]
                    factor, row = root[i] * before[i], Z[i - given, first:last]
                    for j in range(width):
                        within[j] += factor * row[j]
                if class_weight[k] > 0:
                    within /= class_weight[k]
            for place in range(class_starts[k], class_starts[k + 1]):
                i = order[place]
                written = i - given if base < 0 else place - base
                row, target = Z[i - given, first:last], out[written, first:last]
                start, end, own = before[i], after[i], root[i]
                if tied:
                    for j in range(width):
                        mean = own * within[j]
                        value = inside * (start * row[j] - mean)
                        value += between * (mean - own * total[j])
                        target[j] = end * value
                else:
                    scale_row, scale_mean = end * between * start, end * between * own
                    for j in range(width):
                        target[j] = scale_row * row[j] - scale_mean * total[j]


def _starts(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(sizes)))


def _before(sizes: np.ndarray) -> np.ndarray:
    return np.cumsum(sizes) - sizes


def _query_chunks(starts: np.ndarray, rows: int):
    """Ranges of whole queries holding about `rows` items each, and no fewer than 256."""
    low, rows = 0, max(rows, 256)
    while low < len(starts) - 1:
        high = int(np.searchsorted(starts, starts[low] + rows, side="right")) - 1
        high = max(high, low + 1)
        yield low, high
        low = high


class PointLaplacian:
    """L = diag(v): no pairs at all, the pointwise squared loss of RLS; R = diag(√v)."""

    def __init__(self, weight: np.ndarray):
        self.weight = weight
        self.root_weight = np.sqrt(weight)

    def take(self, items: np.ndarray) -> PointLaplacian:
        return PointLaplacian(self.weight[items])

    @property
    def n_items(self) -> int:
        return len(self.root_weight)

    @property
    def rank(self) -> int:
        return len(self.root_weight)

    def factor(self, Y):
        return (self.root_weight * Y.T).T

    factor_t = factor

    def sandwich(self, K):
        return self.root_weight[:, None] * K * self.root_weight

    @property
    def transposed(self):
        """R for the compiled half_rows: every item a query of which no mean is taken."""
        items, ones = np.arange(len(self.weight) + 1), np.ones(len(self.weight))
        return self.root_weight, ones, np.zeros(len(ones)), items[:-1], items, items, *[ones] * 3

    @property
    def query_starts(self):
        return np.arange(len(self.weight) + 1)

    def apply(self, X):
        return self.factor(self.factor(X))

    def rows_of(self, items):
        return items

    def closed(self, groups):
        return np.ones(len(groups), dtype=bool)

    def closure(self, items):
        return np.sort(items)

    def gram(self, F, target):
        unit = bool(np.all(self.root_weight == 1.0))
        if sparse.issparse(F):
            A = F if unit else sparse.diags_array(self.root_weight) @ F
            return np.asarray((A.T @ A).todense()), np.asarray(F.T @ target.b)
        A = F if unit else self.factor(F)
        return A.T @ A, A.T @ target.beta
