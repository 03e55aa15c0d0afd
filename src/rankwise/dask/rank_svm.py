"""RankSVM on a cluster: the local solvers, with a risk whose parts live on the workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.dask.cluster import Cluster, added, joined
from rankwise.dask.compared_partitions import ComparedPartitions
from rankwise.dask.partition_layout import Facts, Layout, refuse_split, split_queries
from rankwise.dask.partitioned_ranker import PartitionedRanker, gather_reduced_space
from rankwise.dask.partitions import Block, as_blocks, check_block
from rankwise.learners.rank_svm import RankSVM as LocalRankSVM
from rankwise.learners.risk_ranker import Pull
from rankwise.losses.losses_by_name import hinge_risks, is_smooth
from rankwise.losses.query_weights import PAIRS
from rankwise.losses.risk import SMOOTH, Evaluation, NoPreference, Risk
from rankwise.numerics.products import Products
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.nystrom_map import NystromMap
from rankwise.spaces.space import LinearSpace, ReducedSpace, Space
from rankwise.supervision.supervision import Supervision, refuse_no_preference
from rankwise.validation import check_positive

TOO_LARGE = (
    "RankSVM counts pairs within partitions. Bring the query into one partition, for example with "
    "rechunk or repartition(npartitions=1), if a worker can hold it; cut it into queries whose "
    "items are to be compared and pass qid; learn from a sample of its items; or use "
    "rankwise.dask.RankRLS, which needs only sums and stays exact."
)


class RankSVM(PartitionedRanker, LocalRankSVM):
    """rankwise.RankSVM fitted on Dask arrays, frames or lists of delayed partitions.

    y may hold censored outcomes: a structured Dask array, or a list of Censored partitions.

    The objective, the arguments, the solvers and the certificate are the same. The client runs the
    bundle or Newton method in n variables. Every evaluation of the risk, and every product with its
    Hessian, is one round trip: w goes out, and one vector of n + 1 numbers comes back from each
    partition; the vectors are added in a fixed order. The workers keep the partitions until the
    fit ends, and what they need to count pairs, about 60 bytes per item and output.

    A query must lie within one partition, and the fit checks that. Kernels need basis=, whose rows
    are sent to every worker. The attributes are those of rankwise.RankSVM.

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

    def fit(self, X, y=None, *, qid=None, sample_weight=None, preferences=None):
        """Learn from scores y, which are cut into partitions as X is, as is sample_weight; or from
        `preferences`, which name rows of X, numbered through its partitions. The rows that a
        statement names are brought together. Ctrl-C ends the fit with the best model so far."""
        self._check_parameters()
        alpha = check_positive("alpha", self.alpha)
        self._refuse_on_partitions()
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
        reduced: ReducedSpace | None = None
        if self.basis is not None:
            layout = Layout.of(blocks, cluster)
            reduced = gather_reduced_space(self, cluster, blocks, layout)
        types = self.precisions(Kernel.of(self))
        inputs = (None, types) if reduced is None else (reduced.map, np.float64)
        risks_of = partial(hinge_risks, self.loss, query_weight=query_weight)
        parts = cluster.persist(told, Prepared.of, risks_of, *inputs)
        facts, weights, widths = cluster.reduce(parts, Prepared.report, (joined, added, joined))
        layout = Layout(facts) if compared is None else compared.layout
        if compared is None:
            _refuse_spread(layout, blocks, cluster, qid)
            refuse_no_preference(weights[0] > 0, layout.n_items, layout.n_queries)
        elif not weights[0] > 0:
            raise ValueError("preferences hold no single preference with a positive weight.")
        self._set_layout(layout, qid)
        n, kind = max(widths), SmoothRemoteRisk if is_smooth(self.loss) else RemoteRisk
        risks = [kind(cluster, parts, j, n, float(weight)) for j, weight in enumerate(weights[0])]
        identity = sparse.eye_array(n, format="csr")
        space: Space = reduced or LinearSpace(identity, may_be_dual=False)
        limits = {"tol": self.tol, "max_iter": self.max_iter, "verbose": self.verbose}
        starts = self._starts(n, len(risks))
        solutions = self._minimise(
            self._solver_class(), identity, risks, alpha, starts=starts, **limits
        )
        self._last = np.array([found.w for found in solutions]) if self.warm_start else None
        pulls = [Pull.of(found.objective, alpha) for found in solutions]
        spreads = partial(_score_spreads, cluster, parts)
        self._set_solutions(space, solutions, layout.single, pulls, spreads)
        return self


def _score_spreads(cluster: Cluster, parts: list, W: np.ndarray) -> np.ndarray:
    """(k,) the largest difference of the scores Φ W of each output, over all partitions."""
    return np.ptp(np.vstack(cluster.reduce(parts, Prepared.score_range, joined, W)), axis=0)


def _refuse_spread(layout: Layout, blocks: list, cluster: Cluster, qid: Any) -> None:
    """Refuse queries whose pairs do not lie within partitions."""
    if qid is None and layout.n_filled > 1:
        raise ValueError(
            f"without qid all items are one query, which spans {layout.n_filled} partitions. "
            f"{TOO_LARGE}"
        )
    way_out = ". If it fits none: " + TOO_LARGE.removesuffix(".")
    refuse_split(split_queries(layout, blocks, cluster), way_out)


class RemoteRisk(Risk):
    """R(Φ w) as a function of w: for the solvers Φ is the identity, and the items are features."""

    def __init__(self, cluster: Cluster, parts: list, output: int, n: int, total_weight: float):
        self.n_items = n
        self._cluster, self._parts, self._output = cluster, parts, output
        self._total_weight = total_weight

    def at(self, w: np.ndarray) -> Evaluation:
        value, slope = self._mean(Prepared.evaluate, w)
        return Evaluation(max(0.0, float(value[0])), slope, partial(self._curvature, w))

    def _curvature(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self._mean(Prepared.bend, w, v)[0]

    def _mean(self, task: Any, *shared) -> list[np.ndarray]:
        total = self._cluster.reduce(self._parts, task, added, self._output, *shared)
        return [each / self._total_weight for each in total]


class SmoothRemoteRisk(RemoteRisk):
    """The same for a smooth loss."""

    offers = SMOOTH


@dataclass
class Prepared:
    """A partition as it stays on its worker; its methods are the tasks of the round trips."""

    facts: Facts
    products: Any = None
    """The two products with Φ; None for an empty partition."""
    risks: list[Any] = field(default_factory=list)
    """The risk of each output; None if the partition has no pair to learn from."""
    n_bytes: int = 0

    @classmethod
    def of(
        cls,
        block: Block,
        number: int,
        risks_of: Callable[[Supervision], list[Risk]],
        kernel_map: NystromMap | None,
        precisions: Any,
    ) -> Prepared:
        items = check_block(block, number, precisions)
        facts = Facts.of(block, items, number)
        if items is None:
            return cls(facts)
        phi: Any = items.X if kernel_map is None else kernel_map.embed(items.X)
        risks: list[Any] = []
        for j in range(items.supervision.n_outputs):
            try:
                risks += risks_of(items.supervision.select_outputs(np.array([j])))
            except NoPreference:
                risks.append(None)
        size = phi.data.nbytes + phi.indices.nbytes if sparse.issparse(phi) else phi.nbytes
        return cls(
            facts, Products(phi), risks, size + 60 * items.n_items * items.supervision.n_outputs
        )

    @property
    def shares(self) -> list[float]:
        """The weight of this partition in the risk of each output."""
        return [0.0 if risk is None else risk.total_weight for risk in self.risks]

    def report(self, number: int) -> tuple[list[Facts], list[np.ndarray] | None, list[int]]:
        """The facts of the partition, its shares in the risks, and its number of features."""
        if self.products is None:
            return [self.facts], None, []
        return [self.facts], [np.array(self.shares)], [self.products.shape[1]]

    def score_range(self, number: int, W: np.ndarray) -> list[np.ndarray]:
        """The smallest and the largest score Φ W of each output; none for an empty partition."""
        if self.products is None:
            return []
        scores = np.column_stack([self.products.scores(w) for w in W.T])
        return [scores.min(axis=0), scores.max(axis=0)]

    def evaluate(self, number: int, output: int, w: np.ndarray) -> list[np.ndarray] | None:
        """[value of the risk, subgradient in w] times the share; None without a pair."""
        evaluation = self._evaluation(output, w)
        if evaluation is None:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            value, slope = evaluation.value, self.products.pullback(evaluation.gradient)
            return [each * self.shares[output] for each in (np.array([value]), slope)]

    def bend(
        self, number: int, output: int, w: np.ndarray, v: np.ndarray
    ) -> list[np.ndarray] | None:
        """[Φᵀ ∇²R Φ v] at the predictions of w, times the share; None without a pair."""
        evaluation = self._evaluation(output, w)
        if evaluation is None:
            return None
        assert evaluation.curvature is not None
        with np.errstate(over="ignore", invalid="ignore"):
            bent = evaluation.curvature(self.products.scores(v))
            return [self.shares[output] * self.products.pullback(bent)]

    def _evaluation(self, output: int, w: np.ndarray) -> Evaluation | None:
        """The risk of the predictions Φ w. The last one is kept, because its curvature is next."""
        if self.products is None or self.risks[output] is None:
            return None
        last = vars(self).get("_last")
        if last is not None and last[0] == output and np.array_equal(last[1], w):
            return last[2]
        with np.errstate(over="ignore", invalid="ignore"):
            evaluation = self.risks[output].at(self.products.scores(w))
        self._last = (output, w, evaluation)
        return evaluation

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_last"}

    def __sizeof__(self) -> int:
        return self.n_bytes
