"""The normal equations of ridge regression with an intercept, collected from a stream."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.linalg

from rankwise.numerics.arrays import Matrix, dense
from rankwise.numerics.memory import refuse_too_large
from rankwise.solvers.rounding_errors import refuse_overflow


class CentredMoments:
    """(F − F̄)ᵀ(F − F̄) and (F − F̄)ᵀ(Y − Ȳ) of all items so far: O(n² + nk) memory.

    Blocks are merged about their own means, so that no digits are lost to large ones.
    """

    def __init__(self, n: int, k: int):
        refuse_too_large(n, n, "the matrix XᵀX", "use fewer features, or basis=")
        self.n_items = 0
        self.mean_F, self.mean_Y = np.zeros(n), np.zeros(k)
        self.gram, self.cross = np.zeros((n, n)), np.zeros((n, k))

    @np.errstate(over="ignore", invalid="ignore")
    def add(self, F: Matrix, Y: np.ndarray) -> None:
        """Add a block of b items, O(b n²); a block whose squares overflow is refused."""
        b = F.shape[0]
        F = dense(F)
        mean_F, mean_Y = F.mean(axis=0), Y.mean(axis=0)
        F, Y = F - mean_F, Y - mean_Y
        step_F, step_Y = mean_F - self.mean_F, mean_Y - self.mean_Y
        total = self.n_items + b
        share = self.n_items * b / total
        gram = F.T @ F + share * np.outer(step_F, step_F)
        cross = F.T @ Y + share * np.outer(step_F, step_Y)
        refuse_overflow(gram, cross)
        self.gram += gram
        self.cross += cross
        self.mean_F += step_F * (b / total)
        self.mean_Y += step_Y * (b / total)
        self.n_items = total

    def solve(self, ridge: float) -> np.ndarray:
        """(n, k) weights, O(n³); the weights of least norm if the ridge is lost to rounding."""
        regularised = self.gram + ridge * np.eye(len(self.gram))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", scipy.linalg.LinAlgWarning)
                return scipy.linalg.solve(regularised, self.cross, assume_a="pos")
        except (scipy.linalg.LinAlgError, scipy.linalg.LinAlgWarning):
            eigenvalues, V = np.linalg.eigh(self.gram)
            tiny = len(V) * np.finfo(float).eps * max(eigenvalues[-1], 0.0)
            kept = eigenvalues > tiny
            V = V[:, kept]
            return V @ ((V.T @ self.cross) / (eigenvalues[kept] + ridge)[:, None])
