"""RankSVM on a cluster: the local solvers, with a risk whose parts live on the workers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.dask.basis import reduced_space
from rankwise.dask.blocks import Block, as_blocks, check_block
from rankwise.dask.cluster import Cluster
from rankwise.dask.collections import LazyRanker
from rankwise.dask.equations import added, facts_only, merged
from rankwise.dask.proof import Facts, Layout, refuse_no_preference, refuse_split, split_queries
from rankwise.learners.rank_svm import PRECISIONS, check_svm_parameters
from rankwise.learners.rank_svm import RankSVM as LocalRankSVM
from rankwise.losses.hinge import Evaluation, NoPreference, Risk, risk_of_scores
from rankwise.numerics.products import Products
from rankwise.validation import check_positive

TOO_LARGE = (
    "RankSVM counts pairs within partitions. Bring the query into one partition, for example with "
    "rechunk or repartition(npartitions=1), if a worker can hold it; cut it into queries whose "
    "items are to be compared and pass qid; learn from a sample of its items; or use "
    "rankwise.dask.RankRLS, which needs only sums and stays exact."
)


class RankSVM(LazyRanker, LocalRankSVM):
    """rankwise.RankSVM fitted on Dask arrays, frames or lists of delayed partitions.

    The same objective, arguments, solvers and certificate: the client runs the bundle or Newton
    method in n variables; every evaluation of the risk, and every Hessian product, is one round
    trip in which w goes out and one vector of n + 1 numbers comes back from each partition, added
    in a fixed order. Partitions are kept on the workers until the fit ends, with what the counting
    of their pairs needs, about 60 bytes an item and output.

    A query must lie within one partition, and the fit proves it. Kernels need basis=, whose rows
    are sent to every worker. Attributes as in rankwise.RankSVM.
    """

    _local_class = LocalRankSVM

    def fit(self, X, y=None, *, qid=None, preferences=None):
        """Learn from scores y, cut into partitions as X is. Ctrl-C ends the fit with the best
        model so far."""
        check_svm_parameters(self)
        alpha = check_positive("alpha", self.alpha)
        self._refuse_exact_kernel()
        if preferences is not None:
            raise ValueError(
                "preferences name rows across partitions: rankwise.dask.RankSVM learns from "
                "scores y. rankwise.RankSVM takes preferences."
            )
        blocks, cluster = as_blocks(X, y, qid), Cluster()
        space = None
        if self.basis is not None:
            layout = Layout(cluster.reduce(blocks, facts_only, merged).facts)
            space = reduced_space(self, cluster, blocks, layout)
        kernel_map = None if space is None else space.map
        parts = cluster.persist(blocks, _prepare, self.loss, kernel_map)
        reports = cluster.reduce(parts, _report, _joined)
        layout = Layout([facts for facts, _, _ in reports])
        if qid is None and len(layout.filled) > 1:
            raise ValueError(
                f"without qid all items are one query, which spans {len(layout.filled)} "
                f"partitions. {TOO_LARGE}"
            )
        if qid is not None:
            way_out = ". Where it fits none: " + TOO_LARGE.removesuffix(".")
            refuse_split(split_queries(layout, blocks, cluster), way_out)
        counted = np.sum([number for _, number, _ in reports], axis=0)
        refuse_no_preference(counted > 0, layout)
        layout.describe(self)
        self._has_queries = qid is not None
        dimensions = max(width for _, _, width in reports)
        risks: list[Risk] = [
            RemoteRisk(cluster, parts, j, dimensions, int(counted[j]))
            for j in range(layout.n_outputs)
        ]
        identity = sparse.eye_array(dimensions, format="csr")
        self._set_solutions(space, self._minimise(identity, risks, alpha), layout.single)
        return self


class RemoteRisk:
    """R(Φ w) as a function of w: for the solvers, Φ is the identity and the items are features."""

    def __init__(self, cluster: Cluster, parts: list, output: int, n: int, n_counted: int):
        self.n_items = n
        self._cluster, self._parts, self._output = cluster, parts, output
        self._n_counted = n_counted

    def at(self, w: np.ndarray) -> Evaluation:
        value, slope = self._sum(_evaluate, w)
        return Evaluation(max(0.0, float(value[0])), slope, partial(self._curvature, w))

    def _curvature(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self._sum(_bend, w, v)[0]

    def _sum(self, task, *shared) -> list[np.ndarray]:
        total = self._cluster.reduce(self._parts, task, added, self._output, *shared)
        return [each / self._n_counted for each in total]


@dataclass
class Prepared:
    """A partition as it stays on its worker."""

    facts: Facts
    products: Any = None
    risks: list[Any] = field(default_factory=list)
    n_counted: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    n_bytes: int = 0

    def evaluated(self, output: int, w: np.ndarray) -> Evaluation:
        """The risk of the predictions Φ w; the last one is remembered for its curvature."""
        last = vars(self).get("_last")
        if last is not None and last[0] == output and np.array_equal(last[1], w):
            return last[2]
        found = self.risks[output].at(self.products.scores(w))
        self._last = (output, w, found)
        return found

    def counts(self, output: int) -> bool:
        return self.products is not None and self.risks[output] is not None

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "_last"}

    def __sizeof__(self) -> int:
        return self.n_bytes


def _prepare(block: Block, number: int, loss: str, kernel_map) -> Prepared:
    items = check_block(block, number, PRECISIONS if kernel_map is None else np.float64)
    facts = Facts.of(block, items, number)
    if items is None:
        return Prepared(facts)
    phi = items.X if kernel_map is None else kernel_map._embed(items.X)
    m, k = items.Y.shape
    risks: list[Any] = []
    n_counted = np.zeros(k, dtype=np.int64)
    for j in range(k):
        try:
            risk: Any = risk_of_scores(np.ascontiguousarray(items.Y[:, j]), items.queries, loss)
        except NoPreference:
            risks.append(None)
            continue
        risks.append(risk)
        n_counted[j] = np.count_nonzero(risk._scores.pairs)
    size = phi.data.nbytes + phi.indices.nbytes if sparse.issparse(phi) else phi.nbytes
    return Prepared(facts, Products(phi), risks, n_counted, size + 60 * m * k)


def _report(part: Prepared, number: int) -> list[tuple[Facts, np.ndarray, int]]:
    if part.products is None:
        return [(part.facts, np.zeros(1, dtype=np.int64), 0)]
    return [(part.facts, part.n_counted, part.products.shape[1])]


def _joined(lists: list[list]) -> list:
    return [each for some in lists for each in some]


def _evaluate(part: Prepared, number: int, output: int, w: np.ndarray):
    """[Σ over queries of their mean loss, and its subgradient in w]; None without a pair."""
    if not part.counts(output):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        found = part.evaluated(output, w)
        share = float(part.n_counted[output])
        return [np.array([share * found.value]), share * part.products.pullback(found.gradient)]


def _bend(part: Prepared, number: int, output: int, w: np.ndarray, v: np.ndarray):
    """[Φᵀ ∇²R Φ v] at the predictions of w."""
    if not part.counts(output):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        curvature: Any = part.evaluated(output, w).curvature
        bent = curvature(part.products.scores(v))
        return [float(part.n_counted[output]) * part.products.pullback(bent)]
