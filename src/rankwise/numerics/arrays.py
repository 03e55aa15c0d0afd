"""The kinds of matrices that hold items, and how one becomes the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeAlias

import numpy as np
from scipy import sparse

Matrix: TypeAlias = np.ndarray | sparse.csr_array | sparse.csr_matrix
"""A dense array or a CSR matrix."""


def dense(X: Matrix) -> np.ndarray:
    return np.asarray(X) if isinstance(X, np.ndarray) else X.toarray()


def row_squares(X: Matrix) -> np.ndarray:
    """(m,) the sum of the squares of each row."""
    if isinstance(X, np.ndarray):
        return np.einsum("ij,ij->i", X, X)
    return np.asarray(X.multiply(X).sum(axis=1)).ravel()


class LazyRows(ABC):
    """A matrix whose rows are computed when they are asked for; it is never there as a whole."""

    shape: tuple[int, int]
    """What `rows` returns, for all items."""

    @abstractmethod
    def rows(self, items: np.ndarray) -> np.ndarray:
        """The rows of some items, as a new array; several threads may ask at once."""

    def finish(self, G: np.ndarray, moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums over the matrix from the same sums over `rows`."""
        return G, moments
