"""Laplacians L = R Rᵀ of preference graphs as operators.

Every quadratic ranking problem reads fᵀLf − 2fᵀRβ + λ‖w‖². Solvers and hold-outs need only R,
which costs O(m) for each column where the graph has structure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import sparse

from rankwise.losses.gram_sums import gram_sums
from rankwise.losses.half_rows import HalfRows, Span, half_rows
from rankwise.numerics.arrays import LazyRows, Matrix, dense, moved_to_origin
from rankwise.numerics.threads import over_ranges
from rankwise.numerics.tiles import transpose_in_place
from rankwise.supervision.queries import Queries


class Laplacian(ABC):
    """L = R Rᵀ over m items; R has one column for each of `rank` rows of the ridge problem."""

    ignores_offsets: ClassVar[bool] = True
    """Whether L 1 = 0, as pairs see differences only."""

    @property
    @abstractmethod
    def n_items(self) -> int: ...

    @property
    @abstractmethod
    def rank(self) -> int: ...

    @abstractmethod
    def factor(self, Y: np.ndarray) -> np.ndarray:
        """R Y."""

    @abstractmethod
    def factor_t(self, X: np.ndarray) -> np.ndarray:
        """Rᵀ X."""

    @abstractmethod
    def sandwich(self, K: np.ndarray, overwrite: bool = False) -> np.ndarray:
        """Rᵀ K R for a symmetric K, contiguous by rows: a new matrix, or K if `overwrite`."""

    @abstractmethod
    def gram(self, F: Matrix | LazyRows, target: Target) -> tuple[np.ndarray, np.ndarray]:
        """FᵀLF and Fᵀb."""

    @abstractmethod
    def closure(self, items: np.ndarray) -> np.ndarray:
        """The items together with all items that pairs connect them to, in ascending order."""

    @abstractmethod
    def rows_of(self, items: np.ndarray) -> np.ndarray:
        """Columns of R that belong to items which no pair connects to other items."""

    def apply(self, X: np.ndarray) -> np.ndarray:
        """L X."""
        return self.factor(self.factor_t(X))

    def solve_factor(self, b: np.ndarray) -> np.ndarray:
        """β with R β = b, for b in the range of L. Only needed where b is not given by scores."""
        return np.linalg.lstsq(self.factor(np.eye(self.rank)), b)[0]


class RowLaplacian(Laplacian):
    """A Laplacian whose row i of Rᵀ belongs to item i, for the compiled loops over blocks."""

    @property
    def rank(self) -> int:
        return self.n_items

    def rows_of(self, items: np.ndarray) -> np.ndarray:
        return items

    @property
    @abstractmethod
    def transposed(self) -> HalfRows:
        """Rᵀ for the compiled `half_rows`."""

    @property
    @abstractmethod
    def query_starts(self) -> np.ndarray:
        """Where the items of each query start in `transposed.order`."""

    @abstractmethod
    def take(self, items: np.ndarray) -> RowLaplacian:
        """The Laplacian of whole queries, which are given by their items."""

    @abstractmethod
    def closed(self, groups: Sequence[np.ndarray]) -> np.ndarray:
        """For groups of at least one item: whether no pair connects the group to other items."""


class Target:
    """The linear term b = R β of the objective, with one column for each output.

    Given as `scores` s with b = L s, or as b itself; the other forms are computed when needed.
    """

    def __init__(
        self,
        laplacian: Laplacian,
        scores: np.ndarray | None = None,
        given: np.ndarray | None = None,
    ):
        self._laplacian, self._scores, self._given = laplacian, scores, given

    @cached_property
    def beta(self) -> np.ndarray:
        if self._scores is not None:
            return self._laplacian.factor_t(self._scores)
        return self._laplacian.solve_factor(self.b)

    @cached_property
    def b(self) -> np.ndarray:
        if self._given is not None:
            return self._given
        assert self._scores is not None
        return self._laplacian.apply(self._scores)


class PointLaplacian(RowLaplacian):
    """L = diag(v): no pairs at all, the pointwise squared loss; R = diag(√v)."""

    ignores_offsets = False

    def __init__(self, weight: np.ndarray):
        self.weight = weight
        self.root_weight = np.sqrt(weight)
        self.is_unit = bool(np.all(weight == 1.0))

    @property
    def n_items(self) -> int:
        return len(self.weight)

    def take(self, items: np.ndarray) -> PointLaplacian:
        return PointLaplacian(self.weight[items])

    def factor(self, Y: np.ndarray) -> np.ndarray:
        return (self.root_weight * Y.T).T

    def factor_t(self, X: np.ndarray) -> np.ndarray:
        return self.factor(X)

    def sandwich(self, K: np.ndarray, overwrite: bool = False) -> np.ndarray:
        A = K if overwrite and K.flags.c_contiguous else np.array(K, order="C")
        if not self.is_unit:
            A *= self.root_weight[:, None]
            A *= self.root_weight
        return A

    @property
    def transposed(self) -> HalfRows:
        """Each item is a query of its own from which no mean is subtracted."""
        items, ones = self.query_starts, np.ones(len(self.weight))
        no_mean = np.zeros(len(ones))
        return HalfRows(self.root_weight, ones, no_mean, items[:-1], items, items, *[ones] * 3)

    @property
    def query_starts(self) -> np.ndarray:
        return np.arange(len(self.weight) + 1)

    def closed(self, groups: Sequence[np.ndarray]) -> np.ndarray:
        return np.ones(len(groups), dtype=bool)

    def closure(self, items: np.ndarray) -> np.ndarray:
        return np.sort(items)

    def gram(self, F: Matrix | LazyRows, target: Target) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(F, LazyRows):
            return gram_sums(F, self.transposed, target)
        if sparse.issparse(F):
            A = F if self.is_unit else sparse.diags_array(self.root_weight) @ F
            return dense(A.T @ A), np.asarray(F.T @ target.b)
        A = F if self.is_unit else self.factor(F)
        return A.T @ A, A.T @ target.beta


class ScoreLaplacian(RowLaplacian):
    """Pairs of a query that fall in different tie classes; pair (i, j) weighs c_q v_i v_j.

    With V_q and V_k the total weights of a query and of a tie class, and D = diag(v):

        L = D^½ [ Σ_k c (V_q − V_k) E_k  +  c V_q (P_q − û û ᵀ) ] D^½

    Here P_q projects on the span of the vectors √v of the classes, û is √v of the query with norm
    1, and E_k projects on the rest of class k. The Laplacian of a complete multipartite graph has
    the eigenvalue V_q − V_k inside a class and V_q between classes, so R = D^½ [...]^½ is known in
    closed form and costs O(m) to apply. If ties are kept, every class has one item:
    L = ⊕ c (V D − v vᵀ), equation 25 of Pahikkala et al. (2009).
    """

    def __init__(
        self,
        order: np.ndarray,
        class_starts: np.ndarray,
        query_classes: np.ndarray,
        weight: np.ndarray,
        scale: np.ndarray,
    ):
        """The arrays of TieClasses, the weights v of the items, and the scales c of the queries."""
        self.order = order
        self.class_starts = class_starts
        self.query_classes = query_classes
        self.weight = weight
        self.scale = scale
        self.root_weight = np.sqrt(weight)
        ordered = weight[order]
        self.class_weight = np.add.reduceat(ordered, class_starts[:-1])
        self.query_weight = np.add.reduceat(ordered, self.query_starts[:-1])
        self._ones = np.ones(len(weight))

    @classmethod
    def keeping_ties(
        cls, queries: Queries, weight: np.ndarray, scale: np.ndarray
    ) -> ScoreLaplacian:
        items = np.arange(queries.n_items + 1)
        return cls(queries.order, items, queries.starts, weight, scale)

    @property
    def n_items(self) -> int:
        return len(self.weight)

    @cached_property
    def query_starts(self) -> np.ndarray:
        return self.class_starts[self.query_classes]

    @cached_property
    def _query_of_item(self) -> np.ndarray:
        query = np.empty(len(self.order), dtype=np.intp)
        query[self.order] = np.repeat(np.arange(len(self.scale)), np.diff(self.query_starts))
        return query

    @cached_property
    def _position(self) -> np.ndarray:
        """The position of each item in `order`."""
        position = np.empty(len(self.order), dtype=np.intp)
        position[self.order] = np.arange(len(position))
        return position

    def take(self, items: np.ndarray) -> ScoreLaplacian:
        """The Laplacian of whole queries; they are numbered in the order of their first items."""
        queries, first, member = np.unique(
            self._query_of_item[items], return_index=True, return_inverse=True
        )
        appearance = np.argsort(first)
        queries = queries[appearance]
        n_classes = np.diff(self.query_classes)[queries]
        skipped = np.repeat(
            self.query_classes[queries] - (np.cumsum(n_classes) - n_classes), n_classes
        )
        sizes = np.diff(self.class_starts)[skipped + np.arange(len(skipped))]
        order = np.lexsort((self._position[items], np.argsort(appearance)[member]))
        starts = (order, _starts(sizes), _starts(n_classes))
        return ScoreLaplacian(*starts, self.weight[items], self.scale[queries])

    @property
    def stiffness(self) -> np.ndarray:
        """c_q V_q, the eigenvalue of each query's block between its classes."""
        return self.scale * self.query_weight

    @property
    def row_scale(self) -> float:
        """√(c V v) of a single query with equal weights: R's space against that of the scores."""
        return float(np.sqrt(self.stiffness[0]) * self.root_weight[0])

    def _half_rows(self, before: np.ndarray, after: np.ndarray) -> HalfRows:
        classes = (self.class_starts, self.query_classes, self.class_weight, self.query_weight)
        return HalfRows(before, after, self.root_weight, self.order, *classes, self.scale)

    @property
    def transposed(self) -> HalfRows:
        return self._half_rows(self.root_weight, self._ones)

    def factor(self, Y: np.ndarray) -> np.ndarray:
        return self._apply_half(Y, self._half_rows(self._ones, self.root_weight))

    def factor_t(self, X: np.ndarray) -> np.ndarray:
        """Rᵀ X: the rows are centred by query and scaled."""
        return self._apply_half(X, self.transposed)

    def closed(self, groups: Sequence[np.ndarray]) -> np.ndarray:
        sizes = np.array([len(items) for items in groups])
        queries = self._query_of_item[np.concatenate(groups)]
        starts = np.cumsum(sizes) - sizes
        first, last = (f.reduceat(queries, starts) for f in (np.minimum, np.maximum))
        closed = (first == last) & (sizes == np.diff(self.query_starts)[first])
        for i in np.flatnonzero(first != last):
            closed[i] = len(self.closure(groups[int(i)])) == sizes[i]
        return closed

    def closure(self, items: np.ndarray) -> np.ndarray:
        touched = np.unique(self._query_of_item[items])
        starts, stops = self.query_starts[touched], self.query_starts[touched + 1]
        if (stops - starts).sum() == len(items):
            return np.sort(items)
        return np.sort(np.concatenate([self.order[a:b] for a, b in zip(starts, stops)]))

    def sandwich(self, K: np.ndarray, overwrite: bool = False) -> np.ndarray:
        """Rᵀ K R, in K itself or in one new matrix."""
        A = K if overwrite and K.flags.c_contiguous else np.empty(K.shape)
        self._apply_half(K, self.transposed, A)
        transpose_in_place(A)
        return self._apply_half(A, self.transposed, A)

    def _apply_half(
        self, X: np.ndarray, operator: HalfRows, out: np.ndarray | None = None
    ) -> np.ndarray:
        Z = np.ascontiguousarray(X.reshape(len(X), -1), dtype=np.float64)
        written = np.empty_like(Z) if out is None else out
        n_queries, columns = len(self.scale), Z.shape[1]
        by_query = n_queries >= 4

        def task(low: int, high: int) -> None:
            span = Span(low, high, 0, columns) if by_query else Span(0, n_queries, low, high)
            half_rows(Z, operator, span, 0, -1, written)

        over_ranges(task, n_queries if by_query else columns, work=Z.size)
        return written.reshape(X.shape)

    def gram(self, F: Matrix | LazyRows, target: Target) -> tuple[np.ndarray, np.ndarray]:
        """FᵀLF and Fᵀb in O(m n²) time and O(n²) extra memory; see rankwise.losses.gram_sums."""
        if not isinstance(F, LazyRows) and sparse.issparse(F):
            F, _ = moved_to_origin(F)
            return self._sparse_gram(F), np.asarray(F.T @ target.b)
        return gram_sums(F, self.transposed, target)

    def _sparse_gram(self, F: Matrix) -> np.ndarray:
        """The sparse rows are not centred: the means of queries and classes are corrections."""
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


def _starts(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(sizes)))
