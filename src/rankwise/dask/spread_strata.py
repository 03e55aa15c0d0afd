"""A stratum of censored outcomes in several partitions: exact normal equations from sums.

Pairs of a stratum follow the order of the times. So its rows travel first: each worker gets a range
of times, and all items of one time go together. If every time of range a is before every time of
range b, each event i of a is compared with all items h of b. With x and t measured from any fixed
points, the sums over these pairs of v_i v_h (x_h − x_i)(x_h − x_i)ᵀ, and of v_i v_h z (x_h − x_i)
with the target z of the loss, are

    V_b G_a' + V_a' G_b − s_a' s_bᵀ − s_b s_a'ᵀ ,          V = Σ v ,  s = Σ v x ,  G = Σ v x xᵀ
    z = 1:           V_a' s_b − V_b s_a'
    z = t_h − t_i:   V_a' p_b − T_a' s_b − T_b s_a' + V_b p_a' ,    T = Σ v t ,  p = Σ v t x

where the prime means the events alone. Neighbouring ranges are merged in this way, so that O(n²)
numbers leave each range. The rows of the stratum are sent once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed
from scipy import sparse

from rankwise.dask.cluster import Cluster
from rankwise.dask.partitions import Block, check_block, stacked
from rankwise.losses.censored_laplacian import CensoredLaplacian
from rankwise.losses.pair_losses import TieFreeLoss
from rankwise.numerics.arrays import Matrix, dense
from rankwise.supervision.censored import Censored, CensoredItems

SAMPLE = 256
"""Times that a partition reports, from which the ranges are chosen."""


@dataclass
class StratumTally:
    """Sums over the items of a stratum, or over some of them, and a sample of their times."""

    weight: float
    x: np.ndarray
    time: float
    """Σ v, Σ v x and Σ v t."""
    times: np.ndarray

    @classmethod
    def of(cls, phi: Matrix, items: CensoredItems) -> StratumTally:
        v, time = items.weight, items.outcome.time
        chosen = np.linspace(0, len(time) - 1, min(SAMPLE, len(time))).round().astype(int)
        return cls(float(v.sum()), np.asarray(phi.T @ v), float(time @ v), np.sort(time)[chosen])

    @classmethod
    def total(cls, tallies: list[StratumTally]) -> StratumTally:
        return cls(
            sum(each.weight for each in tallies),
            np.sum([each.x for each in tallies], axis=0),
            sum(each.time for each in tallies),
            np.concatenate([each.times for each in tallies]),
        )

    def cuts(self, n_ranges: int) -> np.ndarray:
        """Times at which ranges of about equal sizes begin."""
        places = np.linspace(0, len(self.times), n_ranges + 1)[1:-1].astype(int)
        return np.unique(np.sort(self.times)[places])


def stratum_sums(
    cluster: Cluster,
    blocks: list[Delayed],
    split: Callable[[Block, Any], Any],
    features: Callable[[Any], Matrix],
    loss: TieFreeLoss,
    tally: StratumTally,
) -> tuple[list[np.ndarray], bool]:
    """[XᵀLX, Xᵀb] of one stratum, and whether it has a comparable pair with a weight.

    `split(block, items)` gives the items of the stratum in a block, or None.
    """
    cuts = tally.cuts(len(blocks))
    shared = delayed((split, cuts), pure=False, traverse=False)
    cut = delayed(_cut_by_time, pure=False, nout=len(cuts) + 1)
    pieces = [cut(block, number, shared) for number, block in enumerate(blocks)]
    stack = delayed(_stacked_blocks, pure=False)
    ranges = [stack([piece[j] for piece in pieces]) for j in range(len(cuts) + 1)]
    scale = 1.0 / tally.weight if tally.weight > 0 else 0.0
    centre = (tally.x * scale, tally.time * scale)
    total = cluster.reduce(ranges, _sums_of_range, _merged, (features, loss, centre))
    assert total is not None
    c = float(loss.weighting.scale(tally.weight, total.pairs))
    return [c * total.inner, c * total.pulls[:, None]], total.pairs > 0


def _cut_by_time(block: Block, number: int, shared: tuple) -> list[Block | None]:
    """The items of the stratum in each range of times."""
    split, cuts = shared
    items = split(block, check_block(block, number))
    if items is None:
        return [None] * (len(cuts) + 1)
    assert isinstance(items.supervision, CensoredItems)
    outcome, weight = items.supervision.outcome, items.supervision.weight
    goes_to = np.searchsorted(cuts, outcome.time, side="right")
    pieces: list[Block | None] = []
    for j in range(len(cuts) + 1):
        rows = np.flatnonzero(goes_to == j)
        piece = Block(items.X[rows], outcome[rows], None, weight[rows])
        pieces.append(piece if len(rows) else None)
    return pieces


def _stacked_blocks(pieces: list[Block | None]) -> Block | None:
    given = [piece for piece in pieces if piece is not None]
    if not given:
        return None
    event = np.concatenate([piece.y.event for piece in given])
    time = np.concatenate([piece.y.time for piece in given])
    weight = np.concatenate([piece.weight for piece in given])
    return Block(stacked([piece.X for piece in given]), Censored(event, time), None, weight)


@dataclass
class Moments:
    """V, T, s, p and G of the module's docstring, over some items."""

    V: float
    T: float
    s: np.ndarray
    p: np.ndarray
    G: np.ndarray

    @classmethod
    def of(cls, A: Matrix, t: np.ndarray, v: np.ndarray) -> Moments:
        G = dense(A.T @ (sparse.diags_array(v) @ A if sparse.issparse(A) else v[:, None] * A))
        return cls(v.sum(), v @ t, np.asarray(A.T @ v), np.asarray(A.T @ (v * t)), G)

    def __add__(self, other: Moments) -> Moments:
        return Moments(*(getattr(self, name) + value for name, value in vars(other).items()))


@dataclass
class RangeSums:
    """All pairs inside a range of times, and the moments that pairs with other ranges need."""

    all: Moments
    events: Moments
    inner: np.ndarray
    """Σ v_i v_h (x_h − x_i)(x_h − x_i)ᵀ over the pairs inside."""
    pulls: np.ndarray
    """Σ v_i v_h z (x_h − x_i) over the pairs inside."""
    pairs: float
    """Σ v_i v_h over the pairs inside."""
    counts: bool
    """Whether the target z of every pair is 1, and not the difference of the times."""

    def before(self, later: RangeSums) -> RangeSums:
        """This range and a later one together."""
        a, b = self.events, later.all
        cross = np.outer(a.s, b.s)
        inner = self.inner + later.inner + b.V * a.G + a.V * b.G - cross - cross.T
        pull = a.V * b.s - b.V * a.s
        if not self.counts:
            pull = a.V * b.p - a.T * b.s - b.T * a.s + b.V * a.p
        pairs = self.pairs + later.pairs + a.V * b.V
        moments = (self.all + later.all, self.events + later.events)
        return RangeSums(*moments, inner, self.pulls + later.pulls + pull, pairs, self.counts)


def _sums_of_range(block: Block | None, number: int, shared: tuple) -> RangeSums | None:
    if block is None:
        return None
    features, loss, (x_mean, t_mean) = shared
    items = check_block(block, number)
    assert items is not None and isinstance(items.supervision, CensoredItems)
    phi, supervision = features(items.X), items.supervision
    A = phi if sparse.issparse(phi) else phi - x_mean
    quadratic = loss.counting_pairs().quadratic(supervision)
    assert isinstance(quadratic.laplacian, CensoredLaplacian)
    with np.errstate(over="ignore", invalid="ignore"):
        inner, pulls = quadratic.laplacian.gram(A, quadratic.target)
        t, v = supervision.outcome.time - t_mean, supervision.weight
        moments = (Moments.of(A, t, v), Moments.of(A, t, v * supervision.outcome.event))
    pairs = float(quadratic.laplacian.sums.pair_weights(1)[0])
    return RangeSums(*moments, inner, pulls[:, 0], pairs, loss.counts_below)


def _merged(ranges: list[RangeSums | None]) -> RangeSums | None:
    """Neighbouring ranges, in the order of their times."""
    total: RangeSums | None = None
    for each in ranges:
        if total is None or each is None:
            total = total or each
        else:
            total = total.before(each)
    return total
