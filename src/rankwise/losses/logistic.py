"""The logistic loss over explicit preferences: Bradley and Terry's model, with Davidson's ties.

With d = p_first − p_second + η the first item of a pair wins with probability e^(d/2)/z, the second
with e^(−d/2)/z, and they tie with e^θ/z, where z is the sum of the three. η is the advantage of the
item that is shown first, ν = e^θ the tie parameter of Davidson (1970), *On extending the
Bradley-Terry model to accommodate ties in paired comparison experiments*. Without them the first
item wins with probability 1/(1 + e^(−d)).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
from scipy import linalg, sparse

from rankwise.losses.risk import SMOOTH, CurvatureMatrix, Evaluation, NoPreference, Risk
from rankwise.numerics.compiled import compiled
from rankwise.numerics.threads import run
from rankwise.supervision.queries import Queries
from rankwise.supervision.supervision import ComparedItems
from rankwise.supervision.vote_counts import VoteCounts
from rankwise.validation import check_choice

TIES = ("half", "davidson")
SLIGHT = 1e-12
"""η² times this is added to the risk, so that η is finite if the first item always wins."""
BLOCK = 100_000
MAX_BLOCKS = 16
MAX_STEPS = 100

Cells = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""first, second, won, lost, tied."""


class LogisticRisk(Risk):
    """Weighted mean of −ln(probability of what was said), least over η and θ; O(p) for p pairs.

    Risks are functions of the predictions alone, so the order effect η and the tie effect θ are
    minimised out in every evaluation. The risk is still convex, its gradient is that at the best
    (η, θ), and its curvature is the Schur complement L − H_pθ H_θθ⁻¹ H_θp, with L the Laplacian of
    the graph of pairs. The mean divides by `total_weight`.
    """

    name = "the logistic loss"
    offers = SMOOTH | {"curvature matrix"}

    def __init__(
        self, counts: VoteCounts, *, davidson: bool = False, queries: Queries | None = None
    ):
        if not len(counts):
            raise NoPreference("preferences hold no single preference with a positive weight.")
        won, lost, tied = counts.won, counts.lost, counts.tied
        if davidson and not (won.any() or lost.any()):
            raise NoPreference(
                "every statement is a tie, so that no item is better than another: ties='davidson' "
                "needs a statement that is not a tie."
            )
        if not davidson and tied.any():
            won, lost, tied = won + tied / 2, lost + tied / 2, np.zeros_like(tied)
        self.n_items, self.queries, self.counts = counts.n_items, queries, counts
        with np.errstate(over="ignore"):
            total = float(won.sum() + lost.sum() + tied.sum())
        if not np.isfinite(total):
            raise ValueError("the weights of the preferences have no finite sum: scale them down.")
        self.total_weight = total
        ends = (counts.first, counts.second)
        self._cells: Cells = (*ends, won / total, lost / total, tied / total)
        self._has_order = counts.by_order
        ties = float(self._cells[4].sum())
        self._has_ties = ties > 0
        self._nuisance = np.array([0.0, np.log(2 * ties / (1 - ties)) if ties else 0.0])
        n_blocks = min(MAX_BLOCKS, len(counts) // max(BLOCK, 4 * self.n_items) + 1)
        bounds = np.linspace(0, len(counts), n_blocks + 1).astype(int).tolist()
        self._blocks = list(pairwise(bounds))

    def effects(self, p: np.ndarray) -> tuple[float, float]:
        """η and ν at the predictions p; 0 where the model has none."""
        eta, theta = self._profile(p)
        return float(eta), float(np.exp(theta)) if self._has_ties else 0.0

    def at(self, p: np.ndarray) -> Evaluation:
        eta, theta = self._profile(p)
        nu = np.exp(theta) if self._has_ties else 0.0
        bend = np.empty(len(self.counts))
        cross = np.empty(len(self.counts) if self._has_ties else 0)
        found = self._over_blocks(_derivatives, p, (eta, theta, nu), bend, cross)
        value = sum(part[0] for part in found) + SLIGHT * eta**2
        gradient = np.sum([part[1] for part in found], axis=0)
        V = self._eliminated(p, (eta, theta), bend, cross)

        def curvature(v: np.ndarray) -> np.ndarray:
            bent = np.sum(self._over_blocks(_bent, v, bend), axis=0)
            return bent - V @ (V.T @ v) if V is not None else bent

        def diagonal() -> np.ndarray:
            degrees = self._degrees(bend)
            return degrees - (V**2).sum(axis=1) if V is not None else degrees

        return Evaluation(
            float(value), gradient, curvature, diagonal, lambda: self._matrix(bend, V)
        )

    def elimination(self, p: np.ndarray) -> np.ndarray:
        """(2, m) H_θθ⁻¹ H_θp: how η and θ fall if the predictions rise; 0 where there is none."""
        eta, theta = self._profile(p)
        nu = np.exp(theta) if self._has_ties else 0.0
        bend = np.empty(len(self.counts))
        cross = np.empty(len(self.counts) if self._has_ties else 0)
        self._over_blocks(_derivatives, p, (eta, theta, nu), bend, cross)
        found, used = np.zeros((2, self.n_items)), self._used()
        if len(used):
            _, hessian = self._sums(p, np.array([eta, theta]))
            mixed = np.stack([self._to_items((bend, cross)[k]) for k in used])
            found[used] = np.linalg.solve(hessian[np.ix_(used, used)], mixed)
        return found

    def statement_slopes(self, d: np.ndarray, outcome: np.ndarray, nu: float) -> np.ndarray:
        """(2, l) derivatives of −ln(probability) by d and θ; outcome 0 first won, 1 second, 2 tie.

        Not divided by the total weight; the caller multiplies them by the weights.
        """
        return _statement_slopes(d, outcome, nu)

    def _over_blocks(self, task: Callable, *arguments: object) -> list:
        tasks = [partial(task, self._cells, *arguments, low, high) for low, high in self._blocks]
        return run(tasks)

    def _degrees(self, values: np.ndarray) -> np.ndarray:
        parts = self._over_blocks(_sums_of_items, values, 1.0, self.n_items)
        return np.asarray(np.sum(parts, axis=0))

    def _to_items(self, values: np.ndarray) -> np.ndarray:
        parts = self._over_blocks(_sums_of_items, values, -1.0, self.n_items)
        return np.asarray(np.sum(parts, axis=0))

    def _used(self) -> np.ndarray:
        """Which of η and θ the model has."""
        return np.flatnonzero([self._has_order, self._has_ties])

    def _sums(self, p: np.ndarray, nuisance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (2,) and Hessian (2, 2) by η and θ."""
        eta, theta = nuisance
        nu = np.exp(theta) if self._has_ties else 0.0
        found = np.sum(self._over_blocks(_nuisance_sums, p, (eta, theta, nu)), axis=0)
        gradient = found[:2] + np.array([2 * SLIGHT * eta, 0.0])
        hessian = np.array([[found[2] + 2 * SLIGHT, found[3]], [found[3], found[4]]])
        return gradient, hessian

    def _profile(self, p: np.ndarray) -> np.ndarray:
        """The best (η, θ) at p, by Newton's method from the last ones.

        The loss is a log-sum-exp, whose third derivative along a direction is at most r times the
        second, r being the range of the exponents' changes. So the step ln(1 + r)/r never rises
        (Sun and Tran-Dinh, 2019, generalised self-concordant functions).
        """
        used = self._used()
        nuisance = self._nuisance.copy()
        if not len(used):
            return nuisance
        for _ in range(MAX_STEPS):
            gradient, hessian = self._sums(p, nuisance)
            step = np.zeros(2)
            try:
                step[used] = np.linalg.solve(hessian[np.ix_(used, used)], -gradient[used])
            except np.linalg.LinAlgError:
                break
            r = max(abs(step[0]), abs(step[0]) / 2 + abs(step[1]))
            if not np.isfinite(r):
                break
            nuisance = nuisance + step * (np.log1p(r) / r if r > 0 else 1.0)
            if r <= 1e-13 * (1.0 + np.abs(nuisance).sum()):
                break
        self._nuisance = nuisance
        return nuisance

    def _eliminated(
        self, p: np.ndarray, effects: tuple[float, float], bend: np.ndarray, cross: np.ndarray
    ) -> np.ndarray | None:
        """V (m, ≤2) with V Vᵀ = H_pθ H_θθ⁻¹ H_θp; None if there is nothing to eliminate."""
        used = self._used()
        if not len(used):
            return None
        _, hessian = self._sums(p, np.array(effects))
        mixed = np.column_stack([self._to_items((bend, cross)[k]) for k in used])
        part = hessian[np.ix_(used, used)]
        scale = 1.0 / np.sqrt(np.maximum(part.diagonal(), np.finfo(float).tiny))
        factor = np.linalg.cholesky(part * scale * scale[:, None] + 1e-15 * np.eye(len(used)))
        return np.asarray(linalg.solve_triangular(factor, (mixed * scale).T, lower=True).T)

    def _matrix(self, bend: np.ndarray, V: np.ndarray | None) -> CurvatureMatrix:
        first, second = self._cells[:2]
        m = self.n_items
        diagonal = np.arange(m)
        ends = (
            np.concatenate((first, second, diagonal)),
            np.concatenate((second, first, diagonal)),
        )
        values = np.concatenate((-bend, -bend, self._degrees(bend)))
        return CurvatureMatrix(sparse.coo_array((values, ends), shape=(m, m)).tocsr(), V)


def logistic_risk(
    supervision: ComparedItems, ties: str = "half", order_effect: bool = False
) -> LogisticRisk:
    """The risk of explicit preferences; NoPreference if none of them has a weight."""
    check_choice("ties", ties, TIES)
    weight = supervision.pair_weights()
    counts = VoteCounts.gather(
        supervision.preferences, supervision.n_items, by_order=order_effect, weight=weight
    )
    return LogisticRisk(counts, davidson=ties == "davidson", queries=supervision.queries)


def outcome_probabilities(d: np.ndarray, nu: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities that the first item wins, that the second does, and of a tie."""
    small, half = np.exp(-np.abs(d)), nu * np.exp(-np.abs(d) / 2)
    z = 1.0 + small + half
    likely, unlikely = 1.0 / z, small / z
    return np.where(d > 0, likely, unlikely), np.where(d > 0, unlikely, likely), half / z


@compiled
def _outcomes(d: float, nu: float) -> tuple[float, float, float, float]:
    """P(first), P(second), P(tie), and ln(z) − |d|/2 = −ln of the likelier winner's probability."""
    e = np.exp(-abs(d))
    t = nu * np.exp(-abs(d) / 2) if nu > 0 else 0.0
    z = 1.0 + e + t
    if d > 0:
        return 1.0 / z, e / z, t / z, np.log1p(e + t)
    return e / z, 1.0 / z, t / z, np.log1p(e + t)


@compiled
def _derivatives(
    cells: Cells,
    p: np.ndarray,
    effects: tuple[float, float, float],
    bend: np.ndarray,
    cross: np.ndarray,
    low: int,
    high: int,
) -> tuple[float, np.ndarray]:
    """Value and gradient; second derivatives of each pair by d, and by d and θ."""
    first, second, won, lost, tied = cells
    eta, theta, nu = effects
    gradient, value = np.zeros(len(p)), 0.0
    for c in range(low, high):
        d = p[first[c]] - p[second[c]] + eta
        a, b, t, least = _outcomes(d, nu)
        total = won[c] + lost[c] + tied[c]
        value += total * least + (lost[c] if d > 0 else won[c]) * abs(d)
        if tied[c] > 0:
            value += tied[c] * (0.5 * abs(d) - theta)
        slope = lost[c] * (a + 0.5 * t) - won[c] * (b + 0.5 * t) + 0.5 * tied[c] * (a - b)
        bend[c] = total * (a * b + 0.25 * t * (a + b))
        if nu > 0:
            cross[c] = -0.5 * total * t * (a - b)
        gradient[first[c]] += slope
        gradient[second[c]] -= slope
    return value, gradient


@compiled
def _nuisance_sums(
    cells: Cells, p: np.ndarray, effects: tuple[float, float, float], low: int, high: int
) -> np.ndarray:
    """Σ of slopes by η and θ, and of second derivatives ηη, ηθ, θθ."""
    first, second, won, lost, tied = cells
    eta, _, nu = effects
    sums = np.zeros(5)
    for c in range(low, high):
        a, b, t, _ = _outcomes(p[first[c]] - p[second[c]] + eta, nu)
        total = won[c] + lost[c] + tied[c]
        sums[0] += lost[c] * (a + 0.5 * t) - won[c] * (b + 0.5 * t) + 0.5 * tied[c] * (a - b)
        sums[1] += (won[c] + lost[c]) * t - tied[c] * (a + b)
        sums[2] += total * (a * b + 0.25 * t * (a + b))
        sums[3] -= 0.5 * total * t * (a - b)
        sums[4] += total * t * (a + b)
    return sums


@compiled
def _bent(cells: Cells, v: np.ndarray, bend: np.ndarray, low: int, high: int) -> np.ndarray:
    """L v, with the weights `bend` of the pairs."""
    first, second = cells[0], cells[1]
    out = np.zeros(len(v))
    for c in range(low, high):
        value = bend[c] * (v[first[c]] - v[second[c]])
        out[first[c]] += value
        out[second[c]] -= value
    return out


@compiled
def _sums_of_items(
    cells: Cells, values: np.ndarray, sign: float, m: int, low: int, high: int
) -> np.ndarray:
    """The values of each item's pairs, those in which it is the second times `sign`."""
    first, second = cells[0], cells[1]
    out = np.zeros(m)
    for c in range(low, high):
        out[first[c]] += values[c]
        out[second[c]] += sign * values[c]
    return out


@compiled
def _statement_slopes(d: np.ndarray, outcome: np.ndarray, nu: float) -> np.ndarray:
    slopes = np.empty((2, len(d)))
    for s in range(len(d)):
        a, b, t, _ = _outcomes(d[s], nu)
        if outcome[s] == 0:
            slopes[0, s], slopes[1, s] = -(b + 0.5 * t), t
        elif outcome[s] == 1:
            slopes[0, s], slopes[1, s] = a + 0.5 * t, t
        else:
            slopes[0, s], slopes[1, s] = 0.5 * (a - b), -(a + b)
    return slopes
