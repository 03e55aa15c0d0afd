"""The Laplacian of an explicit preference graph: relative costs and preference lists."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from rankwise.supervision.queries import Queries


class GraphLaplacian:
    """An explicit graph: L sparse, its factor R found one connected component at a time.

    apply costs O(edges). R costs O(Σ component³) once, when first asked for: only dual solutions
    and hold-outs need it.
    """

    def __init__(self, L: sparse.csr_array):
        self.L = L

    @property
    def n_items(self) -> int:
        return self.L.shape[0]

    @property
    def rank(self) -> int:
        return self.R.shape[1]

    @property
    def R(self) -> sparse.csr_array | np.ndarray:
        return self._factorized[0]

    @cached_property
    def component(self) -> np.ndarray:
        return connected_components(self.L, directed=False)[1]

    @cached_property
    def _factorized(self):
        """R with orthogonal columns, the component and the squared norm of each column."""
        members = Queries(self.component, np.arange(self.component.max() + 1))
        rows, columns, values, owner, squared = [], [], [], [], []
        for c in np.flatnonzero(members.sizes > 1):
            items = members.members(c)
            eigenvalues, Q = np.linalg.eigh(self.L[items][:, items].toarray())
            kept = eigenvalues > len(items) * np.finfo(float).eps * eigenvalues[-1]
            first = len(owner)
            owner += [c] * int(kept.sum())
            squared += list(eigenvalues[kept])
            rows.append(np.repeat(items, len(owner) - first))
            columns.append(np.tile(np.arange(first, len(owner)), len(items)))
            values.append((Q[:, kept] * np.sqrt(eigenvalues[kept])).ravel())
        shape = (self.n_items, len(owner))
        if not rows:
            return np.zeros(shape), np.zeros(0, dtype=int), np.zeros(0)
        place = (np.concatenate(rows), np.concatenate(columns))
        R = sparse.csr_array((np.concatenate(values), place), shape=shape)
        dense = R.nnz > 0.1 * shape[0] * shape[1]
        return (R.toarray() if dense else R), np.array(owner), np.array(squared)

    def factor(self, Y):
        return self.R @ Y

    def factor_t(self, X):
        return self.R.T @ X

    def sandwich(self, K):
        """Rᵀ K R for symmetric K."""
        return self.factor_t(np.ascontiguousarray(self.factor_t(K).T))

    def apply(self, X):
        return self.L @ X

    def rows_of(self, items):
        return np.flatnonzero(np.isin(self._factorized[1], self.component[items]))

    def is_closed(self, items):
        return len(self.closure(items)) == len(items)

    def closure(self, items):
        return np.flatnonzero(np.isin(self.component, self.component[items]))

    def gram(self, F, target):
        G = F.T @ (self.L @ F)
        return np.asarray(G.todense() if sparse.issparse(G) else G), np.asarray(F.T @ target.b)

    def solve_factor(self, b: np.ndarray) -> np.ndarray:
        """β with R β = b, for b in the range of L."""
        return (self.R.T @ b) / self._factorized[2][:, None]
