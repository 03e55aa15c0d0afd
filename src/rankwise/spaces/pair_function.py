"""A learnt function of two nodes, evaluated in blocks that never hold more than asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from rankwise.numerics.arrays import Matrix
from rankwise.numerics.memory import refuse_too_large
from rankwise.spaces.edges import Edges
from rankwise.spaces.nodes import Nodes
from rankwise.spaces.pairwise_kernels import KRONECKER, PairwiseKernel, Term, View

BLOCK = 2048
TOGETHER = 64
"""Nodes whose scores of all candidates are held at a time."""


@dataclass
class PairEffects:
    """What is added to h(u, v): a constant, an effect of u and an effect of v, for k relations.

    `intercept` is (k,), `rows` (p_a, k) and `columns` (p_b, k) or None. New nodes have no effect.
    """

    intercept: np.ndarray
    rows: np.ndarray | None = None
    columns: np.ndarray | None = None

    def transposed(self) -> PairEffects:
        return PairEffects(self.intercept, self.columns, self.rows)

    def of(self, nodes: Nodes, U: Matrix, effects: np.ndarray | None) -> np.ndarray:
        """(len(U), k) the effects of known nodes among U."""
        if effects is None:
            return np.zeros((U.shape[0], len(self.intercept)))
        return np.asarray(nodes.recognise(U) @ effects)


@dataclass
class PairFunction:
    """h_j(u, v) for k relations; `coefficients` is C, (d_a, d_b, k).

    For the Kronecker kernel h_j(u, v) = row(u)ᵀ C_j column(v). For the others h_j(u, v) is the sum
    over training nodes of C_j[i, i'] k((u, v), (i, i')).
    """

    rows: Nodes
    columns: Nodes
    coefficients: np.ndarray
    pairwise: PairwiseKernel = field(default=KRONECKER)
    effects: PairEffects | None = None

    def transposed(self) -> PairFunction:
        turned = [Term(weight, right, left) for weight, left, right in self.pairwise.terms]
        kernel = PairwiseKernel(
            self.pairwise.name, tuple(turned), self.pairwise.own_sign, self.pairwise.contrast
        )
        effects = None if self.effects is None else self.effects.transposed()
        C = np.swapaxes(self.coefficients, 0, 1)
        return PairFunction(self.columns, self.rows, C, kernel, effects)

    def scores(self, U: Matrix, V: Matrix) -> np.ndarray:
        """(len(U), len(V), k) values for all pairs; kernels are evaluated in blocks."""
        out = np.zeros((self.coefficients.shape[2], U.shape[0], V.shape[0]))
        for weight, left, right, C in self.terms():
            for rows in _blocks(U.shape[0]):
                L = np.tensordot(weight * left.represent(self.rows, U[rows]), C, axes=1)
                for columns in _blocks(V.shape[0]):
                    R = right.represent(self.columns, V[columns]).T
                    for j in range(len(out)):
                        out[j, rows, columns] += L[:, :, j] @ R
        of_rows, of_columns = self.parts_of_nodes(U, V)
        out += of_rows.T[:, :, None]
        out += of_columns.T[:, None, :]
        return np.moveaxis(out, 0, -1)

    def at_edges(self, U: Matrix, V: Matrix, edges: np.ndarray) -> np.ndarray:
        """(n, k) values for the pairs (U[i], V[j]) of `edges` (n, 2) only."""
        pairs, rows, columns = Edges.between_used(edges[:, 0], edges[:, 1])
        U, V = U[rows], V[columns]
        total = np.zeros((len(pairs), self.coefficients.shape[2]))
        for weight, left, right, C in self.terms():
            L, R = left.represent(self.rows, U), right.represent(self.columns, V)
            total += pairs.scores(weight * L, C, R)
        of_rows, of_columns = self.parts_of_nodes(U, V)
        total[pairs.order] += of_rows[pairs.rows] + of_columns[pairs.columns]
        return total

    def at_training_nodes(self, pairs: Edges, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """(q, k) values at `pairs` of the training nodes numbered `rows` and `columns`."""
        C, kernel = self.coefficients, self.pairwise
        if kernel.is_kronecker:
            total = pairs.scores(self.rows.rows[rows], C, self.columns.rows[columns])
        else:
            total = np.zeros((len(pairs), C.shape[2]))
            for weight, left, right, folded in self.terms():
                L, R = left.training(self.rows, rows), right.training(self.columns, columns)
                total += pairs.scores(weight * L, folded, R)
        if kernel.contrast:
            for j in range(C.shape[2]):
                own = np.einsum("ui,ui->u", self.rows.rows @ C[:, :, j], self.rows.rows)
                total[pairs.order, j] += own[rows][pairs.rows] + own[columns][pairs.columns]
        if self.effects is not None:
            total += self.effects.intercept
            for side, nodes, at in (
                (self.effects.rows, rows, pairs.rows),
                (self.effects.columns, columns, pairs.columns),
            ):
                if side is not None:
                    total[pairs.order] += side[nodes][at]
        return total

    def best(self, u: Matrix, V: Matrix, n_best: int) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the best of V given each node of u, best first, and their values.

        Both are (len(u), min(n_best, len(V)), k). Equal values keep the order of V. The nodes of u
        are multiplied with the coefficients first, so each node of V costs one product of length d
        per node of u besides its kernel values. O(len(V)) for the choice, because only the best
        are sorted.
        """
        n, k = V.shape[0], self.coefficients.shape[2]
        scores = np.zeros((u.shape[0], n, k))
        for weight, left, right, C in self.terms():
            L = weight * left.represent(self.rows, u)
            directions = np.tensordot(L, C, axes=1).transpose(1, 0, 2).reshape(C.shape[1], -1)
            for block in _blocks(n):
                part = right.times(self.columns, V[block], directions)
                scores[:, block] += part.reshape(-1, u.shape[0], k).transpose(1, 0, 2)
        of_rows, of_columns = self.parts_of_nodes(u, V)
        scores += of_rows[:, None]
        scores += of_columns
        return best_of(scores, n_best)

    def terms(self) -> Iterator[tuple]:
        """(weight, view of rows, view of columns, folded coefficients) of each term."""
        weight_of_contrast = -2.0 if self.pairwise.contrast else 1.0
        for weight, left, right in self.pairwise.terms:
            C = right.fold(left.fold(self.coefficients, 0), 1)
            yield weight * weight_of_contrast, left, right, C

    def parts_of_nodes(
        self, U: Matrix, V: Matrix, sides: tuple[bool, bool] = (True, True)
    ) -> tuple[np.ndarray, np.ndarray]:
        """(len(U), k) and (len(V), k) what u and v add by themselves; u brings the constant.

        A side that is not wanted stays 0.
        """
        k, effects = self.coefficients.shape[2], self.effects
        of_rows, of_columns = np.zeros((U.shape[0], k)), np.zeros((V.shape[0], k))
        if sides[0]:
            if self.pairwise.contrast:
                of_rows += self._own(self.rows, U)
            if effects is not None:
                of_rows += effects.intercept + effects.of(self.rows, U, effects.rows)
        if sides[1]:
            if self.pairwise.contrast:
                of_columns += self._own(self.columns, V)
            if effects is not None:
                of_columns += effects.of(self.columns, V, effects.columns)
        return of_rows, of_columns

    def _own(self, nodes: Nodes, U: Matrix) -> np.ndarray:
        """F(u, u) of each node."""
        out = np.empty((U.shape[0], self.coefficients.shape[2]))
        for rows in _blocks(U.shape[0]):
            L = nodes.represent(U[rows])
            for j in range(out.shape[1]):
                out[rows, j] = np.einsum("ui,ui->u", L @ self.coefficients[:, :, j], L)
        return out


def best_of(scores: np.ndarray, n_best: int) -> tuple[np.ndarray, np.ndarray]:
    """(u, min(n_best, n), k) numbers of the largest of scores (u, n, k), and their values."""
    u, n, k = scores.shape
    kept = min(n_best, n)
    index = np.empty((u, kept, k), dtype=np.intp)
    for i in range(u):
        for j in range(k):
            index[i, :, j] = _largest(scores[i, :, j], kept)
    return index, np.take_along_axis(scores, index, axis=1)


def _blocks(n: int) -> Iterator[slice]:
    return (slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))


def _largest(scores: np.ndarray, k: int) -> np.ndarray:
    """Indices of the k largest, largest first, equal ones in their order; O(n + k log k)."""
    chosen = np.arange(len(scores))
    if k < len(scores):
        threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
        above = np.flatnonzero(scores > threshold)
        tied = np.flatnonzero(scores == threshold)[: k - len(above)]
        chosen = np.sort(np.concatenate([above, tied]))
    return chosen[np.argsort(-scores[chosen], kind="stable")]


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
