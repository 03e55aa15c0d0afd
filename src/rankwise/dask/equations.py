"""Per-partition sums of RankRLS's normal equations, XᵀLX and Xᵀb, by query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.dask.blocks import Block, Items, check_block
from rankwise.dask.proof import Facts
from rankwise.learners.quadratic import DECOMPOSABLE
from rankwise.losses.least_squares import PairwiseScores, Quadratic, normal_equations
from rankwise.solvers.spectral import PrimalSpectrum
from rankwise.spaces.nystrom_map import KernelMap
from rankwise.supervision.queries import Queries


@dataclass
class Plan:
    """What a worker has to know to turn a block into its part of the problem."""

    loss: str
    ties: str
    by_query: bool
    map: KernelMap | None = None
    spread: list = field(default_factory=list)
    """Labels of the queries that lie in several partitions; [None] where there is no qid."""
    any_width: bool = True
    """Whether wide sparse blocks are summed too; if not they only report."""

    @property
    def keeps_ties(self) -> bool:
        return self.loss == "magnitude" and self.ties == "keep"

    def features(self, X):
        return X if self.map is None else self.map._embed(X)

    def scores(self, items: Items) -> PairwiseScores:
        cost = (self.loss, self.ties, self.by_query)
        return PairwiseScores(items.Y, items.queries, items.weight, *cost)

    def spread_rows(self, block: Block, items: Items) -> list[np.ndarray]:
        """The rows of every spread query."""
        if self.spread == [None] and block.qid is None:
            return [np.arange(items.X.shape[0])]
        labels = list(items.queries.labels)
        rows = []
        for label in self.spread:
            code = labels.index(label) if label in labels else None
            rows.append(
                np.zeros(0, dtype=np.intp) if code is None else np.sort(items.queries.members(code))
            )
        return rows


def taken(items: Items, rows: np.ndarray) -> Items:
    queries = items.queries.take(rows) if len(rows) else Queries.from_labels([], 0)
    return Items(items.X[rows], items.Y[rows], items.single, queries, items.weight[rows])


def whole_queries(plan: Plan, block: Block, items: Items) -> Items | None:
    """The items of the queries that are whole in this partition."""
    if not plan.spread:
        return items
    spread = np.concatenate(plan.spread_rows(block, items))
    rows = np.setdiff1d(np.arange(items.X.shape[0]), spread)
    return taken(items, rows) if len(rows) else None


@dataclass
class Report:
    """Facts of the partitions summed, and their sums: [G for each Laplacian, ..., moments]."""

    facts: list[Facts]
    sums: list[np.ndarray] | None
    prefers: np.ndarray | None = None


def equations(block: Block, number: int, plan: Plan) -> Report:
    """One pass: check, report, sum."""
    items = check_block(block, number)
    facts = [Facts.of(block, items, number)]
    if items is None:
        return Report(facts, None)
    wide = sparse.issparse(items.X) and items.X.shape[1] > DECOMPOSABLE
    rest = whole_queries(plan, block, items)
    if rest is None:
        return Report(facts, None)
    scores = plan.scores(rest)
    if wide and not plan.any_width:
        return Report(facts, None, prefers(scores))
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            G, moments = normal_equations(plan.features(rest.X), scores)
    except ValueError as error:
        raise type(error)(f"partition {number}: {error}") from error
    return Report(facts, [*G, moments], prefers(scores))


def facts_only(block: Block, number: int) -> Report:
    return Report([Facts.of(block, check_block(block, number), number)], None)


def merged(reports: list[Report]) -> Report:
    facts = [each for report in reports for each in report.facts]
    prefer = added([None if each.prefers is None else [each.prefers] for each in reports])
    sums = added([report.sums for report in reports])
    return Report(facts, sums, None if prefer is None else prefer[0])


def added(lists: list[Any]) -> Any:
    """Lists of arrays added one to one, in order; None counts as nothing.

    None too where their shapes differ: then the partitions do, and their facts will tell which.
    """
    total = None
    given = [sums for sums in lists if sums is not None]
    if len({tuple(each.shape for each in sums) for sums in given}) > 1:
        return None
    for sums in given:
        if total is None:
            total = [np.array(each) for each in sums]
            continue
        for mine, other in zip(total, sums):
            mine += other
    return total


def prefers(scores: PairwiseScores) -> np.ndarray:
    """(k,) whether any pair of a query has different scores and positive weights."""
    counted = scores.weight > 0
    if not counted.any():
        return np.zeros(scores.Y.shape[1], dtype=bool)
    codes, Y = scores.queries.codes[counted], scores.Y[counted]
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(codes[order]) != 0])
    low = np.minimum.reduceat(Y[order], starts, axis=0)
    return np.any(np.maximum.reduceat(Y[order], starts, axis=0) > low, axis=0)


def product(block: Block, number: int, plan: Plan, columns: np.ndarray, W: np.ndarray):
    """XᵀLX W of the outputs `columns`: a step of conjugate gradients."""
    items, quadratic = _group(block, number, plan, columns)
    if items is None:
        return None
    return [np.asarray(items.X.T @ quadratic.laplacian.apply(np.asarray(items.X @ W)))]


def right_side(block: Block, number: int, plan: Plan, columns: np.ndarray):
    """Xᵀb of the outputs `columns`."""
    items, quadratic = _group(block, number, plan, columns)
    return None if items is None else [np.asarray(items.X.T @ quadratic.target.b)]


def _group(block, number, plan, columns) -> tuple[Any, Quadratic | Any]:
    items = check_block(block, number)
    if items is None:
        return None, None
    scores = PairwiseScores(
        items.Y[:, columns], items.queries, items.weight, plan.loss, plan.ties, plan.by_query
    )
    return items, scores.quadratic()


def output_groups(shared: bool, k: int) -> list[np.ndarray]:
    """Outputs that share their sums."""
    return [np.arange(k)] if shared or k == 1 else [np.array([j]) for j in range(k)]


def decomposed(sums: list[np.ndarray], k: int) -> list[tuple[np.ndarray, PrimalSpectrum]]:
    *grams, moments = sums
    groups = output_groups(len(grams) == 1, k)
    return [(c, PrimalSpectrum.of_sums(G, moments[:, c])) for c, G in zip(groups, grams)]
