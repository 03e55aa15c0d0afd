"""Features with some directions cut off, by one block of Householder reflections."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack, solve_triangular

from rankwise.threads import one_blas_thread, over_ranges

ROWS_AT_ONCE = 128
"""Rows of F that stay in the cache between the two products."""


class Complement:
    """F H without its first h columns, H = I − V S Vᵀ orthogonal, NᵀH zero behind column h.

    The rows of N (d, h) differ in size as the inverse roots of eigenvalues do, largest first, and
    held-out items that resemble each other make its columns nearly parallel: with column pivoting
    the error of each row stays relative to that row. O(d h²), then O(d h) an item.
    """

    def __init__(self, N: np.ndarray):
        d, self.h = N.shape
        self.h = min(d, self.h)
        packed, _, tau, _, _ = lapack.dgeqp3(N)
        V = np.tril(packed[:, : self.h], -1)
        V[np.arange(self.h), np.arange(self.h)] = 1.0
        V[:, tau == 0.0] = 0.0
        inverse = np.triu(V.T @ V, 1)
        inverse.flat[:: self.h + 1] = 1.0 / np.where(tau == 0.0, 1.0, tau)
        self.V = V
        self.SVt = solve_triangular(inverse, V[self.h :].T)

    def of(self, F: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """(rows, d − h): two passes over each block of rows, the cores side by side."""
        out = np.empty((len(rows), F.shape[1] - self.h))

        def task(low, high):
            for start in range(low, high, ROWS_AT_ONCE):
                stop = min(start + ROWS_AT_ONCE, high)
                block = F[rows[start:stop]]
                np.matmul(block @ self.V, self.SVt, out=out[start:stop])
                np.subtract(block[:, self.h :], out[start:stop], out=out[start:stop])

        with one_blas_thread():
            over_ranges(task, len(rows), work=float(out.size) * self.h)
        return out
