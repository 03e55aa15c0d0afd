"""Newton's method on a smoothed risk, which proves lower bounds of the risk itself.

A smooth function below R, such as R with rounded kinks (Nesterov, 2005), has minimisers close to
those of R, and its gradients are slopes of planes below R. Each step costs a few products with Φ,
like a step of Newton's method for a smooth risk, however badly the features are scaled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from rankwise.losses.risk import Risk, SmoothedEvaluation, SmoothedRisk
from rankwise.numerics.products import Products
from rankwise.solvers.cutting_planes import Plane
from rankwise.solvers.line_search import Iterate, Ray
from rankwise.solvers.newton import newton_direction
from rankwise.solvers.preconditioner import Preconditioning
from rankwise.solvers.solver import refuse_non_finite

WIDEST = 0.5
NARROWEST = 1e-6
"""Slacks below the width are smoothed."""
LINE_ACCURACY, FLAT = 0.05, 0.3
"""As in Newton's method for smooth risks; what is minimised here is an approximation anyway."""


@dataclass(frozen=True)
class _Smoothed:
    """A smoothed risk at a point, and the gradient of the smoothed J there."""

    risk: SmoothedRisk
    point: Iterate
    gradient: np.ndarray

    @property
    def norm(self) -> float:
        return float(np.linalg.norm(self.gradient))

    @property
    def found(self) -> SmoothedEvaluation:
        found = self.point.risk
        assert isinstance(found, SmoothedEvaluation)
        return found

    @property
    def smoothing(self) -> float:
        """The part of the gap that the smoothing leaves: R less its bound at the point itself."""
        return self.found.exact - self.found.offset - float(self.found.gradient @ self.point.p)

    def plane(self, alpha: float) -> Plane:
        w = self.point.w
        slope = self.gradient - 2 * alpha * w
        return Plane(w, self.point.p, self.found.exact, slope, self.found.offset)


class SmoothedNewton:
    """Steps towards the minimum of a smoothed risk plus alpha‖w‖², which is less and less smooth.

    Width δ leaves a gap of about δ/4 times the share of pairs whose slack is below δ.
    """

    def __init__(self, products: Products, preconditioning: Preconditioning, risk: Risk):
        self._products, self._preconditioning, self._risk = products, preconditioning, risk

    def planes(self, point: Iterate, alpha: float, enough: Callable[[], float]) -> Iterator[Plane]:
        """One plane for each step, the first at `point`, until no step makes progress.

        The gap at the point of a plane has two parts: that of the smoothing, and ‖∇J‖²/(4 alpha)
        of the smoothed J. The width shrinks, until the first part is below half of `enough()`,
        whenever a step promises less than that part. If the first step after that fails, because
        too few pairs are left whose slack is below the width, the width shrinks by less.
        """
        widths, promised = [WIDEST], np.inf
        at = self._smoothed(point, widths[-1], alpha)
        first_norm = at.norm
        while True:
            yield at.plane(alpha)
            smoothing = at.smoothing
            if smoothing > 0.5 * enough() and promised <= max(smoothing, enough()):
                share = float(np.sqrt(0.4 * enough() / smoothing))
                widths.append(widths[-1] * min(max(share, 0.1), 0.5))
                if widths[-1] < NARROWEST:
                    return
                at = self._smoothed(at.point, widths[-1], alpha)
                first_norm = at.norm
            to_go = float(np.sqrt(0.3 * enough() * 4 * alpha)) / at.norm
            forcing = max(min(0.5, float(np.sqrt(at.norm / first_norm))), 0.5 * to_go)
            new, promised = self._step(at, alpha, forcing)
            while new is None and len(widths) > 1:
                widths[-1] = float(np.sqrt(widths[-1] * widths[-2]))
                is_last = widths[-1] > 0.9 * widths[-2]
                at = self._smoothed(at.point, widths[-1], alpha)
                first_norm = at.norm
                new, promised = self._step(at, alpha, 0.1, descend=is_last)
                if is_last:
                    break
            if new is None:
                return
            at, widths = new, widths[-1:]

    def _step(
        self, at: _Smoothed, alpha: float, forcing: float, descend: bool = False
    ) -> tuple[_Smoothed | None, float]:
        """The best point along Newton's direction, or None if none is better by a fair share (or at
        all, if it is to `descend`) of the decrease that the direction promises; and that decrease.
        """
        point = at.point
        direction, d_p = newton_direction(
            self._products, self._preconditioning, point.risk, at.gradient, alpha, forcing
        )
        promised = -0.5 * float(at.gradient @ direction)
        ray = Ray(at.risk, alpha, point, direction, d_p)
        step, _ = ray.minimise(LINE_ACCURACY * promised, flat=FLAT, descend=descend)
        new = ray.iterate(step)
        found = _Smoothed(at.risk, new, self._gradient(new, alpha))
        if new.objective >= point.objective and found.norm >= at.norm:
            return None, promised
        return found, promised

    def _smoothed(self, point: Iterate, width: float, alpha: float) -> _Smoothed:
        risk = self._risk.smoothed(width)
        point = Iterate.at(point.w, point.p, risk, alpha)
        return _Smoothed(risk, point, self._gradient(point, alpha))

    def _gradient(self, point: Iterate, alpha: float) -> np.ndarray:
        gradient = self._products.pullback(point.risk.gradient) + 2 * alpha * point.w
        refuse_non_finite(point.objective, float(gradient @ gradient))
        return gradient
