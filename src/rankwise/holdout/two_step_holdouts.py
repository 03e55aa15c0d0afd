"""Exact hold-outs of two-step regression: without an edge, a row, a column, or a row and a column.

With H = I − R of one side, the predictions for each node by the model without it are
L Y = Y − diag(R)⁻¹ R Y, so the hold-outs of a complete general relation are products:

    rows     L_row Y H_column        columns  H_row Y L_columnᵀ
    both     L_row Y L_columnᵀ       edges    Y − E / (1 − h),   E = Y − H_row Y H_column

where 1 − h_ij = r_i + c_j − r_i c_j is made of the diagonals r and c of R_row and R_column (Stock
et al. 2018). Leaving an edge out means that its cell takes the value that the model predicts, which
is the refit with fill="model". Other rules of filling are refitted without the held-out values: the
mean, and the mean of a row or column, change with the hold-out in closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product

import numpy as np

from rankwise.holdout.node_holdouts import NodeHoldouts
from rankwise.solvers.two_step import Alphas, RidgeSide, TwoStep
from rankwise.supervision.filled_relation import FilledRelation

KINDS = ("edge", "row", "column", "both")
Second = Callable[[float], np.ndarray]
"""Predictions (p_a, p_b) for the alpha of the second side; the alpha of the first is fixed."""


class TwoStepHoldouts:
    """(p_a, p_b, k) predictions for all pairs of training nodes, each without its own labels.

    All equal refits. After the two decompositions each pair of alphas costs a few products, O(p³);
    in a grid, the products of one side are shared by all alphas of the other.
    """

    def __init__(self, problem: TwoStep, whole_nodes: bool = False):
        """With `whole_nodes`, nodes of one domain leave as rows and as columns."""
        if min(len(problem.rows), len(problem.columns)) < 3:
            raise ValueError("a hold-out needs at least three nodes on each side.")
        self._problem, self._whole_nodes = problem, whole_nodes

    def without(self, kind: str, alphas: Alphas) -> np.ndarray:
        """Predictions without each "row", "column" or "edge", or without "both" row and column."""
        return next(self.over_grid(kind, [alphas[0]], [alphas[1]]))[1]

    def over_grid(
        self, kind: str, of_rows: Iterable[float], of_columns: Iterable[float]
    ) -> Iterator[tuple[Alphas, np.ndarray]]:
        """(alphas, predictions) for every pair of an alpha of the rows and one of the columns."""
        problem = self._problem
        by_nodes = problem.sign != 0 or (self._whole_nodes and kind != "edge")
        for relation in problem.relations:
            refuse_unknown(relation, kind, by_nodes)
        if by_nodes:
            holdouts = NodeHoldouts(problem)
            for alphas in product(of_rows, of_columns):
                yield alphas, holdouts.without(kind, alphas)
            return
        rule = problem.relations[0].fill
        flip = kind == "column" or (kind, rule) in (("edge", "column"), ("both", "row"))
        first, second = (problem.columns, problem.rows) if flip else (problem.rows, problem.columns)
        outer, inner = (of_columns, of_rows) if flip else (of_rows, of_columns)
        relations = [one.transposed() if flip else one for one in problem.relations]
        make = {"column": _without_row, "row": _without_row, "both": _without_both}
        for alpha in outer:
            steps = [
                make.get(kind, _without_edge)(relation, first, second, alpha)
                for relation in relations
            ]
            for other in inner:
                out = np.stack([step(other) for step in steps], axis=-1)
                alphas = (other, alpha) if flip else (alpha, other)
                yield alphas, np.swapaxes(out, 0, 1) if flip else out


def refuse_unknown(relation: FilledRelation, kind: str, by_nodes: bool) -> None:
    """Refuse a hold-out that has no exact closed form, with the way out.

    `by_nodes`: nodes leave in both roles, or edges with their reverses.
    """
    if relation.is_complete:
        return
    refused = by_nodes and relation.fill in ("row", "column")
    if relation.fill == "model" or refused:
        where = " of nodes that are rows and columns" if refused else ""
        raise ValueError(
            f"leave_{kind}_out{where} is exact for fill={relation.fill!r} only if Y is complete, "
            f"but {relation.n_missing} cells are not observed: take fill='mean' or a number, or "
            "refit on the folds of rankwise.selection (TwoStepRankerCV(cv=5), "
            "evaluation.relational_score)."
        )


def _means(total: np.ndarray, count: np.ndarray, kind: str, rule: object) -> np.ndarray:
    """total / count of the observed cells that stay; refused if a needed one has no cell left."""
    if (count <= 0.5).any():
        raise ValueError(
            f"leave_{kind}_out with fill={rule!r}: some hold-out leaves a row or column without "
            "any observed value, so nothing is left to fill it with. Use fill='mean' or a number."
        )
    return total / count


def _without_row(
    relation: FilledRelation, rows: RidgeSide, columns: RidgeSide, alpha: float
) -> Second:
    """L_row Y H_column, with fills that do not see the row."""
    known, missing, observed = relation.known, relation.missing, relation.observed
    if relation.is_complete or relation.fill not in ("mean", "column"):
        G = rows.left_out(alpha, relation.values)
    else:
        if relation.fill == "mean":
            total = known.sum() - known.sum(axis=1, keepdims=True)
            count = observed.sum() - observed.sum(axis=1, keepdims=True)
        else:
            total, count = known.sum(axis=0) - known, observed.sum(axis=0) - observed
        level = _means(total, count, "row", relation.fill)
        G = rows.left_out(alpha, known) + level * rows.left_out(alpha, missing)
    return lambda other: columns.fitted(other, G.T).T


def _without_both(
    relation: FilledRelation, rows: RidgeSide, columns: RidgeSide, alpha: float
) -> Second:
    """L_row Y L_columnᵀ, with fills that see neither the row nor the column."""
    known, missing, observed = relation.known, relation.missing, relation.observed
    if relation.is_complete or isinstance(relation.fill, float):
        G = rows.left_out(alpha, relation.values)
        return lambda other: columns.left_out(other, G.T).T
    if relation.fill == "column":
        total, count = known.sum(axis=0) - known, observed.sum(axis=0) - observed
        level = _means(total, count, "both", relation.fill)
        G = rows.left_out(alpha, known) + level * rows.left_out(alpha, missing)
        return lambda other: columns.left_out(other, G.T).T
    total, count = _rest(known), _rest(observed)
    level = _means(total, count, "both", relation.fill)
    of_known, of_missing = rows.left_out(alpha, known), rows.left_out(alpha, missing)

    def second(other: float) -> np.ndarray:
        return (
            columns.left_out(other, of_known.T).T + level * columns.left_out(other, of_missing.T).T
        )

    return second


def _rest(Y: np.ndarray) -> np.ndarray:
    """The sum of all cells that share neither row nor column with a cell."""
    return Y.sum() - Y.sum(axis=1, keepdims=True) - Y.sum(axis=0) + Y


def _without_edge(
    relation: FilledRelation, rows: RidgeSide, columns: RidgeSide, alpha: float
) -> Second:
    """The refit in which the cell of the edge is filled by the rule."""
    known, missing, observed = relation.known, relation.missing, relation.observed
    Y, free_a = relation.values, rows.free(alpha)[:, None]
    if relation.fill in (None, "model"):
        fitted, residual = rows.fitted(alpha, Y), rows.residuals(alpha, Y)

        def second(other: float) -> np.ndarray:
            free_b = columns.free(other)
            E = residual + columns.residuals(other, fitted.T).T
            return Y - E / undetermined(free_a + free_b - free_a * free_b)

        return second
    of_missing = rows.fitted(alpha, missing)
    if relation.fill == "mean":
        old = np.full(Y.shape, relation.mean)
        new = _means(known.sum() - known, observed.sum() - observed, "edge", "mean")
    elif relation.fill == "row":
        total, count = known.sum(axis=1, keepdims=True), observed.sum(axis=1, keepdims=True)
        old = total / np.maximum(count, 1)
        new = _means(total - known, np.where(missing > 0, 1.0, count - observed), "edge", "row")
    else:
        old = new = np.full(Y.shape, relation.fill)
    of_known = rows.fitted(alpha, Y)

    def refilled(other: float) -> np.ndarray:
        own = (1 - free_a) * (1 - columns.free(other))
        change = (new - Y) * own
        if relation.fill == "mean":
            change += (new - old) * columns.fitted(other, of_missing.T).T
        elif relation.fill == "row":
            change += (new - old) * (1 - free_a) * columns.fitted(other, missing.T).T
        return columns.fitted(other, of_known.T).T + observed * change

    return refilled


def undetermined(free: np.ndarray) -> np.ndarray:
    """1 − leverage of every cell; refused if it vanishes beside the kernel."""
    if not (free > 0).all():
        raise ValueError(
            "alpha vanishes beside the kernels, so that a label alone decides its prediction: "
            "take larger alphas, or scale the features down."
        )
    return free
