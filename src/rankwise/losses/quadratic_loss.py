"""The seam of quadratic losses: supervision becomes fᵀLf − 2fᵀb, and says how items leave it.

The built-in losses over pairs are in `pair_losses`, the pointwise one is here. A loss of your own
needs only `pairs` (see `pair_losses.OwnLoss`) or, for full control, a subclass of QuadraticLoss.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from rankwise.losses.holdout_rules import FreeRows, HoldoutRule
from rankwise.losses.laplacian import Laplacian, PointLaplacian, Target
from rankwise.numerics.arrays import Matrix
from rankwise.supervision.scored_items import ScoredItems
from rankwise.supervision.supervision import Supervision


@dataclass(frozen=True)
class Quadratic:
    """The objective fᵀLf − 2fᵀb of scores f, with one column of b for each output."""

    laplacian: Laplacian
    target: Target

    offers = frozenset({"quadratic"})


class QuadraticLoss(ABC):
    """What a mistake costs, as a quadratic function of the scores of the training items."""

    outputs_always_share: bool = False
    """Whether all outputs share one Laplacian, whatever their scores."""

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

    def quadratic(self, supervision: Supervision) -> Quadratic:
        assert isinstance(supervision, ScoredItems)
        laplacian = PointLaplacian(supervision.weight)
        return Quadratic(laplacian, Target(laplacian, scores=supervision.Y))

    def holdout_rule(self, supervision: Supervision) -> HoldoutRule:
        return FreeRows(supervision.weight)
