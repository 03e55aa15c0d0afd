"""Bundle method for R(Φw) + alpha‖w‖² with any convex risk R, and a certificate: the duality gap.

Algorithm 1 (BMRM) of Airola, Pahikkala, Salakoski (2011) with the line search that its authors
left to future work. An iteration costs two products with Φ, a few evaluations of R over the
predictions, and a quadratic programme in as many variables as there are planes.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from rankwise.losses.risk import Risk
from rankwise.numerics.arrays import Matrix
from rankwise.numerics.products import Products
from rankwise.numerics.threads import one_blas_thread
from rankwise.solvers.cutting_planes import CuttingPlanes
from rankwise.solvers.line_search import Iterate, Origin, Ray
from rankwise.solvers.solver import (
    CONVERGED,
    INTERRUPTED,
    MAX_ITER,
    Progress,
    Solution,
    Solver,
    refuse_non_finite,
)

LINE_ACCURACY = 0.05
"""The share of the current gap that a line search may leave."""


class BundleSolver(Solver):
    """Solves for one alpha after another: planes bound only R, so they serve every alpha."""

    name = "bundle"
    requires = frozenset({"gradient"})

    def __init__(self, phi: Matrix, risk: Risk):
        self.check(risk)
        self._products = Products(phi)
        self._risk = risk
        self._planes = CuttingPlanes()
        self._memory = GradientMemory()
        self._known_origin: Origin | None = None

    def solve(
        self,
        alpha: float,
        *,
        start: np.ndarray | None = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        verbose: int = 0,
    ) -> Solution:
        """Minimise to a duality gap of `tol`, from `start` (zero if None).

        If less than a tenth of J(0) is gained, the gap must fall to 10·tol of the gain J(0) − J:
        however large alpha is, the minimiser is found with the same relative accuracy.
        """
        progress = Progress("bundle", tol, verbose)
        with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
            origin = self._origin()
            best = candidate = self._start(start, alpha)
            bound, status, n_iter = 0.0, MAX_ITER, 0  # a risk is never negative
            gap = best.objective
            try:
                while n_iter < max_iter and status != CONVERGED:
                    proven = self._add_plane(candidate, alpha, is_best=candidate is best)
                    n_iter += 1  # lines 5-7
                    target, model_minimum = self._planes.minimise(alpha)  # line 8
                    bound = max(bound, model_minimum, best.objective - proven)
                    enough = tol * origin.share(best, alpha)
                    if min(best.objective - bound, proven) > enough:  # lines 9-11
                        best, candidate = self._search(best, target, bound, alpha, n_iter)
                        proven = np.inf
                    gap = max(min(best.objective - bound, proven), 0.0)  # line 12
                    status = CONVERGED if gap <= tol * origin.share(best, alpha) else MAX_ITER
                    progress.record(best.objective, gap, gap)
            except KeyboardInterrupt:
                status = INTERRUPTED
        return Solution(best.w, status, best.objective, gap, n_iter, progress.history())

    def _origin(self) -> Origin:
        if self._known_origin is None:
            risk = self._risk.at(np.zeros(self._products.shape[0]))
            self._known_origin = Origin(risk, self._products.pullback(risk.gradient))
        return self._known_origin

    def _start(self, start: np.ndarray | None, alpha: float) -> Iterate:
        origin, (m, n) = self._origin(), self._products.shape
        if origin.is_nearly_best(alpha):
            start = origin.line_minimum(alpha)
        elif start is None:
            return Iterate(np.zeros(n), np.zeros(m), origin.risk, origin.risk.value)
        return Iterate.at(start, self._products.scores(start), self._risk, alpha)

    def _add_plane(self, point: Iterate, alpha: float, is_best: bool) -> float:
        """Add the tangent at the point, and return an upper bound of J − min J at the best point.

        J is 2·alpha strongly convex, so ‖∇J‖²/(4 alpha) is one; infinity if the point is not best.
        """
        origin = self._origin()
        at_origin = point.risk is origin.risk
        slope = origin.slope if at_origin else self._products.pullback(point.risk.gradient)
        refuse_non_finite(point.objective, float(slope @ slope))
        self._planes.add(slope, point.risk.value - float(slope @ point.w))
        if not is_best:
            return np.inf
        self._memory.observe(point.w, slope)
        gradient = slope + 2 * alpha * point.w
        return float(gradient @ gradient) / (4 * alpha)

    def _search(
        self, best: Iterate, target: np.ndarray, bound: float, alpha: float, n_iter: int
    ) -> tuple[Iterate, Iterate]:
        """The best point on a ray from the best point so far, and the point for the next plane.

        Rays lead to the minimiser of the model and, every other time, along a quasi-Newton
        direction: over many pairs the risk is almost smooth, and planes at such points bound it
        as well. A plane at the minimum of the ray cuts off the minimiser of the model by about
        the whole gap. If the search ended short of that, the plane is placed at the end of the
        ray.
        """
        direction = target - best.w
        if n_iter % 2 == 0 and self._memory.knows(best.w):
            direction = self._memory.direction(alpha)
        ray = Ray(self._risk, alpha, best, direction, self._products.scores(direction))
        gap = best.objective - bound
        found, trial = ray.minimise(LINE_ACCURACY * gap)
        refuse_non_finite(found.objective)
        if found.objective < best.objective:
            best = ray.iterate(found)
        falls_short = found.slope * (1.0 - found.step) < -0.5 * gap
        return best, ray.iterate(trial) if found.step == 0 or falls_short else best


class GradientMemory:
    """Limited-memory BFGS from the slopes of the planes, O(n) for each remembered pair.

    It remembers slopes of R instead of gradients of J, so that it serves every alpha.
    """

    def __init__(self, length: int = 10):
        self._pairs: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=length)
        self._last: tuple[np.ndarray, np.ndarray] = (np.zeros(0), np.zeros(0))

    def observe(self, w: np.ndarray, slope: np.ndarray) -> None:
        if len(self._last[0]):
            step = w - self._last[0]
            if step.any():
                self._pairs.append((step, slope - self._last[1]))
        self._last = (w, slope)

    def knows(self, w: np.ndarray) -> bool:
        return bool(self._pairs) and self._last[0] is w

    def direction(self, alpha: float) -> np.ndarray:
        """−H⁻¹∇J at the last point observed, by the two-loop recursion."""
        w, slope = self._last
        result = -(slope + 2 * alpha * w)
        pairs = [(step, change + 2 * alpha * step) for step, change in self._pairs]
        shares = []
        for step, change in reversed(pairs):
            shares.append((step @ result) / (step @ change))
            result = result - shares[-1] * change
        step, change = pairs[-1]
        result *= (step @ change) / (change @ change)
        for (step, change), share in zip(pairs, reversed(shares)):
            result += (share - (change @ result) / (step @ change)) * step
        return result
