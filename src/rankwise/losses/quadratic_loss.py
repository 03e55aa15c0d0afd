"""The seam of quadratic losses: supervision becomes fᵀLf − 2fᵀb, and says how items leave it.

The built-in losses over pairs are in `pair_losses`, the pointwise one is here. A loss of your own
for RankRLS needs only `pairs` (see `pair_losses.OwnLoss`). Other subclasses of QuadraticLoss serve
new learners.

A hold-out rule describes the problem that is left without one or two items as a ridge problem
whose rows are the items, so that items leave it as rows do. All hold-outs of the same kind leave
the same ridge problem behind. `rankwise.holdout.small_holdouts` applies the rules.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rankwise.losses.laplacian import Laplacian, PointLaplacian, Target
from rankwise.losses.query_weights import PAIRS, QueryWeighting, kept_pair_total
from rankwise.numerics.arrays import Matrix
from rankwise.supervision.queries import Queries
from rankwise.supervision.supervision import ScoredItems, Supervision

FLOPS = 2.5
"""A small system that is solved in a loop takes so much longer than its share of a large matrix."""


@dataclass(frozen=True)
class Quadratic:
    """The objective fᵀLf − 2fᵀb of scores f, with one column of b for each output."""

    laplacian: Laplacian
    target: Target

    offers = frozenset({"quadratic"})


def by_kind(kind: np.ndarray) -> list[np.ndarray]:
    """The positions of each distinct number in `kind`, in O(p log p)."""
    order, sizes = np.argsort(kind, kind="stable"), np.bincount(kind)
    return [part for part in np.split(order, np.cumsum(sizes)[:-1]) if len(part)]


@dataclass(frozen=True)
class HoldoutRule:
    """Base of the rules that rankwise.holdout knows how to apply; `weight` (m,) of the items."""

    weight: np.ndarray

    @property
    def pair_matrices(self) -> int:
        """How many m × m matrices leave-pair-out forms for each alpha: one for equal weights."""
        distinct = len(np.unique(self.weight))
        return distinct * (distinct + 1) // 2


@dataclass(frozen=True)
class FreeRows(HoldoutRule):
    """Items leave one by one, as rows of a ridge problem whose decomposition is known.

    Pointwise losses: the λ of the problem stays. A single query with all its pairs (`centred`):
    the problem is ridge regression with an unpenalised intercept at λ/(c V), V being the total
    weight and c the scale of the query, so after items left it is the same problem at
    λ c V/(c⁻ V⁻). `weighting` gives c.
    """

    centred: bool = False
    weighting: QueryWeighting = PAIRS

    @property
    def pair_matrices(self) -> int:
        return super().pair_matrices if self.centred else 1

    @property
    def centre(self) -> np.ndarray | None:
        """û: √v with norm 1, the one direction that the L of a single query ignores."""
        return np.sqrt(self.weight / self.weight.sum()) if self.centred else None

    def kinds(self, held: np.ndarray) -> np.ndarray:
        """(p,) equal numbers for hold-outs (p, u) that remove the same weights."""
        if not self.centred or np.ptp(self.weight) == 0:
            return np.zeros(len(held), dtype=int)
        removed = np.sort(self.weight[held], axis=1)
        return np.unique(removed, axis=0, return_inverse=True)[1].ravel()

    def leaves_nothing(self, items: np.ndarray) -> bool:
        """Whether no item, or in a single query no pair, stays to learn from."""
        if len(items) == len(self.weight):
            return True
        return self.centred and int(np.count_nonzero(np.delete(self.weight, items))) < 2

    def alpha_factor(self, items: np.ndarray) -> float:
        """c V/(c⁻ V⁻): the factor of λ when `items` leave."""
        if not self.centred:
            return 1.0
        before, after = (
            v.sum() * self.weighting.scale(v.sum(), kept_pair_total(v))
            for v in (self.weight, np.delete(self.weight, items))
        )
        return float(before / after)


@dataclass(frozen=True)
class TieFreeRows(HoldoutRule):
    """Items of one query whose tied pairs do not count; see rankwise.holdout.tie_free.

    `classes` (m,) numbers the score level of each item. `scores_left(V_k)` gives the (m, k) target
    scores when the levels keep the weights V_k. If `ranked`, they are (weight below − weight
    above)/V; otherwise they do not depend on the weights.
    """

    classes: np.ndarray
    weighting: QueryWeighting
    scores_left: Callable[[np.ndarray], np.ndarray]
    ranked: bool

    @property
    def class_weight(self) -> np.ndarray:
        return np.bincount(self.classes, self.weight)


class QuadraticLoss(ABC):
    """What a mistake costs, as a quadratic function of the scores of the training items."""

    outputs_always_share: bool = False
    """Whether all outputs share one Laplacian, whatever their scores."""

    ignores_offsets: bool = True
    """Whether only differences of scores count, so that one offset of all items changes nothing."""

    def output_groups(self, supervision: Supervision) -> list[np.ndarray]:
        """Columns of outputs that share a Laplacian, so that one decomposition serves them all.

        By default every output is on its own, unless all outputs always share.
        """
        return self.equation_groups(supervision.n_outputs)

    def equation_groups(self, n_outputs: int) -> list[np.ndarray]:
        """Columns of outputs that share XᵀLX whatever their scores, so that sums over data add up.

        All outputs if they always share a Laplacian, otherwise every output on its own.
        """
        columns = np.arange(n_outputs)
        return [columns] if self.outputs_always_share else list(columns[:, None])

    @abstractmethod
    def quadratic(self, supervision: Supervision) -> Quadratic:
        """L and b for outputs that share a Laplacian."""

    def holdout_rule(self, supervision: Supervision) -> HoldoutRule | None:
        """How one or two items leave the problem cheaply. Default None: refit without them.

        Refitting is right for any loss. A rule must give the predictions of a refit.
        """
        return None

    def normal_equations(
        self, X: Matrix, supervision: Supervision
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """XᵀLX for each of `equation_groups`, and Xᵀb.

        Sums over whole queries add up, so these are what a stream of queries keeps.
        """
        sums = []
        for columns in self.equation_groups(supervision.n_outputs):
            quadratic = self.quadratic(supervision.select_outputs(columns))
            sums.append(quadratic.laplacian.gram(X, quadratic.target))
        return [G for G, _ in sums], np.hstack([moments for _, moments in sums])


class PointwiseLoss(QuadraticLoss):
    """Σ v (y − f)², each item on its own (RLS): L = diag(v), b = v y."""

    outputs_always_share = True
    ignores_offsets = False

    def quadratic(self, supervision: Supervision) -> Quadratic:
        assert isinstance(supervision, ScoredItems)
        laplacian = PointLaplacian(supervision.weight)
        return Quadratic(laplacian, Target(laplacian, scores=supervision.Y))

    def holdout_rule(self, supervision: Supervision) -> HoldoutRule:
        return FreeRows(supervision.weight)


@dataclass(frozen=True)
class ComparableRows(HoldoutRule):
    """Items whose pairs are those of CensoredLaplacian with these levels and events.

    `target` (m,) holds scores whose differences are the targets of the pairs, or is None if the
    target of every pair is 1.
    """

    level: np.ndarray
    event: np.ndarray
    queries: Queries
    weighting: QueryWeighting
    target: np.ndarray | None

    def pair_matrices_for(self, n_features: int) -> int:
        """The price of leave-pair-out in matrices of all items: m²/2 systems of n unknowns."""
        n, m = float(n_features), len(self.weight)
        return max(1, round(FLOPS * (n**3 / 3 + 2 * n**2) / m))
