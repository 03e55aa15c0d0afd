"""Φ as the solvers see it: a feature matrix or a Gram matrix over the training items."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from rankwise.solvers.spectral import DualSpectrum, PrimalSpectrum
from rankwise.spaces.basis_removal import BasisRemoval
from rankwise.spaces.kernels import refuse_too_large


class Features:
    """Items as rows of F; a model is a weight vector w. Reduced sets say how basis items leave."""

    def __init__(self, F, removal: BasisRemoval | None = None):
        self.F = F
        self.removal = removal
        self.in_basis = np.zeros(F.shape[0], dtype=bool)
        if removal is not None:
            self.in_basis[removal.items] = True

    def normals_of(self, items):
        """(N, values): a model without the items must satisfy Nᵀw = −values; (None, 0) if free."""
        return (None, 0.0) if self.removal is None else self.removal.of(items)

    @property
    def n_items(self) -> int:
        return self.F.shape[0]

    def spectrum(self, quadratic, offset=None, centred=False) -> PrimalSpectrum:
        return PrimalSpectrum(self.F, quadratic, offset, centred)

    def kernel(self) -> np.ndarray:
        """F Fᵀ, m × m."""
        refuse_too_large(self.n_items, self.n_items, "the matrix F Fᵀ", "hold out fewer items")
        K = self.F @ self.F.T
        return np.asarray(K.todense() if sparse.issparse(K) else K)

    def take(self, items) -> Features:
        return Features(self.F[items])

    def scores(self, items, seen, w) -> np.ndarray:
        """Scores of `items` by weights w (`seen` is for Gram matrices)."""
        return np.asarray(self.F[items] @ w)


class Gram:
    """Items by their kernel matrix K; a model is a vector a of dual coefficients."""

    def __init__(self, K: np.ndarray):
        self.K = K
        self.removal = None
        self.in_basis = np.zeros(len(K), dtype=bool)

    @property
    def n_items(self) -> int:
        return len(self.K)

    def normals_of(self, items):
        return None, 0.0

    def spectrum(self, quadratic, offset=None, centred=False) -> DualSpectrum:
        return DualSpectrum(self.K, quadratic, offset, centred)

    def kernel(self) -> np.ndarray:
        return self.K

    def take(self, items) -> Gram:
        return Gram(self.K[np.ix_(items, items)])

    def scores(self, items, seen, a) -> np.ndarray:
        """Scores of `items` by coefficients a of the items `seen`."""
        return self.K[np.ix_(items, seen)] @ a
