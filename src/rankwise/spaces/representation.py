"""How an item enters a fitted model, whatever space the model was trained in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.numerics.arrays import Matrix
from rankwise.spaces.kernels import Kernel

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Representation:
    """How an item enters a fitted model: by its features, or its kernel values to basis items.

    Scores are `of(X) @ coefficients`, for the items of a fit and for new ones alike; `scores` loses
    fewer digits where values of a polynomial kernel are nearly equal.
    """

    kernel: Kernel
    basis_index: np.ndarray | None = None
    X_basis: Matrix | None = None

    def of(self, X: Matrix) -> Matrix:
        if self.basis_index is None or self.kernel.is_linear:
            return X
        return self.kernel.between(X, self.basis_index, self.X_basis)

    def scores(self, X: Matrix, coefficients: np.ndarray) -> np.ndarray:
        """(n,) or (n, k) scores of items by the coefficients (d,) or (d, k)."""
        view = None if self.X_basis is None else self.kernel.from_anchor(self.X_basis)
        if view is None or self.basis_index is None:
            return np.asarray(self.of(X) @ coefficients)
        # k(x, x_i) = K̃(x, x_i) + k(x_i, x₀) − k(x₀, x₀) + k(x, x₀), which does not depend on i.
        scores = view.matrix(X, self.X_basis) @ coefficients
        scores += view.offsets(self.X_basis) @ coefficients
        total = sums_beyond_rounding(coefficients)
        return scores + np.multiply.outer(view.values(X), total) if np.any(total) else scores


def sums_beyond_rounding(coefficients: np.ndarray) -> np.ndarray:
    """The sum of each column; exactly 0 where the coefficients, as rounded, may sum to zero."""
    total = np.asarray(coefficients.sum(axis=0))
    rounding = len(coefficients) * EPS * np.abs(coefficients).sum(axis=0)
    return np.where(np.abs(total) <= rounding, 0.0, total)
