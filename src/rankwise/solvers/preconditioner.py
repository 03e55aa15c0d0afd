"""Approximate inverses of the Hessian Φᵀ ∇²R Φ + 2 alpha I, for conjugate gradients.

∇²R is the Laplacian of a graph on the items of each query. With the diagonal d of ∇²R it is
replaced by diag(d) − d dᵀ/Σd for each query: the graph in which every item of a query is connected
to all others. The Hessian becomes a weighted covariance within queries. If there are few features,
the whole covariance matrix is factorised, O(m n² + n³), which takes care of any scale of the
features and of correlations between them; otherwise its diagonal is used, O(nnz), which takes care
of the scale alone. Nothing is done if 2 alpha makes the diagonal even by itself.

On features of similar scale, such as words, the diagonal does harm: frequent words have larger
entries, and they carry the directions that conjugate gradients find first. So only a share of the
diagonal is added to 2 alpha, as in Hsia, Chiang, Lin (2018), who take 0.01. Our share grows with
the largest entry over 2 alpha, and is 1 where features differ by orders of magnitude.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator

from rankwise.losses.risk import Evaluation, Risk
from rankwise.numerics.arrays import Matrix
from rankwise.numerics.within_groups import RowGroups, column_moments

FEW_FEATURES = 400
"""Up to so many features the covariance matrix is factorised."""
RIDGE = 1e-12
"""The share of the diagonal that is added to it, so that rounding leaves it positive."""
EVEN = 20.0
"""If no entry of the diagonal exceeds so many times 2 alpha, it is not worth a pass over Φ."""

UNEVEN = 1e9
"""The whole diagonal is used if its largest entry is so many times 2 alpha."""

Preconditioner = Callable[[np.ndarray], np.ndarray]


def unchanged(residual: np.ndarray) -> np.ndarray:
    """The preconditioner that does nothing."""
    return residual


class Preconditioning:
    """Makes a preconditioner for each evaluation of a risk.

    Without the queries of the risk the Hessian is replaced by that of diag(d) if Φ is sparse.
    Nothing is done if the risk does not tell its diagonal, or if Φ is an operator.
    """

    def __init__(self, phi: Matrix | LinearOperator, risk: Risk):
        self._phi, self._groups = phi, None
        self._largest_square = np.inf  # at least Σ (x − x̄)² of every column
        if risk.queries is not None and not isinstance(phi, LinearOperator):
            self._groups = RowGroups(phi, risk.queries.order, risk.queries.starts)

    def at(self, evaluation: Evaluation, alpha: float, *, whole: bool = False) -> Preconditioner:
        """With the `whole` diagonal where the weights of pairs differ by orders of magnitude."""
        n = self._phi.shape[1]
        known = self._groups is not None or sparse.issparse(self._phi)
        if evaluation.diagonal is None or not known:
            return unchanged
        weight = evaluation.diagonal()
        if self._groups is not None and n <= FEW_FEATURES:
            return _inverse(self._groups.products(weight), alpha)
        even = (EVEN - 1.0) * 2 * alpha
        if float(weight.max()) * self._largest_square <= even:  # then so is Σ d (x − x̄)²
            return unchanged
        if self._groups is None:
            diagonal = column_moments(self._phi, weight)[1]
        else:
            diagonal = self._groups.squares(weight)
        largest, least = float(diagonal.max()), float(weight.min())
        if least > 0:
            self._largest_square = min(self._largest_square, largest / least)
        if largest <= even:
            return unchanged
        if not whole:
            diagonal *= min(1.0, float(np.cbrt(largest / (2 * alpha) / UNEVEN)))
        diagonal += 2 * alpha
        return lambda residual: residual / diagonal


def _inverse(covariance: np.ndarray, alpha: float) -> Preconditioner:
    """r ↦ (covariance + 2 alpha I)⁻¹ r by a Cholesky factor, after scaling to a unit diagonal."""
    scale = 1.0 / np.sqrt(covariance.diagonal() + 2 * alpha)
    np.fill_diagonal(covariance, covariance.diagonal() + 2 * alpha)
    covariance *= scale[:, None] * scale
    np.fill_diagonal(covariance, 1.0 + RIDGE * len(scale))
    factor = linalg.cho_factor(covariance, overwrite_a=True, check_finite=False)
    return lambda residual: scale * linalg.cho_solve(factor, scale * residual, check_finite=False)
