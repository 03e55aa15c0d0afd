"""Features with some directions cut off, by one block of Householder reflections."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack, solve_triangular

from rankwise.numerics.compiled import compiled
from rankwise.numerics.threads import one_blas_thread, over_ranges

FEW = 8
"""So many directions are cut off row by row; more of them by products of blocks of rows."""
BLOCK = 50_000
"""Entries of F that stay in the cache between the two products."""


class OrthogonalComplement:
    """F H without its first h columns, where H = I − V S Vᵀ is orthogonal and turns the columns of
    N (d, h) into combinations of the first h unit vectors.

    The rows of N differ in size as the inverse roots of eigenvalues do, largest first, and
    held-out items that resemble each other make its columns nearly parallel. With column pivoting
    the error of each row stays relative to that row. O(d h²), then O(d h) per item.
    """

    def __init__(self, N: np.ndarray):
        d, self.h = N.shape
        self.h = min(d, self.h)
        with one_blas_thread():  # small products: idle threads of BLAS would compete with ours
            packed, _, tau, _, _ = lapack.dgeqp3(N)
            V = np.tril(packed[:, : self.h], -1)
            V[np.arange(self.h), np.arange(self.h)] = 1.0
            V[:, tau == 0.0] = 0.0
            inverse = np.triu(V.T @ V, 1)
            inverse.flat[:: self.h + 1] = 1.0 / np.where(tau == 0.0, 1.0, tau)
            self.Vt = np.ascontiguousarray(V.T)
            self.SVt = np.ascontiguousarray(solve_triangular(inverse, V[self.h :].T))

    def of(self, F: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """(rows, d − h) in one pass over the rows of F, on all cores."""
        out = np.empty((len(rows), F.shape[1] - self.h))
        by_row = self.h <= FEW and F.flags.c_contiguous

        def task(low: int, high: int) -> None:
            if by_row:
                _cut_rows(F, rows[low:high], self.Vt, self.SVt, out[low:high])
            else:
                self._cut_blocks(F, rows[low:high], out[low:high])

        with one_blas_thread():
            over_ranges(task, len(rows), work=float(out.size) * self.h)
        return out

    def _cut_blocks(self, F: np.ndarray, rows: np.ndarray, out: np.ndarray) -> None:
        at_once = max(BLOCK // F.shape[1], 16)
        block = np.empty((at_once, F.shape[1]))
        for start in range(0, len(rows), at_once):
            here, there = rows[start : start + at_once], out[start : start + at_once]
            taken = np.take(F, here, axis=0, out=block[: len(here)], mode="clip")
            np.matmul(taken @ self.Vt.T, self.SVt, out=there)
            np.subtract(taken[:, self.h :], there, out=there)


@compiled(fastmath={"reassoc", "nsz", "contract"})
def _cut_rows(
    F: np.ndarray, rows: np.ndarray, Vt: np.ndarray, SVt: np.ndarray, out: np.ndarray
) -> None:
    h, d = Vt.shape
    along = np.empty(h)
    for place in range(len(rows)):
        row, target = F[rows[place]], out[place]
        for j in range(h):
            total = 0.0
            for s in range(d):
                total += row[s] * Vt[j, s]
            along[j] = total
        for s in range(d - h):
            target[s] = row[h + s] - along[0] * SVt[0, s]
        for j in range(1, h):
            for s in range(d - h):
                target[s] -= along[j] * SVt[j, s]
