"""A training set in partitions with a quadratic loss: its normal equations and their solutions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from dask.delayed import Delayed
from scipy import sparse

from rankwise.dask.cluster import Cluster, added, joined
from rankwise.dask.compared_partitions import ComparedPartitions
from rankwise.dask.normal_equations import (
    Plan,
    Spectra,
    Sums,
    Systems,
    equations,
    product,
    tally,
)
from rankwise.dask.partition_layout import SPREAD, Layout, refuse_split, split_queries
from rankwise.dask.partitioned_ranker import gather_reduced_space
from rankwise.dask.spread_queries import SpreadQuery, added_by_query, tallied
from rankwise.dask.spread_strata import StratumTally, stratum_sums
from rankwise.exceptions import MissingRequirement
from rankwise.holdout.protocol import Alphas
from rankwise.holdout.quadratic_problem import DECOMPOSABLE
from rankwise.learners.rank_rls import RankRLS
from rankwise.losses.losses_by_name import quadratic_loss
from rankwise.losses.pair_losses import TieFreeLoss
from rankwise.numerics.memory import refuse_too_large
from rankwise.solvers.conjugate_gradients import ConjugateGradientSolver
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.representation import Representation
from rankwise.spaces.space import Features, ReducedSpace
from rankwise.supervision.supervision import refuse_no_preference


class SpreadPass(NamedTuple):
    """Sums of whole queries, and for each spread query its sums and whether it has a pair."""

    layout: Layout
    whole_sums: Sums | None
    whole_prefers: list[np.ndarray]
    found: list[tuple[Sums, np.ndarray]]


class PartitionedProblem:
    """The sums of one training set, and what is needed to pass over its data again.

    The sums take one pass over the data. Spread queries need one pass more, and a reduced set two:
    for the sizes of the partitions and for the rows of its basis. Then one alpha takes a Cholesky
    factorisation on the client, O(n³/3); one eigendecomposition, O(n³), gives a path and hold-outs.
    """

    layout: Layout
    systems: Systems | None = None
    """The normal equations; None if conjugate gradients solve the problem."""
    whole_sums: Sums | None = None

    scale = 1.0
    """The weight of all statements, if they form one query."""

    def __init__(
        self,
        model: RankRLS,
        blocks: list[Delayed],
        has_queries: bool,
        spread: list,
        compared: ComparedPartitions | None = None,
    ):
        """`model` gives the parameters; `spread` lists labels of queries in several partitions.

        With `compared`, the blocks hold the rows, and its statements take the place of scores.
        """
        self.cluster, self.blocks, self.has_queries = Cluster(), blocks, has_queries
        self.compared = compared
        self.kernel = Kernel.of(model)
        self.space: ReducedSpace | None = None
        self._solver = model.solver
        self._limits: dict[str, Any] = {"tol": model.tol, "max_iter": model.max_iter}
        self._is_plain = self.kernel.is_linear and model.basis is None
        if model.solver == "cg" and not self._is_plain:
            raise MissingRequirement('solver="cg" requires a linear kernel without basis=.')
        loss = quadratic_loss(model.loss, model.ties, model.query_weight)
        self.plan = Plan(loss, spread=spread)
        self.plan.sums_wide = model.solver == "spectral" or not self._is_plain
        self.spread_sums: list[Sums] = []
        self.n_iter = 1
        if model.basis is not None:
            self.layout = Layout.of(blocks, self.cluster)
            self.space = gather_reduced_space(model, self.cluster, blocks, self.layout)
            self.plan.map = self.space.map
        if compared is not None:
            self._sum_statements(compared)
            return
        if not has_queries and len(blocks) > 1:
            self.plan.spread = [None]
        if self.plan.spread and model.solver == "cg":
            raise ValueError(
                'solver="cg" needs whole queries in partitions: give qid, or use solver="spectral".'
            )
        if not self.plan.spread:
            self._sum_whole_queries()
        if self.plan.spread:
            self._sum_spread_queries()

    @classmethod
    def of_statements(cls, model: RankRLS, compared: ComparedPartitions) -> PartitionedProblem:
        """The problem of explicit preferences."""
        return cls(model, compared.items, compared.has_queries, [], compared)

    @property
    def representation(self) -> Representation:
        return Representation(self.kernel) if self.space is None else self.space.representation

    def _sum_whole_queries(self) -> None:
        """The sums of all partitions. If they hold a single query, only names it in plan.spread."""
        facts, sums, prefers, _ = self._pass_over_data(self.plan)
        layout = self.layout = Layout(facts)
        split = split_queries(layout, self.blocks, self.cluster)
        if len(split) == layout.n_queries == 1:
            self.plan.spread = list(split)
            return
        refuse_split(split, SPREAD)
        refuse_no_preference(prefers[0], layout.n_items, layout.n_queries)
        self._sum_unless_large(sums)

    def _sum_statements(self, compared: ComparedPartitions) -> None:
        """The sums of all statements: the blocks are those of statements from now on."""
        self.layout, self.blocks = compared.layout, compared.statements
        self.scale = compared.scale(self.plan.loss)
        self.plan.loss = compared.local_loss(self.plan.loss)
        _, sums, prefers, _ = self._pass_over_data(self.plan)
        if not prefers[0].any():
            raise ValueError("preferences hold no single preference with a positive weight.")
        self._sum_unless_large(sums)

    def _sum_unless_large(self, sums: Sums) -> None:
        """Sum the normal equations, unless conjugate gradients are asked for or much cheaper."""
        layout = self.layout
        is_large = layout.is_sparse and min(layout.n_items, layout.n_features) > DECOMPOSABLE
        if self._solver == "cg" or (self._solver == "auto" and self._is_plain and is_large):
            return
        if self.plan.skips(layout.n_features, layout.is_sparse):
            self.plan.sums_wide = True
            sums = self._pass_over_data(self.plan)[1]
        self._set_sums([self.scale * each for each in sums])

    def _pass_over_data(self, plan: Plan, spread: Sequence[SpreadQuery | None] = ()) -> tuple:
        merges = (joined, added, added, added_by_query)
        return self.cluster.reduce(self.blocks, equations, merges, plan, spread)

    def _sum_spread_queries(self) -> None:
        if not isinstance(self.plan.loss, TieFreeLoss):
            raise ValueError(
                f"{self.plan.loss.name} needs all pairs of a query in one partition: bring each "
                "query into one partition with partition_by_query, or use the magnitude or unit "
                "loss."
            )
        self.plan.sums_wide = True
        spread = self.spread_pass(self.plan)
        layout, self.whole_sums = spread.layout, spread.whole_sums
        self.layout = layout
        split = split_queries(layout, self.blocks, self.cluster)
        refuse_split({k: v for k, v in split.items() if k not in self.plan.spread}, SPREAD)
        prefers = np.any([each for _, each in spread.found] + spread.whole_prefers, axis=0)
        refuse_no_preference(prefers, layout.n_items, layout.n_queries)
        self.spread_sums = [sums for sums, _ in spread.found]
        self._set_sums(added([self.whole_sums, *self.spread_sums]))

    def spread_pass(self, plan: Plan) -> SpreadPass:
        """The sums of whole and of spread queries, in two passes over the data."""
        loss = plan.loss
        assert isinstance(loss, TieFreeLoss)
        facts, tallies = self.cluster.reduce(self.blocks, tally, (joined, tallied), plan)
        for label, one_tally in zip(plan.spread, tallies):
            if one_tally is None:
                raise ValueError(f"spread names {label!r}, which is no label in qid.")
        is_sparse = Layout(facts).is_sparse and plan.map is None
        queries = [
            None if isinstance(each, StratumTally) else SpreadQuery(each, loss, is_sparse)
            for each in tallies
        ]
        facts, whole_sums, whole_prefers, parts = self._pass_over_data(plan, queries)
        found = [
            self._stratum(plan, i, tallies[i])
            if query is None
            else (query.finish(sums), query.prefers)
            for i, (query, sums) in enumerate(zip(queries, parts))
        ]
        return SpreadPass(Layout(facts), whole_sums, whole_prefers or [], found)

    def _stratum(self, plan: Plan, query: int, tally: StratumTally) -> tuple[Sums, np.ndarray]:
        """The sums of a spread stratum of censored outcomes, and whether it has a pair."""
        assert isinstance(plan.loss, TieFreeLoss)
        data = (self.cluster, self.blocks, plan.part_of(query), plan.features)
        sums, prefers = stratum_sums(*data, plan.loss, tally)
        return sums, np.array([prefers])

    def _set_sums(self, sums: Sums) -> None:
        n = len(sums[-1])
        refuse_too_large(n, n, "the matrix XᵀX", 'use solver="cg"')
        self.systems = self.plan.systems(sums)

    @cached_property
    def spectra(self) -> Spectra | None:
        """The decompositions, when hold-outs first need them; None if there are no sums."""
        if self.systems is None:
            return None
        return [(columns, system.spectrum) for columns, system in self.systems]

    def path(self, alphas: Alphas) -> np.ndarray:
        """(a, d, k) coefficients of the model for every alpha."""
        if self.systems is None:
            return self._cg_path(alphas)
        n = len(self.systems[0][1].gram[0])
        solutions = np.empty((len(alphas), n, self.layout.n_outputs))
        for columns, system in self.systems:
            solutions[:, :, columns] = system.path(alphas)
        if self.space is None:
            return solutions
        return np.stack([self.space.to_model(solution) for solution in solutions])

    def _cg_path(self, alphas: Alphas) -> np.ndarray:
        """By conjugate gradients, one round trip per product; starts from the next larger alpha."""
        k, n = self.layout.n_outputs, self.layout.n_features
        weights = np.empty((len(alphas), n, k))
        identity = Features(sparse.eye_array(n, format="csr"))
        for columns in self.plan.loss.equation_groups(k):
            quadratic: Any = _RemoteQuadratic(self, columns)
            solver, start = ConjugateGradientSolver(identity, quadratic, **self._limits), None
            for i in np.argsort(-np.asarray(alphas), kind="stable"):
                solution = solver.solve(alphas[i], start=start)
                weights[i][:, columns] = start = solution.w
                self.n_iter = max(self.n_iter, solution.n_iter)
        return weights


class _RemoteQuadratic:
    """wᵀ(XᵀLX)w − 2wᵀXᵀb for a solver that believes the n weights to be scores of n items."""

    offers = frozenset({"quadratic"})

    def __init__(self, problem: PartitionedProblem, columns: np.ndarray):
        self._problem, self._columns = problem, columns
        self.laplacian = self.target = self
        self.b = self.apply(None)

    def apply(self, w: np.ndarray | None) -> np.ndarray:
        problem = self._problem
        shared = (problem.plan, self._columns, w)
        return problem.scale * problem.cluster.reduce(problem.blocks, product, added, *shared)[0]
