"""Truncated Newton for R(Φw) + alpha‖w‖² with a smooth risk R (Chapelle and Keerthi, 2010).

One inner step of conjugate gradients costs two products with Φ and one Hessian-vector product of R
over the predictions, O(nnz + m log m). Neither the Hessian nor a matrix of pairs is ever formed.
"""

from __future__ import annotations

from itertools import islice

import numpy as np

from rankwise.losses.risk import Evaluation, Risk
from rankwise.numerics.arrays import Matrix
from rankwise.numerics.products import Products
from rankwise.numerics.threads import one_blas_thread
from rankwise.solvers.conjugate_gradients import NormalEquations, conjugate_steps
from rankwise.solvers.line_search import Iterate, Origin, Ray
from rankwise.solvers.preconditioner import Preconditioning
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

MAX_CG = 250
LINE_ACCURACY = 0.05
"""The line search may miss this share of the predicted decrease."""
FLAT = 0.1
"""The first trial of a line search is accepted if it leaves at most this share of the slope."""


class NewtonSolver(Solver):
    """Minimises for one alpha after another, each from the start that `solve` is given."""

    name = "newton"
    requires = frozenset({"curvature"})
    way_out = 'use loss="squared_hinge", or solver="bundle"'

    def __init__(self, phi: Matrix, risk: Risk):
        self.check(risk)
        self._products = Products(phi)
        self._preconditioning = Preconditioning(phi, risk)
        self._risk = risk

    def solve(
        self,
        alpha: float,
        *,
        start: np.ndarray | None = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        verbose: int = 0,
    ) -> Solution:
        """Minimise until ‖∇J‖ ≤ tol ‖∇J(0)‖ and gap ≤ tol J(0), from `start` (zero if None).

        J is 2·alpha strongly convex and never negative, so the gap is at most ‖∇J‖²/(4 alpha), and
        at most J. If less than a tenth of J(0) is gained, the gap must fall to 10·tol of the gain.
        The solution is not called converged if rounding errors end the iterations before.
        """
        with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
            m, n = self._products.shape
            point = Iterate.at(np.zeros(n), np.zeros(m), self._risk, alpha)
            gradient = self._gradient(point, alpha)
            reference = float(np.linalg.norm(gradient))
            # Without the curvature, which would keep what was sorted for it.
            origin = Origin(Evaluation(point.risk.value, point.risk.gradient), gradient)
            status, n_iter = MAX_ITER, 0
            if origin.is_nearly_best(alpha):
                start, n_iter = origin.line_minimum(alpha), 1
            if start is not None:
                point = Iterate.at(start, self._products.scores(start), self._risk, alpha)
                gradient = self._gradient(point, alpha)
            progress = Progress("newton", tol * reference, verbose)
            try:
                while True:
                    norm = float(np.linalg.norm(gradient))
                    gap = min(norm**2 / (4 * alpha), point.objective)
                    progress.record(point.objective, gap, norm)
                    enough = tol * origin.risk.value * origin.share(point, alpha)
                    if norm <= tol * reference and gap <= enough:
                        status = CONVERGED
                    if status == CONVERGED or n_iter == max_iter:
                        break
                    to_go = min(tol * reference / norm, float(np.sqrt(enough / gap)))
                    forcing = max(min(0.5, np.sqrt(norm / reference)), 0.5 * to_go)
                    direction, d_p = newton_direction(
                        self._products, self._preconditioning, point.risk, gradient, alpha, forcing
                    )
                    n_iter += 1
                    ray = Ray(self._risk, alpha, point, direction, d_p)
                    predicted = -0.5 * float(gradient @ direction)
                    found, _ = ray.minimise(LINE_ACCURACY * predicted, flat=FLAT, descend=True)
                    new = ray.iterate(found)
                    gradient = self._gradient(new, alpha)
                    if new.objective >= point.objective and np.linalg.norm(gradient) >= norm:
                        status = STALLED
                        break
                    point = new
            except KeyboardInterrupt:
                status = INTERRUPTED
            return Solution(point.w, status, point.objective, gap, n_iter, progress.history())

    def _gradient(self, point: Iterate, alpha: float) -> np.ndarray:
        gradient = self._products.pullback(point.risk.gradient) + 2 * alpha * point.w
        refuse_non_finite(point.objective, float(gradient @ gradient))
        return gradient


def newton_direction(
    products: Products,
    preconditioning: Preconditioning,
    risk: Evaluation,
    gradient: np.ndarray,
    alpha: float,
    forcing: float,
) -> tuple[np.ndarray, np.ndarray]:
    """d with ‖∇²J d + ∇J‖ ≤ forcing ‖∇J‖, also in the norm of the preconditioner, and Φd, which
    needs no product of its own."""
    curvature = risk.curvature
    assert curvature is not None
    system = NormalEquations(
        products.scores,
        lambda d, p: products.pullback(curvature(p)) + 2 * alpha * d,
        -gradient,
        precondition=preconditioning.at(risk, alpha),
    )
    d_p = np.zeros(products.shape[0])
    energy, squared_norm = forcing**2 * system.energy, forcing**2 * system.squared_norm
    for step in islice(conjugate_steps(system), MAX_CG):
        d_p += step.size * system.image
        if system.energy <= energy and system.squared_norm <= squared_norm:
            break
    return system.x, d_p
