"""A risk whose items live on the workers, as a function of the weights w: value, slope, curvature.

Every evaluation is one round trip: w goes out, and sums over the partitions come back. Queries that
lie in several partitions take one trip more (rankwise.dask.spread_scores).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.dask.cluster import Cluster, added, joined
from rankwise.dask.partition_layout import Facts
from rankwise.dask.partitions import Block, check_block
from rankwise.dask.spread_scores import (
    SpreadItems,
    Told,
    refuse_too_many,
    risks_by_output,
    spread_codes,
)
from rankwise.losses.risk import SMOOTH, Evaluation, Risk
from rankwise.numerics.products import Products
from rankwise.spaces.nystrom_map import NystromMap
from rankwise.supervision.supervision import Supervision

LARGEST = 500
"""Features beyond 2**500 (or below its inverse) have no unit of their own."""


class Parts:
    """All partitions as they stay on the workers, and the pairs that the client counts."""

    def __init__(self, cluster: Cluster, blocks: list, spread: list, risks_of: Any, *inputs):
        """`spread` lists the queries in several partitions, and `inputs` ends the arguments of
        Prepared.of. One round trip."""
        self.cluster, self.spread, self._risks_of = cluster, spread, risks_of
        self.lazy = cluster.persist(blocks, Prepared.of, spread, risks_of, *inputs)
        merges = (joined, added, joined, added)
        found = self.reduce(Prepared.report, merges, len(spread))
        self.facts, self._shares, self._shapes, self._counts = found
        self.items: SpreadItems | None = None
        self.spread_risks: list[Any] = []

    def reduce(self, task: Any, merge: Any, *shared, **which) -> Any:
        return self.cluster.reduce(self.lazy, task, merge, *shared, **which)

    @property
    def n(self) -> int:
        """The number of features."""
        return max(n for n, _ in self._shapes)

    @property
    def unit(self) -> float:
        """A power of two near the largest weight that moves scores by 1. Solvers see w in this
        unit, so that no squares overflow, whatever the unit of the features."""
        largest = max(size for _, size in self._shapes)
        exponent = np.clip(np.frexp(largest)[1], -LARGEST, LARGEST)  # alpha takes its square
        return float(np.ldexp(1.0, -exponent))

    @property
    def weights(self) -> np.ndarray:
        """(k,) the weight of all pairs of each output."""
        spread = [0.0 if risk is None else risk.total_weight for risk in self.spread_risks]
        return self._shares[0] + np.array(spread)

    def add_spread_pairs(self, n_outputs: int) -> None:
        """Bring what y says about the items of spread queries to the client; one round trip."""
        self.spread_risks = [None] * n_outputs
        if not self.spread:
            return
        counts = self._counts[0]
        if not counts.all():
            label = self.spread[int(np.argmin(counts))]
            raise ValueError(f"spread names {label!r}, which is no label in qid.")
        refuse_too_many(int(counts.sum()), n_outputs)
        self.items = SpreadItems(self.reduce(Prepared.tell, joined), len(self.spread))
        self.spread_risks = risks_by_output(self._risks_of, self.items.supervision)

    def pull_back(self, derivative: np.ndarray) -> np.ndarray:
        """Φᵀ g of the items of spread queries."""
        assert self.items is not None
        own = self.items.by_partition(derivative)
        return self.reduce(Prepared.pull_back, added, only=self.items.numbers, own=own)[0]

    def score_spreads(self, W: np.ndarray) -> np.ndarray:
        """(k,) the largest difference of the scores Φ W of each output, over all partitions."""
        return np.ptp(np.vstack(self.reduce(Prepared.score_range, joined, W)), axis=0)


class RemoteRisk(Risk):
    """R(Φ w) as a function of w in the unit of `parts`: for the solvers Φ is the identity, and the
    items are features."""

    def __init__(self, parts: Parts, output: int):
        self.n_items = parts.n
        self._parts, self._output, self._unit = parts, output, parts.unit
        self._total_weight = float(parts.weights[output])
        self._spread_risk = parts.spread_risks[output]

    def at(self, w: np.ndarray) -> Evaluation:
        w = self._unit * w
        (value, slope), scores = self._sums(Prepared.evaluate, (1, self.n_items), w)
        seen = None
        if self._spread_risk is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                seen = self._spread_risk.at(scores)
                share = self._spread_risk.total_weight
                value = value + share * seen.value
                slope = slope + share * self._parts.pull_back(seen.gradient)
        mean = float(value[0]) / self._total_weight
        curvature = partial(self._curvature, w, seen)
        slope = slope * (self._unit / self._total_weight)
        return Evaluation(max(0.0, mean), slope, curvature)

    def _curvature(self, w: np.ndarray, seen: Evaluation | None, v: np.ndarray) -> np.ndarray:
        v = self._unit * v
        (bent,), scores = self._sums(Prepared.bend, (self.n_items,), w, v)
        if seen is not None:
            assert seen.curvature is not None
            with np.errstate(over="ignore", invalid="ignore"):
                bent_scores = seen.curvature(scores)
                bent = bent + self._spread_risk.total_weight * self._parts.pull_back(bent_scores)
        return bent * (self._unit / self._total_weight)

    def _sums(self, task: Any, shapes: tuple, *shared) -> tuple[list[np.ndarray], np.ndarray]:
        """The sums over whole queries, zeros where there are none, and the scores of the items of
        spread queries."""
        total, scores = self._parts.reduce(task, (added, joined), self._output, *shared)
        total = [np.zeros(shape) for shape in shapes] if total is None else total
        return total, np.concatenate(scores) if scores else np.zeros(0)


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
    """The risk of each output over whole queries; None if these have no pair to learn from."""
    whole: Any = None
    """The rows of the whole queries; a slice if these are all rows."""
    spread: Any = None
    """The rows of the spread queries."""
    told: Any = None
    """What the client has to know about them; None if there are none."""
    largest: float = 0.0
    """Of the absolute features."""
    n_bytes: int = 0

    @classmethod
    def of(
        cls,
        block: Block,
        number: int,
        spread: list,
        risks_of: Callable[[Supervision], list[Risk]],
        kernel_map: NystromMap | None,
        precisions: Any,
    ) -> Prepared:
        items = check_block(block, number, precisions)
        facts = Facts.of(block, items, number)
        if items is None:
            return cls(facts)
        phi: Any = items.X if kernel_map is None else kernel_map.embed(items.X)
        supervision, told = items.supervision, None
        codes = spread_codes(supervision.queries, block.qid is not None, spread)
        whole: Any = slice(None)
        rows = np.flatnonzero(codes >= 0)
        risks: list[Any] = [None] * supervision.n_outputs
        if len(rows):
            told = Told.of(number, codes[rows], supervision.take(rows))
            whole = np.flatnonzero(codes < 0)
            supervision = supervision.take(whole)
        if supervision.n_items:
            risks = risks_by_output(risks_of, supervision)
        size = phi.data.nbytes + phi.indices.nbytes if sparse.issparse(phi) else phi.nbytes
        size += 60 * items.n_items * len(risks)
        values = phi.data if sparse.issparse(phi) else phi
        largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
        return cls(facts, Products(phi), risks, whole, rows, told, largest, size)

    @property
    def shares(self) -> list[float]:
        """The weight of the whole queries in the risk of each output."""
        return [0.0 if risk is None else risk.total_weight for risk in self.risks]

    def report(self, number: int, n_spread: int) -> tuple:
        """The facts of the partition, its shares in the risks, its number of features and the
        largest of them, and the number of its items in each spread query."""
        if self.products is None:
            return [self.facts], None, [], None
        codes = np.zeros(0, dtype=int) if self.told is None else self.told.codes
        counts = np.bincount(codes, minlength=n_spread)
        shape = (self.products.shape[1], self.largest)
        return [self.facts], [np.array(self.shares)], [shape], [counts]

    def tell(self, number: int) -> list[Told]:
        """What the client has to know about the items of spread queries."""
        return [] if self.told is None else [self.told]

    def score_range(self, number: int, W: np.ndarray) -> list[np.ndarray]:
        """The smallest and the largest score Φ W of each output; none for an empty partition."""
        if self.products is None:
            return []
        scores = np.column_stack([self.products.scores(w) for w in W.T])
        return [scores.min(axis=0), scores.max(axis=0)]

    def evaluate(
        self, number: int, output: int, w: np.ndarray
    ) -> tuple[list[np.ndarray] | None, list[np.ndarray]]:
        """[value of the risk of the whole queries, subgradient in w] times the share, None without
        a pair; and [scores of the items of spread queries], if there are any."""
        with np.errstate(over="ignore", invalid="ignore"):
            evaluation, scores = self._evaluation(output, w)
            if evaluation is None:
                return None, scores
            slope = self._pulled(self.whole, evaluation.gradient)
            share = self.shares[output]
            return [share * np.array([evaluation.value]), share * slope], scores

    def bend(
        self, number: int, output: int, w: np.ndarray, v: np.ndarray
    ) -> tuple[list[np.ndarray] | None, list[np.ndarray]]:
        """The same for [Φᵀ ∇²R Φ v] at the predictions of w, and the scores Φ v."""
        with np.errstate(over="ignore", invalid="ignore"):
            evaluation, _ = self._evaluation(output, w)
            scores = None if self.products is None else self.products.scores(v)
            if evaluation is None:
                return None, self._of_spread(scores)
            assert scores is not None and evaluation.curvature is not None
            bent = self._pulled(self.whole, evaluation.curvature(scores[self.whole]))
            return [self.shares[output] * bent], self._of_spread(scores)

    def pull_back(self, number: int, derivative: np.ndarray) -> list[np.ndarray]:
        """[Φᵀ g] for derivatives with respect to the scores of the items of spread queries."""
        with np.errstate(over="ignore", invalid="ignore"):
            return [self._pulled(self.spread, derivative)]

    def _pulled(self, rows: Any, derivative: np.ndarray) -> np.ndarray:
        """Φᵀ g, where g is 0 for all other rows."""
        g = np.zeros(self.products.shape[0])
        g[rows] = derivative
        return self.products.pullback(g)

    def _of_spread(self, scores: np.ndarray | None) -> list[np.ndarray]:
        return [] if scores is None or self.told is None else [scores[self.spread]]

    def _evaluation(self, output: int, w: np.ndarray) -> tuple[Evaluation | None, list[np.ndarray]]:
        """The risk of the predictions Φ w, and those of spread queries. The last evaluation is
        kept, because its curvature is next."""
        last = vars(self).get("_last")
        if last is not None and last[0] == output and np.array_equal(last[1], w):
            return last[2:]
        if self.products is None:
            return None, []
        scores, evaluation = self.products.scores(w), None
        if self.risks[output] is not None:
            evaluation = self.risks[output].at(scores[self.whole])
        self._last = (output, w, evaluation, self._of_spread(scores))
        return self._last[2:]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_last"}

    def __sizeof__(self) -> int:
        return self.n_bytes
