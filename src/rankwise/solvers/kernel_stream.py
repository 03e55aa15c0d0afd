"""A kernel model that grows item by item: section 2.5 of Cortes, Mohri, Rastogi (2007).

The dual of rankwise.solvers.online for a single query of equally weighted items. The products
f = Kα and the row sums of K are kept, so that a new item costs one row of the kernel and every
step of the update costs one more: O(m) each, for m items seen so far.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from rankwise.numerics.arrays import Matrix
from rankwise.solvers.online import BLOCK_BYTES, blocks_of
from rankwise.spaces.kernels import Kernel


class KernelStream:
    """Items X, their scores Y (m, k) and coefficients α (m, k), with f = Kα, K1 and diag K.

    K is that of the kernel seen from the first item where its values are nearly equal.
    """

    def __init__(self, kernel: Kernel, X: Matrix, Y: np.ndarray, alpha: np.ndarray):
        """O(m²) once, in blocks."""
        self.kernel, self.X, self.Y, self.alpha = kernel, X, Y, alpha
        self._seen = kernel.from_anchor(X) or kernel
        self._f, self._sums, self._diagonal = (
            np.empty_like(alpha),
            np.empty(len(Y)),
            np.empty(len(Y)),
        )
        size = max(1, BLOCK_BYTES // (8 * len(Y)))
        for rows in blocks_of(np.arange(len(Y)), size):
            K = self._seen.matrix(X[rows], X)
            self._f[rows], self._sums[rows] = K @ alpha, K.sum(axis=1)
            self._diagonal[rows] = K[np.arange(len(rows)), rows]

    def add(self, X: Matrix, Y: np.ndarray) -> None:
        """b more items with coefficients 0; O(b m)."""
        K = self._seen.matrix(self.X, X)
        own = self._seen.matrix(X, X)
        self._f = np.vstack((self._f, K.T @ self.alpha))
        self._sums = np.concatenate((self._sums + K.sum(axis=1), K.sum(axis=0) + own.sum(axis=1)))
        self._diagonal = np.concatenate((self._diagonal, np.diagonal(own)))
        is_sparse = sparse.issparse(X) or sparse.issparse(self.X)
        self.X = sparse.vstack((self.X, X), "csr") if is_sparse else np.vstack((self.X, X))
        self.Y = np.vstack((self.Y, Y))
        self.alpha = np.vstack((self.alpha, np.zeros_like(Y)))

    def settle(self, C: float, tol: float, max_steps: int) -> tuple[float, float, int, bool]:
        """Steps at the item whose step raises the dual most, until the gap is `tol` of the primal.

        Returns primal objective, gap, number of steps, and whether the gap was reached. O(m) per
        step.
        """
        m = len(self.Y)
        ridge, Y = m / (2 * C), self.Y - self.Y.mean(axis=0)
        mean = self._sums / m
        curvature = self._diagonal - 2 * mean + mean.mean() + ridge
        for step in range(max_steps + 1):
            smoothed = self._f - mean[:, None] * self.alpha.sum(axis=0)
            smoothed -= smoothed.mean(axis=0)
            violation = Y - smoothed - ridge * self.alpha
            primal = np.sum(self.alpha * smoothed) + np.sum((smoothed - Y) ** 2) / ridge
            gap = float(np.sum(violation**2) / ridge)
            if gap <= tol * primal or step == max_steps:
                self._centre()
                return float(primal), gap, step, gap <= tol * primal
            item = int(np.argmax((violation**2).sum(axis=1) / curvature))
            change = violation[item] / curvature[item]
            self.alpha[item] += change
            self._f += self._seen.matrix(self.X, self.X[[item]]) * change
        raise AssertionError("the last step returns")

    def _centre(self) -> None:
        """The coefficients of the solution sum to zero; this never lowers the dual."""
        shift = self.alpha.mean(axis=0)
        self.alpha -= shift
        self._f -= self._sums[:, None] * shift
