"""The Laplacian of an explicit graph, in which every pair may have its own weight.

A loss that knows each pair's target and weight becomes such a graph.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from scipy import sparse
from scipy.linalg import lapack
from scipy.sparse.csgraph import connected_components

from rankwise.losses.laplacian import Laplacian, Target
from rankwise.losses.quadratic_loss import Quadratic
from rankwise.numerics.arrays import LazyRows, Matrix, moved_to_origin
from rankwise.supervision.queries import Queries


class Factor(NamedTuple):
    """R, a matrix W with Rβ = b for β = Wᵀb if b is in the range of L, and the component of each
    column of both.
    """

    R: sparse.csr_array | np.ndarray
    W: sparse.csr_array | np.ndarray
    component: np.ndarray


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
        owner: list[int] = []
        rows, columns, R, W = [], [], [], []
        for c in np.flatnonzero(members.sizes > 1):
            items, first = members.members(c), len(owner)
            blocks = _factors(self.L[items][:, items].toarray())
            owner += [int(c)] * blocks[0].shape[1]
            rows.append(np.repeat(items, len(owner) - first))
            columns.append(np.tile(np.arange(first, len(owner)), len(items)))
            R.append(blocks[0].ravel())
            W.append(blocks[1].ravel())
        shape = (self.n_items, len(owner))
        if not rows:
            return Factor(np.zeros(shape), np.zeros(shape), np.zeros(0, dtype=int))
        where = (np.concatenate(rows), np.concatenate(columns))
        both = [sparse.csr_array((np.concatenate(v), where), shape=shape) for v in (R, W)]
        if both[0].nnz > 0.1 * shape[0] * shape[1]:
            both = [matrix.toarray() for matrix in both]
        return Factor(both[0], both[1], np.array(owner))

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
        F = moved_to_origin(F)[0] if sparse.issparse(F) else _centred(F)
        G = F.T @ (self.L @ F)
        return np.asarray(G.todense() if sparse.issparse(G) else G), np.asarray(F.T @ target.b)

    def solve_factor(self, b: np.ndarray) -> np.ndarray:
        return self._factorised.W.T @ b

    def inverse_factor(self, Y: np.ndarray) -> np.ndarray:
        """W Y, so that differences of its rows are rows of the pairs in the space of R."""
        return self._factorised.W @ Y


def _factors(L: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """R and W of one connected component, both t × (t − 1), O(t³).

    L without its last row and column is definite, C Cᵀ, and the rows of L add up to zero. So
    R is C above its negative column sums, and W is C⁻ᵀ above zeros. If rounding errors hide that
    L is definite there, eigenvectors decide which directions it has.
    """
    try:
        C = np.linalg.cholesky(L[:-1, :-1])
    except np.linalg.LinAlgError:
        eigenvalues, Q = np.linalg.eigh(L)
        kept = eigenvalues > len(L) * np.finfo(float).eps * eigenvalues[-1]
        R = Q[:, kept] * np.sqrt(eigenvalues[kept])
        return R, R / eigenvalues[kept]
    inverse, _ = lapack.dtrtri(C, lower=1)
    return np.vstack((C, -C.sum(axis=0))), np.vstack((inverse.T, np.zeros(len(C))))


def _centred(X: np.ndarray) -> np.ndarray:
    """X without an offset of its columns, which L ignores but which would cost it digits."""
    return X - X.mean(axis=0)


class PairCost(Protocol):
    """What a loss of your own needs."""

    def pairs(self, difference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The target z and the weight w of pairs whose scores differ by `difference` > 0."""
        ...


class SquaredTargets:
    """The cost whose weights w² are the w² z² of a loss."""

    def __init__(self, loss: PairCost):
        self._loss = loss

    def pairs(self, difference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z, w = self._loss.pairs(difference)
        return z, np.asarray(w) * z


class PairGraph:
    """Collects pairs with their weights w² and pulls w² z into a graph over m items.

    `blocks` (m,) numbers the items that only leave the problem together; None if connected items
    alone do.
    """

    def __init__(self, m: int, blocks: np.ndarray | None = None):
        self._m, self._blocks = m, blocks
        self._parts: list[tuple[np.ndarray, ...]] = []
        self._b = np.zeros(m)

    def add(
        self, winner: np.ndarray, loser: np.ndarray, squared: np.ndarray, pull: np.ndarray
    ) -> None:
        self._parts.append((winner, loser, squared))
        self._b += np.bincount(winner, pull, minlength=self._m)
        self._b -= np.bincount(loser, pull, minlength=self._m)

    def quadratic(self) -> Quadratic:
        winner, loser, squared = (np.concatenate(part) for part in zip(*self._parts))
        counted = squared != 0
        edges = (squared[counted], (winner[counted], loser[counted]))
        graph = sparse.csr_array(edges, shape=(self._m, self._m))
        laplacian = GraphLaplacian(sparse.csr_array(graph + graph.T), self._blocks)
        return Quadratic(laplacian, Target(laplacian, given=self._b[:, None]))
