"""Laplacians L = R Rᵀ of preference graphs as operators.

Every quadratic ranking problem reads fᵀLf − 2fᵀRβ + λ‖w‖². Solvers and hold-outs need only R,
which costs O(m) for each column where the graph has structure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy import sparse

from rankwise.losses.half_rows import HalfRows
from rankwise.numerics.arrays import Matrix


class Laplacian(ABC):
    """L = R Rᵀ over m items; R has one column for each of `rank` rows of the ridge problem."""

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
    def sandwich(self, K: np.ndarray) -> np.ndarray:
        """Rᵀ K R for a symmetric K, as a new matrix."""

    @abstractmethod
    def gram(self, F: Matrix, target: Target) -> tuple[np.ndarray, np.ndarray]:
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

    def __init__(self, weight: np.ndarray):
        self.weight = weight
        self.root_weight = np.sqrt(weight)

    @property
    def n_items(self) -> int:
        return len(self.weight)

    def take(self, items: np.ndarray) -> PointLaplacian:
        return PointLaplacian(self.weight[items])

    def factor(self, Y: np.ndarray) -> np.ndarray:
        return (self.root_weight * Y.T).T

    def factor_t(self, X: np.ndarray) -> np.ndarray:
        return self.factor(X)

    def sandwich(self, K: np.ndarray) -> np.ndarray:
        return self.root_weight[:, None] * K * self.root_weight

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

    def gram(self, F: Matrix, target: Target) -> tuple[np.ndarray, np.ndarray]:
        unit = bool(np.all(self.root_weight == 1.0))
        if sparse.issparse(F):
            A = F if unit else sparse.diags_array(self.root_weight) @ F
            return np.asarray((A.T @ A).todense()), np.asarray(F.T @ target.b)
        A = F if unit else self.factor(F)
        return A.T @ A, A.T @ target.beta
