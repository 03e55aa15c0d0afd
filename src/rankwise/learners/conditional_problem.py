"""From checked labels to coefficients: which solver, on which nodes, for every alpha.

Everything here has rows as conditions; a learner with condition="column" hands over the transpose.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankwise.exceptions import UndefinedMetric
from rankwise.learners.conditional_inputs import Labels
from rankwise.metrics import ranking_error
from rankwise.numerics.memory import refuse_too_large
from rankwise.solvers.complete_graph import (
    CompleteGraph,
    MirroredRanking,
    MirroredRegression,
    refuse_overflow,
)
from rankwise.solvers.incomplete_graph import DualModel, PrimalModel, Solution, conjugate_gradients
from rankwise.spaces.nodes_and_edges import Edges, Nodes

COPIES = 10
"""Matrices the size of Y that a closed form holds at its peak (measured)."""


@dataclass
class Iterations:
    """How conjugate gradients run; `validation` holds labels to stop on."""

    tol: float
    max_iter: int
    validation: Labels | None = None
    verbose: int = 0

    @property
    def to_the_solution(self) -> bool:
        """The minimiser is wanted, so a preconditioner may change the way there."""
        return self.tol > 0 and self.validation is None


def without_lone_edges(labels: Labels) -> tuple[Labels, int]:
    """The labels without the conditions that have one edge only, and how many those were."""
    if labels.is_complete:
        return labels, 0
    lone = np.bincount(labels.rows, minlength=labels.shape[0]) == 1
    return labels.take(np.flatnonzero(~lone[labels.rows])), int(lone.sum())


class ClosedProblem:
    """A complete graph over some of the nodes: rows[kept_rows] × columns[kept_columns]."""

    def __init__(self, rows: Nodes, columns: Nodes, grids: list, ranking: bool, sign: int):
        """`grids`: (Y, kept_rows, kept_columns) of each relation, same nodes; None keeps all."""
        _, kept_rows, kept_columns = grids[0]
        self.full = rows, columns
        self.kept = kept_rows, kept_columns
        one = columns is rows and (kept_rows is kept_columns or sign)
        rows = rows if kept_rows is None else rows.take(kept_rows)
        columns = rows if one else columns if kept_columns is None else columns.take(kept_columns)
        relations = [Y for Y, _, _ in grids]
        refuse_too_large(
            len(rows),
            len(columns),
            "the closed form of a complete graph",
            'sample edges and use solver="cg"',
            copies=COPIES,
        )
        self.state: CompleteGraph | MirroredRanking
        if sign == 0:
            self.state = CompleteGraph(rows, columns, relations, ranking)
        else:
            kind = MirroredRanking if ranking else MirroredRegression
            self.state = kind(rows, relations, sign)

    def path(self, alphas: Iterable[float]) -> Iterator[np.ndarray]:
        for alpha in alphas:
            found = self.state.coefficients(alpha)
            for axis, (nodes, kept) in enumerate(zip(self.full, self.kept)):
                if kept is not None and not nodes.through_features:
                    shape = list(found.shape)
                    shape[axis] = len(nodes)
                    spread = np.zeros(shape)
                    spread[(slice(None),) * axis + (kept,)] = found
                    found = spread
            yield found


def as_grid(labels: Labels, sign: int):
    """(Y, rows, columns) if the edges are a complete graph of some nodes, else None. O(q log q)."""
    if labels.is_complete:
        return labels.Y, None, None
    rows, row = np.unique(labels.rows, return_inverse=True)
    columns, column = np.unique(labels.columns, return_inverse=True)
    q = len(labels.y)
    if q != len(rows) * len(columns) or (sign and not np.array_equal(rows, columns)):
        return None
    Y = np.full((len(rows), len(columns)), np.nan)
    Y[row, column] = labels.y
    return None if np.isnan(Y).any() else (Y, rows, columns)


@dataclass
class Judge:
    """Conditional ranking errors (equation 4) of values at the training and validation edges."""

    y: np.ndarray
    rows: np.ndarray
    validation_y: np.ndarray
    validation_rows: np.ndarray

    def __call__(self, values: np.ndarray) -> dict[str, float]:
        trained, validated = np.split(values, [len(self.y)])
        try:
            train_error = ranking_error(self.y, trained, self.rows)
        except UndefinedMetric:
            train_error = float("nan")
        validation_error = ranking_error(self.validation_y, validated, self.validation_rows)
        return {"train_error": train_error, "validation_error": validation_error}


class EdgeProblem:
    """One relation's edges, by conjugate gradients.

    Linear nodes go through their features, others through the edge kernel in O(q p) a step; where
    the graph is dense and the minimiser itself is wanted, through the eigenvectors of the node
    kernels, preconditioned with the complete graph. Warm starts from one alpha to the next. With
    alpha = 0 and fewer edges than unknowns plain iterations find the minimiser of least norm.
    """

    def __init__(self, rows: Nodes, columns: Nodes, labels: Labels, ranking: bool, sign: int, how):
        labels = labels.as_edges()
        self.nodes = rows, columns
        self.how = how
        self.edges = Edges(labels.rows, labels.columns, labels.shape)
        self.y = labels.y[self.edges.order]
        self.centre = self.edges.centre if ranking else np.asarray
        self._watch(how.validation)
        self._choose_model(rows, columns, ranking, sign)
        self.solution = Solution(np.empty(0))

    def _watch(self, validation: Labels | None) -> None:
        self.watched: Edges | None = None
        self.judge: Judge | None = None
        if validation is None:
            return
        watched = self.watched = Edges(validation.rows, validation.columns, validation.shape)
        targets = validation.y[watched.order]
        try:
            ranking_error(targets, targets, watched.rows)
        except UndefinedMetric as error:
            raise ValueError(
                "early_stopping: no condition has two validation edges of different value, so no "
                "error can be measured; give more edges, or early_stopping=None."
            ) from error
        self.judge = Judge(self.y, self.edges.rows, targets, watched.rows)

    def _choose_model(self, rows: Nodes, columns: Nodes, ranking: bool, sign: int) -> None:
        self.back: tuple[np.ndarray, np.ndarray] | None = None
        self.gain: np.ndarray | None = None
        self.model: PrimalModel | DualModel
        features = rows.through_features and columns.through_features
        if self.how.to_the_solution and (features or self.edges.dense):
            left = rows.spectrum()
            right = left if sign else columns.spectrum(centred=ranking)
            self.back = left.to_rows, right.to_rows
            density = len(self.edges) / (len(rows) * len(columns))
            with np.errstate(over="ignore"):
                self.gain = density * np.outer(left.s**2, right.s**2)
            refuse_overflow(self.gain)
            self.determined = self._outnumber(self.gain.shape, ranking)
            A, B = left.Q * left.s, right.Q * right.s
            self.model = PrimalModel(A, B, self.edges, self.watched, sign, self.gain)
        elif features:
            self.model = PrimalModel(rows.rows, columns.rows, self.edges, self.watched, sign)
        else:
            self.model = DualModel(rows.gram(), columns.gram(), self.edges, self.watched, sign)

    def _outnumber(self, unknowns: tuple[int, int], ranking: bool) -> bool:
        """Whether the edges can tell all the unknowns without a regulariser."""
        pairs = np.unique(self.edges.flat)
        rows, columns = (len(np.unique(side)) for side in np.divmod(pairs, self.edges.shape[1]))
        free = len(pairs) - (rows if ranking else 0)
        r_a, r_b = unknowns
        return rows >= r_a and columns >= r_b and free >= r_a * r_b

    def path(self, alphas: Iterable[float]) -> Iterator[np.ndarray]:
        start = None
        for alpha in alphas:
            if self.gain is not None:
                trusted = alpha > 0 or self.determined
                self.model.scale = self.gain + alpha if trusted else None
                start = start if trusted else None
            self.solution = conjugate_gradients(
                self.model,
                self.y,
                alpha,
                self.centre,
                tol=self.how.tol,
                max_iter=self.how.max_iter,
                start=start,
                judge=self.judge,
                verbose=self.how.verbose,
            )
            if self.how.to_the_solution:
                start = self.solution.coefficients
                if not self.solution.converged:
                    warnings.warn(
                        f"conjugate gradients stopped at max_iter={self.how.max_iter} before "
                        f"tol={self.how.tol:g} (alpha={alpha:g}): raise max_iter, tol or alpha.",
                        ConvergenceWarning,
                        stacklevel=4,
                    )
            yield self._coefficients()[:, :, None]

    def _coefficients(self) -> np.ndarray:
        found = self.solution.coefficients
        if isinstance(self.model, DualModel):
            rows, columns = self.nodes
            return columns.from_dual(rows.from_dual(self.model.matrix(found)).T).T
        return found if self.back is None else self.back[0] @ found @ self.back[1].T
