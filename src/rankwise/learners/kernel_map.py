"""KernelMap: a kernel as plain features, for any linear learner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rankwise.learners.fit_memory import FitMemory
from rankwise.learners.ranker import BasisArguments
from rankwise.model_selection.folds import read_splits
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.nystrom_map import NystromMap, choose_basis
from rankwise.spaces.representation import Representation
from rankwise.supervision.queries import Queries
from rankwise.validation import check_index, check_items


@dataclass(eq=False, repr=False)
class KernelMap(BasisArguments, FitMemory, TransformerMixin, BaseEstimator):
    """Features F with F Fᵀ = K (exact) or K_MR K_RR⁻¹ K_RM (reduced set R, Nyström).

    Any linear learner trained on F is the kernel learner restricted to the span of the basis
    items (equations 2 and 8 of Airola et al., paper III of Airola 2011), and `to_dual` turns its
    weights into coefficients of the kernel expansion. O(m r² + r³) for r basis items; K_RR may be
    singular. See
    rankwise.spaces.nystrom_map for directions that a reduced set drops.

    Parameters
    ----------
    kernel
        Name of a scikit-learn pairwise kernel, "precomputed" or a callable.
    gamma, degree, coef0
        Its parameters; gamma=None is 1/n.
    basis
        None for the exact map, int for that many uniformly random basis items, or an array of their
        row numbers.
    random_state
        Draws the basis when it is an int.

    Attributes
    ----------
    basis_index_
        (r,) row numbers of the basis items.
    embedding_
        (m, d) the map of the training items, d ≤ r the rank of K_RR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics.pairwise import rbf_kernel
    >>> from rankwise import KernelMap
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> F = KernelMap("rbf", gamma=0.5).fit_transform(X)
    >>> np.allclose(F @ F.T, rbf_kernel(X, gamma=0.5))
    True
    """

    kernel: str | Callable = "rbf"

    def fit(self, X, y=None):
        """Compute the map of the items X; y is ignored."""
        kernel = Kernel.of(self)
        X = check_items(self, X, reset=True)
        index = choose_basis(self.basis, kernel.square(X).shape[0], self.random_state)
        self._map = NystromMap(kernel, index, exact=self.basis is None).fit(X)
        self.basis_index_ = index
        self._remember_parameters()
        return self

    @property
    def embedding_(self) -> np.ndarray:
        check_is_fitted(self)
        return self._map.embedding

    @property
    def representation(self) -> Representation:
        """How items enter the map; multiply by `coefficients` to get their features."""
        check_is_fitted(self)
        return Representation(self._map.kernel, self.basis_index_, self._map.X_basis)

    @property
    def coefficients(self) -> np.ndarray:
        """(r, d) the matrix T, or (n, d) for the linear kernel."""
        T = self._map.basis_to_features
        return np.asarray(self._map.X_basis.T @ T) if self._map.kernel.is_linear else T

    def transform(self, X) -> np.ndarray:
        """(n, d) features of new items: k(X, X_R) T."""
        check_is_fitted(self)
        return self._map.embed(check_items(self, X, reset=False))

    def fit_transform(self, X, y=None) -> np.ndarray:
        return self.fit(X).embedding_.copy()

    def to_dual(self, w) -> np.ndarray:
        """Coefficients b of f(x) = k(x, X_R) b from weights w on the map, O(r d)."""
        check_is_fitted(self)
        return self._map.to_dual(w)

    def without(self, index) -> np.ndarray:
        """The map of the training items with the basis items among `index` removed.

        By update (Theorem 1 of Airola et al., paper III), O(h d m) for h of them. See `folds`.
        """
        check_is_fitted(self)
        return self._map.without(check_index(index, len(self.embedding_)))

    def folds(self, splits, *, y=None, qid=None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For every fold the maps of its training and of its test items: Theorem 1, Corollary 2.

        Both are those of a KernelMap fitted to the training items alone, whose basis are the
        basis items among them, up to a rotation that no learner with a quadratic regulariser
        notices. O(r² m) for the folds of a partition, however many there are, and the memory
        of one fold at a time. Only if K_RR is singular beyond duplicates and low rank
        (eigenvalues that fade into rounding error), a fold that loses basis items is recomputed,
        O(r² m) each.

        Parameters
        ----------
        splits
            Iterable of (train, test) or of test sets, whose rest trains; a scikit-learn
            splitter; or a number of folds, of whole queries where there are queries.
            "leave-query-out" holds out each query.
        y, qid
            For splitters, as classes to stratify by and as groups.
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

    def _folds(self, pairs: Iterable) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        removal = self._map.removal()
        for number, (train, test) in enumerate(pairs):
            held = ~np.isin(self.basis_index_, train)
            if held.all():
                raise ValueError(
                    f"splits fold {number} holds out all {len(held)} basis items, so no map is "
                    "left: take more basis items, or some from every fold."
                )
            train_map, test_map = self._map.maps_without(removal, held, [train, test])
            yield train_map, test_map

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = Kernel(self.kernel).is_precomputed
        return tags
