"""Newton's method with accurate directions for R(Φw) + alpha‖w‖², R given with its curvature.

Up to FEW columns of Φ the Hessian Φᵀ ∇²R Φ + 2 alpha I is factorised, O(nnz(L) n + m n² + n³) with
L = ∇²R. Otherwise conjugate gradients solve for the direction, the more accurately the closer the
minimum is. Both converge quadratically, so the last step costs little and leaves an error at
the level of rounding.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
from scipy import linalg

from rankwise.losses.risk import Evaluation, Risk
from rankwise.numerics.arrays import Matrix, dense
from rankwise.numerics.products import Products
from rankwise.numerics.threads import one_blas_thread
from rankwise.solvers.conjugate_gradients import NormalEquations, conjugate_steps
from rankwise.solvers.line_search import Iterate, Ray
from rankwise.solvers.newton import FLAT, LINE_ACCURACY
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

FEW, FEW_ITEMS = 2500, 600
"""Up to so many columns of Φ the Hessian is factorised; of a diagonal Φ, whose ∇²R is sparse."""
MAX_CG = 5000
LEAST_FORCING, MOST_FORCING = 1e-12, 0.1
ROUNDED = 1e-10
"""A run that rounding stops has converged if its decrement is below this share of the gain."""


class ExactNewtonSolver(Solver):
    """Minimises for one alpha after another, each from the start that `solve` is given."""

    name = "exact newton"
    requires = frozenset({"curvature matrix"})
    way_out = 'use solver="newton" or solver="bundle"'

    def __init__(self, phi: Matrix, risk: Risk):
        self.check(risk)
        self._phi, self._risk = phi, risk
        self._products = Products(phi)
        self._preconditioning = None
        is_diagonal = not isinstance(phi, np.ndarray) and phi.nnz <= phi.shape[0]
        if phi.shape[1] > (min(FEW, FEW_ITEMS) if is_diagonal else FEW):
            self._preconditioning = Preconditioning(phi, risk)

    def solve(
        self,
        alpha: float,
        *,
        start: np.ndarray | None = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        verbose: int = 0,
    ) -> Solution:
        """Minimise until Newton's decrement gᵀH⁻¹g is at most tol² of the gain, then once more.

        The gain is J(0) − J. Close to the minimum, half of the decrement is J − min J. The gap of
        the solution is the decrement after the last step, or the bound ‖∇J‖²/(4 alpha) of strong
        convexity if that is less.
        """
        with np.errstate(over="ignore", invalid="ignore", under="ignore"), one_blas_thread():
            m, n = self._products.shape
            point = Iterate.at(np.zeros(n), np.zeros(m), self._risk, alpha)
            whole = point.objective
            gradient = self._gradient(point, alpha)
            reference = float(np.linalg.norm(gradient))
            if start is not None:
                point = Iterate.at(start, self._products.scores(start), self._risk, alpha)
                gradient = self._gradient(point, alpha)
            progress = Progress(self.name, tol, verbose)
            status, n_iter, gap = MAX_ITER, 0, point.objective
            try:
                while True:
                    norm = float(np.linalg.norm(gradient))
                    d, d_p = self._direction(point.risk, gradient, alpha, norm, reference)
                    decrement = max(0.0, -float(gradient @ d))
                    gain = max(whole - point.objective, alpha * float(point.w @ point.w))
                    gap = min(decrement, norm**2 / (4 * alpha), point.objective)
                    share = float(np.sqrt(decrement / gain)) if gain > 0 else np.inf
                    progress.record(point.objective, gap, share)
                    done = norm == 0 or share <= tol
                    if done or n_iter == max_iter:
                        status = CONVERGED if done else MAX_ITER
                        break
                    n_iter += 1
                    ray = Ray(self._risk, alpha, point, d, d_p)
                    found, _ = ray.minimise(
                        LINE_ACCURACY * 0.5 * decrement, flat=FLAT, descend=True
                    )
                    new = ray.iterate(found)
                    new_gradient = self._gradient(new, alpha)
                    if new.objective >= point.objective and np.linalg.norm(new_gradient) >= norm:
                        status = CONVERGED if share**2 <= ROUNDED else STALLED
                        break
                    point, gradient = new, new_gradient
                if status == CONVERGED and norm > 0:
                    point, gap = self._last_step(point, gradient, alpha, d, d_p)
                    n_iter += 1
            except KeyboardInterrupt:
                status = INTERRUPTED
            return Solution(point.w, status, point.objective, gap, n_iter, progress.history())

    def _last_step(
        self, point: Iterate, gradient: np.ndarray, alpha: float, d: np.ndarray, d_p: np.ndarray
    ) -> tuple[Iterate, float]:
        """The full step, if it shortens the gradient, and the gap."""
        new = Iterate.at(point.w + d, point.p + d_p, self._risk, alpha)
        new_gradient = self._gradient(new, alpha)
        old, norm = (float(np.linalg.norm(g)) for g in (gradient, new_gradient))
        if norm >= old:
            new, norm = point, old
        # The decrement shrinks with the square of the gradient.
        gap = max(0.0, -float(gradient @ d)) * (norm / old) ** 2
        return new, min(gap, norm**2 / (4 * alpha))

    def _gradient(self, point: Iterate, alpha: float) -> np.ndarray:
        gradient = self._products.pullback(point.risk.gradient) + 2 * alpha * point.w
        refuse_non_finite(point.objective, float(gradient @ gradient))
        return gradient

    def _direction(
        self, risk: Evaluation, gradient: np.ndarray, alpha: float, norm: float, reference: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """−H⁻¹g, and Φ times it."""
        if self._preconditioning is None:
            d = -HessianFactor(self._phi, risk, alpha).solve(gradient)
            return d, self._products.scores(d)
        curvature = risk.curvature
        assert curvature is not None
        system = NormalEquations(
            self._products.scores,
            lambda d, p: self._products.pullback(curvature(p)) + 2 * alpha * d,
            -gradient,
            precondition=self._preconditioning.at(risk, alpha),
        )
        forcing = float(np.clip(norm / reference, LEAST_FORCING, MOST_FORCING)) if reference else 1
        energy, squared_norm = forcing**2 * system.energy, forcing**2 * system.squared_norm
        d_p = np.zeros(self._products.shape[0])
        for step in islice(conjugate_steps(system), MAX_CG):
            d_p += step.size * system.image
            if system.energy <= energy and system.squared_norm <= squared_norm:
                break
        return system.x, d_p


class HessianFactor:
    """The Cholesky factor of H = Φᵀ ∇²R Φ + 2 alpha I, whose rows are scaled to a unit diagonal.

    `whiten(B)` is C⁻¹ B with C Cᵀ = H, so that BᵀH⁻¹B is the product of the result with itself.
    """

    def __init__(self, phi: Matrix, risk: Evaluation, alpha: float):
        assert risk.matrix is not None
        laplacian, low_rank = risk.matrix()
        H = dense(phi.T @ (laplacian @ phi))
        if low_rank is not None:
            thin = np.asarray(phi.T @ low_rank)
            H = H - thin @ thin.T
        H = (H + H.T) / 2
        diagonal = np.maximum(H.diagonal(), 0.0) + 2 * alpha
        self._scale = 1.0 / np.sqrt(diagonal)
        H *= self._scale[:, None] * self._scale
        ridge = 10 * len(H) * np.finfo(float).eps
        while True:
            np.fill_diagonal(H, 1.0 + ridge)
            try:
                self._factor = linalg.cholesky(H, lower=True, check_finite=False)
                return
            except linalg.LinAlgError:
                ridge *= 100.0
                if ridge > 1.0:
                    raise

    def solve(self, b: np.ndarray) -> np.ndarray:
        scaled = self._scale * b
        return self._scale * linalg.cho_solve((self._factor, True), scaled, check_finite=False)

    def solve_rows(self, B: np.ndarray) -> np.ndarray:
        """B H⁻¹, for a matrix with n columns."""
        scaled = (self._scale * B).T
        solved = linalg.cho_solve((self._factor, True), scaled, check_finite=False)
        return np.asarray(self._scale * solved.T)

    def whiten(self, B: np.ndarray) -> np.ndarray:
        scaled = self._scale[:, None] * B
        return np.asarray(
            linalg.solve_triangular(self._factor, scaled, lower=True, check_finite=False)
        )
