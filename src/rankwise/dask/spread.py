"""Queries too large for a partition: RankRLS from global sums, exactly, in two passes.

In a query of weight V with tie classes k of weight V_k (ties kept: none) the normal equations are,
with x measured from any fixed point,

    XᵀLX = c (Σ v (V − V_k) x xᵀ − s sᵀ + Σ_k s_k s_kᵀ) ,    s = Σ v x ,  s_k = Σ_(i in k) v x

and Xᵀb = c Σ v β x, where β depends on the item's own score and on V, Σ v y and the weights of the
classes. So a first pass tallies those, and the mean, from which the second measures x so that no
digits cancel. Only sums leave a partition: O(n²), and n for every score that several items share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from rankwise.dask.blocks import Block, check_block
from rankwise.dask.equations import Plan, Report, added, equations, merged, taken
from rankwise.exceptions import TooLarge

MOST_LEVEL_BYTES = 2e8
"""Sums by score level take no more than this a partition."""


@dataclass
class Tally:
    """Σv, Σv², Σvx, Σvy over a query, and where ties matter its score levels with their weights."""

    weight: float
    squares: float
    x: np.ndarray
    y: np.ndarray
    low: np.ndarray
    high: np.ndarray
    """(k,) extremes of y over items with a weight."""
    levels: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
    """For every output: the distinct scores, their weights and their numbers of items."""


def tally(block: Block, number: int, plan: Plan) -> list[Tally | None]:
    items = check_block(block, number)
    if items is None:
        return [None] * len(plan.spread)
    found: list[Tally | None] = []
    for rows in plan.spread_rows(block, items):
        if not len(rows):
            found.append(None)
            continue
        part = taken(items, rows)
        v, phi = part.weight, plan.features(part.X)
        levels = [] if plan.keeps_ties else [_levels(y, v) for y in part.Y.T]
        low = np.where(v[:, None] > 0, part.Y, np.inf).min(axis=0)
        high = np.where(v[:, None] > 0, part.Y, -np.inf).max(axis=0)
        x, y = np.asarray(phi.T @ v), part.Y.T @ v
        found.append(Tally(v.sum(), v @ v, x, y, low, high, levels))
    return found


def _levels(y: np.ndarray, weight: np.ndarray):
    values, codes = np.unique(y, return_inverse=True)
    return values, np.bincount(codes, weight), np.bincount(codes)


def tallied(lists: list[list[Tally | None]]) -> list[Tally | None]:
    return [_sum_of([tally for tally in column if tally is not None]) for column in zip(*lists)]


def _sum_of(tallies: list[Tally]) -> Tally | None:
    if len(tallies) < 2:
        return tallies[0] if tallies else None
    levels = []
    for parts in zip(*(each.levels for each in tallies)):
        values, codes = np.unique(np.concatenate([p[0] for p in parts]), return_inverse=True)
        weights, counts = (np.concatenate([p[i] for p in parts]) for i in (1, 2))
        counts = np.bincount(codes, counts).astype(np.int64)
        levels.append((values, np.bincount(codes, weights), counts))
    total = {
        name: np.sum([getattr(each, name) for each in tallies], axis=0)
        for name in ("weight", "squares", "x", "y")
    }
    low = np.min([each.low for each in tallies], axis=0)
    high = np.max([each.high for each in tallies], axis=0)
    return Tally(**total, low=low, high=high, levels=levels)


class SpreadQuery:
    """The broadcast numbers of one spread query, for one pass over its items."""

    def __init__(self, tally: Tally, plan: Plan, is_sparse: bool):
        V = tally.weight
        self.V, self.keeps_ties, self.loss = V, plan.keeps_ties, plan.loss
        self.mean_y = tally.y / V if V > 0 else tally.y
        self.centre = None if is_sparse or not V > 0 else tally.x / V
        self.levels = tally.levels
        pairs = [(V**2 - tally.squares) / 2] if plan.keeps_ties else []
        pairs += [(V**2 - weights @ weights) / 2 for _, weights, _ in tally.levels]
        self.scale = [_inverse(p) if plan.by_query else 1.0 for p in pairs]
        self.prefers = tally.low < tally.high

    def tied(self, j: int) -> np.ndarray:
        """The levels of output j that several items share."""
        return np.flatnonzero(self.levels[j][2] > 1) if self.levels else np.zeros(0, dtype=int)

    def sums(self, phi, Y: np.ndarray, v: np.ndarray) -> list[np.ndarray]:
        """[G_j ..., moments, s, S_j ...] of some of its items, before the low-rank terms."""
        A = phi if self.centre is None else phi - self.centre
        n, k = phi.shape[1], Y.shape[1]
        s = np.asarray(A.T @ v)
        if self.keeps_ties:
            c = self.scale[0]
            residual = v[:, None] * (Y - self.mean_y)
            return [_weighted(A, c * self.V * v), np.asarray(A.T @ (c * self.V * residual)), s]
        grams, moments, classes = [], np.empty((n, k)), []
        for j in range(k):
            values, weights, _ = self.levels[j]
            place, tied = np.searchsorted(values, Y[:, j]), self.tied(j)
            own = np.zeros(len(values))
            own[tied] = weights[tied]
            grams.append(_weighted(A, self.scale[j] * v * (self.V - own[place])))
            beta = self.V * (Y[:, j] - self.mean_y[j])
            if self.loss == "unit":
                beta = (2 * (np.cumsum(weights) - weights) + weights - self.V)[place]
            moments[:, j] = np.asarray(A.T @ (self.scale[j] * v * beta))
            classes.append(_class_sums(A, v, place, tied, len(values)))
        return [*grams, moments, s, *classes]

    def finish(self, sums: list[np.ndarray]) -> list[np.ndarray]:
        """[G_j ..., moments] of the whole query."""
        groups = len(self.scale)
        grams, moments, s = sums[:groups], sums[groups], sums[groups + 1]
        classes = sums[groups + 2 :] or [np.zeros((0, len(s)))]
        full = [G + c * (S.T @ S - np.outer(s, s)) for G, c, S in zip(grams, self.scale, classes)]
        return [*full, moments]


def _class_sums(A, v, place, tied, n_levels) -> np.ndarray:
    if 8.0 * len(tied) * A.shape[1] > MOST_LEVEL_BYTES:
        raise TooLarge(
            f"a query spread over partitions has {len(tied)} scores that several items share, and "
            f"sums of {A.shape[1]} features for each: with ties dropped that is too much. Round y, "
            'or use loss="magnitude" with ties="keep".'
        )
    rank = np.full(n_levels, -1)
    rank[tied] = np.arange(len(tied))
    rows = rank[place]
    inside = np.flatnonzero(rows >= 0)
    shape = (len(tied), len(v))
    sums = sparse.csr_array((v[inside], (rows[inside], inside)), shape=shape) @ A
    return np.asarray(sums.todense() if sparse.issparse(sums) else sums)


def _weighted(A, d: np.ndarray) -> np.ndarray:
    """Aᵀ diag(d) A."""
    if sparse.issparse(A):
        return np.asarray((A.T @ sparse.diags_array(d) @ A).todense())
    half = A * np.sqrt(np.maximum(d, 0.0))[:, None]
    return half.T @ half


def spread_equations(block: Block, number: int, plan: Plan, queries: list[SpreadQuery]):
    """The report of the whole queries, and the sums of each spread one."""
    report = equations(block, number, plan)
    items = check_block(block, number)
    if items is None:
        return report, [None] * len(queries)
    sums: list[list[np.ndarray] | None] = []
    for query, rows in zip(queries, plan.spread_rows(block, items)):
        if not len(rows):
            sums.append(None)
            continue
        part = taken(items, rows)
        sums.append(query.sums(plan.features(part.X), part.Y, part.weight))
    return report, sums


def merged_with_spread(pairs: list) -> tuple[Report, list]:
    reports, sums = zip(*pairs)
    return merged(list(reports)), [added(list(column)) for column in zip(*sums)]


def _inverse(value: float) -> float:
    return 1.0 / value if value > 0 else 0.0
