"""Hold-outs of two-step regression in one domain: a node leaves with its row and its column.

The model is f = H₁ Y H₂ for a general relation. For symmetric (sign 1) and reciprocal (sign −1)
relations it is h = (f ± fᵀ)/2 with a mirrored Y, and an edge leaves with its reverse. With
R = I − H, the smoother without the nodes U is −R_UU⁻¹ R_U·, so all of this is products and 2 × 2
systems: O(p³) for each pair of alphas.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankwise.solvers.complete_graph import mirror
from rankwise.solvers.two_step import ALONE, Alphas, RidgeSide, TwoStep
from rankwise.supervision.filled_relation import FilledRelation

Predict = Callable[[np.ndarray, "_Side", "_Side"], np.ndarray]


class NodeHoldouts:
    """All kinds of hold-outs of a TwoStep problem of one domain; edges only if it is mirrored."""

    def __init__(self, problem: TwoStep):
        self._problem, self._sign = problem, problem.sign
        self._sides: dict[int, _Side] = {}

    def without(self, kind: str, alphas: Alphas) -> np.ndarray:
        """(p, p, k) predictions, each without its own edge, or without its nodes."""
        first, second = self._side(0, alphas[0]), self._side(1, alphas[1])
        if first.side is second.side and first.alpha == second.alpha:
            second = first
        way = {"edge": self._edge, "both": self._both}.get(kind, self._node)
        out = []
        for relation in self._problem.relations:
            if kind == "column":
                out.append(way(relation.transposed(), second, first).T)
            else:
                out.append(way(relation, first, second))
        return np.stack(out, axis=-1)

    def _side(self, number: int, alpha: float) -> _Side:
        """The matrices of a side; those of the last alpha are kept, which a grid uses again."""
        kept = self._sides.get(number)
        if kept is None or kept.alpha != alpha:
            side = self._problem.rows if number == 0 else self._problem.columns
            kept = self._sides[number] = _Side(side, alpha)
        return kept

    def _roles(self, predict: Predict, Y: np.ndarray, first: _Side, second: _Side) -> np.ndarray:
        """f(i, v), or its mean with ±f(v, i), which is f of exchanged sides, as Yᵀ = ±Y."""
        scores = predict(Y, first, second)
        if first is second or self._sign == 0:
            return scores
        return (scores + predict(Y, second, first)) / 2

    def _node(self, relation: FilledRelation, first: _Side, second: _Side) -> np.ndarray:
        """Row i by the model without node i."""
        known, observed = relation.known, relation.observed
        total, count = (Y.sum() - _touching(Y) for Y in (known, observed))
        return self._filled(_row_without_node, relation, (total, count), first, second)

    def _both(self, relation: FilledRelation, first: _Side, second: _Side) -> np.ndarray:
        """Edge (i, j) by the model without the nodes i and j."""
        sums = [_without_two_nodes(Y) for Y in (relation.known, relation.observed)]
        return self._filled(_edge_without_nodes, relation, (sums[0], sums[1]), first, second)

    def _filled(
        self,
        predict: Predict,
        relation: FilledRelation,
        rest: tuple[np.ndarray, np.ndarray],
        first: _Side,
        second: _Side,
    ) -> np.ndarray:
        """The predictions are linear in Y = known + level · missing."""
        if relation.is_complete or relation.fill != "mean":
            return self._roles(predict, relation.values, first, second)
        total, count = rest
        if (count < 0.5).any():
            raise ValueError(
                "a hold-out with fill='mean' leaves no observed value to take the mean of: use "
                "a number as fill."
            )
        level = np.zeros_like(total) if self._sign == -1 else total / count
        level = level[:, None] if level.ndim == 1 else level
        of_missing = self._roles(predict, relation.missing, first, second)
        return self._roles(predict, relation.known, first, second) + level * of_missing

    def _edge(self, relation: FilledRelation, first: _Side, second: _Side) -> np.ndarray:
        """Edge (i, j) by the model without (i, j) and (j, i)."""
        sign, Y = self._sign, relation.values
        R1, R2, r1, r2 = first.R, second.R, first.r, second.r
        one = r1[:, None] + r2 - np.outer(r1, r2)
        free = (one + one.T) / 2 - sign * R1 * R2
        on_diagonal = r1 + r2 - r1 * r2
        np.fill_diagonal(free, on_diagonal if sign == 1 else 1.0)
        if not (free > 0).all():
            raise ValueError("alpha vanishes beside the kernel: take a larger alpha.")
        if relation.fill in (None, "model"):
            E = mirror(R1 @ Y + (first.H @ Y) @ R2, sign)
            return Y - E / free
        new, change_of_all = self._refilled(relation, first, second)
        scores = mirror(first.H @ Y @ second.H, sign) + relation.observed * change_of_all
        change = (new - Y) * (1 - free)
        if sign == -1:
            np.fill_diagonal(change, 0.0)
        return scores + relation.observed * change

    def _refilled(
        self, relation: FilledRelation, first: _Side, second: _Side
    ) -> tuple[np.ndarray, np.ndarray]:
        """The value that fills the cell of each edge, and what other refilled cells change."""
        known, observed, sign = relation.known, relation.observed, self._sign
        none = np.zeros_like(known)
        if isinstance(relation.fill, float):
            return np.full_like(known, relation.fill), none
        removed = known + sign * known.T, observed + observed.T
        for both in removed:
            both.flat[:: len(both) + 1] /= 2
        if relation.fill == "mean":
            if sign == -1:
                return none, none
            new = (known.sum() - removed[0]) / np.maximum(observed.sum() - removed[1], 1)
            of_missing = mirror(first.H @ relation.missing @ second.H, sign)
            return new, (new - relation.mean) * of_missing
        # "row" and "column" of a complete matrix: the mean of the other cells of both rows
        p = len(known)
        rest = (known.sum(axis=1, keepdims=True) - known) / (p - 1)
        return mirror(rest, sign), none


class _Side:
    """R, H and their diagonals of one side at one alpha, (p, p)."""

    def __init__(self, side: RidgeSide, alpha: float):
        self.side, self.alpha = side, alpha
        self.R, self.H = side.residual_maker(alpha), side.hat(alpha)
        self.r = side.free(alpha)

    def left_out(self, Y: np.ndarray) -> np.ndarray:
        return self.side.left_out(self.alpha, Y)


def _row_without_node(Y: np.ndarray, first: _Side, second: _Side) -> np.ndarray:
    """f(i, v) for all v by the model without node i in both roles.

    Without node i, the hat matrix of v is H_v· + H_vi L_i·, where L_i· is the smoother of node i.
    """
    G = first.left_out(Y)
    at_node = np.diag(second.left_out(G.T)) - np.diag(G)
    return G @ second.H + second.H * at_node[:, None]


def _edge_without_nodes(Y: np.ndarray, first: _Side, second: _Side) -> np.ndarray:
    """f(i, j) by the model without the nodes i and j in both roles, U = {i, j}.

    f_UU = R₁⁻¹ (R₁ Y R₂)_UU R₂⁻¹ − (Y R₂)_UU R₂⁻¹ − R₁⁻¹ (R₁ Y)_UU + Y_UU with R⁻¹ = R_UU⁻¹; its
    entry (i, j) is wanted.
    """
    RY, YR = first.R @ Y, Y @ second.R
    RYR = RY @ second.R
    a, b = _row_of_inverse(first), _row_of_inverse(second)
    # (a_own, a_other): the row i of R₁_UU⁻¹; (b_own, b_other): the row j of R₂_UU⁻¹
    a_own, a_other = a
    b_own, b_other = (part.T for part in b)
    d_RYR, d_RY, d_YR = (np.diag(M)[:, None] * np.ones_like(Y) for M in (RYR, RY, YR))
    out = a_own * (RYR * b_own + d_RYR * b_other) + a_other * (d_RYR.T * b_own + RYR.T * b_other)
    out += Y - (YR * b_own + d_YR * b_other) - (a_own * RY + a_other * d_RY.T)
    single = np.diag(second.left_out(first.left_out(Y).T))
    np.fill_diagonal(out, single)
    for i, j in np.argwhere(_nearly_alone(first) | _nearly_alone(second)).tolist():
        left = first.side.smoother_without([i, j], first.alpha)[0]
        right = second.side.smoother_without([i, j], second.alpha)[1]
        out[i, j] = left @ Y @ right
    return out


def _row_of_inverse(side: _Side) -> tuple[np.ndarray, np.ndarray]:
    """For U = {i, j}: (R_UU⁻¹)_ii and (R_UU⁻¹)_ij for all i, j."""
    with np.errstate(divide="ignore", invalid="ignore"):
        det = _determinants(side)
        return side.r / det, -side.R / det


def _determinants(side: _Side) -> np.ndarray:
    det = np.outer(side.r, side.r) - side.R * side.R.T
    np.fill_diagonal(det, 1.0)
    return det


def _nearly_alone(side: _Side) -> np.ndarray:
    """Pairs of nodes that the others say nearly nothing about: R_UU is singular up to rounding."""
    det, own = _determinants(side), np.outer(side.r, side.r)
    tiny = ~(det > ALONE * own)
    np.fill_diagonal(tiny, False)
    return tiny


def _touching(Y: np.ndarray) -> np.ndarray:
    """(p,) the sum of the cells of row i and of column i."""
    return Y.sum(axis=1) + Y.sum(axis=0) - np.diag(Y)


def _without_two_nodes(Y: np.ndarray) -> np.ndarray:
    """The sum of all cells that touch neither node i nor node j."""
    own = _touching(Y)
    rest = Y.sum() - own[:, None] - own + Y + Y.T
    np.fill_diagonal(rest, Y.sum() - own)
    return rest
