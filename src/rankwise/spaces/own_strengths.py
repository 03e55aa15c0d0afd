"""A strength of its own for every training item: δ·I added to the kernel of the training items."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from rankwise.numerics.arrays import Matrix
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.nystrom_map import Basis, RandomState
from rankwise.spaces.space import CholeskySpace, Space, build_space, is_far


class SpannedSpace(CholeskySpace):
    """The linear kernel where n > m: the items in at most m coordinates, as weights of X."""

    def __init__(self, X: Matrix):
        super().__init__(X, Kernel("linear"))
        assert self.representation.basis_index is not None
        self._X_pivots = X[self.representation.basis_index]
        self.representation = type(self.representation)(Kernel("linear"))

    def to_model(self, solution: np.ndarray) -> np.ndarray:
        return np.asarray(self._X_pivots.T @ super().to_model(solution))


class StrengthSpace:
    """Φ = [features of a space, √δ I], so that Φ Φᵀ = K + δ I; the features may be absent.

    A solution is cut into `features_part`, which `to_model` of the space makes a model of, and
    `own`, the strengths of the items themselves. New items have no such strength.
    """

    def __init__(self, space: Space | None, n_items: int, item_effect: float):
        self.space, self.n_items, self.item_effect = space, n_items, item_effect

    @cached_property
    def features(self) -> Matrix:
        return self._joined(None if self.space is None else self.space.features)

    def features_without(self, items: np.ndarray) -> Matrix:
        """Φ of all items, after some of them have left the basis of a reduced set."""
        return self._joined(None if self.space is None else self.space.features_without(items))

    def _joined(self, of_space: Matrix | None) -> Matrix:
        own = np.sqrt(self.item_effect) * sparse.eye_array(self.n_items, format="csr")
        if of_space is None:
            return own
        if not self.item_effect:
            return of_space
        return sparse.hstack([sparse.csr_array(of_space), own], format="csr")

    @property
    def n_features(self) -> int:
        """The columns of Φ that belong to the space."""
        return 0 if self.space is None else self.space.features.shape[1]

    def features_part(self, w: np.ndarray) -> np.ndarray:
        return w[: self.n_features]

    def own(self, w: np.ndarray) -> np.ndarray:
        """(m,) the own strength of each training item."""
        if not self.item_effect:
            return np.zeros(self.n_items)
        return np.sqrt(self.item_effect) * w[self.n_features :]


def strength_space(
    X: Matrix | None,
    n_items: int,
    kernel: Kernel,
    item_effect: float,
    basis: Basis = None,
    random_state: RandomState = None,
    *,
    few: int = 2500,
) -> StrengthSpace:
    """The space of items X, or of n_items without features, whose kernel is the identity.

    Linear features are replaced by coordinates if there are more features than items, and at most
    `few` items.
    """
    if X is None:
        return StrengthSpace(None, n_items, 1.0 + item_effect)
    if kernel.is_linear and isinstance(X, np.ndarray) and is_far(X):
        X = X - X.mean(axis=0)  # only differences of items count
    if kernel.is_linear and basis is None and X.shape[0] < X.shape[1] and X.shape[0] <= few:
        return StrengthSpace(SpannedSpace(X), n_items, item_effect)
    given = (X, kernel, basis, random_state)
    space = build_space(*given, as_features=True, ignore_offsets=True)
    return StrengthSpace(space, n_items, item_effect)
