"""Empirical kernel maps: a kernel as plain features, exactly or over a reduced set."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cached_property, partial
from threading import Lock

import numpy as np
from scipy.linalg import lapack, solve_triangular
from sklearn.utils import check_random_state

from rankwise.numerics.arrays import LazyRows, Matrix
from rankwise.numerics.memory import refuse_too_large
from rankwise.numerics.threads import one_blas_thread
from rankwise.spaces.basis_removal import REDUNDANT, BasisRemoval
from rankwise.spaces.definiteness import check_gram
from rankwise.spaces.kernel_digits import KernelDigits
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.orthogonal_complement import OrthogonalComplement
from rankwise.validation import check_index

ROUNDING = float(np.finfo(float).eps)
"""Times the number of basis items, but at least 64: what rounding leaves of twins of norm 1."""
WELL_CONDITIONED = 1e4
"""The largest condition number of K_RR at which sums over K_MR keep enough digits."""

Basis = int | np.ndarray | Sequence[int] | None
"""None for all items, a number of random items, or row numbers."""
RandomState = int | np.random.RandomState | None


class NystromMap:
    """Features F with F Fᵀ = K (exact) or K_MR K_RR⁻¹ K_RM (reduced set R, Nyström).

    F = K_MR T with T Tᵀ = K_RR⁻ (equation 2 of Airola et al., paper III of Airola 2011): any
    linear learner trained on F is the kernel learner restricted to the span of the basis items
    (equation 8). T is the inverse of a Cholesky factor with pivots. The factorisation ends when
    the basis items that remain, scaled to norm 1, differ from combinations of the pivots by
    rounding errors only, so K_RR may be singular, and nothing above rounding is dropped: smooth
    kernels have eigenvalues of every size, and with a small alpha all of them count.
    O(m|R|² + |R|³).
    """

    K_RR: np.ndarray | None = None
    """Kept for maps without some of the basis items, if it is nearly singular and given as such."""

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
        return self.fit_basis(X[self.basis_index]).embed_training_items(X)

    def fit_basis(self, rows: Matrix) -> NystromMap:
        """Compute the map from the rows of its basis items; other items are embedded later."""
        self.X_basis = None if self.kernel.is_precomputed else rows
        # In the order of their rows, so that even rounding errors do not depend on another order.
        order = np.argsort(self.basis_index)
        X_basis = None if self.X_basis is None else self.X_basis[order]
        K_RR = np.empty((len(order), len(order)))
        K_RR[np.ix_(order, order)] = self.kernel.between(
            rows[order], self.basis_index[order], X_basis
        )
        self._factorise(K_RR)
        if self.X_basis is None and self.is_nearly_singular:
            self.K_RR = K_RR
        return self

    def embed_training_items(self, X: Matrix) -> NystromMap:
        """Keep, in `embedding`, the features of all training items X, which hold-outs need."""
        refuse_too_large(
            X.shape[0], len(self.basis_index), "the kernel map", "use basis= with fewer items"
        )
        if self.exact:
            self.embedding = self.scale[:, None] * self.basis_features
            if not self.is_nearly_singular:
                return self
        K_MR = self.kernel.between(X, self.basis_index, self.X_basis)
        self.K_MR = K_MR if self.is_nearly_singular else None
        if not self.exact:
            self.embedding = K_MR @ self.basis_to_features
        return self

    def _factorise(self, K_RR: np.ndarray) -> None:
        """K_RR = S F Fᵀ S with S the norms of the items, and F = [C; …] by Cholesky with pivots.

        T = S⁻¹ C⁻ᵀ on the pivots, 0 on the other items. The last pivots, whose columns of T are
        largest, come first: see rankwise.spaces.orthogonal_complement. Among equal pivots the
        first row of X wins, in whatever order the basis items are given.
        """
        if self.kernel.may_be_indefinite:
            check_gram(K_RR, "the kernel matrix of the basis items")
        self.scale, self.digits = _norms(K_RR), KernelDigits.of(K_RR)
        with one_blas_thread():  # the threads of SciPy's BLAS would compete with those of NumPy's
            by_row = np.argsort(self.basis_index)
            scaled = (K_RR / self.scale[:, None] / self.scale)[np.ix_(by_row, by_row)]
            factor, pivots, rank, _ = lapack.dpstrf(
                scaled, lower=1, tol=ROUNDING * max(len(K_RR), 64)
            )
            order, rank = by_row[pivots - 1], int(rank)
            inverse = factor[:rank, :rank]
            if rank:  # LAPACK complains on the terminal about an empty matrix
                inverse = lapack.dtrtri(inverse, lower=1)[0]
        self.basis_features = np.zeros((len(K_RR), rank))
        self.basis_features[order] = np.tril(factor[:, :rank])[:, ::-1]
        self.basis_to_features = np.zeros((len(K_RR), rank))
        self.basis_to_features[order[:rank]] = np.tril(inverse).T[:, ::-1]
        self.basis_to_features /= self.scale[:, None]

    @property
    def rank(self) -> int:
        """The number of features."""
        return self.basis_features.shape[1]

    @property
    def is_singular(self) -> bool:
        """Whether some basis items are combinations of others."""
        return self.rank < len(self.basis_features)

    def embed(self, X: Matrix) -> np.ndarray:
        """(n, d) features of items: k(X, X_R) T."""
        return self.kernel.between(X, self.basis_index, self.X_basis) @ self.basis_to_features

    def to_dual(self, w: np.ndarray) -> np.ndarray:
        """Coefficients b of f(x) = k(x, X_R) b from weights w on the map, O(|R| d)."""
        return self.basis_to_features @ w

    def removal(self) -> BasisRemoval:
        """How basis items leave the map."""
        if self.is_singular:
            Q, upper = np.linalg.qr(self.basis_features)
            normals = solve_triangular(upper, Q.T) if self.rank else Q.T
            removal = BasisRemoval(self.basis_index, normals, np.eye(len(Q)) - Q @ Q.T)
        else:
            normals = (self.basis_to_features * self.scale[:, None]).T
            removal = BasisRemoval(self.basis_index, normals, None)
        if self.K_MR is not None:
            removal.recompute = partial(self._recompute_without, removal)
        return removal

    def _recompute_without(self, removal: BasisRemoval, items: np.ndarray) -> np.ndarray | None:
        assert self.embedding is not None
        held = np.isin(self.basis_index, items)
        if not held.any() or held.all() or self.can_update(removal, held):
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
        if held.any() and not self.can_update(removal, held):
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

    def can_update(self, removal: BasisRemoval, held: np.ndarray) -> bool:
        """Whether the update finds the true rank of the basis items that stay.

        Their smallest eigenvalue is at least λρ, where λ is that of K_RR and ρ the smallest
        redundancy of the removed items. If λρ is not clearly above rounding, recompute.
        """
        least = 1.0
        if removal.redundancy is not None:
            redundancy = np.linalg.eigvalsh(removal.redundancy[np.ix_(held, held)])
            least = float(redundancy[redundancy > REDUNDANT].min(initial=1.0))
        return self._smallest_share * least > REDUNDANT

    @property
    def is_nearly_singular(self) -> bool:
        """Whether removing basis items may require the map to be computed again."""
        return self.is_singular or self._smallest_share <= REDUNDANT

    @cached_property
    def _smallest_share(self) -> float:
        """A lower bound of the smallest eigenvalue of K_RR but 0, as a share of the largest."""
        inverse = self.basis_to_features * self.scale[:, None]
        sizes = np.linalg.norm(self.basis_features) * np.linalg.norm(inverse)
        return 1.0 / float(sizes) ** 2 if sizes else 1.0

    @cached_property
    def condition(self) -> float:
        """The condition number of the basis items, scaled to norm 1; an estimate, O(|R|²)."""
        inverse = self.basis_to_features * self.scale[:, None]
        return (
            _largest_singular_value(self.basis_features) * _largest_singular_value(inverse)
        ) ** 2

    def _recomputed(self, staying: np.ndarray, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        assert self.K_MR is not None
        smaller, K = self.restricted(staying), self.K_MR[:, staying]
        return [K[rows] @ smaller.basis_to_features for rows in parts]

    def restricted(self, staying: np.ndarray) -> NystromMap:
        """The map over some of the basis items, from the very numbers that a refit starts from:
        rounding errors of K_RR matter if it is nearly singular."""
        smaller = NystromMap(self.kernel, self.basis_index[staying], exact=self.exact)
        if self.X_basis is not None:
            return smaller.fit_basis(self.X_basis[staying])
        K_RR = self.K_RR if self.K_MR is None else self.K_MR[self.basis_index]
        assert K_RR is not None
        smaller._factorise(K_RR[np.ix_(staying, staying)])
        return smaller


class MapRows(LazyRows):
    """The features F of items X, whose sums FᵀLF and Fᵀb need no more than blocks of K_MR.

    If K_RR is well conditioned, the sums over K_MR are turned by T at the end, which saves the
    product K_MR T. T magnifies their rounding errors by the condition number of K_RR, so for other
    bases the rows of F are summed.
    """

    def __init__(self, map: NystromMap, X: Matrix):
        self._map, self._X = map, map.kernel.square(X)
        self._sums_kernel = map.condition <= WELL_CONDITIONED
        # Kernel values are squared: their squares must neither overflow nor vanish.
        norm = float(map.scale.max())
        self._unit = 1.0 if 1e-50 < norm < 1e50 else 2.0 ** -np.round(np.log2(norm))
        width = len(map.basis_index) if self._sums_kernel else map.rank
        self.shape = (X.shape[0], width)
        # A function of the user's need not be safe for several threads.
        self._turn = Lock() if callable(map.kernel.kernel) else nullcontext()

    def rows(self, items: np.ndarray) -> np.ndarray:
        map = self._map
        with self._turn:
            K = map.kernel.between(self._X[items], map.basis_index, map.X_basis)
        if not self._sums_kernel:
            return K @ map.basis_to_features
        return K if self._unit == 1.0 else K * self._unit

    def finish(self, G: np.ndarray, moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not self._sums_kernel:
            return G, moments
        T = self._map.basis_to_features / self._unit
        G = T.T @ G @ T
        return (G + G.T) / 2, T.T @ moments


def _largest_singular_value(A: np.ndarray) -> float:
    """By ten power iterations, a lower bound within a few percent."""
    if not A.size:
        return 1.0
    v = A[int(np.argmax(np.einsum("ij,ij->i", A, A)))]
    for _ in range(10):
        v = A.T @ (A @ (v / np.linalg.norm(v)))
    return float(np.sqrt(np.linalg.norm(v)))


def _norms(K: np.ndarray) -> np.ndarray:
    """The norms of the items, never below rounding of the largest; 1 if all are 0."""
    square = np.maximum(np.diagonal(K), 0.0)
    floor = len(K) * np.finfo(float).eps * square.max()
    return np.sqrt(np.maximum(square, floor if floor else 1.0))


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
