"""The uncertainty of fitted scores: Laplace's approximation, or a sandwich clustered by judge.

With H the Hessian of the objective at its minimum, Φ(x) H⁻¹ Φ(x')ᵀ is the covariance of scores in
the Gaussian approximation of the posterior, whose prior has variance 1/(2 alpha). If statements of
one judge depend on each other, H⁻¹ is replaced by H⁻¹ (Σ_k g_k g_kᵀ) H⁻¹ J/(J − 1), g_k being the
gradient of the statements of judge k of J (Huber 1967; Liang and Zeger 1986).
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse, stats

from rankwise.losses.logistic import LogisticRisk
from rankwise.numerics.arrays import Matrix, dense
from rankwise.numerics.memory import refuse_too_large
from rankwise.solvers.exact_newton import HessianFactor
from rankwise.solvers.logistic_path import Scaled
from rankwise.spaces.own_strengths import StrengthSpace
from rankwise.spaces.space import CholeskySpace, LinearSpace
from rankwise.supervision.preferences import Preferences
from rankwise.supervision.queries import Queries

WAY_OUT = "ask about fewer items, or use basis= or fewer features"


class Items(NamedTuple):
    """Φ of some items (n, d), and their covariance (n, n) under the prior of what Φ misses."""

    phi: np.ndarray
    unseen: np.ndarray | None

    def centred(self) -> Items:
        unseen = self.unseen
        if unseen is not None:
            unseen = unseen - unseen.mean(axis=0)
            unseen = unseen - unseen.mean(axis=1, keepdims=True)
        return Items(self.phi - self.phi.mean(axis=0), unseen)


class ScorePosterior:
    """Covariances of the scores of a fitted model; O(m d² + d³) once, d columns of Φ.

    `judged` (J, m + 2) holds the gradients of J judges by the scores, η and θ.
    """

    def __init__(
        self,
        space: StrengthSpace,
        risk: LogisticRisk,
        strengths: np.ndarray,
        alpha: float,
        judged: sparse.csr_array | None = None,
    ):
        d = space.features.shape[1]
        refuse_too_large(d, d, "the Hessian", WAY_OUT, copies=3)
        self._space, self._risk, self._strengths = space, risk, strengths
        self._scaled = Scaled.of(space.features, risk)
        self._alpha = self._scaled.alpha(alpha)
        self._judged = judged
        self._known: dict[bool, np.ndarray] = {}
        self._factor = HessianFactor(self._scaled.phi, risk.at(strengths), self._alpha)

    @property
    def n_judges(self) -> int | None:
        return None if self._judged is None else self._judged.shape[0]

    def items(self, X: Matrix | None) -> Items:
        """The training items (None), or new ones: what their features do not tell is unseen."""
        unit, space = self._scaled.unit, self._space
        n = space.n_items if X is None else X.shape[0]
        refuse_too_large(n, max(n, space.features.shape[1]), "the covariance", WAY_OUT)
        if X is None:
            return Items(dense(self._scaled.phi), None)
        assert space.space is not None
        known = space.space
        view = known.from_anchor if isinstance(known, CholeskySpace) else None
        if view is not None:  # scores less that of the first training item
            pivots = known.representation.X_basis
            assert pivots is not None
            phi = view.matrix(X, pivots) @ known.to_model(np.eye(space.n_features))
        elif isinstance(known, LinearSpace):
            phi = dense(known.represent(X))
        else:
            phi = np.asarray(known.represent(X) @ known.to_model(np.eye(space.n_features)))
        unseen = None
        kernel = known.representation.kernel
        if isinstance(known, CholeskySpace) and not kernel.is_precomputed:
            unseen = (kernel if view is None else view).matrix(X, X) - phi @ phi.T
            np.fill_diagonal(unseen, np.maximum(unseen.diagonal(), 0.0))
        if space.item_effect:
            own = space.item_effect * np.eye(n)
            unseen = own if unseen is None else unseen + own
            phi = np.hstack((phi, np.zeros((n, space.n_items))))
        return Items(phi / unit, None if unseen is None else unseen / unit**2)

    def covariance(self, items: Items, robust: bool) -> np.ndarray:
        """(n, n), from judges if `robust`."""
        total = self._risk.total_weight
        if robust:
            spread = self._judge_gradients @ self._factor.solve_rows(items.phi).T / total
            J = len(spread)
            found = spread.T @ spread * (J / (J - 1))
        else:
            white = self._factor.whiten(items.phi.T)
            found = white.T @ white / total
        if items.unseen is not None:
            found = found + items.unseen / (2 * self._alpha * total)
        return np.asarray(found)

    def training_covariance(self, robust: bool) -> np.ndarray:
        """(m, m) of the training items' scores minus their mean, computed once."""
        if robust not in self._known:
            self._known[robust] = self.covariance(self.items(None).centred(), robust)
        return self._known[robust]

    def shrinkage(self) -> np.ndarray:
        """(m,) by how much alpha has moved the training items' scores minus their mean, to first
        order: Φ H⁻¹ 2 alpha w.

        At the minimum 2 alpha w is minus the gradient of the risk.
        """
        gradient = self._scaled.phi.T @ self._risk.at(self._strengths).gradient
        moved = np.asarray(self._scaled.phi @ self._factor.solve(np.asarray(gradient)))
        return moved - moved.mean()

    @cached_property
    def _judge_gradients(self) -> np.ndarray:
        """(J, d) gradients by w, after η and θ have followed."""
        judged, m = self._judged, self._space.n_items
        assert judged is not None
        elimination = self._risk.elimination(self._strengths)
        phi = self._scaled.phi
        direct = dense(judged[:, :m] @ phi)
        return np.asarray(direct - judged[:, m:] @ np.asarray(elimination @ phi))

    def quantile(self, probability: float, robust: bool) -> float:
        """Of Student's distribution with J − 1 degrees of freedom, or of the normal one."""
        if robust and self.n_judges is not None:
            return float(stats.t.ppf(probability, self.n_judges - 1))
        return float(stats.norm.ppf(probability))


def judge_gradients(
    preferences: Preferences, groups: Queries, risk: LogisticRisk, f: np.ndarray
) -> sparse.csr_array:
    """(J, m + 2) derivatives of the loss of each judge's statements by scores, η and θ; O(l)."""
    eta, nu = risk.effects(f)
    winner, loser = preferences.winner, preferences.loser
    sign = np.ones(len(winner))
    if risk.counts.by_order:
        assert preferences.winner_first is not None
        sign = np.where(preferences.winner_first, 1.0, -1.0)
    d = sign * (f[winner] - f[loser]) + eta
    outcome = np.where(preferences.tie, 2, np.where(sign > 0, 0, 1))
    by_d, by_theta = preferences.weight * risk.statement_slopes(d, outcome, nu)
    m = risk.n_items
    rows = np.tile(groups.codes, 4)
    columns = np.concatenate((winner, loser, np.full(len(d), m), np.full(len(d), m + 1)))
    values = np.concatenate((sign * by_d, -sign * by_d, by_d, by_theta))
    shape = (len(groups), m + 2)
    return sparse.coo_array((values, (rows, columns)), shape=shape).tocsr()
