"""Conjugate gradients: one loop for all systems, and the solver of quadratic losses made of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal
from sklearn.exceptions import ConvergenceWarning

from rankwise.losses.quadratic_loss import Quadratic
from rankwise.solvers.solver import MAX_ITER, Solution, Solver
from rankwise.spaces.space import Features, ItemMatrix

Vector = tuple[np.ndarray, ...]
"""A vector and, where a system wants them updated along with it, linear functions of the vector."""


class System(Protocol):
    """A quadratic problem with positive semi-definite Hessian H, and the point x reached so far."""

    @property
    def noise(self) -> float:
        """⟨residual, z⟩ up to this value consists of rounding errors."""

    def descent(self) -> tuple[Vector, float]:
        """The preconditioned residual z (the residual is minus the gradient), and ⟨residual, z⟩."""

    def curvature(self, direction: Vector) -> float:
        """⟨d, H d⟩."""

    def advance(self, size: float, direction: Vector) -> None:
        """Move x by size · d, for the direction d last given to `curvature`."""


class Step(NamedTuple):
    """A step that was taken; `gain` is the decrease of the squared energy norm of the error."""

    size: float
    gain: float


def conjugate_steps(system: System) -> Iterator[Step]:
    """Steps of preconditioned conjugate gradients, until no descent is left beyond rounding.

    Each step has moved the point of the system; the caller looks at the point and stops when it
    likes.
    """
    direction: Vector = ()
    previous = 0.0
    while True:
        z, rho = system.descent()
        if not rho > system.noise:
            return
        for total, new in zip(direction, z):
            total *= rho / previous
            total += new
        direction = direction or tuple(part.copy() for part in z)
        curvature = system.curvature(direction)
        if not curvature > 0 or not rho > system.noise:  # the curvature may tell more of the noise
            return
        size, previous = rho / curvature, rho
        system.advance(size, direction)
        yield Step(size, size * rho)


class NormalEquations:
    """H x = right with H = Φᵀ C Φ + ridge·I.

    `scores(x)` is Φ x, and `bend(x, Φ x)` is H x, which takes one product with C and one with Φᵀ.
    `precondition` multiplies a residual r by an approximate inverse of H, and `energy` is the
    product of the result with r. `image` is Φ times the last direction.
    """

    noise = 0.0

    def __init__(
        self,
        scores: Callable,
        bend: Callable,
        right: np.ndarray,
        start: np.ndarray | None = None,
        precondition: Callable[[np.ndarray], np.ndarray] | None = None,
    ):
        self._scores, self._bend, self._precondition = scores, bend, precondition
        self.x, self.residual = np.zeros_like(right), right.copy()
        self._measure()
        if start is not None:
            self.curvature((start,))
            self.advance(1.0, (start,))

    def descent(self) -> tuple[Vector, float]:
        return (self._z,), self.energy

    def curvature(self, direction: Vector) -> float:
        self.image = self._scores(direction[0])
        self._bent = self._bend(direction[0], self.image)
        return float(direction[0] @ self._bent)

    def advance(self, size: float, direction: Vector) -> None:
        self.x += size * direction[0]
        self.residual -= size * self._bent
        self._measure()

    def _measure(self) -> None:
        self._z = self.residual
        self.squared_norm = self.energy = float(self.residual @ self.residual)
        if self._precondition is not None:
            self._z = self._precondition(self.residual)
            self.energy = float(self.residual @ self._z)


class ConjugateGradientSolver(Solver):
    """(FᵀLF + alpha·I) w = Fᵀb to a relative residual `tol` (section 4.3 of Pahikkala et al. 2009).

    O(nnz) per iteration and output, one output after another; nothing becomes dense. If `accuracy`
    is given, the iterations go on until the estimated relative error of w is below it too. A
    warning tells if max_iter ended the iterations, unless the caller `has_alternative`.
    """

    name = "cg"
    requires = frozenset({"features", "quadratic"})

    def __init__(
        self,
        matrix: ItemMatrix,
        quadratic: Quadratic,
        *,
        tol: float = 1e-6,
        max_iter: int = 1000,
        accuracy: float = np.inf,
        has_alternative: bool = False,
    ):
        self.check(matrix, quadratic)
        assert isinstance(matrix, Features)
        self.F, self.laplacian = matrix.F, quadratic.laplacian
        self.tol, self.max_iter = tol, max_iter
        self.accuracy, self.has_alternative = accuracy, has_alternative
        self.right = np.asarray(self.F.T @ quadratic.target.b)

    def solve(self, alpha: float, *, start: np.ndarray | None = None) -> Solution:
        """w is (n, k), n_iter the largest number of iterations of an output.

        The system is divided by alpha and its right side by its norm, so that squares neither
        overflow nor vanish.
        """
        F, apply = self.F, self.laplacian.apply

        def bend(w: np.ndarray, p: np.ndarray) -> np.ndarray:
            return F.T @ apply(p) / alpha + w

        solution = Solution(np.zeros_like(self.right), n_iter=0)
        for j, given in enumerate(self.right.T):
            size = _norm(given)
            if size == 0:
                continue
            right, scale = given / size, size / alpha
            first = None if start is None else start[:, j] / scale
            system = NormalEquations(lambda w: F @ w, bend, right, first)
            n_iter, smallest = self._iterate(system)
            solution.w[:, j] = system.x * scale
            solution.n_iter = max(solution.n_iter, n_iter)
            solution.gap += system.squared_norm * size * scale
            if np.isfinite(self.accuracy):
                left = _norm(right - bend(system.x, F @ system.x))
                bound = smallest * _norm(system.x)
                solution.error = max(solution.error, left / bound if bound > 0 else np.inf)
            if not system.squared_norm <= self.tol**2:
                solution.status = MAX_ITER
                if not self.has_alternative:
                    self._warn(n_iter, np.sqrt(system.squared_norm))
        return solution

    def _iterate(self, system: NormalEquations) -> tuple[int, float]:
        """The number of iterations, and the smallest eigenvalue of the system as far as it is seen.

        The error of w is at most the residual over that eigenvalue, which is at least 1. Conjugate
        gradients see the eigenvalues along the residual only, by the Lanczos matrix of their own
        step sizes. Half of the estimate is used, because it comes down from above.
        """
        steps: list[Step] = []
        source, smallest, looked = conjugate_steps(system), 1.0, 0
        while len(steps) < self.max_iter:
            residual = np.sqrt(system.squared_norm)
            if residual <= self.tol:
                if residual / self.accuracy <= smallest * _norm(system.x):
                    break
                if len(steps) >= 1.1 * looked + 1:
                    smallest, looked = max(1.0, 0.5 * _smallest_ritz_value(steps)), len(steps)
                    continue
            step = next(source, None)
            if step is None:
                break
            steps.append(step)
        return len(steps), smallest

    def _warn(self, n_iter: int, residual: float) -> None:
        warnings.warn(
            f"conjugate gradients stopped after {n_iter} iterations with a relative "
            f"residual of {residual:.1e}, above tol={self.tol:g}; raise max_iter or alpha.",
            ConvergenceWarning,
            stacklevel=5,
        )


def _smallest_ritz_value(steps: list[Step]) -> float:
    """The smallest eigenvalue of the Lanczos matrix that conjugate gradients imply, O(steps)."""
    sizes = np.array([step.size for step in steps])
    squared = np.array([step.gain for step in steps]) / sizes
    growth = squared[1:] / squared[:-1]
    diagonal = 1.0 / sizes
    diagonal[1:] += growth / sizes[:-1]
    off_diagonal = np.sqrt(growth) / sizes[:-1]
    return float(eigvalsh_tridiagonal(diagonal, off_diagonal, "i", (0, 0))[0])


def _norm(vector: np.ndarray) -> float:
    largest = float(np.abs(vector).max(initial=0.0))
    return largest * float(np.linalg.norm(vector / largest)) if largest > 0 else 0.0
