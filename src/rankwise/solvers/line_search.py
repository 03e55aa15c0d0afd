"""Line search through the predictions alone: O(m log m) per point, no product with the data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.optimize import brentq

from rankwise.losses.risk import Evaluation, Risk, RiskSample

EPSILON = float(np.finfo(float).eps)
ROUNDING = 1e-12
"""Differences of J below this share of J may be rounding errors."""
PATIENCE = 4
"""So many times more points are allowed while none is better than the origin."""
FARTHEST, STEP_ACCURACY = 100.0, 0.03
"""How far a sample looks for the minimum of a ray, and the share of the step that it may miss."""
GAIN_SHARE = 10.0
"""A gap of tol suffices if at least J(0)/GAIN_SHARE is gained; else it falls with the gain."""
SMALL_GAIN = 1e-6
"""If less than this share of J(0) can be gained, differences of J lose too many digits."""


@dataclass(frozen=True)
class Iterate:
    """A point w with its predictions p = Φ w, and J = R(p) + alpha‖w‖² there."""

    w: np.ndarray
    p: np.ndarray
    risk: Evaluation
    objective: float

    @classmethod
    def at(cls, w: np.ndarray, p: np.ndarray, risk: Risk, alpha: float) -> Iterate:
        evaluation = risk.at(p)
        return cls(w, p, evaluation, evaluation.value + alpha * float(w @ w))


@dataclass(frozen=True)
class Origin:
    """R at w = 0 and its slope there, from which every gain is measured, whatever alpha is."""

    risk: Evaluation
    slope: np.ndarray

    def most_gain(self, alpha: float) -> float:
        """‖∇R(0)‖²/(4 alpha) ≥ J(0) − min J, because J is 2·alpha strongly convex."""
        return float(self.slope @ self.slope) / (4 * alpha)

    def is_nearly_best(self, alpha: float) -> bool:
        """Whether J can fall so little that comparing values of J says nothing.

        Then alpha is so large that pairs hardly move, R is nearly a line, and −∇R(0)/(2 alpha)
        is nearly the minimiser: solvers start there and trust gradients, not differences of J.
        """
        return self.most_gain(alpha) < SMALL_GAIN * self.risk.value

    def share(self, best: Iterate, alpha: float) -> float:
        """1 if at least J(0)/GAIN_SHARE is gained, else that many times the share of J(0) gained.

        J(0) − min J ≥ alpha‖w*‖², which tells the gain where J(0) − J has lost its digits.
        """
        whole = self.risk.value
        gained = max(whole - best.objective, alpha * float(best.w @ best.w))
        return min(1.0, GAIN_SHARE * gained / whole) if gained > 0 else 0.0

    def line_minimum(self, alpha: float) -> np.ndarray:
        """The minimiser of the tangent of R at 0, plus alpha‖w‖²."""
        return self.slope / (-2 * alpha)


@dataclass(frozen=True)
class RayPoint:
    """The objective and its derivative at step s of a ray, and the line that bounds R below.

    `risk` is None at the ends of a bracket, which need no more than their tangents: evaluations are
    large beside the data.
    """

    step: float
    objective: float
    slope: float
    risk_value: float
    risk_slope: float
    risk: Evaluation | None

    @property
    def tangent(self) -> RayPoint:
        return replace(self, risk=None)


class Ray:
    """J(w + s·d) for s ≥ 0, where Φ(w + s·d) = p + s·Φd costs nothing but a sum."""

    def __init__(self, risk: Risk, alpha: float, origin: Iterate, d: np.ndarray, d_p: np.ndarray):
        self._risk, self._origin, self._d, self._d_p = risk, origin, d, d_p
        self._quadratic = alpha * np.array([origin.w @ origin.w, 2 * (origin.w @ d), d @ d])

    def at(self, step: float) -> RayPoint:
        evaluation = self._risk.at(self._origin.p + step * self._d_p) if step else self._origin.risk
        constant, linear, square = self._quadratic
        risk_slope = float(evaluation.gradient @ self._d_p)
        return RayPoint(
            step,
            float(evaluation.value + constant + step * (linear + step * square)),
            float(risk_slope + linear + 2 * step * square),
            evaluation.value,
            risk_slope,
            evaluation,
        )

    def iterate(self, point: RayPoint) -> Iterate:
        assert point.risk is not None
        w = self._origin.w + point.step * self._d
        return Iterate(w, self._origin.p + point.step * self._d_p, point.risk, point.objective)

    def likely_step(self, sample: RiskSample) -> float:
        """About where J is least, if R bends along the ray as the risk of the sample does.

        The slope at 0 is exact, and the sample says how much it changes, so that what is left of
        it is about the sampling error of R'' times the step. Costs no evaluation of R.
        """
        p, d_p = self._origin.p[sample.items], self._d_p[sample.items]
        _, linear, square = self._quadratic

        @cache
        def risk_slope(step: float) -> float:
            return float(sample.risk.at(p + step * d_p).gradient @ d_p)

        at_origin = float(self._origin.risk.gradient @ self._d_p) - risk_slope(0.0)

        def slope(step: float) -> float:
            return at_origin + risk_slope(step) + linear + 2 * step * square

        left, right = 0.0, 1.0
        while slope(right) < 0:
            left, right = right, 2 * right
            if right > FARTHEST:
                return right
        if not slope(left) < 0 <= slope(right):
            return 1.0
        return float(brentq(slope, left, right, rtol=STEP_ACCURACY, maxiter=20, disp=False))

    def minimise(
        self,
        accuracy: float,
        *,
        first: float = 1.0,
        flat: float = 0.0,
        descend: bool = False,
        max_points: int = 12,
    ) -> tuple[RayPoint, RayPoint]:
        """The best point found, and the first trial, at step `first`.

        Brackets the minimum, then narrows the bracket by cubic steps (fast where J is smooth) in
        turn with the minimum of the lower bound made of both ends' tangents (exact at a kink). That
        bound, less its rounding error, also certifies the end: no point of the ray is better by
        more than `accuracy`, except that a search which is to `descend` does not end so before it
        has found a decrease. A search that has found none yet may go on for longer. A trial
        whose slope is below `flat` of the first is taken at once, unless J rises there by more than
        a rounding error.
        """
        left = origin = self.at(0.0)
        trial = self.at(first)
        no_rise = trial.objective <= (1 + ROUNDING) * left.objective
        if abs(trial.slope) <= flat * abs(left.slope) and no_rise:
            return trial, trial
        right, points = trial, 1
        while right.slope < 0 and points < max_points:
            left, right, points = right, self.at(2 * right.step), points + 1
        best = min(left, right, key=lambda point: point.objective)
        left, right = left.tangent, right.tangent
        while left.slope < 0 < right.slope and points < (
            PATIENCE * max_points if best is origin else max_points
        ):
            step, bound = self._tangent_minimum(left, right)
            width = right.step - left.step
            rise = width * max(-left.risk_slope, right.slope)
            left_over = best.objective - bound + EPSILON * (right.objective + rise)
            if left_over <= accuracy and not (descend and best is origin):
                break
            if points % 2:
                step = _cubic_step(left, right)
            step = float(np.clip(step, left.step + 1e-3 * width, right.step - 1e-3 * width))
            middle, points = self.at(step), points + 1
            best = min(best, middle, key=lambda point: point.objective)
            middle = middle.tangent
            left, right = (middle, right) if middle.slope < 0 else (left, middle)
        return best, trial

    def _tangent_minimum(self, left: RayPoint, right: RayPoint) -> tuple[float, float]:
        """Where the larger of both tangents of R, plus alpha‖·‖², is least; and how little."""
        constant, linear, square = self._quadratic

        def bound(tangent: RayPoint, step: float) -> float:
            risk = tangent.risk_value + tangent.risk_slope * (step - tangent.step)
            return risk + constant + step * (linear + step * square)

        gap = bound(left, right.step) - bound(right, right.step)
        bend = left.risk_slope - right.risk_slope
        step = right.step - gap / bend if bend < 0 else 0.5 * (left.step + right.step)
        if square > 0:
            for tangent, low, high in ((left, left.step, step), (right, step, right.step)):
                free = -(tangent.risk_slope + linear) / (2 * square)
                if low < free < high:
                    return free, bound(tangent, free)
        return step, bound(left, step)


def _cubic_step(left: RayPoint, right: RayPoint) -> float:
    """The minimum of the cubic with the ends' values and slopes."""
    width = right.step - left.step
    z = 3 * (left.objective - right.objective) / width + left.slope + right.slope
    root = np.sqrt(max(z * z - left.slope * right.slope, 0.0))
    return right.step - width * (right.slope + root - z) / (right.slope - left.slope + 2 * root)
