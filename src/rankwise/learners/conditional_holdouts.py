"""Exact hold-outs of a complete graph: without a row, a column, an edge, or a row and a column."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwise.learners.conditional_inputs import SIGNS
from rankwise.learners.conditional_problem import ClosedProblem
from rankwise.solvers.complete_graph import CompleteGraph, MirroredRegression
from rankwise.spaces.nodes_and_edges import Nodes


class HoldOuts:
    """Methods of ConditionalRanker; all equal refitting with the same alpha.

    relation="general": leaving a row out drops the edges of that row, and leaving both out those of
    the row and of the column. Rows, columns and edges are closed forms, O(p³) for all of them; both
    at once takes one decomposition for each node of the smaller side, O(p⁴). With a symmetric or
    reciprocal relation an edge and its reverse are one, so nodes are left out with all their edges,
    by refitting: p times for rows or columns, p(p − 1)/2 times for both, O(p³) each.
    """

    alpha: float
    relation: str
    condition: str
    _rows: Nodes
    _columns: Nodes
    _problems: list
    _has_relations: bool

    def leave_row_out(self) -> np.ndarray:
        """(p_a, p_b[, k]) scores of each row by the model trained without it (setting 2 or 3)."""
        return self._left_out("row")

    def leave_column_out(self) -> np.ndarray:
        """(p_a, p_b[, k]) scores of each column by the model trained without it."""
        return self._left_out("column")

    def leave_edge_out(self) -> np.ndarray:
        """(p_a, p_b[, k]) scores of each edge by the model without that edge (setting 1)."""
        state = self._complete_state()
        if not isinstance(state, CompleteGraph) or isinstance(state, MirroredRegression):
            raise ValueError(
                "leave_edge_out is a closed form of relation='general'; for others split the edges "
                "with rankwise.selection.EdgeSplit(one_domain=True)."
            )
        return self._turned(state.leave_edge_out(float(self.alpha)))

    def leave_both_out(self) -> np.ndarray:
        """(p_a, p_b[, k]) scores of each edge (u, v) by the model without row u and column v.

        Setting 4. In one domain and a general relation u and v still meet the others in their
        other role; where that matters use rankwise.selection.RowColumnSplit(one_domain=True).
        """
        state, alpha = self._complete_state(), float(self.alpha)
        if SIGNS[self.relation]:
            return self._without_two_nodes()
        rows, columns = state.nodes
        shape = (len(rows), len(columns))
        scores = [np.empty(shape) for _ in state.relations]
        if shape[0] <= shape[1]:
            for u in range(shape[0]):
                kept = np.delete(np.arange(shape[0]), u)
                part = CompleteGraph(
                    rows.take(kept), columns, [Y[kept] for Y in state.relations], state.ranking
                )
                target = _row_of(rows, u, kept)
                for S, s in zip(scores, part.score_new_row_without_columns(target, alpha)):
                    S[u] = s
        else:
            for v in range(shape[1]):
                kept = np.delete(np.arange(shape[1]), v)
                part = CompleteGraph(
                    rows, columns.take(kept), [Y[:, kept] for Y in state.relations], state.ranking
                )
                target = _row_of(columns, v, kept)
                for S, s in zip(scores, part.score_new_column_without_rows(target, alpha)):
                    S[:, v] = s
        return self._turned(scores)

    def _left_out(self, side: str) -> np.ndarray:
        state, alpha = self._complete_state(), float(self.alpha)
        if SIGNS[self.relation]:
            return self._without_a_node(side)
        if side == self.condition:
            return self._turned(state.leave_row_out(alpha))
        return self._turned(state.leave_column_out(alpha))

    def _refuse_loaded(self) -> None:
        if self._problems is None:
            raise ValueError(
                "this model comes from a file, which keeps no labels: hold-outs and paths need fit."
            )

    def _complete_state(self):
        check_is_fitted(self)
        self._refuse_loaded()
        problem = self._problems[0]
        complete = isinstance(problem, ClosedProblem) and problem.kept == (None, None)
        if min(len(self._rows), len(self._columns)) < 3:
            raise ValueError("a hold-out needs at least three nodes on each side.")
        if len(self._problems) > 1 or not complete:
            raise ValueError(
                "this hold-out is exact for a complete graph fitted in closed form; for other "
                "graphs (or solver='cg') refit on the folds of rankwise.selection, or use "
                "ConditionalRankerCV."
            )
        return problem.state

    def _turned(self, scores: list[np.ndarray]) -> np.ndarray:
        """Scores with conditions as rows -> as the user's rows and columns."""
        found = np.stack(scores, axis=-1)
        found = found if self.condition == "row" else np.swapaxes(found, 0, 1)
        return found if self._has_relations else found[..., 0]

    def _refitted(self, kept: np.ndarray) -> np.ndarray:
        """(d, d, k) coefficients, in the user's orientation, of the model of some nodes alone."""
        state = self._complete_state()
        kind = type(state)
        relations = [Y[np.ix_(kept, kept)] for Y in state.relations]
        part = kind(self._rows.take(kept), relations, SIGNS[self.relation])
        found = part.coefficients(float(self.alpha))
        return found if self.condition == "row" else np.swapaxes(found, 0, 1)

    def _without_a_node(self, side: str) -> np.ndarray:
        p = len(self._rows)
        state = self._complete_state()
        scores = np.empty((p, p, len(state.relations)))
        for u in range(p):
            kept = np.delete(np.arange(p), u)
            one, all_nodes = _row_of(self._rows, u, kept), _row_of(self._rows, slice(None), kept)
            scores[u] = all_nodes @ np.tensordot(one, self._refitted(kept), 1)
        if side == "column":
            scores = SIGNS[self.relation] * np.swapaxes(scores, 0, 1)
        return scores if self._has_relations else scores[..., 0]

    def _without_two_nodes(self) -> np.ndarray:
        p, sign = len(self._rows), SIGNS[self.relation]
        scores = np.empty((p, p, len(self._complete_state().relations)))
        for u in range(p):
            for v in range(u, p):
                kept = np.delete(np.arange(p), [u, v])
                left, right = (_row_of(self._rows, i, kept) for i in (u, v))
                scores[u, v] = right @ np.tensordot(left, self._refitted(kept), 1)
                scores[v, u] = sign * scores[u, v]
        return scores if self._has_relations else scores[..., 0]


def _row_of(nodes, index, kept: np.ndarray) -> np.ndarray:
    """What represents a node to a model of the kept nodes: features, or kernel values to them."""
    return nodes.rows[index] if nodes.through_features else nodes.rows[index][..., kept]
