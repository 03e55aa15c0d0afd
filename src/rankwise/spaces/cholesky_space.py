"""The exact empirical kernel map by Cholesky factorisation: O(m³/3), no eigenvectors."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack, solve_triangular

from rankwise.spaces.kernels import check_gram, kernel_matrix, may_be_indefinite, refuse_too_large


class CholeskySpace:
    """Features Z with Z Zᵀ = K (section 4.2 of Pahikkala et al. 2009), of rank(K) columns.

    A singular K is factorised with pivots, which then are the items of the expansion. A learner
    trained on some rows of Z never leaves their span, so Z serves every fold exactly.
    """

    is_linear = False

    def __init__(self, X, kernel, parameters: dict):
        m = X.shape[0]
        if kernel == "precomputed":
            K = check_gram(X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float))
        else:
            refuse_too_large(m, m, "the kernel matrix", "use basis= for a reduced set")
            K = kernel_matrix(X, X, kernel, **parameters)
            if may_be_indefinite(kernel):
                name = "callable kernel" if callable(kernel) else f"kernel {kernel!r}"
                check_gram(K, f"the matrix of the {name}")
        self.embedding, self.basis_index = _factor(K)
        self.X_basis = None if kernel == "precomputed" else X[self.basis_index]

    def to_model(self, w: np.ndarray) -> np.ndarray:
        """Coefficients b over the pivots with f(x) = Σ b_i k(x, x_i), O(m²)."""
        return solve_triangular(self.embedding[self.basis_index], w, lower=True, trans="T")


def _factor(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Z (m, r) and the r pivots, whose rows of Z are lower triangular.

    Pivoting stops where the remaining diagonal is rounding error, m·eps of the largest entry.
    """
    factor, pivots, rank, _ = lapack.dpstrf(K, lower=1)
    rank = int(rank)
    order = pivots - 1
    lower = np.tril(factor[:, :rank])
    Z = np.empty_like(lower, order="C")
    Z[order] = lower
    return Z, order[:rank]
