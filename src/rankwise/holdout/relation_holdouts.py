"""Exact hold-outs of a complete graph: without a row, a column, an edge, or a row and a column.

Every prediction equals that of a refit with the same alpha without the held-out edges.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from rankwise.holdout.mirrored_nodes import MirroredNodes, Spectral
from rankwise.solvers.complete_graph import CompleteGraph, MirroredRanking, MirroredRegression
from rankwise.solvers.relation_problem import RelationProblem


class RelationHoldouts:
    """(p_a, p_b, k) predictions for all pairs of the training nodes, each without its own edges.

    relation="general": leaving a row out drops the edges of that row; leaving both out drops the
    edges of the row and those of the column. Rows, columns and edges have closed forms, O(p³) for
    all of them. Both at once takes one decomposition for each node of the smaller side, which has
    q nodes, and products with the one decomposition of the larger side: O(q⁴ + p² q²).

    In a symmetric or reciprocal relation an edge and its reverse are one, so nodes are left out
    with all their edges: rows or columns by conjugate gradients for all nodes together, O(p³) per
    step; both by one decomposition for each node and such steps, O(p⁴). The ranking loss with a
    tiny alpha is refitted instead, p or p(p − 1)/2 times O(p³).
    """

    def __init__(self, problem: RelationProblem):
        if min(len(problem.rows), len(problem.columns)) < 3:
            raise ValueError("a hold-out needs at least three nodes on each side.")
        graph = problem.complete_graph
        if graph is None:
            raise ValueError(
                "this hold-out is exact for a complete graph fitted in closed form; for other "
                "graphs (or solver='cg') refit on the folds of rankwise.selection, or use "
                "ConditionalRankerCV."
            )
        self._task = problem.task
        self._by_condition: GeneralHoldouts | MirroredHoldouts
        if isinstance(graph, MirroredRanking | MirroredRegression):
            self._by_condition = MirroredHoldouts(graph)
        else:
            self._by_condition = GeneralHoldouts(graph)

    def without(self, what: str, alpha: float) -> np.ndarray:
        """Predictions without each "row", "column" or "edge", or without "both" row and column."""
        holdouts, turned = self._by_condition, self._task.turned
        if what == "edge":
            return turned(holdouts.without_edge(alpha))
        if what == "both":
            return turned(holdouts.without_both(alpha))
        if what == self._task.condition:
            return turned(holdouts.without_condition(alpha))
        return turned(holdouts.without_object(alpha))


class GeneralHoldouts:
    """Hold-outs of a CompleteGraph, conditions as rows.

    Leaving items out of ridge regression adds a free shift e to their labels that makes their dual
    variables vanish: e = residual / (1 − leverage). Both are sums over the spectrum of
    `keep` = alpha / (s² t² + alpha), so that no digits cancel as alpha goes to 0.
    """

    def __init__(self, graph: CompleteGraph):
        self._graph, self._rows, self._columns = graph, graph.rows, graph.columns

    def without_condition(self, alpha: float) -> np.ndarray:
        """Each row by the model without it, O(p³) for all."""
        return _stacked(W @ self._image.T for W in self.weights_without_row(alpha))

    def without_object(self, alpha: float) -> np.ndarray:
        """Each column by the model without it, O(p³) for all."""
        left = self._rows.Q * self._rows.s
        return _stacked(left @ W for W in self.weights_without_column(alpha))

    def without_both(self, alpha: float) -> np.ndarray:
        """Each edge by the model without its row and its column."""
        graph = self._graph
        rows, columns = graph.nodes
        scores = np.empty((len(rows), len(columns), len(graph.relations)))
        if len(rows) <= len(columns):
            for u in range(len(rows)):
                kept = np.delete(np.arange(len(rows)), u)
                relations = [Y[kept] for Y in graph.relations]
                spectra = (rows.take(kept).spectrum(), self._columns)
                part = CompleteGraph(rows.take(kept), columns, relations, graph.ranking, spectra)
                row = rows.represent_to(kept, u) @ part.rows.to_rows
                weights = GeneralHoldouts(part).weights_without_column(alpha)
                scores[u] = _stacked(row @ W for W in weights)
        else:
            for v in range(len(columns)):
                kept = np.delete(np.arange(len(columns)), v)
                relations = [Y[:, kept] for Y in graph.relations]
                spectra = (self._rows, columns.take(kept).spectrum(centred=graph.ranking))
                part = CompleteGraph(rows, columns.take(kept), relations, graph.ranking, spectra)
                column = columns.represent_to(kept, v) @ part.columns.to_rows
                weights = GeneralHoldouts(part).weights_without_row(alpha)
                scores[:, v] = _stacked(W @ column for W in weights)
        return scores

    def without_edge(self, alpha: float) -> np.ndarray:
        """Each edge by the model without that edge only, O(p³) for all."""
        graph, keep = self._graph, self._keep(alpha)
        QA, QB = self._rows.Q, self._columns.Q
        QA2, QB2 = QA**2, QB**2
        full = self._rows.is_full and self._columns.is_full
        free = QA2 @ keep @ QB2.T
        if not full:
            free += self._own_leverage - np.outer(QA2.sum(axis=1), QB2.sum(axis=1))
        shrink = QA2 @ self._slope(alpha) @ (self._image * self._columns.s * QB).T
        scores = []
        for Y, T, W in zip(graph.relations, graph.targets, graph.weights(alpha)):
            residual = QA @ (T * keep) @ QB.T
            if not full:
                residual += self._centred(Y) - QA @ T @ QB.T
            fitted = (QA * self._rows.s) @ W @ self._image.T
            scores.append(fitted - shrink * residual / free)
        return _stacked(scores)

    def weights_without_row(self, alpha: float) -> list[np.ndarray]:
        """(p_a, r_b) weights along V_B of each row's predictions, by the model without that row.

        This is one ridge regression over the rows for each direction of V_B.
        """
        keep, Q = self._keep(alpha), self._rows.Q
        Q2 = Q**2
        missing = np.zeros(len(Q)) if self._rows.is_full else 1 - Q2.sum(axis=1)
        free = Q2 @ keep + missing[:, None]
        weights = []
        for Y, T in zip(self._graph.relations, self._graph.targets):
            residual = Q @ (T * keep)
            if not self._rows.is_full:
                residual += Y @ self._columns.Q - Q @ T
            held_out = Q @ (T * (1 - keep)) - residual * (1 - free) / free
            weights.append(held_out / self._columns.s)
        return weights

    def weights_without_column(self, alpha: float) -> list[np.ndarray]:
        """(r_a, p_b) weights along V_A of each column's predictions, by the model without it."""
        graph, keep, Q = self._graph, self._keep(alpha), self._columns.Q
        Q2 = Q**2
        missing = np.zeros(len(Q))
        if not self._columns.is_full:
            missing = self._own_leverage - Q2.sum(axis=1)
        free = keep @ Q2.T + missing
        shrink = self._slope(alpha) @ (self._image * self._columns.s * Q).T
        weights = []
        for Y, T, W in zip(graph.relations, graph.targets, graph.weights(alpha)):
            residual = (T * keep) @ Q.T
            if not self._columns.is_full:
                residual += self._rows.Q.T @ self._centred(Y) - T @ Q.T
            fitted = W @ self._image.T
            weights.append(fitted - shrink * residual / free / self._rows.s[:, None])
        return weights

    def _keep(self, alpha: float) -> np.ndarray:
        """alpha / (s² t² + alpha)."""
        return self._graph.gain(alpha) * alpha / np.outer(self._rows.s, self._columns.s)

    def _slope(self, alpha: float) -> np.ndarray:
        """s² / (s² t² + alpha)."""
        return self._graph.gain(alpha) * self._rows.s[:, None] / self._columns.s

    @property
    def _own_leverage(self) -> float:
        """C_vv: what the intercept of the row leaves to one edge."""
        return 1 - 1 / len(self._columns.Q) if self._graph.ranking else 1.0

    def _centred(self, Y: np.ndarray) -> np.ndarray:
        return Y - Y.mean(axis=1, keepdims=True) if self._graph.ranking else Y

    @cached_property
    def _image(self) -> np.ndarray:
        """(p_b, r_b) coordinates of the column nodes along V_B, not centred."""
        if not self._graph.ranking:
            return self._columns.Q * self._columns.s
        return self._graph.nodes[1].rows @ self._columns.to_rows


class MirroredHoldouts:
    """Hold-outs of symmetric and reciprocal relations: nodes leave with all their edges."""

    def __init__(self, graph: MirroredRanking | MirroredRegression):
        self._graph, self._nodes = graph, graph.nodes[0]

    def without_condition(self, alpha: float) -> np.ndarray:
        """Each row by the model without its node, O(p³) per step of conjugate gradients."""
        p = len(self._nodes)
        basis, every = Spectral.of(self._nodes), np.arange(p)
        scores = []
        for Y in self._graph.relations:
            graph = MirroredNodes(basis, Y, self._graph.sign, self._ranking)
            found = graph.without(alpha, every)
            if found is None:
                return self._rows_by_refits(alpha)
            scores.append(graph.rows(alpha, found))
        return _stacked(scores)

    @property
    def _ranking(self) -> bool:
        return isinstance(self._graph, MirroredRanking)

    def _rows_by_refits(self, alpha: float) -> np.ndarray:
        p = len(self._nodes)
        scores = np.empty((p, p, len(self._graph.relations)))
        for u in range(p):
            kept, coefficients = self._refitted([u], alpha)
            row = np.tensordot(self._nodes.represent_to(kept, u), coefficients, 1)
            scores[u] = self._nodes.represent_to(kept, slice(None)) @ row
        return scores

    def without_object(self, alpha: float) -> np.ndarray:
        """Each column by the model without its node."""
        return self._graph.sign * np.swapaxes(self.without_condition(alpha), 0, 1)

    def without_both(self, alpha: float) -> np.ndarray:
        """Each edge by the model without its two nodes.

        For each node u one decomposition of the graph without u, and conjugate gradients for all
        further nodes v > u at once: O(p⁴), where refits of all pairs cost O(p⁵).
        """
        p, sign, gram = len(self._nodes), self._graph.sign, self._nodes.gram()
        scores = np.empty((p, p, len(self._graph.relations)))
        single = self.without_condition(alpha)
        for u in range(p):
            scores[u, u] = single[u, u]
            kept = np.delete(np.arange(p), u)
            later = np.arange(u, p - 1)
            if not len(later):
                continue
            basis = Spectral.of(self._nodes.take(kept))
            for j, Y in enumerate(self._graph.relations):
                graph = MirroredNodes(basis, Y[np.ix_(kept, kept)], sign, self._ranking)
                found = graph.without(alpha, later)
                if found is None:
                    scores[u, u + 1 :, j] = self._edges_by_refits(u, j, alpha)
                else:
                    scores[u, u + 1 :, j] = graph.at_new_node(alpha, found, gram[u, kept])
            scores[u + 1 :, u] = sign * scores[u, u + 1 :]
        return scores

    def _edges_by_refits(self, u: int, relation: int, alpha: float) -> np.ndarray:
        """The scores of (u, v) without both nodes, for all v > u."""
        scores = []
        for v in range(u + 1, len(self._nodes)):
            kept, coefficients = self._refitted([u, v], alpha)
            left, right = (self._nodes.represent_to(kept, i) for i in (u, v))
            scores.append(right @ (left @ coefficients[:, :, relation]))
        return np.array(scores)

    def without_edge(self, alpha: float) -> np.ndarray:
        raise ValueError(
            "leave_edge_out is a closed form of relation='general'; for other relations split the "
            "edges with rankwise.selection.EdgeSplit(one_domain=True)."
        )

    def _refitted(self, left_out: list[int], alpha: float) -> tuple[np.ndarray, np.ndarray]:
        """The kept nodes, and the (d, d, k) coefficients of the model trained on them."""
        kept = np.delete(np.arange(len(self._nodes)), left_out)
        relations = [Y[np.ix_(kept, kept)] for Y in self._graph.relations]
        part = type(self._graph)(self._nodes.take(kept), relations, self._graph.sign)
        return kept, part.coefficients(alpha)


def _stacked(relations: Iterable[np.ndarray]) -> np.ndarray:
    return np.stack(list(relations), axis=-1)
