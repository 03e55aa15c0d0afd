"""Empirical kernel maps: a kernel as plain features, exactly or over a reduced set."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator

import numpy as np
from scipy import sparse
from scipy.linalg import lapack
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankwise.kernels import (
    check_gram,
    check_kernel,
    check_square,
    kernel_matrix,
    may_be_indefinite,
    refuse_too_large,
)
from rankwise.spaces.removal import BasisRemoval
from rankwise.validation import check_index, check_items


class KernelMap(TransformerMixin, BaseEstimator):
    """Features F with F Fᵀ = K (exact) or K_MR K_RR⁻¹ K_RM (reduced set R, Nyström).

    F = K_MR T with T Tᵀ = K_RR⁺ (equation 2 of Airola et al., paper III of Airola 2011): any
    linear learner trained on F is the kernel learner restricted to the span of the basis items
    (equation 8), and `to_dual` turns its weights into coefficients of the kernel expansion.
    O(m|R|² + |R|³); singular K_RR is fine, directions of zero norm are left out.

    Parameters
    ----------
    kernel : name of a scikit-learn pairwise kernel, "precomputed" or a callable
    gamma, degree, coef0 : its parameters; gamma=None is 1/n
    basis : None for the exact map, int for that many uniformly random basis items, or an array
        of their row numbers
    random_state : draws the basis when it is an int

    Attributes
    ----------
    basis_index_ : (r,) row numbers of the basis items
    embedding_ : (m, d) the map of the training items, d ≤ r the rank of K_RR
    """

    def __init__(
        self, kernel="rbf", *, gamma=None, degree=3, coef0=1.0, basis=None, random_state=None
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.basis = basis
        self.random_state = random_state

    def fit(self, X, y=None):
        check_kernel(self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        X = check_items(self, X, reset=True)
        return self._fit_checked(X)

    def _fit_checked(self, X):
        if self.kernel == "precomputed":
            X = check_square(X.toarray() if sparse.issparse(X) else X)
        m = X.shape[0]
        self.basis_index_ = choose_basis(self.basis, m, self.random_state)
        r = len(self.basis_index_)
        refuse_too_large(m, r, "the kernel map", "use basis= with fewer items")
        self._X_basis = None if self.kernel == "precomputed" else X[self.basis_index_]
        exact = self.basis is None
        K_MR = self._kernel_to_basis(X)
        self._factor(K_MR if exact else K_MR[self.basis_index_])
        self.embedding_ = (
            self._Q * np.sqrt(self._eigenvalues) if exact else K_MR @ self._basis_to_features
        )
        return self

    def _fit_basis(self, rows, index: np.ndarray):
        """The map from the rows of its basis items alone, whose numbers are `index`."""
        self.basis_index_ = index
        self._X_basis = None if self.kernel == "precomputed" else rows
        self._factor(self._kernel_to_basis(rows))
        return self

    def _embed(self, X) -> np.ndarray:
        """(n, d) features of items that were checked before."""
        return self._kernel_to_basis(X) @ self._basis_to_features

    def _factor(self, K_RR: np.ndarray) -> None:
        if may_be_indefinite(self.kernel, self.coef0):
            check_gram(K_RR, "the kernel matrix of the basis items")
        eigenvalues, Q = np.linalg.eigh((K_RR + K_RR.T) / 2)
        kept = eigenvalues > len(K_RR) * np.finfo(float).eps * max(eigenvalues[-1], 0.0)
        self._eigenvalues, self._Q = eigenvalues[kept], Q[:, kept]
        self._basis_to_features = self._Q / np.sqrt(self._eigenvalues)

    def _kernel_to_basis(self, X) -> np.ndarray:
        if self.kernel == "precomputed":
            return (X.toarray() if sparse.issparse(X) else X)[:, self.basis_index_]
        parameters = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return kernel_matrix(X, self._X_basis, self.kernel, **parameters)

    def transform(self, X) -> np.ndarray:
        """(n, d) features of new items: k(X, X_R) T."""
        check_is_fitted(self)
        X = check_items(self, X, reset=False)
        return self._embed(X)

    def fit_transform(self, X, y=None) -> np.ndarray:
        return self.fit(X).embedding_.copy()

    def to_dual(self, w) -> np.ndarray:
        """Coefficients b of f(x) = k(x, X_R) b from weights w on the map, O(|R| d)."""
        check_is_fitted(self)
        return self._basis_to_features @ w

    def removal(self) -> BasisRemoval:
        """How basis items leave the map."""
        redundancy = np.eye(len(self._Q)) - self._Q @ self._Q.T
        return BasisRemoval(self.basis_index_, self._basis_to_features.T, redundancy)

    def without(self, index) -> np.ndarray:
        """The map of the training items with the basis items among `index` removed.

        By update (Theorem 1 of Airola et al., paper III), O(|H| d m): a rotation turns the
        removed directions into the first coordinates, which are then cut off.
        """
        check_is_fitted(self)
        index = check_index(index, len(self.embedding_))
        return self._complement(self.removal().of(index)[0])

    def folds(self, splits: Iterable) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For every (train, test): the maps of both, with test items removed from the basis."""
        check_is_fitted(self)
        removal = self.removal()
        for train, test in splits:
            index = check_index(test, len(self.embedding_), "a test set")
            features = self._complement(removal.of(index)[0])
            yield features[train], features[test]

    def _complement(self, N: np.ndarray | None) -> np.ndarray:
        if N is None:
            return self.embedding_.copy()
        if N.shape[1] >= N.shape[0]:
            return np.zeros((len(self.embedding_), 0))
        reflectors, tau, _, _ = lapack.dgeqrf(N)
        work = lapack.dormqr("L", "T", reflectors, tau, self.embedding_.T, -1)[1]
        rotated, _, _ = lapack.dormqr("L", "T", reflectors, tau, self.embedding_.T, int(work[0]))
        return rotated.T[:, N.shape[1] :]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def choose_basis(basis, n_items: int, random_state) -> np.ndarray:
    """Row numbers of the basis items, sorted where drawn at random."""
    if basis is None:
        return np.arange(n_items)
    if isinstance(basis, numbers.Integral) and not isinstance(basis, bool):
        size = int(basis)
        if not 1 <= size <= n_items:
            raise ValueError(f"basis must be between 1 and the {n_items} items, got {basis}.")
        return np.sort(check_random_state(random_state).choice(n_items, size, replace=False))
    index = check_index(basis, n_items, "basis")
    if not len(index):
        raise ValueError("basis must name at least one item.")
    return index
