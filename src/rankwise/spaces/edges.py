"""Edges between nodes, and products of the edge kernel that never form it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
from numpy import ndarray

from rankwise.numerics import threads
from rankwise.numerics.compiled import compiled

SPARSE_COST = 10.0
"""Time of one multiply-add along an edge divided by that in a dense product (measured)."""
TASKS = 16


class Edges:
    """q edges (row, column) between p_a and p_b nodes, sorted by row; an edge may repeat.

    A vector v over the edges is also the p_a × p_b matrix V that holds it (the bookkeeping matrix
    B of section 4.4). So the product of K_A ⊗ K_B with v at the edges is `times`, then `sampled`.
    Both cost O(q d) along the edges, or they use a dense product if that is estimated to be faster.
    `order` tells which of the given edges comes first, second, and so on.
    """

    def __init__(self, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]):
        self.order = np.argsort(rows, kind="stable")
        self.rows = np.ascontiguousarray(rows[self.order], dtype=np.int64)
        self.columns = np.ascontiguousarray(columns[self.order], dtype=np.int64)
        self.shape = shape
        self.counts = np.bincount(self.rows, minlength=shape[0])
        self.starts = np.concatenate(([0], np.cumsum(self.counts)))
        self.dense = len(rows) * SPARSE_COST > shape[0] * shape[1]
        self.flat = self.rows * shape[1] + self.columns

    @classmethod
    def between_used(
        cls, rows: np.ndarray, columns: np.ndarray
    ) -> tuple[Edges, np.ndarray, np.ndarray]:
        """The edges with only the nodes that they touch, and the numbers of these nodes."""
        used_rows, row = np.unique(rows, return_inverse=True)
        used_columns, column = np.unique(columns, return_inverse=True)
        return cls(row, column, (len(used_rows), len(used_columns))), used_rows, used_columns

    def __len__(self) -> int:
        return len(self.rows)

    def mirrored(self) -> Edges:
        """The edges followed by their reverses; `order` tells where each one went."""
        rows, columns = self.rows, self.columns
        both = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        return Edges(*both, self.shape)

    def matrix(self, v: np.ndarray) -> np.ndarray:
        """V (p_a, p_b); the values of parallel edges add up."""
        size = self.shape[0] * self.shape[1]
        return np.bincount(self.flat, v, minlength=size).reshape(self.shape)

    def times(self, v: np.ndarray, B: np.ndarray) -> np.ndarray:
        """V B (p_a, d) for B (p_b, d)."""
        if self.dense:
            return self.matrix(v) @ B
        B = np.ascontiguousarray(B)
        out = np.empty((self.shape[0], B.shape[1]))
        cuts = np.searchsorted(self.starts, np.linspace(0, len(self), TASKS + 1))
        cuts[0], cuts[-1] = 0, self.shape[0]
        _in_threads(partial(_times, self.starts, self.columns, v, B, out), cuts)
        return out

    def sampled(self, P: np.ndarray, R: np.ndarray) -> np.ndarray:
        """(P Rᵀ) at the edges, for P (p_a, d) and R (p_b, d)."""
        if self.dense:
            return (P @ R.T).ravel()[self.flat]
        P, R = np.ascontiguousarray(P), np.ascontiguousarray(R)
        out = np.empty(len(self))
        cuts = np.linspace(0, len(self), TASKS + 1).astype(int)
        _in_threads(partial(_sampled, self.rows, self.columns, P, R, out), cuts)
        return out

    def scores(self, P: np.ndarray, coefficients: np.ndarray, R: np.ndarray) -> np.ndarray:
        """(q, k) values P C_j Rᵀ in the order the edges were given, for C (d_a, d_b, k)."""
        out = np.empty((len(self), coefficients.shape[2]))
        for j, C in enumerate(np.moveaxis(coefficients, 2, 0)):
            out[self.order, j] = self.sampled(P @ C, R)
        return out

    def centre(self, v: np.ndarray) -> np.ndarray:
        """L v = v minus its mean over the edges of the same row (equation 35), O(q)."""
        means = np.bincount(self.rows, v, minlength=self.shape[0]) / np.maximum(self.counts, 1)
        return v - means[self.rows]


def sampled_together(targets: Sequence[Edges], P: ndarray, R: ndarray) -> list[ndarray]:
    """`sampled` for several sets of edges between the same nodes; a dense product is shared."""
    if len(targets) > 1 and targets[0].dense:
        product = (P @ R.T).ravel()
        return [product[edges.flat] for edges in targets]
    return [edges.sampled(P, R) for edges in targets]


def _in_threads(task: Callable[[int, int], None], cuts: np.ndarray) -> None:
    threads.run([partial(task, low, high) for low, high in pairwise(cuts)])


@compiled(fastmath=True)
def _times(
    starts: ndarray, columns: ndarray, v: ndarray, B: ndarray, out: ndarray, low: int, high: int
) -> None:
    d = B.shape[1]
    for i in range(low, high):
        total = out[i]
        total[:] = 0.0
        for e in range(starts[i], starts[i + 1]):
            weight, row = v[e], B[columns[e]]
            for j in range(d):
                total[j] += weight * row[j]


@compiled(fastmath=True)
def _sampled(
    rows: ndarray, columns: ndarray, P: ndarray, R: ndarray, out: ndarray, low: int, high: int
) -> None:
    d = P.shape[1]
    for e in range(low, high):
        p, r = P[rows[e]], R[columns[e]]
        total = 0.0
        for j in range(d):
            total += p[j] * r[j]
        out[e] = total
