"""A learnt function of two nodes, evaluated in blocks that never hold more than asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rankwise.numerics.arrays import Matrix
from rankwise.spaces.edges import Edges
from rankwise.spaces.nodes import Nodes

BLOCK = 2048


@dataclass
class PairFunction:
    """h_j(u, v) = row(u)ᵀ C_j column(v) for k relations; `coefficients` is C, (d_a, d_b, k)."""

    rows: Nodes
    columns: Nodes
    coefficients: np.ndarray

    def transposed(self) -> PairFunction:
        return PairFunction(self.columns, self.rows, np.swapaxes(self.coefficients, 0, 1))

    def scores(self, U: Matrix, V: Matrix) -> np.ndarray:
        """(len(U), len(V), k) values for all pairs; kernels are evaluated in blocks."""
        k = self.coefficients.shape[2]
        out = np.empty((k, U.shape[0], V.shape[0]))
        for rows in _blocks(U.shape[0]):
            left = np.tensordot(self.rows.represent(U[rows]), self.coefficients, axes=1)
            for columns in _blocks(V.shape[0]):
                right = self.columns.represent(V[columns]).T
                for j in range(k):
                    np.matmul(left[:, :, j], right, out=out[j, rows, columns])
        return np.moveaxis(out, 0, -1)

    def at_edges(self, U: Matrix, V: Matrix, edges: np.ndarray) -> np.ndarray:
        """(n, k) values for the pairs (U[i], V[j]) of `edges` (n, 2) only."""
        pairs, rows, columns = Edges.between_used(edges[:, 0], edges[:, 1])
        left, right = self.rows.represent(U[rows]), self.columns.represent(V[columns])
        return pairs.scores(left, self.coefficients, right)

    def best(self, u: Matrix, V: Matrix, n_best: int) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the best of V given the node u, best first, and their values.

        Both are (min(n_best, len(V)), k). Equal values keep the order of V. O(len(V)) besides the
        kernel, because only the best are sorted.
        """
        n = V.shape[0]
        direction = np.tensordot(self.rows.represent(u)[0], self.coefficients, axes=1)
        scores = np.empty((n, direction.shape[1]))
        for block in _blocks(n):
            scores[block] = self.columns.represent(V[block]) @ direction
        index = np.stack([largest(column, min(n_best, n)) for column in scores.T], axis=1)
        return index, np.take_along_axis(scores, index, axis=0)


def _blocks(n: int) -> Iterator[slice]:
    return (slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))


def largest(scores: np.ndarray, k: int) -> np.ndarray:
    """Indices of the k largest, largest first, equal ones in their order; O(n + k log k)."""
    chosen = np.arange(len(scores))
    if k < len(scores):
        threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
        above = np.flatnonzero(scores > threshold)
        tied = np.flatnonzero(scores == threshold)[: k - len(above)]
        chosen = np.sort(np.concatenate([above, tied]))
    return chosen[np.argsort(-scores[chosen], kind="stable")]
