"""Bundle method for R(Φw) + alpha‖w‖² with any convex risk R, and a certificate: the duality gap.

Algorithm 1 (BMRM) of Airola, Pahikkala, Salakoski (2011) with the line search that its authors
left to future work. An iteration costs two products with Φ, a few evaluations of R over the
predictions, and a quadratic programme in as many variables as there are planes.

Planes alone are slow if alpha is small or if the features are of very different scale. If the first
planes say so, a Newton method takes over: on a smoothed risk where pairs are many (scores), along
the central path where they are listed (preferences). Its steps give points and planes as well.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from rankwise.losses.hinge import PreferenceHinge
from rankwise.losses.risk import Risk
from rankwise.numerics.arrays import Matrix
from rankwise.numerics.products import Products
from rankwise.numerics.threads import one_blas_thread
from rankwise.solvers.cutting_planes import CuttingPlanes
from rankwise.solvers.interior_point import InteriorPoint
from rankwise.solvers.line_search import Iterate, Origin, Ray
from rankwise.solvers.preconditioner import Preconditioning
from rankwise.solvers.smoothed_newton import SmoothedNewton
from rankwise.solvers.solver import (
    CONVERGED,
    INTERRUPTED,
    MAX_ITER,
    STALLED,
    Progress,
    Solution,
    Solver,
    refuse_non_finite,
)

LINE_ACCURACY = 0.05
"""The share of the current gap that a line search may leave."""
SAMPLE, WORTH_SAMPLING = 4096, 8
"""Items of the sample that tells where to begin a line search, and how many times more items there
must be for it."""
FLAT = 0.2
"""A step that the sample tells is taken at once if it leaves at most this share of the slope."""
ROUNDED = 1e-14
"""Planes are lowered by this share of the terms of their offset: far from the minimum these are so
large that their rounding errors could lift a plane above the risk, and prove what is not true."""
FIRST_PLANES, MORE_PLANES = 10, 45
"""The bundle method is slow if it needs more than the second number of planes, or would need more
at its rate over the last planes, as many as the first number."""
FIRST_GOAL = 1e-3
"""The gap that help aims at first, as a share of the objective of the zero model."""
HELP = 30
"""So many steps of help that do not halve the gap they prove are the last ones."""
IDLE_PLANES = 30
"""So many planes after help that improve neither the best point nor the minimum of the model are
the last ones: rounding errors hide what more of them would say."""


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
        self._sample = risk.sample(SAMPLE) if risk.n_items >= WORTH_SAMPLING * SAMPLE else None
        preconditioning = Preconditioning(phi, risk)
        self._helper: SmoothedNewton | InteriorPoint | None = None
        if "smoothing" in risk.offers:
            self._helper = SmoothedNewton(self._products, preconditioning, risk)
        elif isinstance(risk, PreferenceHinge):
            self._helper = InteriorPoint(self._products, preconditioning, risk)

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
        with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
            best = self._start(start, alpha)
            run = _Run(alpha, tol, max_iter, self._origin(), best, Progress("bundle", tol, verbose))
            helper = self._helper
            try:
                while run.goes_on:
                    self._cut(run, may_leave=helper is not None)
                    if run.goes_on and helper is not None:
                        self._be_helped(run, helper)
                        helper = None
            except KeyboardInterrupt:
                run.status = INTERRUPTED
        found = run.best
        history = run.progress.history()
        return Solution(found.w, run.status, found.objective, run.gap, run.n_iter, history)

    def _cut(self, run: _Run, may_leave: bool) -> None:
        """Algorithm 1, until it converges or stalls after help, or is slow if it may leave then."""
        candidate, least, most, idle = run.best, np.inf, -np.inf, 0
        while run.goes_on and not (may_leave and run.is_slow):
            run.proven = self._add_plane(candidate, run.alpha, is_best=candidate is run.best)
            target, model_minimum = self._planes.minimise(run.alpha)  # line 8
            run.raise_bound(model_minimum, run.best.objective - run.proven)
            if run.gap > run.enough:  # lines 9-11
                run.best, candidate = self._search(run, target)
                run.proven = np.inf
            run.finish_iteration()  # line 12
            better = run.best.objective < least or model_minimum > most
            least, most = min(least, run.best.objective), max(most, model_minimum)
            idle = 0 if better else idle + 1
            if run.goes_on and idle >= IDLE_PLANES and not may_leave and self._helper is not None:
                run.status = STALLED

    def _be_helped(self, run: _Run, helper: SmoothedNewton | InteriorPoint) -> None:
        """Planes from steps of a Newton method, as long as what they prove gets better.

        The gap to reach falls in stages. Each stage ends at a minimiser of the smoothed risk, where
        the bound is sharp, so a goal that rounding errors put out of reach still leaves the gap of
        the stage before it.
        """
        point, least, step_of_least = run.best, np.inf, 0
        run.goal = max(run.enough, FIRST_GOAL * run.origin.risk.value)
        for step, plane in enumerate(helper.planes(run.best, run.alpha, lambda: run.goal)):
            self._planes.add(plane.slope, plane.offset)
            alone = plane.offset - float(plane.slope @ plane.slope) / (4 * run.alpha)
            run.raise_bound(alone, self._planes.minimise(run.alpha)[1])
            objective = plane.exact + run.alpha * float(plane.w @ plane.w)
            if objective < point.objective:
                run.best = point = Iterate(plane.w, plane.p, point.risk, objective)
            run.finish_iteration()
            while run.enough < run.goal and run.gap <= run.goal:
                run.goal = max(run.enough, 0.1 * run.goal)
            if objective - alone < 0.5 * least:
                least, step_of_least = objective - alone, step
            if step - step_of_least >= HELP or not run.goes_on:
                break
        run.best = Iterate.at(point.w, point.p, self._risk, run.alpha)

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
        product, size = float(slope @ point.w), float(np.abs(slope) @ np.abs(point.w))
        self._planes.add(slope, point.risk.value - product - ROUNDED * (point.risk.value + size))
        if not is_best:
            return np.inf
        self._memory.observe(point.w, slope)
        gradient = slope + 2 * alpha * point.w
        return float(gradient @ gradient) / (4 * alpha)

    def _search(self, run: _Run, target: np.ndarray) -> tuple[Iterate, Iterate]:
        """The best point on a ray from the best point so far, and the point for the next plane.

        Rays lead to the minimiser of the model and, every other time, along a quasi-Newton
        direction: over many pairs the risk is almost smooth, and planes at such points bound it
        as well. Where evaluations are long, a sample of the items tells about where that minimum
        is, and most searches need one evaluation. A plane at the minimum of the ray cuts off the
        minimiser of the model by about the whole gap. If the search ended short of that, the
        plane is placed at the end of the ray.
        """
        best, alpha = run.best, run.alpha
        direction = target - best.w
        if run.n_iter % 2 == 1 and self._memory.knows(best.w):
            direction = self._memory.direction(alpha)
        ray = Ray(self._risk, alpha, best, direction, self._products.scores(direction))
        gap = best.objective - run.bound
        first, flat = (ray.likely_step(self._sample), FLAT) if self._sample else (1.0, 0.0)
        found, trial = ray.minimise(LINE_ACCURACY * gap, first=first, flat=flat)
        refuse_non_finite(found.objective)
        if found.objective < best.objective:
            best = ray.iterate(found)
        falls_short = found.slope * (1.0 - found.step) < -0.5 * gap
        if found.step > 0 and not falls_short:
            return best, best
        return best, ray.iterate(trial if trial.step == 1.0 else ray.at(1.0))


@dataclass
class _Run:
    """The state of one solve: the best point, a lower bound of the minimum, and `proven`, an upper
    bound of the gap at the best point that no difference of objectives has robbed of its digits."""

    alpha: float
    tol: float
    max_iter: int
    origin: Origin
    best: Iterate
    progress: Progress
    bound: float = 0.0  # a risk is never negative
    proven: float = np.inf
    goal: float = 0.0  # the gap that help aims at now
    n_iter: int = 0
    status: str = MAX_ITER
    gaps: list[float] = field(default_factory=list)

    @property
    def gap(self) -> float:
        return max(min(self.best.objective - self.bound, self.proven), 0.0)

    @property
    def enough(self) -> float:
        """The gap at which to stop: tol, or less if little is gained."""
        return self.tol * self.origin.share(self.best, self.alpha)

    @property
    def goes_on(self) -> bool:
        return self.status == MAX_ITER and self.n_iter < self.max_iter

    @property
    def is_slow(self) -> bool:
        """Whether the last planes let expect that many more are needed."""
        if len(self.gaps) <= FIRST_PLANES or not self.enough > 0:
            return False
        if len(self.gaps) >= MORE_PLANES:
            return True
        done = np.log(self.gaps[-1 - FIRST_PLANES] / self.gaps[-1]) / FIRST_PLANES
        return bool(np.log(self.gaps[-1] / self.enough) > MORE_PLANES * done)

    def raise_bound(self, *bounds: float) -> None:
        self.bound = max(self.bound, *bounds)

    def finish_iteration(self) -> None:
        self.n_iter += 1
        if self.gap <= self.enough:
            self.status = CONVERGED
        self.gaps.append(self.gap)
        self.progress.record(self.best.objective, self.gap, self.gap)


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
