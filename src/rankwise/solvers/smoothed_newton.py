"""Newton's method on a smoothed risk, which proves lower bounds of the risk itself.

A smooth function below R, such as R with rounded kinks (Nesterov, 2005), has minimisers close to
those of R, and its gradients are slopes of planes below R. Each step costs a few products with Φ,
like a step of Newton's method for a smooth risk, however badly the features are scaled.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rankwise.losses.risk import Risk, SmoothedEvaluation
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


class SmoothedNewton:
    """Steps towards the minimum of a smoothed risk plus alpha‖w‖², which is less and less smooth.

    Width δ leaves a gap of about δ/4 times the share of pairs whose slack is below δ.
    """

    def __init__(self, products: Products, preconditioning: Preconditioning, risk: Risk):
        self._products, self._preconditioning, self._risk = products, preconditioning, risk

    def planes(self, point: Iterate, alpha: float, enough: float) -> Iterator[Plane]:
        """One plane for each step, the first at `point`, until no step makes progress.

        The gap at the point of a plane has two parts: that of the smoothing, and ‖∇J‖²/(4 alpha)
        of the smoothed J. The width shrinks, until the first part is below half of `enough`,
        whenever a step promises less than that part.
        """
        width, promised, first_norm = WIDEST, np.inf, 0.0
        risk = self._risk.smoothed(width)
        point = Iterate.at(point.w, point.p, risk, alpha)
        gradient = self._gradient(point, alpha)
        while True:
            found = point.risk
            assert isinstance(found, SmoothedEvaluation)
            yield Plane(point.w, point.p, found.exact, gradient - 2 * alpha * point.w, found.offset)
            smoothing = found.exact - found.offset - float(found.gradient @ point.p)
            if smoothing > 0.5 * enough and promised <= max(smoothing, enough):
                width *= float(np.clip(np.sqrt(0.4 * enough / smoothing), 0.1, 0.5))
                if width < NARROWEST:
                    return
                risk, first_norm = self._risk.smoothed(width), 0.0
                point = Iterate.at(point.w, point.p, risk, alpha)
                gradient = self._gradient(point, alpha)
            norm = float(np.linalg.norm(gradient))
            first_norm = first_norm or norm
            to_go = float(np.sqrt(0.3 * enough * 4 * alpha)) / norm
            forcing = max(min(0.5, float(np.sqrt(norm / first_norm))), 0.5 * to_go)
            direction, d_p = newton_direction(
                self._products, self._preconditioning, point.risk, gradient, alpha, forcing
            )
            promised = -0.5 * float(gradient @ direction)
            ray = Ray(risk, alpha, point, direction, d_p)
            step, _ = ray.minimise(LINE_ACCURACY * promised, flat=FLAT)
            new = ray.iterate(step)
            gradient = self._gradient(new, alpha)
            if new.objective >= point.objective and np.linalg.norm(gradient) >= norm:
                return
            point = new

    def _gradient(self, point: Iterate, alpha: float) -> np.ndarray:
        gradient = self._products.pullback(point.risk.gradient) + 2 * alpha * point.w
        refuse_non_finite(point.objective, float(gradient @ gradient))
        return gradient
