"""Empirical kernel maps: a kernel as plain features, exactly or over a reduced set."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankwise.model_selection.folds import read_splits
from rankwise.spaces.basis_removal import REDUNDANT, BasisRemoval
from rankwise.spaces.kernels import (
    check_gram,
    check_kernel,
    check_square,
    kernel_matrix,
    may_be_indefinite,
    refuse_too_large,
)
from rankwise.spaces.orthogonal_complement import Complement, Memory
from rankwise.supervision.queries import Queries
from rankwise.validation import check_index, check_items

ROUNDING = 100 * np.finfo(float).eps
"""Eigenvalues below this times their number are zero but for rounding."""


class KernelMap(TransformerMixin, BaseEstimator):
    """Features F with F Fᵀ = K (exact) or K_MR K_RR⁻¹ K_RM (reduced set R, Nyström).

    F = K_MR T with T Tᵀ = K_RR⁺ (equation 2 of Airola et al., paper III of Airola 2011): any
    linear learner trained on F is the kernel learner restricted to the span of the basis items
    (equation 8), and `to_dual` turns its weights into coefficients of the kernel expansion.
    O(m|R|² + |R|³); singular K_RR is fine. Directions in which the basis items, scaled to norm 1,
    hold less than 1e-11 of their largest variance are left out of a reduced set: the features of
    other items along them would be rounding error magnified more than a million times.

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
        self._K_MR = K_MR if self._is_singular else None
        self.embedding_ = (
            self._scale[:, None] * self._Q * np.sqrt(self._eigenvalues)
            if exact
            else K_MR @ self._basis_to_features
        )
        return self

    def _fit_basis(self, rows, index: np.ndarray):
        """The map from the rows of its basis items alone, whose numbers are `index`."""
        self.basis_index_ = index
        self._X_basis = None if self.kernel == "precomputed" else rows
        self._factor(self._kernel_to_basis(rows))
        self._K_MR = None
        return self

    def _embed(self, X) -> np.ndarray:
        """(n, d) features of items that were checked before."""
        return self._kernel_to_basis(X) @ self._basis_to_features

    def _factor(self, K_RR: np.ndarray) -> None:
        """K_RR = S Q Λ Qᵀ S with S the norms of the items, and T = S⁻¹ Q Λ^(−½)."""
        if may_be_indefinite(self.kernel, self.coef0):
            check_gram(K_RR, "the kernel matrix of the basis items")
        self._scale, eigenvalues, Q = _scaled_spectrum(K_RR)
        largest = max(eigenvalues[-1], 0.0)
        zero = len(K_RR) * np.finfo(float).eps * largest
        kept = eigenvalues > (zero if self.basis is None else max(zero, REDUNDANT * largest))
        self._eigenvalues, self._Q = eigenvalues[kept], Q[:, kept]
        self._is_singular = not kept.all()
        self._has_gap = not (eigenvalues[~kept] > len(K_RR) * ROUNDING * largest).any()
        self._basis_to_features = self._Q / np.sqrt(self._eigenvalues) / self._scale[:, None]

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
        redundancy = np.eye(len(self._Q)) - self._Q @ self._Q.T if self._is_singular else None
        normals = (self._Q / np.sqrt(self._eigenvalues)).T
        found = BasisRemoval(self.basis_index_, normals, redundancy)
        if self._K_MR is not None:
            found.anew = partial(self._anew, found)
        return found

    def _anew(self, removal: BasisRemoval, items: np.ndarray) -> np.ndarray | None:
        held = np.isin(self.basis_index_, items)
        if not held.any() or held.all() or self._can_update(removal, held):
            return None
        return self._recomputed(~held, [np.arange(len(self.embedding_))])[0]

    def without(self, index) -> np.ndarray:
        """The map of the training items with the basis items among `index` removed.

        By update (Theorem 1 of Airola et al., paper III), O(|H| d m): a rotation turns the
        removed directions into the first coordinates, which are then cut off. See `folds`.
        """
        check_is_fitted(self)
        m = len(self.embedding_)
        index = check_index(index, m)
        held = np.isin(self.basis_index_, index)
        return self._maps(self.removal(), held, [np.arange(m)], Memory())[0]

    def folds(self, splits, *, y=None, qid=None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For every fold the maps of its training and of its test items: Theorem 1, Corollary 2.

        Both are those of a KernelMap fitted to the training items alone, whose basis are the
        basis items among them, up to a rotation that no learner with a quadratic regulariser
        notices. O(|R|²m) for the folds of a partition, however many there are, and the memory
        of one fold at a time. Only where K_RR is singular beyond duplicates and low rank
        (eigenvalues that fade into rounding error) a fold that loses basis items is computed
        anew, O(|R|²m) each.

        splits : iterable of (train, test) or of test sets, whose rest trains; a scikit-learn
            splitter; or a number of folds, of whole queries where there are queries.
            "leave-query-out" holds out each query
        y, qid : for splitters, as classes to stratify by and as groups
        """
        check_is_fitted(self)
        queries = Queries.from_labels(qid, len(self.embedding_))
        if isinstance(splits, str):
            if splits != "leave-query-out" or len(queries) < 2:
                raise ValueError(
                    'splits must be "leave-query-out" (with qid of two or more queries), an int, '
                    f"a splitter or folds; got {splits!r} and {len(queries)} queries."
                )
            splits = iter(queries)
        pairs = read_splits(
            splits, queries, name="splits", y=y, random_state=self.random_state, repeats=True
        )
        return self._folds(pairs)

    def _folds(self, pairs) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        removal, memory = self.removal(), Memory()
        for number, (train, test) in enumerate(pairs):
            held = ~np.isin(self.basis_index_, train)
            if held.all():
                raise ValueError(
                    f"splits fold {number} holds out all {len(held)} basis items, so no map is "
                    "left: take more basis items, or some from every fold."
                )
            train_map, test_map = self._maps(removal, held, [train, test], memory)
            yield train_map, test_map
            del train_map, test_map  # else their memory would not be free for the next fold

    def _maps(self, removal: BasisRemoval, held: np.ndarray, parts, memory) -> list[np.ndarray]:
        """The maps of some items each, without the basis items marked in `held`."""
        if held.all():
            return [np.zeros((len(rows), 0)) for rows in parts]
        if held.any() and not self._can_update(removal, held):
            return self._recomputed(~held, parts)
        normals = removal.of(self.basis_index_[held])[0]
        if normals is None:
            return [self.embedding_[rows] for rows in parts]
        complement = Complement(normals)
        return [complement.of(self.embedding_, rows, memory) for rows in parts]

    def _can_update(self, removal: BasisRemoval, held: np.ndarray) -> bool:
        """Whether the basis items that stay have the rank that the update gives them.

        Their smallest eigenvalue is at least λρ, λ that of K_RR and ρ the smallest redundancy
        of those that leave: a direction that it cannot place is for `_recomputed`.
        """
        if removal.redundancy is None:
            return True
        if not self._has_gap:
            return False
        redundancy = np.linalg.eigvalsh(removal.redundancy[np.ix_(held, held)])
        least = redundancy[redundancy > REDUNDANT].min(initial=1.0)
        return not len(self._eigenvalues) or bool(
            self._eigenvalues[0] * least > REDUNDANT * self._eigenvalues[-1]
        )

    def _recomputed(self, staying: np.ndarray, parts) -> list[np.ndarray]:
        again = KernelMap(self.kernel, coef0=self.coef0, basis=self.basis)
        K = self._K_MR[:, staying]
        again._factor(K[self.basis_index_[staying]])
        return [K[rows] @ again._basis_to_features for rows in parts]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _scaled_spectrum(K: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Norms s of the items, 1 for those of none, and eigenvalues and -vectors of K / (s sᵀ)."""
    square = np.maximum(np.diagonal(K), 0.0)
    floor = len(K) * np.finfo(float).eps * square.max()
    scale = np.sqrt(np.maximum(square, floor if floor else 1.0))
    scaled = K / scale[:, None] / scale
    eigenvalues, Q = np.linalg.eigh((scaled + scaled.T) / 2)
    return scale, eigenvalues, Q


def choose_basis(basis, n_items: int, random_state) -> np.ndarray:
    """Row numbers of the basis items, sorted where drawn at random."""
    if basis is None:
        return np.arange(n_items)
    if isinstance(basis, numbers.Integral) and not isinstance(basis, bool):
        size = int(basis)
        if not 1 <= size <= n_items:
            raise ValueError(f"basis must be between 1 and the {n_items} items, got {basis}.")
        # a stream of its own: a shuffled KFold with the same seed would hold out just these items
        seed = check_random_state(random_state).randint(2**31, size=4)
        return np.sort(np.random.default_rng(seed).choice(n_items, size, replace=False))
    if np.ndim(basis) == 0:
        raise ValueError(f"basis must be None, an int or an array of row numbers; got {basis!r}.")
    index = check_index(basis, n_items, "basis")
    if not len(index):
        raise ValueError("basis must name at least one item.")
    return index
