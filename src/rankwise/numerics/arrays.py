"""The kinds of matrices that hold items, and how one becomes the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeAlias

import numpy as np
from scipy import sparse

Matrix: TypeAlias = np.ndarray | sparse.csr_array | sparse.csr_matrix
"""A dense array or a CSR matrix."""


SOME = 256
"""So many items are looked at first, because they often show what all would."""


def dense(X: Matrix) -> np.ndarray:
    return np.asarray(X) if isinstance(X, np.ndarray) else X.toarray()


def row_squares(X: Matrix) -> np.ndarray:
    """(m,) the sum of the squares of each row.

    That of a sparse row is rounded as its product with an equal row of X Xᵀ is.
    """
    if isinstance(X, np.ndarray):
        return np.einsum("ij,ij->i", X, X)
    entries = np.arange(len(X.data))
    alone = sparse.csr_array((X.data, entries, X.indptr), shape=(X.shape[0], len(entries)))
    return np.asarray(alone @ X.data)


def origin_of(X: Matrix) -> np.ndarray | None:
    """(n,) the first item in columns that are farther from 0 than their range, and 0 in others.

    None if no column is far. A column with a zero is not, so that X less this row keeps its zeros,
    and the differences are exact. O(m n), or less if the first items show that no column is far.
    """
    m, n = X.shape
    if isinstance(X, np.ndarray):
        if not _far_columns(X[:SOME]).any():
            return None
        far = _far_columns(X)
    else:
        full = np.flatnonzero(np.bincount(X.indices, minlength=n) == m)
        far = np.zeros(n, dtype=bool)
        far[full] = _far_columns(dense(X[:, full]))
    return np.where(far, dense(X[:1])[0], 0.0) if far.any() else None


def _far_columns(X: np.ndarray) -> np.ndarray:
    low, high = X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.maximum(low, -high) > high - low


def moved(X: Matrix, c: np.ndarray) -> Matrix:
    """X − c for the c that `origin_of` finds; sparse items stay sparse."""
    if isinstance(X, np.ndarray):
        return X - c
    less = X.copy()
    less.data -= c[less.indices]
    return less


def moved_to_origin(X: Matrix) -> tuple[Matrix, np.ndarray | None]:
    """(X − c, c) for the c of `origin_of`; (X, None) if no column is far."""
    c = origin_of(X)
    return (X, None) if c is None else (moved(X, c), c)


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
