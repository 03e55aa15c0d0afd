"""The seam of spaces: from training items and a kernel to what solvers see, and back to a model.

| space | what solvers see | model |
|---|---|---|
| LinearSpace | X, or X Xᵀ where n > m and the solver takes it | weights w |
| KernelSpace | the kernel matrix K | coefficients of all training items |
| CholeskySpace | features Z with Z Zᵀ = K | coefficients of the pivot items |
| ReducedSpace | features of a reduced set (Nyström) | coefficients of the basis items |
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.linalg import lapack, solve_triangular

from rankwise.numerics.arrays import Matrix, moved_to_origin
from rankwise.numerics.memory import refuse_too_large
from rankwise.numerics.tiles import TILE, inner_products, permute_rows
from rankwise.spaces.basis_removal import BasisRemoval
from rankwise.spaces.kernel_digits import KernelDigits
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.nystrom_map import Basis, MapRows, NystromMap, RandomState, choose_basis
from rankwise.spaces.representation import Representation

FAR = 10000.0
"""Items are far from the origin if their features exceed the range of these by this factor."""


class ItemMatrix(ABC):
    """The training items. `offers` names what solvers may require of it."""

    name: ClassVar[str]
    offers: ClassVar[frozenset[str]]
    removal: BasisRemoval | None = None
    """How basis items leave a reduced set; None if the space has no basis of its own."""

    @property
    @abstractmethod
    def n_items(self) -> int: ...

    @property
    def in_basis(self) -> np.ndarray:
        """(m,) whether removing the item also changes the space."""
        marked = np.zeros(self.n_items, dtype=bool)
        if self.removal is not None:
            marked[self.removal.items[self.removal.items >= 0]] = True
        return marked

    def constraints_without(
        self, items: np.ndarray
    ) -> tuple[np.ndarray | None, np.ndarray | float]:
        """(N, values): a model without the items must satisfy Nᵀw = −values; (None, 0) if free."""
        return (None, 0.0) if self.removal is None else self.removal.of(items)

    @abstractmethod
    def gram(self) -> Gram:
        """The items by their kernel matrix, for a loss over pairs of them."""

    @abstractmethod
    def take(self, items: np.ndarray) -> ItemMatrix: ...

    @abstractmethod
    def scores(self, items: np.ndarray, trained: np.ndarray, model: np.ndarray) -> np.ndarray:
        """Scores of `items` by the coefficients of a model trained on the items `trained`."""


class Features(ItemMatrix):
    """Items as rows of F; the coefficients of a model are a weight vector w.

    If F belongs to items that were moved by −c, `shift` (n,) is c. A loss over pairs does not see
    it. Scores are (F + 1 shiftᵀ) w.
    """

    name = "a feature matrix"
    offers = frozenset({"features"})

    def __init__(
        self, F: Matrix, removal: BasisRemoval | None = None, shift: np.ndarray | None = None
    ):
        self.F = F
        self.removal = removal
        self.shift = shift

    @property
    def n_items(self) -> int:
        return self.F.shape[0]

    def gram(self) -> Gram:
        refuse_too_large(self.n_items, self.n_items, "the matrix F Fᵀ", "hold out fewer items")
        F, c = moved_to_origin(self.F)
        if self.shift is not None:
            c = self.shift if c is None else c + self.shift
        return gram_near_origin(F, c)

    def take(self, items: np.ndarray) -> Features:
        return Features(self.F[items], shift=self.shift)

    def scores(self, items: np.ndarray, trained: np.ndarray, model: np.ndarray) -> np.ndarray:
        scores = np.asarray(self.F[items] @ model)
        return scores if self.shift is None else scores + self.shift @ model


class Gram(ItemMatrix):
    """Items by their kernel matrix K; the coefficients of a model are dual coefficients.

    If K belongs to items that were moved by −c, `shift` (m,) holds their inner products with c. A
    loss over pairs does not see c, so that K serves to train. Scores are (K + 1 shiftᵀ) a.
    `hides_terms` says that parts of the kernel are known to be lost in the rounding of K.
    """

    name = "a kernel matrix"
    offers = frozenset({"kernel matrix"})

    def __init__(self, K: np.ndarray, shift: np.ndarray | None = None, hides_terms: bool = False):
        self.K = K
        self.shift = shift
        self.hides_terms = hides_terms

    @property
    def n_items(self) -> int:
        return len(self.K)

    def gram(self) -> Gram:
        return self

    def take(self, items: np.ndarray) -> Gram:
        shift = None if self.shift is None else self.shift[items]
        return Gram(self.K[np.ix_(items, items)], shift, self.hides_terms)

    def scores(self, items: np.ndarray, trained: np.ndarray, model: np.ndarray) -> np.ndarray:
        scores = self.K[np.ix_(items, trained)] @ model
        return scores if self.shift is None else scores + self.shift[trained] @ model


class Space(ABC):
    """The training items as a matrix for solvers, and the way back to a model.

    A member says how `matrix` is computed, sets `representation`, and turns the coefficients that a
    solver finds for `matrix` into those that multiply `represent(X)`.
    """

    representation: Representation

    @abstractmethod
    def build_matrix(self) -> ItemMatrix:
        """The training items as a new matrix for solvers."""

    @cached_property
    def matrix(self) -> ItemMatrix:
        """The training items for solvers, computed once and kept."""
        return self.build_matrix()

    @property
    def has_kernel_matrix(self) -> bool:
        """Whether `matrix` is a kernel matrix, m × m; known before it is computed."""
        return False

    @property
    def features(self) -> Matrix:
        """Φ of the training items, if the space was built `as_features`."""
        assert isinstance(self.matrix, Features)
        return self.matrix.F

    def features_without(self, items: np.ndarray) -> Matrix:
        """Φ of all training items, after some of them have left the basis of a reduced set."""
        return self.features

    def represent(self, X: Matrix) -> Matrix:
        """New items, to be multiplied by the coefficients of `to_model`."""
        return self.representation.of(X)

    @abstractmethod
    def to_model(self, solution: np.ndarray) -> np.ndarray:
        """(d, k) coefficients of the model from the (r, k) coefficients of a solver."""


def is_far(X: Matrix) -> bool:
    """Whether items are so far from the origin that X Xᵀ loses their distances, O(m n)."""
    return isinstance(X, np.ndarray) and bool(
        np.abs(X[0]).max(initial=0.0) > FAR * np.ptp(X, axis=0).max(initial=0.0)
    )


def gram_near_origin(X: Matrix, c: np.ndarray | None) -> Gram:
    """X Xᵀ of items that were moved by −c."""
    return Gram(inner_products(X), None if c is None else np.asarray(X @ c))


class LinearSpace(Space):
    """f(x) = ⟨w, x⟩: features, or, where n > m and `may_be_dual`, the matrix X Xᵀ.

    If the items are far from the origin beside their distances, these would be lost in X Xᵀ. If the
    loss does `ignore_offsets` of all items, they are moved to the origin. Otherwise, if they are
    FAR, the features are the coordinates of the items in the m directions that span them, O(m² n).
    """

    def __init__(self, X: Matrix, may_be_dual: bool = True, ignore_offsets: bool = False):
        self._X = X
        m, n = X.shape
        self._is_dual = may_be_dual and n > m
        self._directions: np.ndarray | None = None
        self._origin: np.ndarray | None = None
        if self._is_dual and ignore_offsets:
            self._X, self._origin = moved_to_origin(X)
        elif self._is_dual and is_far(X):
            self._directions = np.linalg.qr(np.vstack((X[1:] - X[0], X[0])).T)[0]
            self._is_dual = False
        self.representation = Representation(Kernel("linear"))
        if may_be_dual:
            smaller = "the matrix X Xᵀ" if self._is_dual else "the matrix XᵀX"
            refuse_too_large(min(m, n), min(m, n), smaller, 'use solver="cg"')

    @property
    def has_kernel_matrix(self) -> bool:
        return self._is_dual

    def build_matrix(self) -> ItemMatrix:
        if self._directions is not None:
            return Features(self._X @ self._directions)
        if self._is_dual:
            return gram_near_origin(self._X, self._origin)
        return Features(self._X)

    def to_model(self, solution: np.ndarray) -> np.ndarray:
        if self._directions is not None:
            return np.asarray(self._directions @ solution)
        return np.asarray(self._X.T @ solution) if self._is_dual else solution


class KernelSpace(Space):
    """f(x) = Σ a_i k(x, x_i) over all training items.

    If the loss does `ignore_offsets`, the matrix is that of the kernel seen from the first item
    where kernel values are nearly equal: see rankwise.spaces.polynomial_kernel.
    """

    def __init__(self, X: Matrix, kernel: Kernel, ignore_offsets: bool = False):
        X_basis = None if kernel.is_precomputed else X.copy()
        self._X = X if X_basis is None else X_basis
        self.representation = Representation(kernel, np.arange(X.shape[0]), X_basis)
        self._is_checked = False
        self._from_anchor = kernel.from_anchor(self._X) if ignore_offsets else None

    @property
    def has_kernel_matrix(self) -> bool:
        return True

    def build_matrix(self) -> Gram:
        kernel, view = self.representation.kernel, self._from_anchor
        K = kernel.gram(self._X, trusted=self._is_checked, view=view)
        self._is_checked = True
        if view is None:
            return Gram(K)
        return Gram(K, view.offsets(self._X), view.hides_terms(K))

    def to_model(self, solution: np.ndarray) -> np.ndarray:
        return solution


class CholeskySpace(Space):
    """The exact empirical kernel map Z Zᵀ = K with rank(K) columns, O(m³/3), no eigenvectors.

    Section 4.2 of Pahikkala et al. (2009). A singular K is factorised with pivots, which then are
    the items of the expansion. A model that is trained on some rows of Z never leaves the span of
    those rows, so Z serves every fold exactly. Z takes the place of K in memory.

    With `ignore_offsets` as in KernelSpace. The first item, which then is 0 in Z, takes part in the
    expansion with the coefficient that makes all of them sum to zero.
    """

    def __init__(self, X: Matrix, kernel: Kernel, ignore_offsets: bool = False):
        self.from_anchor = kernel.from_anchor(X) if ignore_offsets else None
        view = self.from_anchor
        K = np.ascontiguousarray(kernel.gram(X, view=view))
        differ = not isinstance(X, np.ndarray) or bool((X[0] != X).any())
        digits = KernelDigits.of(K, view is not None and view.hides_terms(K), differ)
        # LAPACK reads columns: it sees Kᵀ, and its upper factor is our lower one, row by row.
        factor, turned, rank, _ = lapack.dpstrf(K.T, lower=0, overwrite_a=1)
        Z, order, r = factor.T, turned - 1, int(rank)
        for row in range(r):
            Z[row, row + 1 :] = 0.0
        permute_rows(Z, order)
        pivots = index = order[:r]
        if self.from_anchor is not None:
            index = np.concatenate(([0], pivots))
        X_basis = None if kernel.is_precomputed else X[index]
        self.representation = Representation(kernel, index, X_basis)
        self.digits = replace(digits, basis=index)
        self._Z, self._pivots = Z if r == len(Z) else Z[:, :r].copy(), pivots

    def build_matrix(self) -> Features:
        return Features(self._Z)

    def to_model(self, solution: np.ndarray) -> np.ndarray:
        """Coefficients b of the pivots with f(x) = Σ b_i k(x, x_i): Lᵀ b = w, O(m²).

        The rows of the triangle L are those of the pivots in Z; a few at a time are copied.
        """
        index, b = self._pivots, np.array(solution)
        for low in range((len(index) - 1) // TILE * TILE, -1, -TILE):
            rows = slice(low, min(low + TILE, len(index)))
            L = self._Z[index[rows]]
            b[rows] = solve_triangular(L[:, rows], b[rows], lower=True, trans="T")
            b[:low] -= L[:, :low].T @ b[rows]
        return b if self.from_anchor is None else np.vstack((-b.sum(axis=0), b))


class ReducedSpace(Space):
    """f(x) = Σ_R b_i k(x, x_i) over basis items R, regularised by bᵀK_RR b (equation 40)."""

    def __init__(self, map: NystromMap, X: Matrix | None = None):
        """The map of the basis items, and the training items X if the space is to have a matrix."""
        self.map, self._X = map, X
        self.representation = Representation(map.kernel, map.basis_index, map.X_basis)

    @property
    def digits(self) -> KernelDigits:
        return self.map.digits

    @property
    def rows(self) -> MapRows:
        """The features of the training items by blocks, for solvers that only sum over them."""
        assert self._X is not None
        return MapRows(self.map, self._X)

    def build_matrix(self) -> Features:
        if self.map.embedding is None:
            assert self._X is not None
            self.map.embed_training_items(self._X)
        assert self.map.embedding is not None
        return Features(self.map.embedding, self.map.removal())

    def features_without(self, items: np.ndarray) -> Matrix:
        assert isinstance(self.matrix, Features)  # has embedded the training items
        return self.map.without(items)

    def to_model(self, solution: np.ndarray) -> np.ndarray:
        """(r, k) coefficients of the basis items, or (n, k) weights for the linear kernel."""
        b = self.map.to_dual(solution)
        if not self.map.kernel.is_linear:
            return b
        assert self.map.X_basis is not None
        return np.asarray(self.map.X_basis.T @ b)


def build_space(
    X: Matrix,
    kernel: Kernel,
    basis: Basis = None,
    random_state: RandomState = None,
    *,
    as_features: bool = False,
    ignore_offsets: bool = False,
) -> Space:
    """The space of a kernel and an optional reduced set; `as_features` for solvers that need Φ.

    `ignore_offsets` says that the loss does: it is over differences of scores.
    """
    if basis is not None:
        index = choose_basis(basis, X.shape[0], random_state)
        X = kernel.square(X)
        return ReducedSpace(NystromMap(kernel, index).fit_basis(X[index]), X)
    if kernel.is_linear:
        return LinearSpace(X, not as_features, ignore_offsets)
    return (CholeskySpace if as_features else KernelSpace)(X, kernel, ignore_offsets)
