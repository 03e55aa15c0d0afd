"""From the labels of relations to coefficients: which solver, on which nodes, for every alpha."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from sklearn.utils import check_random_state

from rankwise.solvers.closed_pairs import ClosedPairsSolver, has_closed_form
from rankwise.solvers.complete_graph import CompleteGraph, CompleteGraphSolver, MirroredRanking
from rankwise.solvers.incomplete_graph import EdgeSolver, Limits
from rankwise.solvers.solver import Solution
from rankwise.solvers.unpenalised_effects import NO_EFFECTS, EffectKind
from rankwise.spaces.edges import Edges
from rankwise.spaces.nodes import Nodes
from rankwise.spaces.pair_function import PairEffects, PairFunction
from rankwise.spaces.pairwise_kernels import KRONECKER, PairwiseKernel
from rankwise.supervision.relation import Grid, Labels, RelationTask, label_profiles

AnySolver = CompleteGraphSolver | ClosedPairsSolver | EdgeSolver


@dataclass(eq=False)
class RelationProblem:
    """k relations between the same nodes: closed form for complete graphs, else CG on the edges.

    Everything that goes in and comes out has the rows and columns of the user; the solvers see
    conditions as rows. `rows` and `columns` are one object if there is one domain. `solver` is
    "closed", "cg" or "auto". `kernel` is that of pairs of nodes. If a side has interaction
    profiles, `rows` and `columns` are still without them: `nodes` has those of the labels.
    `early_stopping` is None, the fraction of edges to validate on, or the validation labels of each
    relation; it needs solver="cg".

    Solvers are made when they are first used; then n_skipped_conditions is known.
    """

    rows: Nodes
    columns: Nodes
    labels: list[Labels]
    task: RelationTask
    kernel: PairwiseKernel = KRONECKER
    effect_kind: EffectKind = NO_EFFECTS
    two_domains: bool = True
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

    @cached_property
    def nodes(self) -> tuple[Nodes, Nodes]:
        """Row nodes and column nodes, with interaction profiles from these labels."""
        if not (self.rows.profiles or self.columns.profiles):
            return self.rows, self.columns
        (labels,) = self.labels
        profiles = label_profiles(labels, self.task.sign, self.two_domains)
        rows = self.rows.profiled(*profiles[0]) if self.rows.profiles else self.rows
        if self.columns is self.rows:
            return rows, rows
        columns = self.columns
        return rows, columns.profiled(*profiles[1]) if columns.profiles else columns

    @cached_property
    def solvers(self) -> list[AnySolver]:
        """One for each relation, or one for all if all are complete."""
        task, may_be_closed = self.task, self.solver != "cg"
        if not has_closed_form(self.kernel, task, self.effect_kind):
            may_be_closed = False
            if self.solver == "closed":
                raise ValueError(
                    f'solver="closed": pairwise={self.kernel.name!r} with objective='
                    f"{task.objective!r} and relation={task.relation!r} has no closed form here, "
                    'because its terms share no eigenvectors: use solver="cg" (or "auto").'
                )
        nodes = task.conditions_first(*self.nodes)
        usable = self._usable_labels()
        same_nodes = bool(task.sign or self.kernel.own_sign)
        grids = [labels.grid(same_nodes) if may_be_closed else None for labels in usable]
        if may_be_closed and all(labels.is_complete for labels in usable):
            return [self._closed(nodes, [grid for grid in grids if grid])]
        solvers: list[AnySolver] = []
        for relation, (labels, grid) in enumerate(zip(usable, grids)):
            if grid:
                solvers.append(self._closed(nodes, [grid]))
            elif self.solver == "closed":
                raise ValueError(
                    'solver="closed" needs every edge between the nodes exactly once, but between '
                    f"{labels.shape[0]} x {labels.shape[1]} nodes there are {len(labels)} edges: "
                    'use solver="cg" (or "auto").'
                )
            else:
                split = self._training_and_validation(labels.as_edges(), relation)
                solvers.append(
                    EdgeSolver(nodes, *split, task, self.limits, self.kernel, self.effect_kind)
                )
        return solvers

    def _closed(self, nodes: tuple[Nodes, Nodes], grids: list[Grid]) -> AnySolver:
        if self.kernel.is_kronecker and not self.effect_kind.any:
            return CompleteGraphSolver(nodes, grids, self.task)
        return ClosedPairsSolver(nodes, grids, self.task, self.kernel, self.effect_kind)

    @property
    def complete_graph(self) -> CompleteGraph | MirroredRanking | None:
        """The closed form of all relations, if all of them are complete graphs of all nodes."""
        first, *others = self.solvers
        if others or not isinstance(first, CompleteGraphSolver) or not first.has_all_nodes:
            return None
        return first.graph

    def refuse_holdouts(self) -> None:
        """A ValueError with the reason, unless hold-outs have closed forms for this model."""
        reasons = {
            f"pairwise={self.kernel.name!r}": not self.kernel.is_kronecker,
            "effects": self.effect_kind.any,
            "an InteractionProfile, which the held-out labels would change": bool(
                self.rows.profiles or self.columns.profiles
            ),
        }
        found = [reason for reason, holds in reasons.items() if holds]
        if found:
            raise ValueError(
                f"leave-out predictions have closed forms for the Kronecker kernel only, not with "
                f"{' and '.join(found)}: use ConditionalRankerCV with cv=5, or refit on the folds "
                "of rankwise.selection."
            )

    @property
    def has_holdouts(self) -> bool:
        try:
            self.refuse_holdouts()
        except ValueError:
            return False
        return True

    def coefficients(self, solutions: list[np.ndarray]) -> np.ndarray:
        """(d_a, d_b, k) coefficients of the nodes' representations, from w of every solver."""
        parts = [solver.coefficients(w) for solver, w in zip(self.solvers, solutions)]
        return self.task.turned(np.concatenate(parts, axis=-1))

    def effects(self, solutions: list[np.ndarray]) -> PairEffects | None:
        """The unpenalised effects of all relations, None if there are none."""
        parts = [solver.effects(w) for solver, w in zip(self.solvers, solutions)]
        found = [part for part in parts if part is not None]
        if not found:
            return None
        sides = [[getattr(part, name) for part in found] for name in ("rows", "columns")]
        rows, columns = (None if side[0] is None else np.hstack(side) for side in sides)
        intercept = np.concatenate([part.intercept for part in found])
        return PairEffects(intercept, *self.task.conditions_first(rows, columns))

    def path(self, alphas: Sequence[float]) -> Iterator[list[np.ndarray]]:
        """w of every solver for one alpha after another; iterations share what they can."""
        paths = [solver_path(solver, alphas) for solver in self.solvers]
        for solutions in zip(*paths):
            yield [solution.w for solution in solutions]

    def function(self, solutions: list[np.ndarray]) -> PairFunction:
        """The function of two nodes that belongs to w of every solver."""
        coefficients, effects = self.coefficients(solutions), self.effects(solutions)
        return PairFunction(*self.nodes, coefficients, self.kernel, effects)

    def predictions_at(self, labels: Labels, alphas: Sequence[float]) -> Iterator[np.ndarray]:
        """(q, k) predictions for other edges of the same nodes, for one alpha after another."""
        edges, rows, columns = Edges.between_used(labels.rows, labels.columns)
        for solutions in self.path(alphas):
            yield self.function(solutions).at_training_nodes(edges, rows, columns)

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


def solver_path(solver: AnySolver, alphas: Sequence[float]) -> Iterator[Solution]:
    """The solutions for one alpha after another; iterations start from the one before."""
    if isinstance(solver, EdgeSolver):
        yield from solver.path(alphas)
        return
    for alpha in alphas:
        yield solver.solve(alpha)
