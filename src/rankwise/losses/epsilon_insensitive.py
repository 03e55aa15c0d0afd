"""ε-insensitive losses of differences of scores, as functions of the residuals e = p − y.

R(p) = 1/N Σ_ij v_i v_j max(0, |e_i − e_j| − ε)^power over the ordered pairs of each query, with
N = Σ_q (Σ v)²: equation 7 of Cortes, Mohri, Rastogi (2007), and with ε = 0 equation 5. One
evaluation costs O(m log m).
"""

from __future__ import annotations

import numpy as np

from rankwise.losses.residual_sums import SortedResiduals
from rankwise.losses.risk import SMOOTH, Evaluation, Risk
from rankwise.supervision.queries import Queries


def pair_normaliser(queries: Queries, weight: np.ndarray) -> float:
    """Σ_q (Σ v)²: the ordered pairs within queries, pairs of an item with itself included."""
    return float(np.sum(np.bincount(queries.codes, weight) ** 2))


def residual_risk(
    y: np.ndarray, queries: Queries, weight: np.ndarray, epsilon: float, power: int
) -> Risk:
    """The risk for power 1 or 2."""
    kind = AbsoluteResiduals if power == 1 else SquaredResiduals
    return kind(y, queries, weight, epsilon)


class ResidualRisk(Risk):
    def __init__(self, y: np.ndarray, queries: Queries, weight: np.ndarray, epsilon: float):
        self.n_items = len(y)
        self._y, self._weight = y, weight
        self._queries = self.queries = queries
        self._epsilon = float(epsilon)
        self._share = 2.0 / pair_normaliser(queries, weight)

    def _residuals(self, p: np.ndarray) -> np.ndarray:
        """The same differences, with fewer digits lost to a large p."""
        return self._queries.centred(p - self._y)


class AbsoluteResiduals(ResidualRisk):
    """Power 1. A pair at |e_i − e_j| = ε has subgradient 0."""

    name = "the absolute loss of residuals"

    def at(self, p: np.ndarray) -> Evaluation:
        e, weight = self._residuals(p), self._weight
        below, above = SortedResiduals(e, self._queries, self._epsilon).sums(weight)
        gradient = self._share * weight * (below - above)
        excess = self._share * self._epsilon * float(weight @ below)
        return Evaluation(max(float(gradient @ e) - excess, 0.0), gradient)


class SquaredResiduals(ResidualRisk):
    """Power 2: with the Laplacian L of the graph of pairs beyond ε and t_i = below − above,
    Σ (d − ε)² = eᵀLe − 2ε eᵀt + ε² pairs."""

    name = "the squared loss of residuals"
    offers = SMOOTH

    def at(self, p: np.ndarray) -> Evaluation:
        e, weight, epsilon = self._residuals(p), self._weight, self._epsilon
        pairs = SortedResiduals(e, self._queries, epsilon)
        below, above = pairs.sums(weight)
        degree, tilt = below + above, weight * (below - above)

        def laplacian(v: np.ndarray) -> np.ndarray:
            lower, upper = pairs.sums(weight * v)
            return weight * (degree * v - (lower + upper))

        def curvature(v: np.ndarray) -> np.ndarray:
            return 2.0 * self._share * laplacian(v)

        pull = laplacian(e) - epsilon * tilt
        value = e @ pull - epsilon * (e @ tilt - epsilon * (weight @ below))
        return Evaluation(
            max(self._share * float(value), 0.0),
            2.0 * self._share * pull,
            curvature,
            lambda: 2.0 * self._share * weight * degree,
        )
