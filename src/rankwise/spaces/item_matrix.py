"""Φ as the solvers see it: a feature matrix or a Gram matrix over the training items."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from rankwise.numerics.arrays import Matrix, dense
from rankwise.spaces.basis_removal import BasisRemoval
from rankwise.validation import refuse_too_large


class ItemMatrix(ABC):
    """The training items. `offers` names what solvers may require of it."""

    name: ClassVar[str]
    offers: ClassVar[frozenset[str]]
    removal: BasisRemoval | None = None
    """How basis items leave a reduced set; None if the space has no basis of its own."""

    @property
    @abstractmethod
    def n_items(self) -> int: ...

    @property
    def in_basis(self) -> np.ndarray:
        """(m,) whether removing the item also changes the space."""
        marked = np.zeros(self.n_items, dtype=bool)
        if self.removal is not None:
            marked[self.removal.items[self.removal.items >= 0]] = True
        return marked

    def constraints_without(
        self, items: np.ndarray
    ) -> tuple[np.ndarray | None, np.ndarray | float]:
        """(N, values): a model without the items must satisfy Nᵀw = −values; (None, 0) if free."""
        return (None, 0.0) if self.removal is None else self.removal.of(items)

    @abstractmethod
    def kernel(self) -> np.ndarray:
        """(m, m) inner products of the items."""

    @abstractmethod
    def take(self, items: np.ndarray) -> ItemMatrix: ...

    @abstractmethod
    def scores(self, items: np.ndarray, trained: np.ndarray, model: np.ndarray) -> np.ndarray:
        """Scores of `items` by the coefficients of a model trained on the items `trained`."""


class Features(ItemMatrix):
    """Items as rows of F; the coefficients of a model are a weight vector w."""

    name = "a feature matrix"
    offers = frozenset({"features"})

    def __init__(self, F: Matrix, removal: BasisRemoval | None = None):
        self.F = F
        self.removal = removal

    @property
    def n_items(self) -> int:
        return self.F.shape[0]

    def kernel(self) -> np.ndarray:
        refuse_too_large(self.n_items, self.n_items, "the matrix F Fᵀ", "hold out fewer items")
        return dense(self.F @ self.F.T)

    def take(self, items: np.ndarray) -> Features:
        return Features(self.F[items])

    def scores(self, items: np.ndarray, trained: np.ndarray, model: np.ndarray) -> np.ndarray:
        return np.asarray(self.F[items] @ model)


class Gram(ItemMatrix):
    """Items by their kernel matrix K; the coefficients of a model are dual coefficients."""

    name = "a kernel matrix"
    offers = frozenset({"kernel matrix"})

    def __init__(self, K: np.ndarray):
        self.K = K

    @property
    def n_items(self) -> int:
        return len(self.K)

    def kernel(self) -> np.ndarray:
        return self.K

    def take(self, items: np.ndarray) -> Gram:
        return Gram(self.K[np.ix_(items, items)])

    def scores(self, items: np.ndarray, trained: np.ndarray, model: np.ndarray) -> np.ndarray:
        return self.K[np.ix_(items, trained)] @ model
