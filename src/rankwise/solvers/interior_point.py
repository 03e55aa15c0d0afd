"""A primal-dual interior point method for the hinge loss over explicit preferences.

With l preferences the problem is  min Σ v ξ + alpha‖w‖²  subject to  t = M Φ w − 1 + ξ ≥ 0, ξ ≥ 0,
where M takes the difference of the scores of winner and loser, and v are their weights. A dual
variable 0 ≤ a ≤ v belongs to each preference. On a sparse graph of preferences the minimum lies at
many kinks of the loss at once, which neither cutting planes nor smoothing find quickly. A step
(Mehrotra, 1992) solves two systems with the same matrix, by conjugate gradients: O(nnz + l) for
each of their iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from rankwise.losses.hinge import PreferenceHinge
from rankwise.losses.risk import Evaluation
from rankwise.numerics.products import Products
from rankwise.solvers.conjugate_gradients import NormalEquations, conjugate_steps
from rankwise.solvers.cutting_planes import Plane
from rankwise.solvers.line_search import Iterate
from rankwise.solvers.preconditioner import Preconditioning

DISTANCE = 0.5
"""How far t and ξ are from 0 at the start."""
TO_THE_BOUNDARY = 0.99
LOOSE, TIGHT = 0.1, 1e-10
"""Relative accuracy of the systems, at first and at best."""
LONG = 0.5
"""After a step of this length the dual residual should be nearly gone."""
MAX_CG = 500

Numbers = float | np.ndarray


class _Move(NamedTuple):
    """A direction: changes of w, of Φw, of t, of ξ and of a."""

    w: np.ndarray
    p: np.ndarray
    t: np.ndarray
    xi: np.ndarray
    a: np.ndarray


class InteriorPoint:
    """Steps along the central path, from any point."""

    def __init__(self, products: Products, preconditioning: Preconditioning, risk: PreferenceHinge):
        self._products, self._preconditioning, self._risk = products, preconditioning, risk

    def planes(self, point: Iterate, alpha: float, enough: Callable[[], float]) -> Iterator[Plane]:
        """One plane for each step, the first at `point`, until no step makes progress.

        The caller stops when the gap is `enough()`; the path does not depend on it.
        The dual variables of a step are the weights of the plane: Σ v max(0, 1 − d) ≥ Σ a (1 − d).
        """
        risk, v = self._risk, self._risk.weight
        w, p = point.w.copy(), point.p.copy()
        d = risk.differences(p)
        xi = np.maximum(1.0 - d, 0.0) + DISTANCE
        t = np.maximum(d - 1.0, 0.0) + DISTANCE
        a = v * xi / (xi + t)
        accuracy, shortest = LOOSE, 0.0
        while True:
            slope = self._products.pullback(risk.to_items(-a))
            exact = float(v @ np.maximum(0.0, 1.0 - risk.differences(p)))
            yield Plane(w.copy(), p.copy(), exact, slope, float(a.sum()))
            gradient = slope + 2 * alpha * w
            system = _System(self, alpha, gradient, (t, xi, a))
            mean = float(a @ t + (v - a) @ xi) / (2 * len(v))
            rest = float(gradient @ gradient) / (4 * alpha)
            if shortest > LONG and rest > 2 * len(v) * mean:
                accuracy = max(TIGHT, 0.1 * accuracy)  # the systems, not the path, leave the gap
            first = system.move(0.0, 0.0, None, min(0.3, 10 * accuracy))
            primal, dual = system.longest(first)
            ahead = (a + dual * first.a) @ (t + primal * first.t)
            ahead += (v - a - dual * first.a) @ (xi + primal * first.xi)
            centre = mean * (float(ahead) / (2 * len(v) * mean)) ** 3
            move = system.move(
                centre - first.a * first.t, centre + first.a * first.xi, first.w, accuracy
            )
            primal, dual = system.longest(move)
            if not (np.isfinite(primal + dual) and max(primal, dual) > 1e-6):
                return
            shortest = min(primal, dual)
            w += primal * move.w
            p += primal * move.p
            t, xi = t + primal * move.t, xi + primal * move.xi
            a = np.clip(a + dual * move.a, 1e-14 * v, (1 - 1e-14) * v)


class _System:
    """The linear system of one step: (ΦᵀMᵀDMΦ + 2 alpha I) dw = right, 1/D = t/a + ξ/(v − a)."""

    def __init__(
        self,
        method: InteriorPoint,
        alpha: float,
        gradient: np.ndarray,
        variables: tuple[np.ndarray, np.ndarray, np.ndarray],
    ):
        t, xi, a = variables
        self._risk, self._products = method._risk, method._products
        self._gradient, self._t, self._xi, self._a = gradient, t, xi, a
        self._s = self._risk.weight - a
        self._D = 1.0 / (t / a + xi / self._s)
        risk, products, D = self._risk, self._products, self._D
        self._bend = lambda x, p: (
            products.pullback(risk.to_items(D * risk.differences(p))) + 2 * alpha * x
        )
        shape = Evaluation(0.0, gradient, None, lambda: risk.degrees(D))
        self._precondition = method._preconditioning.at(shape, alpha, whole=True)

    def move(self, r1: Numbers, r2: Numbers, start: np.ndarray | None, accuracy: float) -> _Move:
        """a dt + t da = r1 − a t,  (v − a) dξ − ξ da = r2 − (v − a) ξ,  dt = M Φ dw + dξ."""
        a, t, s, xi, risk = self._a, self._t, self._s, self._xi, self._risk
        r1, r2 = r1 - a * t, r2 - s * xi
        pull = self._D * (r1 / a - r2 / s)
        right = self._products.pullback(risk.to_items(pull)) - self._gradient
        system = NormalEquations(
            self._products.scores, self._bend, right, start, precondition=self._precondition
        )
        goal = accuracy**2 * float(right @ self._precondition(right))
        if system.energy > goal:
            for _ in islice(conjugate_steps(system), MAX_CG):
                if system.energy <= goal:
                    break
        p = self._products.scores(system.x)
        moved = risk.differences(p)
        da = pull - self._D * moved
        dxi = (r2 + xi * da) / s
        return _Move(system.x, p, moved + dxi, dxi, da)

    def longest(self, move: _Move) -> tuple[float, float]:
        """The longest steps of the primal and of the dual variables that keep all positive."""
        primal = min(_longest(self._t, move.t), _longest(self._xi, move.xi))
        return primal, min(_longest(self._a, move.a), _longest(self._s, -move.a))


def _longest(values: np.ndarray, change: np.ndarray) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        limits = np.where(change < 0, -values / change, np.inf)
    return min(1.0, TO_THE_BOUNDARY * float(limits.min()))
