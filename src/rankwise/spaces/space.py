"""From training items and a kernel to the matrix the solvers see, and back to a model."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from rankwise.spaces.kernels import check_gram, kernel_matrix, may_be_indefinite, refuse_too_large
from rankwise.spaces.matrix import Features, Gram
from rankwise.spaces.nystrom_map import KernelMap


class LinearSpace:
    """f(x) = ⟨w, x⟩; features where n ≤ m, the Gram matrix X Xᵀ where n > m."""

    is_linear = True

    def __init__(self, X):
        self.X = X
        m, n = X.shape
        self.dual = n > m
        smaller = "the matrix X Xᵀ" if self.dual else "the matrix XᵀX"
        refuse_too_large(min(m, n), min(m, n), smaller, 'use solver="cg"')
        self.matrix = Gram(_dense(X @ X.T)) if self.dual else Features(X)

    def to_model(self, solution: np.ndarray) -> np.ndarray:
        """(n, k) weights."""
        return np.asarray(self.X.T @ solution) if self.dual else solution


class KernelSpace:
    """f(x) = Σ a_i k(x, x_i) over all training items."""

    is_linear = False

    def __init__(self, X, kernel, parameters: dict):
        m = X.shape[0]
        self.basis_index = np.arange(m)
        self.X_basis = None if kernel == "precomputed" else X.copy()
        if kernel == "precomputed":
            K = check_gram(np.array(_dense(X), order="C"), own=True)
        else:
            refuse_too_large(m, m, "the kernel matrix", "use basis= for a reduced set")
            K = kernel_matrix(X, X, kernel, **parameters)
            if may_be_indefinite(kernel, parameters["coef0"]):
                name = "callable kernel" if callable(kernel) else f"kernel {kernel!r}"
                check_gram(K, f"the matrix of the {name}")
        self.matrix = Gram(K)

    def to_model(self, solution: np.ndarray) -> np.ndarray:
        """(m, k) dual coefficients."""
        return solution


class ReducedSpace:
    """f(x) = Σ_R b_i k(x, x_i) over basis items R, regularised by bᵀK_RR b."""

    def __init__(self, X, kernel, parameters: dict, basis, random_state):
        self.map = KernelMap(kernel, basis=basis, random_state=random_state, **parameters)
        self.map._fit_checked(X if kernel != "precomputed" else _dense(X))
        self._describe()
        self.matrix = Features(self.map.embedding_, self.map.removal())

    @classmethod
    def of_basis(cls, rows, index, kernel, parameters: dict) -> ReducedSpace:
        """From the rows of the basis items alone; the other items' features are made elsewhere."""
        space = cls.__new__(cls)
        space.map = KernelMap(kernel, basis=index, **parameters)._fit_basis(rows, index)
        space._describe()
        return space

    @classmethod
    def of_map(cls, map: KernelMap) -> ReducedSpace:
        """The space of a map that is fitted already."""
        space = cls.__new__(cls)
        space.map = map
        space._describe()
        return space

    def _describe(self) -> None:
        self.basis_index = self.map.basis_index_
        self.X_basis = self.map._X_basis
        self.is_linear = self.map.kernel == "linear"

    def to_model(self, solution: np.ndarray) -> np.ndarray:
        """(r, k) dual coefficients, or (n, k) weights for the linear kernel."""
        b = self.map.to_dual(solution)
        return np.asarray(self.X_basis.T @ b) if self.is_linear else b


def build_space(X, kernel, parameters: dict, basis=None, random_state=None):
    """The space for a kernel name and an optional reduced set."""
    if basis is not None:
        return ReducedSpace(X, kernel, parameters, basis, random_state)
    if kernel == "linear":
        return LinearSpace(X)
    return KernelSpace(X, kernel, parameters)


def _dense(X) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else X
