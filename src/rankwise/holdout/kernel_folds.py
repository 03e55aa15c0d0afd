"""Regularised least squares on a kernel matrix, with folds, and groups within folds, left out.

Let R = (K + λ)⁻¹, or for ranking R = (K + λ)⁻¹ less its projection on the constant (an unpenalised
intercept). Then a = R y are the dual coefficients, and the residuals of any held-out set U are
R_UU⁻¹ a_U. Without a fold U, R becomes the Schur complement R − R_:U R_UU⁻¹ R_U:, so that the same
formula leaves groups out of the remaining items. One m × m inverse per λ thus serves every fold of
a nested cross-validation: O(m³) in all, and O(m² u) for each fold of u items.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve, lapack, solve_triangular

from rankwise.numerics.threads import one_blas_thread
from rankwise.numerics.tiles import mirror_upper


class LeaveOut:
    """The model of one λ, and its predictions for items that were left out.

    Ranking (`centred`) is RankRLS with alpha = λ × (number of training items), whatever is held
    out, plus the intercept that makes the residuals sum to zero.
    """

    def __init__(self, K: np.ndarray, y: np.ndarray, alpha: float, centred: bool = False):
        regularised = K.copy(order="F")
        regularised.flat[:: len(K) + 1] += alpha
        factor, failed = lapack.dpotrf(regularised, lower=1, overwrite_a=1)
        if failed:
            raise ValueError(f"alpha = {alpha:g} is lost in the rounding of this kernel matrix.")
        self.R, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
        mirror_upper(self.R.T)
        if centred:
            u = self.R.sum(axis=1)
            self.R -= np.outer(u / u.sum(), u)
        self.y = y
        self.coefficients = self.R @ y
        self.intercept = float(np.mean(y - K @ self.coefficients)) if centred else 0.0

    def without(self, items: np.ndarray) -> np.ndarray:
        """Predictions for the items by the model trained without them."""
        block = self.R[np.ix_(items, items)]
        return self.y[items] - np.linalg.solve(block, self.coefficients[items])

    def groups_without(
        self, groups: list[np.ndarray], fold: np.ndarray | None = None
    ) -> np.ndarray:
        """(m,) predictions for the items of each group without the group and without the fold.

        Groups and fold are disjoint. Items in no group have nan.
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
