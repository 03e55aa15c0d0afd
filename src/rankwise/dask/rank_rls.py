"""RankRLS on a cluster: one pass of sums, then everything the normal equations can tell."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from rankwise.dask import equations, spread
from rankwise.dask.basis import reduced_space
from rankwise.dask.blocks import as_blocks
from rankwise.dask.cluster import Cluster
from rankwise.dask.collections import LazyRanker
from rankwise.dask.heldout import LeaveQueryOut
from rankwise.dask.proof import Layout, refuse_no_preference, refuse_split, split_queries
from rankwise.learners.quadratic import DECOMPOSABLE, check_alphas
from rankwise.learners.rank_rls import RankRLS as LocalRankRLS
from rankwise.numerics.memory import refuse_too_large
from rankwise.solvers.conjugate_gradients import conjugate_gradients

SPREAD = (
    "; a query too large for any partition may stay spread if fit(..., spread=[label]) names it"
)


class RankRLS(LazyRanker, LocalRankRLS):
    """rankwise.RankRLS fitted on Dask arrays, frames or lists of delayed partitions.

    The same objective, arguments and answers. Every partition sends its sums of the normal
    equations, XᵀLX and Xᵀb, O(n²) numbers (an output each, where ties are left out); they are added
    in a fixed order, and one eigendecomposition on the client gives every alpha. Data are read
    once, a partition at a time, and not kept: `persist` them yourself to save later passes.

    A query must lie within one partition, and the fit proves it (`partition_by_query` arranges
    it). Without qid, or with a single query, or for the queries that `spread` names, sums over all
    partitions replace those by query: exact too, in two passes. Kernels need basis=, whose rows
    are sent to every worker; that takes two passes more.

    Attributes as in rankwise.RankRLS. Rows are numbered through the partitions, so `basis` and
    `random_state` choose the items that they would choose locally.
    """

    _local_class = LocalRankRLS

    def fit(self, X, y=None, *, qid=None, sample_weight=None, preferences=None, spread=None):
        """Learn from scores y, cut into partitions as X is; spread lists labels of queries that
        may lie in several partitions."""
        self._check_parameters()
        self._refuse_exact_kernel()
        if preferences is not None:
            raise ValueError(
                "preferences name rows across partitions: rankwise.dask.RankRLS learns from "
                "scores y. rankwise.RankRLS takes preferences."
            )
        blocks = as_blocks(X, y, qid, sample_weight)
        self._problem = _Problem(self, blocks, qid is not None, list(spread or []))
        layout = self._problem.layout
        layout.describe(self)
        self._has_queries, self._single_output = qid is not None, layout.single
        self._space, self._accumulated, self.n_iter_ = self._problem.space, None, 1
        for name in ("coef_", "dual_coef_", "basis_index_", "_X_basis"):
            vars(self).pop(name, None)
        self._set_model(self._solve_path([self.alpha])[0])
        return self

    def _solve_path(self, alphas) -> np.ndarray:
        """(a, model dimensions, k)."""
        problem = self._known_problem()
        found = problem.path(self, alphas)
        if self._space is None:
            return found
        return np.stack([self._space.to_model(solution) for solution in found])

    def _known_problem(self) -> _Problem:
        if getattr(self, "_problem", None) is None:
            raise ValueError("this model was loaded without its sums: fit again.")
        return self._problem

    def leave_query_out(self):
        """Lazy (m,) or (m, k) Dask array: each item predicted by the model trained without its
        whole query; partitions as those of X, one more pass when computed."""
        check_is_fitted(self)
        return self._held_out().predictions(self.alpha)

    def leave_query_out_scores(self, alphas=None, scoring=None) -> dict[str, np.ndarray]:
        """{"alpha", "score", "score_se"}, as RankRLSCV's cv_results_ with cv="leave-query-out".

        One pass over the data for the whole grid (default: this model's alpha); only sums come
        back. `scoring` as in RankRLSCV.
        """
        check_is_fitted(self)
        grid = check_alphas([self.alpha] if alphas is None else alphas)
        return self._held_out().scores(grid, scoring)

    def _held_out(self) -> LeaveQueryOut:
        problem = self._known_problem()
        if problem.spectra is None:
            raise ValueError(
                'leave_query_out needs the sums that solver="cg" avoids: use solver="spectral".'
            )
        return LeaveQueryOut(problem, self._single_output)

    def partial_fit(self, X, y=None, *, qid=None, sample_weight=None):
        """Refused: append partitions to X and fit again, or use rankwise.RankRLS."""
        self._refuse("partial_fit", "append partitions to X and fit again")

    def holdout(self, index):
        """Refused: items would have to be found and left out across partitions."""
        self._refuse("holdout", "use leave_query_out")

    def leave_one_out(self):
        """Refused, as holdout."""
        self._refuse("leave_one_out", "use leave_query_out")

    def leave_pair_out(self, pairs=None):
        """Refused, as holdout."""
        self._refuse("leave_pair_out", "use leave_query_out")

    def _refuse(self, name: str, instead: str):
        raise ValueError(
            f"{name} is not offered on partitions: {instead}, or fit rankwise.RankRLS on a part "
            "that one machine holds."
        )

    def __getstate__(self):
        state = super().__getstate__().copy()
        state["_problem"] = None
        return state


class _Problem:
    """The sums of one training set and what is needed to pass over it again."""

    layout: Layout
    space: Any = None
    spectra: list | None = None
    whole_sums: list[np.ndarray] | None = None

    def __init__(self, model: RankRLS, blocks: list, has_queries: bool, labels: list):
        self.cluster, self.blocks, self.has_queries = Cluster(), blocks, has_queries
        if labels and not has_queries:
            raise ValueError("spread names queries: give qid.")
        by_query = model.query_weight == "queries"
        self.plan = equations.Plan(model.loss, model.ties, by_query, spread=labels)
        self.spread_sums: list[list[np.ndarray]] = []
        if model.basis is not None:
            self._look()
            self.space = reduced_space(model, self.cluster, blocks, self.layout)
            self.plan.map = self.space.map
        self.plan.any_width = model.solver == "spectral" or self.plan.map is not None
        if not has_queries and len(blocks) > 1:
            self.plan.spread = [None]
        self._refuse_relative_spread()
        self._sum(model)

    def _look(self) -> None:
        """A pass for the sizes alone."""
        report = self.cluster.reduce(self.blocks, equations.facts_only, equations.merged)
        self.layout = Layout(report.facts)

    def _sum(self, model: RankRLS) -> None:
        if self.plan.spread:
            if model.solver == "cg":
                raise ValueError(
                    'solver="cg" needs whole queries in partitions: give qid, or use '
                    'solver="spectral".'
                )
            return self._sum_spread()
        plan = (self.plan,)
        report = self.cluster.reduce(self.blocks, equations.equations, equations.merged, *plan)
        self.layout = Layout(report.facts)
        if self._is_one_query():
            self.plan.spread = self._only_label()
            self._refuse_relative_spread()
            return self._sum_spread()
        refuse_split(split_queries(self.layout, self.blocks, self.cluster), SPREAD)
        refuse_no_preference(report.prefers, self.layout)
        if self._uses_cg(model):
            return None
        if report.sums is None:
            self.plan.any_width = True
            return self._sum(model)
        return self._decompose(report.sums)

    def _is_one_query(self) -> bool:
        layout = self.layout
        return self.has_queries and len(layout.filled) > 1 and layout.n_queries == 1

    def _only_label(self) -> list:
        return list(split_queries(self.layout, self.blocks, self.cluster))

    def _refuse_relative_spread(self) -> None:
        if self.plan.spread and self.plan.loss == "relative":
            raise ValueError(
                'loss="relative" needs the graph of a query in one partition: bring each query '
                "into one with partition_by_query, or use the magnitude or unit loss."
            )

    def _uses_cg(self, model: RankRLS) -> bool:
        layout = self.layout
        wide = layout.is_sparse and min(layout.n_items, layout.n_features) > DECOMPOSABLE
        plain = model.kernel == "linear" and model.basis is None
        if model.solver == "cg" and not plain:
            raise ValueError('solver="cg" works on linear kernels without basis=.')
        return model.solver == "cg" or (model.solver == "auto" and plain and wide)

    def _sum_spread(self) -> None:
        tallies = self.cluster.reduce(self.blocks, spread.tally, spread.tallied, self.plan)
        self._look()
        for label, tally in zip(self.plan.spread, tallies):
            if tally is None:
                raise ValueError(f"spread names {label!r}, which is no label in qid.")
        is_sparse = self.layout.is_sparse and self.plan.map is None
        queries = [spread.SpreadQuery(tally, self.plan, is_sparse) for tally in tallies]
        self.plan.any_width = True
        task = (spread.spread_equations, spread.merged_with_spread)
        report, sums = self.cluster.reduce(self.blocks, *task, self.plan, queries)
        self.layout = Layout(report.facts)
        found = split_queries(self.layout, self.blocks, self.cluster)
        refuse_split({k: v for k, v in found.items() if k not in self.plan.spread}, SPREAD)
        prefers = [query.prefers for query in queries]
        if report.prefers is not None:
            prefers.append(report.prefers)
        refuse_no_preference(np.any(prefers, axis=0), self.layout)
        self.spread_sums = [query.finish(part) for query, part in zip(queries, sums)]
        self.whole_sums = report.sums
        self._decompose(equations.added([report.sums, *self.spread_sums]))

    def _decompose(self, sums: list[np.ndarray]) -> None:
        n = len(sums[-1])
        refuse_too_large(n, n, "the matrix XᵀX", 'use solver="cg"')
        self.spectra = equations.decomposed(sums, self.layout.n_outputs)

    def path(self, model: RankRLS, alphas) -> np.ndarray:
        """(a, n, k) weights on the features."""
        if self.spectra is None:
            return self._cg_path(model, alphas)
        n = len(self.spectra[0][1].V)
        found = np.empty((len(alphas), n, self.layout.n_outputs))
        for columns, spectrum in self.spectra:
            found[:, :, columns] = spectrum.path(alphas)
        return found

    def _cg_path(self, model: RankRLS, alphas) -> np.ndarray:
        """By conjugate gradients, a round trip a product."""
        k, n = self.layout.n_outputs, self.layout.n_features
        found = np.empty((len(alphas), n, k))
        identity = sparse.eye_array(n, format="csr")
        for columns in equations.output_groups(self.plan.keeps_ties, k):
            quadratic: Any = _RemoteQuadratic(self, columns)
            start = None
            for place in np.argsort(-np.asarray(alphas), kind="stable"):
                limits: dict[str, Any] = {"tol": model.tol, "max_iter": model.max_iter}
                start, iterations = conjugate_gradients(
                    identity, quadratic, alphas[place], **limits, start=start
                )
                found[place][:, columns] = start
                model.n_iter_ = max(model.n_iter_, iterations)
        return found


class _RemoteQuadratic:
    """(L, b) as conjugate gradients see them, in weights in place of items."""

    def __init__(self, problem: _Problem, columns: np.ndarray):
        self._problem, self._columns = problem, columns
        self.laplacian = self.target = self
        self.b = self._reduce(equations.right_side)

    def apply(self, w: np.ndarray) -> np.ndarray:
        return self._reduce(equations.product, w)

    def _reduce(self, task, *shared) -> np.ndarray:
        problem = self._problem
        given = (problem.plan, self._columns, *shared)
        return problem.cluster.reduce(problem.blocks, task, equations.added, *given)[0]
