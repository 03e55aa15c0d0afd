"""The kinds of matrices that hold items, how one becomes the other, and what float64 would lose."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

Matrix: TypeAlias = np.ndarray | sparse.csr_array | sparse.csr_matrix
"""A dense array or a CSR matrix."""


SOME = 256
"""So many items are looked at first, because they often show what all would."""
LARGEST_EXACT = 2**53
"""All integers up to this are exact as float64; beyond it, neighbours are the same float."""


def dense(X: Matrix) -> np.ndarray:
    return np.asarray(X) if isinstance(X, np.ndarray) else X.toarray()


def canonical(X: Any) -> Any:
    """X; of a sparse matrix with repeated or unsorted entries a copy, with their sums in order."""
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


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


def first_inexact(array: np.ndarray) -> tuple[int, ...] | None:
    """The place of the first integer that differs from its float64, if there is any.

    One pass over integers of 64 bits, one over the entries of an object array; else nothing.
    """
    if array.dtype.kind == "O":
        wrong = np.array([_is_inexact(value) for value in array.ravel()], dtype=bool)
    elif array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size:
        if int(array.min()) >= -LARGEST_EXACT and int(array.max()) <= LARGEST_EXACT:
            return None
        with np.errstate(invalid="ignore"):
            wrong = (array.astype(np.float64).astype(array.dtype) != array).ravel()
    else:
        return None
    if not wrong.any():
        return None
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), array.shape))


def _is_inexact(value: Any) -> bool:
    if not isinstance(value, Integral) or -LARGEST_EXACT <= int(value) <= LARGEST_EXACT:
        return False
    try:
        return int(float(int(value))) != int(value)
    except OverflowError:
        return True
