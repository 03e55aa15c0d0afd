"""Φ w and Φᵀ g for a data matrix Φ, in double precision, without a copy or a transpose of Φ.

Each product costs O(nnz) and uses all cores. The rows are cut into blocks whose number depends on
the data alone, so the results do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from rankwise.numerics.compiled import compiled
from rankwise.numerics.threads import run

MAX_BLOCKS = 16
BLOCK_ENTRIES = 100_000

Csr = tuple[np.ndarray, np.ndarray, np.ndarray]
"""data, indices, indptr of a CSR matrix."""


class Products:
    """The two products of one matrix: dense or CSR, float32 or float64, or a linear operator."""

    def __init__(self, phi: np.ndarray | sparse.csr_array | LinearOperator):
        self.shape = phi.shape
        self._matrix: _SparseRows | _DenseRows | _Operator
        if sparse.issparse(phi):
            self._matrix = _SparseRows(phi)
        else:
            self._matrix = _DenseRows(phi) if isinstance(phi, np.ndarray) else _Operator(phi)
        self._blocks = list(pairwise(self._matrix.block_bounds()))

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Φ w, (m,)."""
        out = np.empty(self.shape[0])
        run([partial(self._matrix.scores, low, high, w, out) for low, high in self._blocks])
        return out

    def pullback(self, g: np.ndarray) -> np.ndarray:
        """Φᵀ g, (n,)."""
        parts = run([partial(self._matrix.pullback, low, high, g) for low, high in self._blocks])
        total = parts[0]
        for part in parts[1:]:
            total += part
        return total


class _SparseRows:
    def __init__(self, X: sparse.csr_array):
        self._arrays: Csr = (X.data, X.indices, X.indptr)
        self._shape = X.shape

    def block_bounds(self) -> list[int]:
        """Row numbers that cut the matrix into blocks with the same number of entries."""
        return [0, *(high for _, high in row_bounds(self._arrays[2], self._shape[1]))]

    def scores(self, low: int, high: int, w: np.ndarray, out: np.ndarray) -> None:
        _multiply_rows(self._arrays, low, high, w, out)

    def pullback(self, low: int, high: int, g: np.ndarray) -> np.ndarray:
        return _add_rows(self._arrays, low, high, g, self._shape[1])


class _DenseRows:
    """BLAS takes float64 as it is; other types are converted to it, a few rows at a time."""

    def __init__(self, X: np.ndarray):
        self._X = X
        self._step = len(X) if X.dtype == np.float64 else BLOCK_ENTRIES // max(1, X.shape[1]) + 1

    def block_bounds(self) -> list[int]:
        m, n = self._X.shape
        return np.linspace(0, m, min(_n_blocks(m * n, n), max(m, 1)) + 1).astype(int).tolist()

    def scores(self, low: int, high: int, w: np.ndarray, out: np.ndarray) -> None:
        for a, b in self._steps(low, high):
            np.matmul(self._X[a:b].astype(np.float64, copy=False), w, out=out[a:b])

    def pullback(self, low: int, high: int, g: np.ndarray) -> np.ndarray:
        total = np.zeros(self._X.shape[1])
        for a, b in self._steps(low, high):
            total += g[a:b] @ self._X[a:b].astype(np.float64, copy=False)
        return total

    def _steps(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        return pairwise([*range(low, high, max(1, self._step)), high])


class _Operator:
    def __init__(self, phi: LinearOperator):
        self._phi = phi

    def block_bounds(self) -> list[int]:
        return [0, self._phi.shape[0]]

    def scores(self, low: int, high: int, w: np.ndarray, out: np.ndarray) -> None:
        out[low:high] = self._phi @ w

    def pullback(self, _low: int, _high: int, g: np.ndarray) -> np.ndarray:
        return np.asarray(self._phi.T @ g)


def row_bounds(indptr: np.ndarray, n: int) -> list[tuple[int, int]]:
    """First and last row of blocks of a CSR matrix that have about the same number of entries."""
    cuts = np.linspace(0, indptr[-1], _n_blocks(int(indptr[-1]), n) + 1)[1:-1]
    return list(pairwise([0, *np.searchsorted(indptr, cuts).tolist(), len(indptr) - 1]))


def _n_blocks(n_entries: int, n_columns: int) -> int:
    """The number of blocks; small if the partial sums of Φᵀ g, one per block, would be long."""
    return int(np.clip(n_entries // max(BLOCK_ENTRIES, 8 * n_columns), 1, MAX_BLOCKS))


@compiled
def _multiply_rows(X: Csr, low: int, high: int, w: np.ndarray, out: np.ndarray) -> None:
    data, indices, indptr = X
    for row in range(low, high):
        total = 0.0
        for k in range(np.uintp(indptr[row]), np.uintp(indptr[row + 1])):
            total += data[k] * w[np.uintp(indices[k])]
        out[row] = total


@compiled
def _add_rows(X: Csr, low: int, high: int, g: np.ndarray, n: int) -> np.ndarray:
    data, indices, indptr = X
    total = np.zeros(n)
    for row in range(low, high):
        value = g[row]
        for k in range(np.uintp(indptr[row]), np.uintp(indptr[row + 1])):
            total[np.uintp(indices[k])] += data[k] * value
    return total
