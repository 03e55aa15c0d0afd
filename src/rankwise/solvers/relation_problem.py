"""From the labels of relations to coefficients: which solver, on which nodes, for every alpha."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from sklearn.utils import check_random_state

from rankwise.solvers.complete_graph import CompleteGraph, CompleteGraphSolver, MirroredRanking
from rankwise.solvers.incomplete_graph import EdgeSolver, Limits
from rankwise.spaces.edges import Edges
from rankwise.spaces.nodes import Nodes
from rankwise.supervision.relation import Labels, RelationTask


@dataclass(eq=False)
class RelationProblem:
    """k relations between the same nodes: closed form for complete graphs, else CG on the edges.

    Everything that goes in and comes out has the rows and columns of the user; the solvers see
    conditions as rows. `rows` and `columns` are one object if there is one domain. `solver` is
    "closed", "cg" or "auto". `early_stopping` is None, the fraction of edges to validate on, or the
    validation labels of each relation; it needs solver="cg".

    Solvers are made when they are first used; then n_skipped_conditions is known.
    """

    rows: Nodes
    columns: Nodes
    labels: list[Labels]
    task: RelationTask
    solver: str = "auto"
    limits: Limits = field(default_factory=Limits)
    early_stopping: float | list[Labels] | None = None
    random_state: int | np.random.RandomState | None = None
    n_skipped_conditions: int = field(default=0, init=False)

    def with_labels(self, relation: int, labels: Labels) -> RelationProblem:
        """The problem of one of the relations with other labels."""
        early_stopping = self.early_stopping
        if isinstance(early_stopping, list):
            early_stopping = [early_stopping[relation]]
        return replace(self, labels=[labels], early_stopping=early_stopping)

    @property
    def two_domains(self) -> bool:
        return self.rows is not self.columns

    @cached_property
    def solvers(self) -> list[CompleteGraphSolver | EdgeSolver]:
        """One for each relation, or one for all if all are complete."""
        task, may_be_closed = self.task, self.solver != "cg"
        nodes = task.conditions_first(self.rows, self.columns)
        usable = self._usable_labels()
        grids = [labels.grid(bool(task.sign)) if may_be_closed else None for labels in usable]
        if may_be_closed and all(labels.is_complete for labels in usable):
            return [CompleteGraphSolver(nodes, [grid for grid in grids if grid], task)]
        solvers: list[CompleteGraphSolver | EdgeSolver] = []
        for relation, (labels, grid) in enumerate(zip(usable, grids)):
            if grid:
                solvers.append(CompleteGraphSolver(nodes, [grid], task))
            elif self.solver == "closed":
                raise ValueError(
                    'solver="closed" needs every edge between the nodes exactly once, but between '
                    f"{labels.shape[0]} x {labels.shape[1]} nodes there are {len(labels)} edges: "
                    'use solver="cg" (or "auto").'
                )
            else:
                split = self._training_and_validation(labels.as_edges(), relation)
                solvers.append(EdgeSolver(nodes, *split, task, self.limits))
        return solvers

    @property
    def complete_graph(self) -> CompleteGraph | MirroredRanking | None:
        """The closed form of all relations, if all of them are complete graphs of all nodes."""
        first, *others = self.solvers
        if others or not isinstance(first, CompleteGraphSolver) or not first.has_all_nodes:
            return None
        return first.graph

    def coefficients(self, solutions: list[np.ndarray]) -> np.ndarray:
        """(d_a, d_b, k) coefficients of the nodes' representations, from w of every solver."""
        parts = [solver.coefficients(w) for solver, w in zip(self.solvers, solutions)]
        return self.task.turned(np.concatenate(parts, axis=-1))

    def path(self, alphas: Iterable[float]) -> Iterator[np.ndarray]:
        """`coefficients` for one alpha after another; iterations start from the one before."""
        starts: Sequence[np.ndarray | None] = [None] * len(self.solvers)
        for alpha in alphas:
            solutions = [s.solve(alpha, start=w).w for s, w in zip(self.solvers, starts)]
            yield self.coefficients(solutions)
            starts = solutions

    def predictions_at(self, labels: Labels, alphas: Iterable[float]) -> Iterator[np.ndarray]:
        """(q, k) predictions for other edges of the same nodes, for one alpha after another."""
        edges, rows, columns = Edges.between_used(labels.rows, labels.columns)
        left, right = self.rows.rows[rows], self.columns.rows[columns]
        for coefficients in self.path(alphas):
            yield edges.scores(left, coefficients, right)

    def _by_condition(self, labels: Labels) -> Labels:
        """The same labels with the conditions as rows."""
        return self.task.conditions_first(labels, labels.transposed())[0]

    def _usable_labels(self) -> list[Labels]:
        """The labels by condition; a ranking learns nothing from conditions with a single edge."""
        usable = []
        self.n_skipped_conditions = 0
        for relation, labels in enumerate(map(self._by_condition, self.labels)):
            if self.task.ranking:
                labels, n_skipped = labels.without_lone_rows()
                self.n_skipped_conditions += n_skipped
            usable.append(labels)
            if not len(labels):
                where = f" of relation {relation}" if len(self.labels) > 1 else ""
                raise ValueError(
                    f"no condition ({self.task.condition}){where} has two edges, so there is no "
                    "preference to learn from."
                    if self.task.ranking
                    else f"no edge{where} is observed: all of its labels are nan."
                )
        return usable

    def _training_and_validation(
        self, labels: Labels, relation: int
    ) -> tuple[Labels, Labels | None]:
        wanted = self.early_stopping
        if wanted is None:
            return labels, None
        if isinstance(wanted, list):
            return labels, self._by_condition(wanted[relation])
        order = check_random_state(self.random_state).permutation(len(labels))
        n_held_out = max(1, round(wanted * len(order)))
        training = labels.take(np.sort(order[n_held_out:]))
        most = np.bincount(training.rows, minlength=1).max()
        if most < (2 if self.task.ranking else 1):
            raise ValueError(
                f"early_stopping={wanted!r} leaves too few of {len(order)} edges to train on "
                f"({len(training)}): hold out a smaller fraction, or give (edges, y)."
            )
        return training, labels.take(order[:n_held_out])
