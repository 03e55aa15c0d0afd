"""ε-insensitive losses of differences of scores, as functions of the residuals e = p − y.

R(p) = 1/N Σ_ij v_i v_j max(0, |e_i − e_j| − ε)^power over the ordered pairs of each query, with
N = Σ_q (Σ v)²: equation 7 of Cortes, Mohri, Rastogi (2007), and with ε = 0 equation 5. One
evaluation costs O(m log m): the sums over pairs of residuals further apart than ε need a sort, two
pointers and running sums, and no tree over scores.
"""

from __future__ import annotations

import numpy as np

from rankwise.losses.pair_counts import sorted_within
from rankwise.losses.risk import SMOOTH, Evaluation, Risk
from rankwise.numerics.compiled import compiled
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


class SortedResiduals:
    """Residuals e (m,) sorted within queries, and for each item sums over the items beyond ε."""

    def __init__(self, e: np.ndarray, queries: Queries, epsilon: float):
        self._order, self._starts = sorted_within(e, queries), queries.starts
        self._ends = _ends(e[self._order], queries.starts, float(epsilon))

    def sums(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For every item i the sums of x_j over j of its query with e_i − e_j > ε ("below") and
        with e_j − e_i > ε ("above"), each in the items' own order."""
        return _beyond(x, self._order, self._starts, self._ends)


@compiled
def _ends(e: np.ndarray, starts: np.ndarray, epsilon: float) -> np.ndarray:
    """(m, 2) where the items below end and where those above begin, for each sorted position."""
    ends = np.empty((len(e), 2), dtype=np.int64)
    for query in range(len(starts) - 1):
        start, stop = starts[query], starts[query + 1]
        low = high = start
        for i in range(start, stop):
            while e[i] - e[low] > epsilon:
                low += 1
            while high < stop and not e[high] - e[i] > epsilon:
                high += 1
            ends[i, 0], ends[i, 1] = low, high
    return ends


@compiled
def _beyond(
    x: np.ndarray, order: np.ndarray, starts: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    m = len(x)
    upto, below, above = np.empty(m + 1), np.empty(m), np.empty(m)
    for query in range(len(starts) - 1):
        start, stop = starts[query], starts[query + 1]
        upto[start] = 0.0
        for i in range(start, stop):
            upto[i + 1] = upto[i] + x[order[i]]
        total = upto[stop]
        for i in range(start, stop):
            low, high = ends[i]
            below[order[i]] = upto[low] if low > start else 0.0
            above[order[i]] = total - upto[high] if high < stop else 0.0
    return below, above
