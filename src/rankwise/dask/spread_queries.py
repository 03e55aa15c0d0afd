"""Queries that are too large for one partition: exact normal equations from sums, in two passes.

Let V be the total weight of a query, V_k the weight of its tie class k (if ties are kept, there are
no classes), c its scale, and x measured from any fixed point. Then

    XᵀLX = c (Σ v (V − V_k) x xᵀ − s sᵀ + Σ_k s_k s_kᵀ) ,    s = Σ v x ,  s_k = Σ_(i in k) v x
    Xᵀb  = c V Σ v (t − t̄) x

where t are the target scores: those of the items, or of their classes (unit loss). The first pass
finds the weights of the query and its classes, the mean of x and that of t. The second pass
measures x from its mean, so that no digits cancel. Only sums leave a partition: O(n²) numbers, and
n for every score that several items share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from rankwise.dask.cluster import added
from rankwise.dask.spread_strata import StratumTally
from rankwise.exceptions import TooLarge
from rankwise.losses.pair_losses import TieFreeLoss
from rankwise.losses.query_weights import inverse_or_zero, kept_pair_total
from rankwise.numerics.arrays import Matrix, dense
from rankwise.supervision.queries import Queries
from rankwise.supervision.supervision import ScoredItems

MOST_LEVEL_BYTES = 2e8
"""The sums by score level of one partition take no more than this."""


class Levels(NamedTuple):
    """The distinct scores of one output, with their weights and their numbers of items."""

    values: np.ndarray
    weights: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray, weights: np.ndarray, counts: np.ndarray) -> Levels:
        values, codes = np.unique(y, return_inverse=True)
        return cls(values, np.bincount(codes, weights), np.bincount(codes, counts))


@dataclass
class Tally:
    """Sums over the items of a query, or over some of them."""

    weight: float
    squares: float
    """Σ v and Σ v²."""
    x: np.ndarray
    y: np.ndarray
    """Σ v x and Σ v y."""
    low: np.ndarray
    high: np.ndarray
    """(k,) extremes of y over the items with a positive weight."""
    levels: list[Levels]
    """One for each output; none if ties are kept."""

    @classmethod
    def of(cls, phi: Matrix, items: ScoredItems, keeps_ties: bool) -> Tally:
        Y, v, ones = items.Y, items.weight, np.ones(items.n_items)
        low = np.where(v[:, None] > 0, Y, np.inf).min(axis=0)
        high = np.where(v[:, None] > 0, Y, -np.inf).max(axis=0)
        levels = [] if keeps_ties else [Levels.of(y, v, ones) for y in Y.T]
        return cls(v.sum(), v @ v, np.asarray(phi.T @ v), Y.T @ v, low, high, levels)

    @classmethod
    def total(cls, tallies: list[Tally]) -> Tally:
        sums = {
            name: np.sum([getattr(each, name) for each in tallies], axis=0)
            for name in ("weight", "squares", "x", "y")
        }
        low = np.min([each.low for each in tallies], axis=0)
        high = np.max([each.high for each in tallies], axis=0)
        levels = [
            Levels.of(*(np.concatenate(columns) for columns in zip(*parts)))
            for parts in zip(*(each.levels for each in tallies))
        ]
        return cls(**sums, low=low, high=high, levels=levels)


def tallied(lists: list[list]) -> list:
    """The tallies of each spread query (or stratum), added up; None where there is none."""
    return [_sum_of([part for part in parts if part is not None]) for parts in zip(*lists)]


def _sum_of(tallies: list) -> Tally | StratumTally | None:
    if len(tallies) < 2:
        return tallies[0] if tallies else None
    return type(tallies[0]).total(tallies)


class SpreadQuery:
    """The numbers of one spread query that every worker needs for the second pass."""

    def __init__(self, tally: Tally, loss: TieFreeLoss, is_sparse: bool):
        self.V, self.levels = tally.weight, tally.levels
        self.groups = loss.equation_groups(len(tally.y))
        self.centre = None if is_sparse or not self.V > 0 else tally.x / self.V
        self.prefers = tally.low < tally.high
        self.mean = tally.y * inverse_or_zero(self.V)
        totals = [kept_pair_total(level.weights) for level in self.levels]
        self.scale = [
            float(loss.weighting.scale(self.V, U))
            for U in totals or [(self.V**2 - tally.squares) / 2]
        ]
        self.targets = [self._level_scores(loss, level) for level in self.levels]

    def _level_scores(self, loss: TieFreeLoss, level: Levels) -> np.ndarray:
        """The target score of each level: the query as if it had one item per level."""
        one_query = Queries.from_labels(None, len(level.values))
        items = ScoredItems(level.values[:, None], one_query, level.weights)
        scores = loss.class_scores(items, level.weights, np.array([0, len(level.values)]))
        return level.values if scores is None else scores

    def sums(self, phi: Matrix, items: ScoredItems) -> list[np.ndarray]:
        """Sums over some items of the query, before the terms of low rank.

        [one Gram matrix per group of outputs, moments, s, one matrix of the s_k per group]
        """
        A = phi if self.centre is None else phi - self.centre
        v, grams, classes = items.weight, [], []
        moments = np.empty((A.shape[1], items.n_outputs))
        for g, columns in enumerate(self.groups):
            diagonal = weight = self.V * self.scale[g] * v
            targets, mean = items.Y, self.mean
            if self.levels:
                level = self.levels[g]
                position = np.searchsorted(level.values, items.Y[:, g])
                own = np.where(level.counts > 1, level.weights, 0.0)
                diagonal = self.scale[g] * v * (self.V - own[position])
                targets = self.targets[g][position, None]
                mean = level.weights @ self.targets[g] * inverse_or_zero(self.V)
                classes.append(_class_sums(A, v, position, level))
            grams.append(_weighted_gram(A, diagonal))
            moments[:, columns] = np.asarray(A.T @ (weight[:, None] * (targets - mean)))
        return [*grams, moments, np.asarray(A.T @ v), *classes]

    def finish(self, sums: list[np.ndarray]) -> list[np.ndarray]:
        """The normal equations of the whole query."""
        n_groups = len(self.groups)
        grams, moments, s = sums[:n_groups], sums[n_groups], sums[n_groups + 1]
        classes = sums[n_groups + 2 :] or [np.zeros((0, len(s)))]
        full = [G + c * (S.T @ S - np.outer(s, s)) for G, c, S in zip(grams, self.scale, classes)]
        return [*full, moments]


def _class_sums(A: Matrix, v: np.ndarray, position: np.ndarray, level: Levels) -> np.ndarray:
    """(tied, n) Σ v x over the items of each level that several items share."""
    is_tied = level.counts > 1
    n_tied = np.count_nonzero(is_tied)
    if 8.0 * n_tied * A.shape[1] > MOST_LEVEL_BYTES:
        raise TooLarge(
            f"a query that is spread over partitions has {n_tied} scores that several items share, "
            f"and each needs sums of {A.shape[1]} features, which is too much if ties are dropped. "
            'Round y, or use loss="magnitude" with ties="keep".'
        )
    inside = np.flatnonzero(is_tied[position])
    rows = (np.cumsum(is_tied) - 1)[position[inside]]
    membership = sparse.csr_array((v[inside], (rows, inside)), shape=(n_tied, len(v)))
    return dense(membership @ A)


def _weighted_gram(A: Matrix, d: np.ndarray) -> np.ndarray:
    """Aᵀ diag(d) A."""
    if sparse.issparse(A):
        return dense(A.T @ sparse.diags_array(d) @ A)
    half = A * np.sqrt(np.maximum(d, 0.0))[:, None]
    return half.T @ half


def added_by_query(lists: list[list]) -> list:
    """The sums of each spread query, added up."""
    return [added(list(parts)) for parts in zip(*lists)]
