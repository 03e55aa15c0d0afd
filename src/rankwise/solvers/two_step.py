"""Two-step ridge regression of a relation: F = H_row Y H_columnᵀ.

H = K (K + alpha)⁻¹ is the hat matrix of kernel ridge regression over the nodes of one side
(Pahikkala et al. 2014; Stock et al. 2018). In the spectra of both sides everything is diagonal, so
each pair of alphas costs only products.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankwise.exceptions import InvalidKernel
from rankwise.solvers.complete_graph import mirror
from rankwise.solvers.conjugate_gradients import NormalEquations, conjugate_steps
from rankwise.spaces.edges import Edges
from rankwise.spaces.nodes import Nodes
from rankwise.supervision.filled_relation import FilledRelation
from rankwise.supervision.relation import Labels

Alphas = tuple[float, float]
ALONE = 1e-7
"""If the other nodes leave less of a node undetermined than this, its hold-out is solved anew."""
TOLERANCE, MAX_ITER = 1e-12, 2000


class RidgeSide:
    """Kernel ridge regression over the p nodes of one side, for every alpha by one decomposition.

    Y (p, m) holds one label per node and column. R = I − H = alpha (K + alpha)⁻¹ is written as a
    sum over the spectrum, so that no digits cancel as alpha goes to 0. Products cost O(p² m).
    """

    def __init__(self, nodes: Nodes):
        self.nodes = nodes
        self.spectrum = nodes.spectrum()
        self.Q, self.s = self.spectrum.Q, self.spectrum.s
        self._known: dict[float, tuple[np.ndarray, dict[int, np.ndarray]]] = {}

    def __len__(self) -> int:
        return len(self.Q)

    @cached_property
    def scale(self) -> float:
        """The mean of the diagonal of K, as a power of two: a natural unit of alpha."""
        size = float(np.linalg.norm(self.s)) / np.sqrt(len(self))
        return 2.0 ** np.round(2 * np.log2(size)) if size > 0 else 1.0

    def keep(self, alpha: float) -> np.ndarray:
        """alpha / (s² + alpha) for every direction of the spectrum."""
        with np.errstate(over="ignore"):
            return 1 / (1 + (self.s / np.sqrt(alpha)) ** 2)

    def to_coefficients(self, alpha: float) -> np.ndarray:
        """(d, r) maps Qᵀ Y to coefficients of whatever represents a node."""
        return self.spectrum.to_rows * (1 / (self.s + alpha / self.s))

    def fitted(self, alpha: float, Y: np.ndarray) -> np.ndarray:
        """H Y."""
        with np.errstate(over="ignore"):
            gain = 1 / (1 + (np.sqrt(alpha) / self.s) ** 2)
        return self.Q @ (gain[:, None] * (self.Q.T @ Y))

    def residuals(self, alpha: float, Y: np.ndarray) -> np.ndarray:
        """R Y = Y − H Y."""
        along = self.Q.T @ Y
        out = self.Q @ (self.keep(alpha)[:, None] * along)
        if not self.spectrum.is_full:
            out += Y - self.Q @ along
        free, smoothers = self._left_out(alpha)
        for i, weights in smoothers.items():
            out[i] = free[i] * (Y[i] - weights @ Y)
        return out

    def free(self, alpha: float) -> np.ndarray:
        """(p,) the diagonal of R: what one's own label leaves undetermined, 1 − leverage."""
        return self._left_out(alpha)[0]

    def left_out(self, alpha: float, Y: np.ndarray) -> np.ndarray:
        """Predictions for each node by the model without it, Y − R Y / diag(R)."""
        return Y - self.residuals(alpha, Y) / self.free(alpha)[:, None]

    def hat(self, alpha: float) -> np.ndarray:
        """H, (p, p)."""
        return self.fitted(alpha, np.eye(len(self)))

    def residual_maker(self, alpha: float) -> np.ndarray:
        """R, (p, p)."""
        R = self.residuals(alpha, np.eye(len(self)))
        for i in self._left_out(alpha)[1]:
            R[:, i] = R[i]
        return R

    def smoother_without(self, nodes: list[int], alpha: float) -> np.ndarray:
        """(len(nodes), p) weights of the labels in predictions by the model without `nodes`."""
        kept = np.delete(np.arange(len(self)), nodes)
        Z = self.Q * self.s
        Q, s, Vt = np.linalg.svd(Z[kept], full_matrices=False)
        some = s > max(Z.shape) * np.finfo(float).eps * s.max(initial=0.0)
        Q, s, Vt = Q[:, some], s[some], Vt[some]
        weights = np.zeros((len(nodes), len(self)))
        weights[:, kept] = (Z[nodes] @ Vt.T * (1 / (s + alpha / s))) @ Q.T
        return weights

    def _left_out(self, alpha: float) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        """diag(R), and the smoothers without node i of those nodes whose R is lost in rounding.

        That happens if a node is nearly alone in a direction of the features and alpha is tiny.
        """
        if alpha not in self._known:
            keep, Q2 = self.keep(alpha), self.Q**2
            free = Q2 @ keep
            largest = keep.max(initial=0.0)
            if not self.spectrum.is_full:
                free += np.maximum(1 - Q2.sum(axis=1), 0.0)
                largest = 1.0
            smoothers = {}
            for i in np.flatnonzero(~(free > ALONE * largest)).tolist():
                weights = self.smoother_without([i], alpha)[0]
                smoothers[i] = weights
                Z = self.Q * self.s
                unexplained = Z[i] - weights @ Z
                variance = float(unexplained @ unexplained)
                free[i] = alpha / (alpha + variance + alpha * float(weights @ weights))
            self._known[alpha] = free, smoothers
        return self._known[alpha]


class Fold(NamedTuple):
    """A problem between some of the nodes, and the numbers of these nodes."""

    problem: TwoStep
    rows: np.ndarray
    columns: np.ndarray


class TwoStep:
    """k relations between the same nodes, conditions as the user has them."""

    def __init__(
        self, rows: RidgeSide, columns: RidgeSide, relations: list[FilledRelation], sign: int
    ):
        self.rows, self.columns, self.relations, self.sign = rows, columns, relations, sign

    def coefficients(self, alphas: Alphas) -> np.ndarray:
        """(d_a, d_b, k) coefficients of the nodes' representations."""
        left = self.rows.to_coefficients(alphas[0])
        right = self.columns.to_coefficients(alphas[1])
        out = []
        for relation in self.relations:
            Y = self.values(relation, alphas)
            with np.errstate(over="ignore", invalid="ignore"):
                out.append(mirror(left @ (self.rows.Q.T @ Y @ self.columns.Q) @ right.T, self.sign))
        coefficients = np.stack(out, axis=-1)
        if not np.isfinite(coefficients).all():
            raise InvalidKernel(
                "the coefficients overflow: the kernels and alpha are too small, scale both up."
            )
        return coefficients

    def values(self, relation: FilledRelation, alphas: Alphas) -> np.ndarray:
        """The filled matrix Y."""
        if relation.is_complete or relation.fill != "model":
            return relation.values
        return self.filled_by_model(relation, alphas)

    def on_edges(self, relation: int, edges: np.ndarray) -> Fold:
        """The problem of one relation at some of its edges, between the nodes that they touch.

        fill=None counts as "model", as in the hold-out of an edge.
        """
        told = self.relations[relation]
        rows, columns = (np.unique(side) for side in (edges.T if not self.sign else (edges, edges)))
        shape = (len(rows), len(columns))
        at = np.searchsorted(rows, edges[:, 0]), np.searchsorted(columns, edges[:, 1])
        labels = Labels(shape, rows=at[0], columns=at[1], y=told.known[tuple(edges.T)])
        fill = "model" if told.fill is None else told.fill
        filled = FilledRelation.of_labels(labels, fill, self.sign)
        sides = [
            side if len(kept) == len(side) else RidgeSide(side.nodes.take(kept))
            for side, kept in ((self.rows, rows), (self.columns, columns))
        ]
        return Fold(TwoStep(sides[0], sides[1], [filled], self.sign), rows, columns)

    def predictions_at(self, edges: np.ndarray, fold: Fold, alphas: Alphas) -> np.ndarray:
        """(n,) predictions for edges between all nodes, by the model that was fitted to a fold."""
        pairs, rows, columns = Edges.between_used(edges[:, 0], edges[:, 1])
        left = self.rows.nodes.represent_to(fold.rows, rows)
        right = self.columns.nodes.represent_to(fold.columns, columns)
        return pairs.scores(left, fold.problem.coefficients(alphas), right)[:, 0]

    def filled_by_model(self, relation: FilledRelation, alphas: Alphas) -> np.ndarray:
        """Y whose missing cells M equal the predictions: (I − 𝓗)_MM y_M = 𝓗_MO y_O.

        𝓗 Y = H_row Y H_columnᵀ (mirrored if the relation is). I − 𝓗 is positive definite: conjugate
        gradients with its diagonal as preconditioner, a few products of O(p³) per iteration.
        """
        at = np.nonzero(relation.missing)
        right = -mirror(self._unfitted(relation.known, alphas), self.sign)[at]
        free = mirror(self._free(alphas), abs(self.sign))[at]

        def bend(x: np.ndarray, _: np.ndarray) -> np.ndarray:
            Y = np.zeros_like(relation.known)
            Y[at] = x
            return mirror(self._unfitted(Y, alphas), self.sign)[at]

        identity: Callable[[np.ndarray], np.ndarray] = lambda x: x  # noqa: E731
        system = NormalEquations(identity, bend, right, None, lambda r: r / free)
        enough = TOLERANCE**2 * float((right**2 / free).sum())
        for n_iter, _ in enumerate(conjugate_steps(system)):
            if system.energy <= enough:
                break
            if n_iter >= MAX_ITER:
                warnings.warn(
                    f"filling {len(right)} cells by the model did not converge in {MAX_ITER} "
                    "iterations: take a larger alpha, or another fill.",
                    ConvergenceWarning,
                    stacklevel=3,
                )
                break
        filled = relation.known.copy()
        filled[at] = system.x
        return filled

    def _unfitted(self, Y: np.ndarray, alphas: Alphas) -> np.ndarray:
        """Y − H_row Y H_columnᵀ = R_row Y + H_row Y R_column."""
        fitted = self.rows.fitted(alphas[0], Y)
        return self.rows.residuals(alphas[0], Y) + self.columns.residuals(alphas[1], fitted.T).T

    def _free(self, alphas: Alphas) -> np.ndarray:
        """The diagonal of I − 𝓗 at every cell, for a general relation."""
        free_a, free_b = self.rows.free(alphas[0]), self.columns.free(alphas[1])
        return free_a[:, None] + free_b - np.outer(free_a, free_b)
