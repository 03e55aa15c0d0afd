"""Truncated Newton for R(Φw) + alpha‖w‖² with a smooth risk R (Chapelle and Keerthi, 2010).

A step of conjugate gradients costs two products with Φ and one Hessian-vector product of R over
the predictions, O(nnz + m log m); neither the Hessian nor a matrix of pairs is ever formed.
"""

from __future__ import annotations

import numpy as np

from rankwise.losses.risk import Risk
from rankwise.numerics.arrays import Matrix
from rankwise.numerics.products import Products
from rankwise.numerics.threads import one_blas_thread
from rankwise.solvers.line_search import Iterate, Ray
from rankwise.solvers.solver import (
    CONVERGED,
    INTERRUPTED,
    MAX_ITER,
    Progress,
    Solution,
    Solver,
    refuse_non_finite,
)

MAX_CG = 250
LINE_ACCURACY = 0.05
"""The share of the predicted decrease that a line search may leave."""
FLAT = 0.1
"""A first trial is taken where it leaves no more than this share of the slope."""


class NewtonSolver(Solver):
    """Solves for one alpha after another, each from the start it is given."""

    name = "newton"
    requires = frozenset({"curvature"})
    way_out = 'use loss="squared_hinge", or solver="bundle"'

    def __init__(self, phi: Matrix, risk: Risk):
        self.check(risk)
        self._products = Products(phi)
        self._risk = risk

    def solve(self, alpha, *, start=None, tol=1e-3, max_iter=1000, verbose=0) -> Solution:
        """Minimise until ‖∇J‖ ≤ tol ‖∇J(0)‖, from `start` (zero if None).

        J is 2·alpha strongly convex and never negative, so the gap is at most ‖∇J‖²/(4 alpha), and
        at most J.
        """
        with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
            return self._solve(alpha, start, tol, max_iter, verbose)

    def _solve(self, alpha, start, tol, max_iter, verbose) -> Solution:
        m, n = self._products.shape
        point = Iterate.at(np.zeros(n), np.zeros(m), self._risk, alpha)
        gradient = self._gradient(point, alpha)
        reference = np.linalg.norm(gradient)
        target = tol * reference
        if start is not None:
            point = Iterate.at(start, self._products.scores(start), self._risk, alpha)
            gradient = self._gradient(point, alpha)
        progress = Progress("newton", target, verbose)
        status, n_iter = MAX_ITER, 0
        try:
            while True:
                norm = float(np.linalg.norm(gradient))
                gap = min(norm**2 / (4 * alpha), point.objective)
                progress.record(point.objective, gap, norm)
                if norm <= target:
                    status = CONVERGED
                if status == CONVERGED or n_iter == max_iter:
                    break
                forcing = max(min(0.5, np.sqrt(norm / reference)), 0.5 * target / norm)
                direction, d_p = self._newton_direction(point, gradient, alpha, forcing)
                n_iter += 1
                ray = Ray(self._risk, alpha, point, direction, d_p)
                predicted = -0.5 * float(gradient @ direction)
                found, _ = ray.minimise(LINE_ACCURACY * predicted, flat=FLAT)
                if not found.objective < point.objective:
                    break
                point = ray.iterate(found)
                gradient = self._gradient(point, alpha)
        except KeyboardInterrupt:
            status = INTERRUPTED
        return Solution(point.w, status, point.objective, gap, n_iter, progress.history())

    def _gradient(self, point: Iterate, alpha: float) -> np.ndarray:
        gradient = self._products.pullback(point.risk.gradient) + 2 * alpha * point.w
        refuse_non_finite(point.objective, float(gradient @ gradient))
        return gradient

    def _newton_direction(self, point: Iterate, gradient, alpha, forcing):
        """d with ‖∇²J d + ∇J‖ ≤ forcing ‖∇J‖, and Φd, gathered without a product of its own."""
        d, d_p = np.zeros_like(gradient), np.zeros(self._products.shape[0])
        curvature = point.risk.curvature
        assert curvature is not None
        residual = -gradient
        conjugate, rho = residual, float(residual @ residual)
        goal = forcing**2 * rho
        for _ in range(MAX_CG):
            if rho <= goal:
                break
            conjugate_p = self._products.scores(conjugate)
            bent = self._products.pullback(curvature(conjugate_p))
            bent += 2 * alpha * conjugate
            share = rho / float(conjugate @ bent)
            d += share * conjugate
            d_p += share * conjugate_p
            residual = residual - share * bent
            previous, rho = rho, float(residual @ residual)
            conjugate = residual + (rho / previous) * conjugate
        return d, d_p
