"""RankRLS on a cluster: one pass of sums, then everything the normal equations can tell."""

from __future__ import annotations

from typing import NoReturn

import dask.array as da
import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwise.dask.compared_partitions import ComparedPartitions
from rankwise.dask.leave_query_out import LeaveQueryOut
from rankwise.dask.partitioned_problem import PartitionedProblem
from rankwise.dask.partitioned_ranker import PartitionedRanker
from rankwise.dask.partitions import as_blocks, is_lazy
from rankwise.dask.spread_scores import spread_labels
from rankwise.learners.rank_rls import RankRLS as LocalRankRLS
from rankwise.validation import check_alphas, check_positive


class RankRLS(PartitionedRanker, LocalRankRLS):
    """rankwise.RankRLS fitted on Dask arrays, frames or lists of delayed partitions.

    The objective, the arguments and the answers are the same. Every partition sends its sums of the
    normal equations, XᵀLX and Xᵀb: O(n²) numbers, for each output if ties are left out. The sums
    are added in a fixed order. The client factorises them, O(n³/3), and decomposes them when a path
    or a hold-out is asked for. The data are read once, one partition at a time, and not kept:
    `persist` them yourself to make later passes faster.

    A query must lie within one partition, and the fit checks that (`partition_by_query` arranges
    it). Without qid, with a single query, or for the queries that `spread` names, sums over all
    partitions replace the sums by query. They are exact too, and take two passes. Kernels need
    basis=, whose rows are sent to every worker; that takes two passes more. y may hold censored
    outcomes, as a structured Dask array or a list of Censored partitions; the rows of a stratum
    that is spread are sent to other workers once, sorted by ranges of times.

    The attributes are those of rankwise.RankRLS. Rows are numbered through the partitions, so that
    `basis` and `random_state` choose the items that they would choose locally.

    Parameters
    ----------
    alpha, kernel, gamma, degree, coef0, basis, random_state, solver, tol, max_iter
        As in rankwise.RankRLS.
    loss, ties, query_weight
        As in rankwise.RankRLS.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import rankwise.dask
    >>> from rankwise.datasets import make_ranking
    >>> data = make_ranking(n_queries=6, n_items=10, n_features=3, random_state=0)
    >>> X = da.from_array(data.X, chunks=(20, 3))
    >>> model = rankwise.dask.RankRLS(alpha=1.0).fit(X, data.y, qid=data.qid)
    >>> local = rankwise.RankRLS(alpha=1.0).fit(data.X, data.y, qid=data.qid)
    >>> np.allclose(model.coef_, local.coef_)
    True
    """

    _local_class = LocalRankRLS

    def fit(self, X, y=None, *, qid=None, sample_weight=None, preferences=None, spread=None):
        """Learn from scores y, which are cut into partitions as X is. `spread` lists the labels of
        queries that may lie in several partitions.

        `preferences` (a rankwise.Preferences) in place of y name rows of X, numbered through its
        partitions. The rows that a statement names are brought together, and no others move.
        """
        self._checked_pieces()
        self._refuse_on_partitions()
        labels = spread_labels(spread, qid is not None, preferences is not None)
        if preferences is None:
            problem = PartitionedProblem(
                self, as_blocks(X, y, qid, sample_weight), qid is not None, labels
            )
        else:
            blocks = as_blocks(X, None, qid, sample_weight)
            compared = ComparedPartitions(blocks, qid is not None, preferences, y)
            problem = PartitionedProblem.of_statements(self, compared)
        self._set_layout(problem.layout, qid)
        self._single_output = problem.layout.single
        self._problem = problem
        self._X = self._supervision = self._basis = self._accumulated = None
        return self.set_alpha(self.alpha)

    def set_alpha(self, alpha: float) -> RankRLS:
        """Change the fitted model to another alpha, from the sums of the fit: reads no data."""
        problem = self.training_problem
        solution = problem.path([check_positive("alpha", alpha)])[0]
        self.alpha, self.n_iter_ = alpha, problem.n_iter
        self._set_model(problem.representation, solution, self._single_output)
        return self

    @property
    def training_problem(self) -> PartitionedProblem:  # type: ignore[override]
        """The sums of the last fit."""
        if getattr(self, "_problem", None) is None:
            check_is_fitted(self)
            raise ValueError("this model was loaded without its sums: fit again.")
        return self._problem

    def leave_query_out(self) -> da.Array:  # type: ignore[override]
        """Lazy (m,) or (m, k) Dask array: each item predicted by the model trained without its
        whole query. It has the partitions of X; computing it takes one more pass."""
        return LeaveQueryOut(self.training_problem).predictions(check_positive("alpha", self.alpha))

    def leave_query_out_scores(self, alphas=None, scoring=None) -> dict[str, np.ndarray]:
        """{"alpha", "score", "score_se"}, as in RankRLSCV with cv="leave-query-out".

        One pass over the data serves the whole grid (default: the alpha of this model), and only
        sums come back. `scoring` is that of RankRLSCV.
        """
        grid = check_alphas([self.alpha] if alphas is None else alphas)
        return LeaveQueryOut(self.training_problem).scores(grid, scoring)

    def hold_outs(self, X, y=None, **options):
        """Those of rankwise.RankRLS, for data that are not in partitions."""
        if is_lazy(X):
            _refuse("hold_outs", "use leave_query_out")
        return super().hold_outs(X, y, **options)

    def partial_fit(self, X, y=None, *, qid=None, sample_weight=None):
        """Refused: append partitions to X and fit again, or use rankwise.RankRLS."""
        _refuse("partial_fit", "append partitions to X and fit again")

    def holdout(self, index):
        """Refused: the items would have to be found and left out across partitions."""
        _refuse("holdout", "use leave_query_out")

    def leave_one_out(self):
        """Refused for the same reason as holdout."""
        _refuse("leave_one_out", "use leave_query_out")

    def leave_pair_out(self, pairs=None):
        """Refused for the same reason as holdout."""
        _refuse("leave_pair_out", "use leave_query_out")


def _refuse(name: str, instead: str) -> NoReturn:
    raise ValueError(
        f"{name} is not offered on partitions: {instead}, or fit rankwise.RankRLS on a part that "
        "one machine holds."
    )
