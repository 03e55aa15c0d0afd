"""Empirical kernel maps: a kernel as plain features, exactly or over a reduced set."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from functools import partial

import numpy as np
from sklearn.utils import check_random_state

from rankwise.numerics.arrays import Matrix
from rankwise.numerics.memory import refuse_too_large
from rankwise.spaces.basis_removal import REDUNDANT, BasisRemoval
from rankwise.spaces.definiteness import check_gram
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.orthogonal_complement import OrthogonalComplement
from rankwise.validation import check_index

ROUNDING = 100 * np.finfo(float).eps
"""Eigenvalues below this times their number are zero except for rounding."""

Basis = int | np.ndarray | Sequence[int] | None
"""None for all items, a number of random items, or row numbers."""
RandomState = int | np.random.RandomState | None


class NystromMap:
    """Features F with F Fᵀ = K (exact) or K_MR K_RR⁻¹ K_RM (reduced set R, Nyström).

    F = K_MR T with T Tᵀ = K_RR⁺ (equation 2 of Airola et al., paper III of Airola 2011): any
    linear learner trained on F is the kernel learner restricted to the span of the basis items
    (equation 8). O(m|R|² + |R|³); K_RR may be singular. A reduced set drops the directions in
    which the basis items, scaled to norm 1, hold less than 1e-11 of their largest variance: along
    those the features of other items would be rounding errors, magnified a million times.
    """

    def __init__(self, kernel: Kernel, basis_index: np.ndarray, *, exact: bool = False):
        """`exact` says that the basis items are all items."""
        self.kernel = kernel
        self.basis_index = basis_index
        self.exact = exact
        self.X_basis: Matrix | None = None
        self.embedding: np.ndarray | None = None
        self.K_MR: np.ndarray | None = None

    def fit(self, X: Matrix) -> NystromMap:
        """Compute the map and, in `embedding`, the features of all training items X."""
        X = self.kernel.square(X)
        refuse_too_large(
            X.shape[0], len(self.basis_index), "the kernel map", "use basis= with fewer items"
        )
        self.X_basis = None if self.kernel.is_precomputed else X[self.basis_index]
        K_MR = self.kernel.between(X, self.basis_index, self.X_basis)
        self._factorise(K_MR if self.exact else K_MR[self.basis_index])
        self.K_MR = K_MR if self.is_singular else None
        self.embedding = (
            self.scale[:, None] * self.Q * np.sqrt(self.eigenvalues)
            if self.exact
            else K_MR @ self.basis_to_features
        )
        return self

    def fit_basis(self, rows: Matrix) -> NystromMap:
        """Compute the map from the rows of its basis items; other items are embedded later."""
        self.X_basis = None if self.kernel.is_precomputed else rows
        self._factorise(self.kernel.between(rows, self.basis_index, self.X_basis))
        return self

    def _factorise(self, K_RR: np.ndarray) -> None:
        """K_RR = S Q Λ Qᵀ S with S the norms of the items, and T = S⁻¹ Q Λ^(−½)."""
        if self.kernel.may_be_indefinite:
            check_gram(K_RR, "the kernel matrix of the basis items")
        self.scale, eigenvalues, Q = _scaled_spectrum(K_RR)
        largest = max(eigenvalues[-1], 0.0)
        zero = len(K_RR) * np.finfo(float).eps * largest
        kept = eigenvalues > (zero if self.exact else max(zero, REDUNDANT * largest))
        self.eigenvalues, self.Q = eigenvalues[kept], Q[:, kept]
        self.is_singular = not kept.all()
        self.has_gap = not (eigenvalues[~kept] > len(K_RR) * ROUNDING * largest).any()
        self.basis_to_features = self.Q / np.sqrt(self.eigenvalues) / self.scale[:, None]

    def embed(self, X: Matrix) -> np.ndarray:
        """(n, d) features of items: k(X, X_R) T."""
        return self.kernel.between(X, self.basis_index, self.X_basis) @ self.basis_to_features

    def to_dual(self, w: np.ndarray) -> np.ndarray:
        """Coefficients b of f(x) = k(x, X_R) b from weights w on the map, O(|R| d)."""
        return self.basis_to_features @ w

    def removal(self) -> BasisRemoval:
        """How basis items leave the map."""
        redundancy = np.eye(len(self.Q)) - self.Q @ self.Q.T if self.is_singular else None
        normals = (self.Q / np.sqrt(self.eigenvalues)).T
        removal = BasisRemoval(self.basis_index, normals, redundancy)
        if self.K_MR is not None:
            removal.recompute = partial(self._recompute_without, removal)
        return removal

    def _recompute_without(self, removal: BasisRemoval, items: np.ndarray) -> np.ndarray | None:
        assert self.embedding is not None
        held = np.isin(self.basis_index, items)
        if not held.any() or held.all() or self._can_update(removal, held):
            return None
        return self._recomputed(~held, [np.arange(len(self.embedding))])[0]

    def maps_without(
        self, removal: BasisRemoval, held: np.ndarray, parts: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        """The maps of several sets of items, without the basis items marked in `held`.

        By update (Theorem 1 of Airola et al., paper III), O(|H| d) per item: a rotation turns the
        removed directions into the first coordinates, which are then cut off.
        """
        assert self.embedding is not None
        if held.all():
            return [np.zeros((len(rows), 0)) for rows in parts]
        if held.any() and not self._can_update(removal, held):
            return self._recomputed(~held, parts)
        normals, _ = removal.of(self.basis_index[held])
        if normals is None:
            return [self.embedding[rows] for rows in parts]
        complement = OrthogonalComplement(normals)
        return [complement.of(self.embedding, rows) for rows in parts]

    def without(self, items: np.ndarray) -> np.ndarray:
        """The map of all training items with the basis items among `items` removed."""
        assert self.embedding is not None
        held = np.isin(self.basis_index, items)
        return self.maps_without(self.removal(), held, [np.arange(len(self.embedding))])[0]

    def _can_update(self, removal: BasisRemoval, held: np.ndarray) -> bool:
        """Whether the update finds the true rank of the basis items that stay.

        Their smallest eigenvalue is at least λρ, where λ is that of K_RR and ρ the smallest
        redundancy of the removed items. If λρ is not clearly above rounding, recompute.
        """
        if removal.redundancy is None:
            return True
        if not self.has_gap:
            return False
        redundancy = np.linalg.eigvalsh(removal.redundancy[np.ix_(held, held)])
        least = redundancy[redundancy > REDUNDANT].min(initial=1.0)
        return not len(self.eigenvalues) or bool(
            self.eigenvalues[0] * least > REDUNDANT * self.eigenvalues[-1]
        )

    def _recomputed(self, staying: np.ndarray, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        assert self.K_MR is not None
        smaller = NystromMap(self.kernel, self.basis_index[staying], exact=self.exact)
        K = self.K_MR[:, staying]
        smaller._factorise(K[smaller.basis_index])
        return [K[rows] @ smaller.basis_to_features for rows in parts]


def _scaled_spectrum(K: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Norms s of the items (1 for items of norm 0), eigenvalues and eigenvectors of K / (s sᵀ)."""
    square = np.maximum(np.diagonal(K), 0.0)
    floor = len(K) * np.finfo(float).eps * square.max()
    scale = np.sqrt(np.maximum(square, floor if floor else 1.0))
    scaled = K / scale[:, None] / scale
    eigenvalues, Q = np.linalg.eigh((scaled + scaled.T) / 2)
    return scale, eigenvalues, Q


def choose_basis(basis: Basis, n_items: int, random_state: RandomState) -> np.ndarray:
    """Row numbers of the basis items, sorted if drawn at random."""
    if basis is None:
        return np.arange(n_items)
    if isinstance(basis, numbers.Integral) and not isinstance(basis, bool):
        size = int(basis)
        if not 1 <= size <= n_items:
            raise ValueError(f"basis must be between 1 and the {n_items} items, got {basis}.")
        # A stream of its own: a shuffled KFold with the same seed would hold out just these items.
        seed = check_random_state(random_state).randint(2**31, size=4)
        return np.sort(np.random.default_rng(seed).choice(n_items, size, replace=False))
    if np.ndim(basis) == 0:
        raise ValueError(f"basis must be None, an int or an array of row numbers; got {basis!r}.")
    index = check_index(basis, n_items, "basis")
    if not len(index):
        raise ValueError("basis must name at least one item.")
    return index
