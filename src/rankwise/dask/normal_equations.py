"""What each partition adds to the normal equations XᵀLX and Xᵀb of a quadratic loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.dask.partition_layout import Facts
from rankwise.dask.partitions import Block, Items, check_block
from rankwise.dask.spread_queries import SpreadQuery, Tally
from rankwise.dask.spread_strata import StratumTally
from rankwise.holdout.quadratic_problem import DECOMPOSABLE
from rankwise.losses.pair_losses import PairLoss
from rankwise.numerics.arrays import Matrix
from rankwise.solvers.cholesky import NormalEquations
from rankwise.solvers.spectrum import PrimalSpectrum
from rankwise.spaces.nystrom_map import NystromMap
from rankwise.supervision.censored import CensoredItems

Sums = list[np.ndarray]
"""XᵀLX for each group of outputs that share it (`loss.equation_groups`), and last Xᵀb."""
Systems = list[tuple[np.ndarray, NormalEquations]]
"""Groups of outputs, each with its normal equations."""
Spectra = list[tuple[np.ndarray, PrimalSpectrum]]
"""Groups of outputs, each with the decomposition of its sums."""


@dataclass
class Plan:
    """How a worker turns a block into its part of the problem."""

    loss: PairLoss
    map: NystromMap | None = None
    spread: list = field(default_factory=list)
    """The labels of the queries that lie in several partitions; [None] if there is no qid."""
    sums_wide: bool = True
    """Whether sparse blocks with many features are summed; if not, they report facts only."""
    left_out: Any = None
    """The label of a query whose items do not count, if `leaves_out`."""
    leaves_out: bool = False

    def features(self, X: Matrix) -> Matrix:
        return X if self.map is None else self.map.embed(X)

    def skips(self, n_features: int, is_sparse: bool) -> bool:
        return is_sparse and n_features > DECOMPOSABLE and not self.sums_wide

    def split(self, block: Block, items: Items | None) -> tuple[Items | None, list[Items | None]]:
        """The items of the queries that are whole in this partition, and of each spread query.

        None takes the place of items that are not there.
        """
        if items is None or not (self.spread or self.leaves_out):
            return items, [None] * len(self.spread)
        if block.qid is None:
            return None, [items]
        queries = items.supervision.queries
        codes = {label: code for code, label in enumerate(queries.labels)}
        is_whole = np.ones(items.n_items, dtype=bool)
        if self.leaves_out and self.left_out in codes:
            is_whole[queries.members(codes[self.left_out])] = False
        parts: list[Items | None] = []
        for label in self.spread:
            rows = np.sort(queries.members(codes[label])) if label in codes else None
            if rows is not None:
                is_whole[rows] = False
            parts.append(None if rows is None else items.take(rows))
        return items.take(np.flatnonzero(is_whole)) if is_whole.any() else None, parts

    def part_of(self, query: int) -> Callable[[Block, Items | None], Items | None]:
        """A function that gives the items of one spread query in a block."""
        return partial(_part_of, self, query)

    def systems(self, sums: Sums) -> Systems:
        """The normal equations of each group of outputs, not yet solved."""
        *grams, moments = sums
        groups = self.loss.equation_groups(moments.shape[1])
        return [(c, NormalEquations(G, moments[:, c])) for c, G in zip(groups, grams)]

    def decompose(self, sums: Sums) -> Spectra:
        """O(n³) for each group of outputs."""
        return [(columns, system.spectrum) for columns, system in self.systems(sums)]


def _part_of(plan: Plan, query: int, block: Block, items: Items | None) -> Items | None:
    return plan.split(block, items)[1][query]


def tally(block: Block, number: int, plan: Plan) -> tuple[list[Facts], list]:
    """The facts of a partition, and a tally of the items of each spread query."""
    items = check_block(block, number)
    _, parts = plan.split(block, items)
    tallies = [None if part is None else _tally_of(plan, part) for part in parts]
    return [Facts.of(block, items, number)], tallies


def _tally_of(plan: Plan, part: Items) -> Tally | StratumTally:
    features = plan.features(part.X)
    if isinstance(part.supervision, CensoredItems):
        return StratumTally.of(features, part.supervision)
    return Tally.of(features, part.scores, plan.loss.outputs_always_share)


def equations(
    block: Block, number: int, plan: Plan, spread: Sequence[SpreadQuery | None] = ()
) -> tuple:
    """The facts of a partition; the sums of its whole queries, and [which outputs have a
    preference in them]; the sums of its items of each spread query (None for a stratum)."""
    items = check_block(block, number)
    facts = [Facts.of(block, items, number)]
    whole, parts = plan.split(block, items)
    spread_sums = [
        None if part is None or query is None else query.sums(plan.features(part.X), part.scores)
        for query, part in zip(spread, parts)
    ]
    if whole is None:
        return facts, None, None, spread_sums
    prefers = [whole.supervision.prefers()]
    if plan.skips(whole.X.shape[1], sparse.issparse(whole.X)):
        return facts, None, prefers, spread_sums
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            features = plan.features(whole.X)
            grams, moments = plan.loss.normal_equations(features, whole.supervision)
    except ValueError as error:
        raise type(error)(f"partition {number}: {error}") from error
    return facts, [*grams, moments], prefers, spread_sums


def product(
    block: Block, number: int, plan: Plan, columns: np.ndarray, W: np.ndarray | None
) -> list[np.ndarray] | None:
    """XᵀLX W of the outputs `columns`, for one step of conjugate gradients; Xᵀb if W is None."""
    items = check_block(block, number)
    if items is None:
        return None
    quadratic = plan.loss.quadratic(items.supervision.select_outputs(columns))
    if W is None:
        return [np.asarray(items.X.T @ quadratic.target.b)]
    return [np.asarray(items.X.T @ quadratic.laplacian.apply(np.asarray(items.X @ W)))]
