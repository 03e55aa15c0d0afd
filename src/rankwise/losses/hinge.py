"""Pairwise risks: value, (sub)gradient and curvature with respect to the predictions p = Φ w.

A risk is anything convex and never negative with ``at(p) -> Evaluation``; solvers see no more. Over
scores an evaluation costs O(m log m) however many pairs there are, over l explicit preferences
O(l + m).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rankwise.losses.margin_window import ScoreRanks
from rankwise.supervision.preferences import Preferences
from rankwise.supervision.queries import Queries

LOSSES = {
    "hinge": "max(0, 1 − (p_h − p_j)) for h preferred over j",
    "squared_hinge": "max(0, 1 − (p_h − p_j))² for h preferred over j",
}


class NoPreference(ValueError):
    """The scores hold no pair to learn from."""


@dataclass(frozen=True)
class Evaluation:
    """R(p) ≥ 0, a subgradient dR/dp, and v ↦ ∇²R(p) v where the risk is smooth."""

    value: float
    gradient: np.ndarray
    curvature: Callable[[np.ndarray], np.ndarray] | None = None


class Risk(Protocol):
    n_items: int

    def at(self, p: np.ndarray) -> Evaluation: ...


def risk_of_scores(y: np.ndarray, queries: Queries, loss: str) -> Risk:
    """Mean over the queries that have a pair of the mean loss over their pairs y_h > y_j."""
    return ScoreHinge(y, queries) if loss == "hinge" else ScoreSquaredHinge(y, queries)


def risk_of_preferences(preferences: Preferences, n_items: int, loss: str) -> Risk:
    """Weighted mean loss over explicit preferences; magnitudes play no part, the margin is 1."""
    if loss == "hinge":
        return PreferenceHinge(preferences, n_items)
    return PreferenceSquaredHinge(preferences, n_items)


class _ScoreRisk:
    def __init__(self, y: np.ndarray, queries: Queries):
        self.n_items = len(y)
        self._scores = ScoreRanks(y, queries)
        pairs = self._scores.pairs
        if not pairs.any():
            raise NoPreference(
                "y holds no single preference: within every query all items (n_samples = "
                f"{len(y)}, {len(queries)} queries) have the same score, so there is nothing to "
                "learn an order from."
            )
        n_counted = np.count_nonzero(pairs)
        weight = np.where(pairs > 0, 1.0 / (n_counted * np.maximum(pairs, 1.0)), 0.0)
        self._weight = weight[0] if len(queries) == 1 else weight[queries.codes]

    def _weighted_sum(self, counts: np.ndarray) -> float:
        if np.ndim(self._weight):
            return float(self._weight @ counts)
        return float(self._weight * counts.sum(dtype=np.int64))

    def _centred(self, p: np.ndarray) -> np.ndarray:
        """p less its mean in each query: the same differences, fewer digits lost to large p."""
        queries = self._scores.queries
        if len(queries) == 1:
            return p - p.mean()
        return p - (np.bincount(queries.codes, p) / queries.sizes)[queries.codes]


class ScoreHinge(_ScoreRisk):
    """Equation 4 of Airola et al. (2011), by query."""

    def at(self, p: np.ndarray) -> Evaluation:
        p = self._centred(p)
        c, d = self._scores.window(p).counts()
        gradient = self._weight * (c - d)  # equation 8
        value = gradient @ p + self._weighted_sum(c)  # equation 7
        return Evaluation(max(0.0, float(value)), gradient)


class ScoreSquaredHinge(_ScoreRisk):
    """Σ (1 − (p_h − p_j))² over the window's pairs = pᵀLp + 2 pᵀ(c − d) + Σ c, a query at a time.

    L is the Laplacian of the graph of those pairs: L v = (c + d) v − sums of v over rivals.
    """

    def at(self, p: np.ndarray) -> Evaluation:
        p = self._centred(p)
        window = self._scores.window(p)
        c, d = window.counts()
        degree, tilt, weight = c + d, c - d, self._weight

        def curvature(v):
            return 2.0 * weight * (degree * v - window.sums(v))

        bent = curvature(p)
        tilt = 2.0 * weight * tilt
        value = p @ (0.5 * bent + tilt) + self._weighted_sum(c)
        return Evaluation(max(0.0, float(value)), bent + tilt, curvature)


class _PreferenceRisk:
    def __init__(self, preferences: Preferences, n_items: int):
        self.n_items = n_items
        self._winner, self._loser = preferences.winner, preferences.loser
        self._weight = preferences.weight / preferences.weight.sum()

    def _differences(self, v: np.ndarray) -> np.ndarray:
        """M v: one difference a preference, M the signed incidence matrix (l, m)."""
        return v[self._winner] - v[self._loser]

    def _spread(self, values: np.ndarray) -> np.ndarray:
        """Mᵀ values: a preference's value to its winner, minus it to its loser."""
        gained = np.bincount(self._winner, values, minlength=self.n_items)
        return gained - np.bincount(self._loser, values, minlength=self.n_items)


class PreferenceHinge(_PreferenceRisk):
    def at(self, p: np.ndarray) -> Evaluation:
        slack = np.maximum(0.0, 1.0 - self._differences(p))
        gradient = self._spread(-self._weight * (slack > 0))
        return Evaluation(float(self._weight @ slack), gradient)


class PreferenceSquaredHinge(_PreferenceRisk):
    def at(self, p: np.ndarray) -> Evaluation:
        slack = np.maximum(0.0, 1.0 - self._differences(p))
        active = 2.0 * self._weight * (slack > 0)

        def curvature(v):
            return self._spread(active * self._differences(v))

        gradient = self._spread(-2.0 * self._weight * slack)
        return Evaluation(float(self._weight @ slack**2), gradient, curvature)
