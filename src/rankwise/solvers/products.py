"""Φ w and Φᵀ g for a data matrix Φ, in double precision without a copy or a transpose of Φ.

O(nnz) each, on all cores. Rows are cut into blocks whose number depends on the data alone, so the
results do not depend on the number of threads.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
from numba import njit, uintp
from scipy import sparse

from rankwise.threads import run

MAX_BLOCKS = 16
BLOCK_ENTRIES = 100_000


class Products:
    """The two products of one matrix: dense or CSR, float32 or float64, or a linear operator."""

    def __init__(self, phi):
        self.phi = phi
        self.shape = phi.shape
        if sparse.issparse(phi):
            self._blocks = _row_blocks(phi)
            self.scores, self.pullback = self._csr_scores, self._csr_pullback
        elif isinstance(phi, np.ndarray) and phi.dtype != np.float64:
            self.scores, self.pullback = self._upcast_scores, self._upcast_pullback

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Φ w, (m,)."""
        return self.phi @ w

    def pullback(self, g: np.ndarray) -> np.ndarray:
        """Φᵀ g, (n,)."""
        return self.phi.T @ g

    def _csr_scores(self, w):
        X, out = self.phi, np.empty(self.shape[0])
        run(
            [
                partial(_multiply_rows, X.data, X.indices, X.indptr, low, high, w, out)
                for low, high in self._blocks
            ]
        )
        return out

    def _csr_pullback(self, g):
        X = self.phi
        parts = run(
            [
                partial(_add_rows, X.data, X.indices, X.indptr, low, high, g, self.shape[1])
                for low, high in self._blocks
            ]
        )
        total = parts[0]
        for part in parts[1:]:
            total += part
        return total

    def _upcast_scores(self, w):
        return np.concatenate([block @ w for _, block in self._upcast_blocks()])

    def _upcast_pullback(self, g):
        return sum(g[rows] @ block for rows, block in self._upcast_blocks())

    def _upcast_blocks(self):
        step = max(1, BLOCK_ENTRIES // max(1, self.shape[1]))
        for low in range(0, self.shape[0], step):
            rows = slice(low, low + step)
            yield rows, self.phi[rows].astype(np.float64)


def _row_blocks(X) -> list[tuple[int, int]]:
    """Blocks of equally many entries; few where Φᵀ g would need many long partial sums."""
    m, n = X.shape
    wanted = int(np.clip(X.nnz // max(BLOCK_ENTRIES, 8 * n), 1, MAX_BLOCKS))
    targets = np.linspace(0, X.nnz, wanted + 1)[1:-1]
    edges = np.concatenate(([0], np.searchsorted(X.indptr, targets), [m]))
    return list(pairwise(edges.tolist()))


@njit(cache=True, nogil=True)
def _multiply_rows(data, indices, indptr, low, high, w, out):
    for row in range(low, high):
        total = 0.0
        for k in range(uintp(indptr[row]), uintp(indptr[row + 1])):
            total += data[k] * w[uintp(indices[k])]
        out[row] = total


@njit(cache=True, nogil=True)
def _add_rows(data, indices, indptr, low, high, g, n):
    total = np.zeros(n)
    for row in range(low, high):
        value = g[row]
        for k in range(uintp(indptr[row]), uintp(indptr[row + 1])):
            total[uintp(indices[k])] += data[k] * value
    return total
