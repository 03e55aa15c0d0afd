"""RankSVM on a cluster: the local solvers, with a risk whose parts live on the workers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from scipy import sparse

from rankwise.dask.cluster import Cluster
from rankwise.dask.compared_partitions import ComparedPartitions
from rankwise.dask.partition_layout import SPREAD, Layout, refuse_split, split_queries
from rankwise.dask.partitioned_ranker import PartitionedRanker, gather_reduced_space
from rankwise.dask.partitions import as_blocks
from rankwise.dask.remote_risks import Parts, RemoteRisk, SmoothRemoteRisk
from rankwise.dask.spread_scores import spread_labels
from rankwise.learners.rank_svm import RankSVM as LocalRankSVM
from rankwise.learners.risk_ranker import Pull
from rankwise.losses.losses_by_name import hinge_risks, is_smooth
from rankwise.losses.query_weights import PAIRS
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.space import LinearSpace, ReducedSpace, Space
from rankwise.supervision.supervision import refuse_no_preference
from rankwise.validation import check_positive


class RankSVM(PartitionedRanker, LocalRankSVM):
    """rankwise.RankSVM fitted on Dask arrays, frames or lists of delayed partitions.

    y may hold censored outcomes: a structured Dask array, or a list of Censored partitions.

    The objective, the arguments, the solvers and the certificate are the same. The client runs the
    bundle or Newton method in n variables. Every evaluation of the risk, and every product with its
    Hessian, is one round trip: w goes out, and one vector of n + 1 numbers comes back from each
    partition; the vectors are added in a fixed order. The workers keep the partitions until the
    fit ends, and what they need to count pairs, about 60 bytes per item and output.

    A query must lie within one partition, and the fit checks that (`partition_by_query` arranges
    it). Without qid, with a single query, or for the queries that `spread` names, the client counts
    the pairs. That is exact too: the workers send the scores of the m items of these queries, the
    client counts in O(m log m), and every worker receives the derivatives of its own items. An
    evaluation then takes two round trips, and 16 bytes per item pass through the client. It needs
    about 250 bytes per item, and 50 more for each further output: 25 GB for 100 million items. If
    that exceeds its free memory, the fit is refused.

    Kernels need basis=, whose rows are sent to every worker. The attributes are those of
    rankwise.RankSVM.

    Parameters
    ----------
    alpha, kernel, gamma, degree, coef0, basis, random_state, loss, query_weight
        As in rankwise.RankSVM.
    solver, tol, max_iter, verbose, warm_start
        As in rankwise.RankSVM.

    Examples
    --------
    >>> import dask.array as da
    >>> import rankwise.dask
    >>> from rankwise.datasets import make_ranking
    >>> data = make_ranking(n_queries=6, n_items=10, n_features=3, random_state=0)
    >>> X = da.from_array(data.X, chunks=(20, 3))
    >>> model = rankwise.dask.RankSVM(alpha=0.01).fit(X, data.y, qid=data.qid)
    >>> model.gap_ <= 1e-3
    True
    """

    _local_class = LocalRankSVM

    def fit(self, X, y=None, *, qid=None, sample_weight=None, preferences=None, spread=None):
        """Learn from scores y, which are cut into partitions as X is, as is sample_weight; or from
        `preferences`, which name rows of X, numbered through its partitions. The rows that a
        statement names are brought together. `spread` lists the labels of queries that may lie in
        several partitions. Ctrl-C ends the fit with the best model so far."""
        self._check_parameters()
        alpha = check_positive("alpha", self.alpha)
        self._refuse_on_partitions()
        labels = spread_labels(spread, qid is not None, preferences is not None)
        blocks, cluster = (
            as_blocks(X, y if preferences is None else None, qid, sample_weight),
            Cluster(),
        )
        told, query_weight, compared = blocks, self.query_weight, None
        if preferences is not None:
            compared = ComparedPartitions(blocks, qid is not None, preferences, y)
            blocks, told = compared.items, compared.statements
            # Without qid all statements are of one query: their mean weighs each of them alike.
            query_weight = self.query_weight if compared.has_queries else PAIRS.name
        elif qid is None and len(blocks) > 1:
            labels = [None]
        reduced: ReducedSpace | None = None
        if self.basis is not None:
            layout = Layout.of(blocks, cluster)
            reduced = gather_reduced_space(self, cluster, blocks, layout)
        types = self.precisions(Kernel.of(self))
        inputs = (None, types) if reduced is None else (reduced.map, np.float64)
        risks_of = partial(hinge_risks, self.loss, query_weight=query_weight)
        parts = Parts(cluster, told, labels, risks_of, *inputs)
        layout = Layout(parts.facts) if compared is None else compared.layout
        if compared is None:
            split = split_queries(layout, blocks, cluster)
            if len(split) == layout.n_queries == 1 and not labels:
                parts = Parts(cluster, told, list(split), risks_of, *inputs)
            refuse_split({k: v for k, v in split.items() if k not in parts.spread}, SPREAD)
        parts.add_spread_pairs(layout.n_outputs)
        if compared is None:
            refuse_no_preference(parts.weights > 0, layout.n_items, layout.n_queries)
        elif not parts.weights > 0:
            raise ValueError("preferences hold no single preference with a positive weight.")
        self._set_layout(layout, qid)
        kind = SmoothRemoteRisk if is_smooth(self.loss) else RemoteRisk
        risks = [kind(parts, j) for j in range(len(parts.weights))]
        identity = sparse.eye_array(parts.n, format="csr")
        space: Space = reduced or LinearSpace(identity, may_be_dual=False)
        limits = {"tol": self.tol, "max_iter": self.max_iter, "verbose": self.verbose}
        unit = parts.unit
        starts = [None if w is None else w / unit for w in self._starts(parts.n, len(risks))]
        solutions = self._minimise(
            self._solver_class(), identity, risks, alpha * unit * unit, starts=starts, **limits
        )
        solutions = [replace(found, w=unit * found.w) for found in solutions]
        self._last = np.array([found.w for found in solutions]) if self.warm_start else None
        pulls = [Pull.of(found.objective, alpha) for found in solutions]
        self._set_solutions(space, solutions, layout.single, pulls, parts.score_spreads)
        return self
