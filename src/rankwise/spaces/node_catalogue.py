"""Candidates that are prepared once, so that each further node ranks them by one product."""

from __future__ import annotations

import numpy as np

from rankwise.numerics.arrays import Matrix
from rankwise.numerics.memory import refuse_too_large
from rankwise.spaces.pair_function import PairFunction, best_of
from rankwise.spaces.pairwise_kernels import View

TOGETHER = 64
"""Nodes whose scores of all candidates are held at a time."""


class Catalogue:
    """n candidates as columns of a learnt function of pairs, O(n min(d_a, d_b)) per ranked node.

    For each term of the pairwise kernel it keeps the representation of the candidates, or its
    product with the coefficients if that has fewer columns.
    """

    def __init__(self, function: PairFunction, V: Matrix):
        self.n = V.shape[0]
        self._rows, self._function = function.rows, function
        _, self._own = function.parts_of_nodes(V[:0], V, sides=(False, True))
        self._terms: list[tuple[float, View, np.ndarray, np.ndarray]] = []
        for weight, left, right, C in function.terms():
            d_a, d_b, k = C.shape
            width = min(d_a * k, d_b)
            refuse_too_large(self.n, width, "the catalogue", "rank the candidates in parts")
            folds = d_a * k < d_b
            W = C.transpose(1, 0, 2).reshape(d_b, -1) if folds else np.eye(d_b)
            prepared = right.times(function.columns, V, W)
            self._terms.append((weight, left, C, np.ascontiguousarray(prepared)))

    def __len__(self) -> int:
        return self.n

    def best(self, u: Matrix, n_best: int) -> tuple[np.ndarray, np.ndarray]:
        """As PairFunction.best."""
        parts = [
            best_of(self._scores(u[start : start + TOGETHER]), n_best)
            for start in range(0, u.shape[0], TOGETHER)
        ]
        index, scores = zip(*parts)
        return np.concatenate(index), np.concatenate(scores)

    def _scores(self, u: Matrix) -> np.ndarray:
        """(len(u), n, k)."""
        k = self._own.shape[1]
        out = np.zeros((k, u.shape[0], self.n))
        for weight, left, C, prepared in self._terms:
            L = weight * left.represent(self._rows, u)
            folds = prepared.shape[1] != C.shape[1] or C.shape[0] * k < C.shape[1]
            for j in range(k):
                if folds:
                    out[j] += L @ prepared[:, j::k].T
                else:
                    out[j] += (L @ C[:, :, j]) @ prepared.T
        of_rows, _ = self._function.parts_of_nodes(u, u[:0], sides=(True, False))
        scores = np.moveaxis(out, 0, -1)
        return scores + of_rows[:, None] + self._own
