"""The Laplacian of an explicit graph, in which every pair may have its own weight."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from rankwise.losses.laplacian import Laplacian, Target
from rankwise.numerics.arrays import LazyRows, Matrix
from rankwise.supervision.queries import Queries


class Factor(NamedTuple):
    """R with orthogonal columns, and for each column its component and its squared norm."""

    R: sparse.csr_array | np.ndarray
    component: np.ndarray
    squared_norm: np.ndarray


class GraphLaplacian(Laplacian):
    """L as a sparse matrix; its factor R is found one connected component at a time.

    `apply` costs O(edges). R costs O(Σ component³) once, when it is first used: only dual
    solutions and hold-outs need it.
    """

    def __init__(self, weights: sparse.csr_array, blocks: np.ndarray | None = None):
        """`weights` is the symmetric matrix of the weights of all pairs.

        Items of the same number in `blocks` (m,) leave together, because the weights of their
        pairs depend on each other; None if pairs alone connect items. Pairs never span blocks.
        """
        self._blocks = blocks
        degree = np.asarray(weights.sum(axis=1)).ravel()
        self.L = sparse.csr_array(sparse.diags_array(degree) - weights)

    @property
    def n_items(self) -> int:
        return self.L.shape[0]

    @property
    def rank(self) -> int:
        return self._factorised.R.shape[1]

    @cached_property
    def component(self) -> np.ndarray:
        """(m,) the number of each item's connected component."""
        return connected_components(self.L, directed=False)[1]

    @cached_property
    def _factorised(self) -> Factor:
        members = Queries(self.component, np.arange(self.component.max() + 1))
        rows, columns, values = [], [], []
        owner: list[int] = []
        squared: list[float] = []
        for c in np.flatnonzero(members.sizes > 1):
            items = members.members(c)
            eigenvalues, Q = np.linalg.eigh(self.L[items][:, items].toarray())
            kept = eigenvalues > len(items) * np.finfo(float).eps * eigenvalues[-1]
            first = len(owner)
            owner += [int(c)] * int(kept.sum())
            squared += list(eigenvalues[kept])
            rows.append(np.repeat(items, len(owner) - first))
            columns.append(np.tile(np.arange(first, len(owner)), len(items)))
            values.append((Q[:, kept] * np.sqrt(eigenvalues[kept])).ravel())
        shape = (self.n_items, len(owner))
        if not rows:
            return Factor(np.zeros(shape), np.zeros(0, dtype=int), np.zeros(0))
        where = (np.concatenate(rows), np.concatenate(columns))
        R = sparse.csr_array((np.concatenate(values), where), shape=shape)
        dense = R.nnz > 0.1 * shape[0] * shape[1]
        return Factor(R.toarray() if dense else R, np.array(owner), np.array(squared))

    def factor(self, Y: np.ndarray) -> np.ndarray:
        return self._factorised.R @ Y

    def factor_t(self, X: np.ndarray) -> np.ndarray:
        return self._factorised.R.T @ _centred(X)

    def sandwich(self, K: np.ndarray, overwrite: bool = False) -> np.ndarray:
        return self.factor_t(np.ascontiguousarray(self.factor_t(K).T))

    def apply(self, X: np.ndarray) -> np.ndarray:
        return self.L @ _centred(X)

    def rows_of(self, items: np.ndarray) -> np.ndarray:
        return np.flatnonzero(np.isin(self._factorised.component, self.component[items]))

    def closure(self, items: np.ndarray) -> np.ndarray:
        blocks = self.component if self._blocks is None else self._blocks
        return np.flatnonzero(np.isin(blocks, blocks[items]))

    def gram(self, F: Matrix | LazyRows, target: Target) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(F, LazyRows):
            return F.finish(*self.gram(F.rows(np.arange(self.n_items)), target))
        if not sparse.issparse(F):
            F = _centred(F)
        G = F.T @ (self.L @ F)
        return np.asarray(G.todense() if sparse.issparse(G) else G), np.asarray(F.T @ target.b)

    def solve_factor(self, b: np.ndarray) -> np.ndarray:
        return self.factor_t(b) / self._factorised.squared_norm[:, None]

    def inverse_factor(self, Y: np.ndarray) -> np.ndarray:
        """R (RᵀR)⁻¹ Y, so that differences of its rows are rows of the pairs in the space of R."""
        return self.factor(Y / self._factorised.squared_norm[:, None])


def _centred(X: np.ndarray) -> np.ndarray:
    """X without an offset of its columns, which L ignores but which would cost it digits."""
    return X - X.mean(axis=0)
