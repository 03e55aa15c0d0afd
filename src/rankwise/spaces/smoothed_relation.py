"""Scores of pairs of nodes as weighted means of known labels, for baselines that learn nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from rankwise.numerics.arrays import Matrix
from rankwise.spaces.edges import Edges
from rankwise.spaces.nodes import Nodes
from rankwise.spaces.pair_function import best_of

BLOCK = 2048
Weigh = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Weights (n, p) from similarities (n, p) to the training nodes and their own ones (p,)."""


@dataclass
class SmoothedRelation:
    """h(u, v) = Σ_t share_t · mean_t(u, v), each a weighted mean of the observed labels.

    The means are, in the order of `shares`: over edges (i, j) with weight l_i(u) r_j(v); over all
    edges of row i with weight l_i(u); over all edges of column j with weight r_j(v); over all
    edges. A mean without any weight is the mean of all labels. O(p_a p_b) per new node.

    known, observed : (p_a, p_b, k) labels, 0 where not observed, and 1 or 0
    """

    rows: Nodes
    columns: Nodes
    known: np.ndarray
    observed: np.ndarray
    weigh: Weigh
    shares: tuple[float, float, float, float]

    def transposed(self) -> SmoothedRelation:
        one, by_row, by_column, constant = self.shares
        known, observed = (np.swapaxes(array, 0, 1) for array in (self.known, self.observed))
        shares = (one, by_column, by_row, constant)
        return SmoothedRelation(self.columns, self.rows, known, observed, self.weigh, shares)

    def scores(self, U: Matrix, V: Matrix) -> np.ndarray:
        """(len(U), len(V), k) values for all pairs."""
        right = self._weights(self.columns, V)
        parts = [self._block(self._weights(self.rows, U[part]), right) for part in _blocks(U)]
        return np.concatenate(parts)

    def at_edges(self, U: Matrix, V: Matrix, edges: np.ndarray) -> np.ndarray:
        """(n, k) values for the pairs (U[i], V[j]) of `edges` (n, 2) only."""
        pairs, rows, columns = Edges.between_used(edges[:, 0], edges[:, 1])
        left = self._weights(self.rows, U[rows])
        right = self._weights(self.columns, V[columns])
        out = np.empty((len(edges), self.known.shape[2]))
        for j, (Y, O) in enumerate(self._relations()):
            total, count = np.empty(len(edges)), np.empty(len(edges))
            for sums, M in ((total, Y), (count, O)):
                sums[pairs.order] = pairs.sampled(left @ M, right)
            rest = self._rest(left, right, Y, O)
            at = np.searchsorted(rows, edges[:, 0]), np.searchsorted(columns, edges[:, 1])
            mean = _mean(total, count, Y.sum() / O.sum())
            out[:, j] = self.shares[0] * mean + rest[0][at[0]] + rest[1][at[1]]
        return out

    def best(self, u: Matrix, V: Matrix, n_best: int) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the best of V given each node of u, best first, and their values."""
        return best_of(self.scores(u, V), n_best)

    def _weights(self, nodes: Nodes, U: Matrix) -> np.ndarray:
        return self.weigh(*similarities(nodes, U))

    def _relations(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return zip(np.moveaxis(self.known, 2, 0), np.moveaxis(self.observed, 2, 0))

    def _block(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        out = np.empty((len(left), len(right), self.known.shape[2]))
        for j, (Y, O) in enumerate(self._relations()):
            mean = _mean(left @ Y @ right.T, left @ O @ right.T, Y.sum() / O.sum())
            by_row, by_column = self._rest(left, right, Y, O)
            out[..., j] = self.shares[0] * mean + by_row[:, None] + by_column
        return out

    def _rest(
        self, left: np.ndarray, right: np.ndarray, Y: np.ndarray, O: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """What the means of rows, of columns and of everything add, for each row and column."""
        mean = Y.sum() / O.sum()
        by_row = _mean(left @ Y.sum(axis=1), left @ O.sum(axis=1), mean)
        by_column = _mean(right @ Y.sum(axis=0), right @ O.sum(axis=0), mean)
        _, of_rows, of_columns, constant = self.shares
        return of_rows * by_row + constant * mean, of_columns * by_column


@dataclass
class SimilarityFunction:
    """h(u, v) = k(u, v): equation 40 of Pahikkala et al. (2013). One domain, no labels."""

    nodes: Nodes

    def transposed(self) -> SimilarityFunction:
        return self

    def scores(self, U: Matrix, V: Matrix) -> np.ndarray:
        return self.nodes.kernel_between(U, V)[:, :, None]

    def at_edges(self, U: Matrix, V: Matrix, edges: np.ndarray) -> np.ndarray:
        rows, at = np.unique(edges[:, 0], return_inverse=True)
        return self.nodes.kernel_between(U[rows], V)[at, edges[:, 1]][:, None]

    def best(self, u: Matrix, V: Matrix, n_best: int) -> tuple[np.ndarray, np.ndarray]:
        return best_of(self.scores(u, V), n_best)


def similarities(nodes: Nodes, U: Matrix) -> tuple[np.ndarray, np.ndarray]:
    """Kernel values (n, p) of new nodes to the training nodes, and k(i, i) of these, (p,)."""
    represented = nodes.represent(U)
    if nodes.through_features:
        return represented @ nodes.rows.T, np.einsum("ij,ij->i", nodes.rows, nodes.rows)
    return represented, np.diag(nodes.rows)


def _mean(total: np.ndarray, count: np.ndarray, default: float) -> np.ndarray:
    return np.divide(total, count, out=np.full(total.shape, default), where=count > 0)


def _blocks(U: Matrix) -> Iterator[slice]:
    n = U.shape[0]
    return (slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))
