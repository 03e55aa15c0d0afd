"""Regularised least squares on a kernel matrix with folds, and groups within folds, left out.

With R = (K + λ)⁻¹, or for ranking R = (K + λ)⁻¹ less its projection on the constant (an unpenalised
intercept), a = R y are the dual coefficients and the residuals of any held-out set U are
R_UU⁻¹ a_U. Leaving a fold U out altogether turns R into the Schur complement R − R_:U R_UU⁻¹ R_U:,
so that groups leave the remaining items by the same formula: one m × m inverse an λ serves every
fold of a nested cross-validation, O(m³) in all beside O(m² u) a fold of u items.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve, lapack, solve_triangular

from rankwise.numerics.threads import one_blas_thread


class LeaveOut:
    """One λ. Ranking (`centred`) is RankRLS at alpha = λ × (number of training items), whatever is
    held out, plus the intercept that makes its residuals sum to zero."""

    def __init__(self, K: np.ndarray, y: np.ndarray, alpha: float, centred: bool = False):
        regularised = K.copy(order="F")
        regularised.flat[:: len(K) + 1] += alpha
        factor, failed = lapack.dpotrf(regularised, lower=1, overwrite_a=1)
        if failed:
            raise ValueError(f"alpha = {alpha:g} is lost in the rounding of this kernel matrix.")
        inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
        self.R = _mirrored(inverse)
        if centred:
            u = self.R.sum(axis=1)
            self.R -= np.outer(u / u.sum(), u)
        self.y = y
        self.coefficients = self.R @ y
        self.intercept = float(np.mean(y - K @ self.coefficients)) if centred else 0.0

    def without(self, items: np.ndarray) -> np.ndarray:
        """Predictions for the items by the model trained without them."""
        return self.y[items] - np.linalg.solve(
            self.R[np.ix_(items, items)], self.coefficients[items]
        )

    def groups_without(self, groups: list[np.ndarray], fold=None) -> np.ndarray:
        """(m,) each item predicted without its group and without the fold; nan in no group.

        Groups do not meet the fold.
        """
        out = np.full(len(self.y), np.nan)
        shared, a = None, self.coefficients
        if fold is not None and len(fold):
            rows = self.R[fold]
            factor = np.linalg.cholesky(rows[:, fold])
            shared = solve_triangular(factor, rows, lower=True, check_finite=False)
            a = a - rows.T @ cho_solve((factor, True), a[fold])
        with one_blas_thread():
            for group in groups:
                block = self.R[np.ix_(group, group)]
                if shared is not None:
                    block = block - shared[:, group].T @ shared[:, group]
                out[group] = self.y[group] - np.linalg.solve(block, a[group])
        return out


def _mirrored(lower: np.ndarray, at_once: int = 512) -> np.ndarray:
    """The symmetric matrix of a lower triangle, in place, block by block."""
    for start in range(0, len(lower), at_once):
        stop = min(start + at_once, len(lower))
        block = lower[start:stop, start:stop]
        block += np.tril(block, -1).T - np.triu(block, 1)
        lower[start:stop, stop:] = lower[stop:, start:stop].T
    return lower
