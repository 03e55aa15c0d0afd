"""Conjugate gradients: one loop for every system, and the solver of quadratic losses built on it.

The loop is a generator. It moves the point of a `System` step by step; the caller looks at the
point after each step, records what it wants, and stops when it likes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankwise.losses.least_squares import Quadratic
from rankwise.solvers.solver import MAX_ITER, Solution, Solver

Product = Callable[[np.ndarray], np.ndarray]


class System(Protocol):
    """Minimise ½⟨x, H x⟩ − ⟨right, x⟩ with H positive semi-definite; holds the point x.

    The residual is right − H x. The image of a vector is whatever products with it are made of,
    for example its scores at the items. Images are added up along with the vectors, so that each
    iteration computes only one.
    """

    @property
    def noise(self) -> float:
        """A squared norm of the residual up to this consists of rounding errors only."""

    def descent(self) -> tuple[np.ndarray, np.ndarray, float]:
        """The preconditioned residual z, the image of z, and ⟨residual, z⟩."""

    def curvature(self, direction: np.ndarray, image: np.ndarray) -> float:
        """⟨d, H d⟩ of a direction d."""

    def advance(self, size: float, direction: np.ndarray, image: np.ndarray) -> None:
        """Move the point by size · d, where d is the direction last given to `curvature`."""


class Step(NamedTuple):
    """One step, already taken. `gain` is the decrease of ⟨x − x*, H (x − x*)⟩."""

    size: float
    image: np.ndarray
    gain: float


def conjugate_steps(system: System) -> Iterator[Step]:
    """Steps of preconditioned conjugate gradients, until no descent is left beyond rounding.

    The arrays of a step are overwritten by the next one.
    """
    direction = image = np.empty(0)
    previous = 0.0
    while True:
        z, image_of_z, rho = system.descent()
        if not rho > system.noise:
            return
        if previous:
            for total, new in ((direction, z), (image, image_of_z)):
                total *= rho / previous
                total += new
        else:
            direction, image = z.copy(), image_of_z
        curvature = system.curvature(direction, image)
        if not curvature > 0:
            return
        size, previous = rho / curvature, rho
        system.advance(size, direction, image)
        yield Step(size, image, size * rho)


class NormalEquations:
    """(Φᵀ C Φ + ridge·I) x = right, for an operator C over the items; the image of x is Φ x.

    `scores` multiplies with Φ, `pullback` with Φᵀ. One iteration costs one product with each of Φ,
    C and Φᵀ.
    """

    noise = 0.0

    def __init__(
        self,
        scores: Product,
        pullback: Product,
        C: Product,
        ridge: float,
        right: np.ndarray,
        start: np.ndarray | None = None,
    ):
        self._scores, self._pullback, self._C, self._ridge = scores, pullback, C, ridge
        self.x = np.zeros_like(right) if start is None else start.copy()
        self.residual = right.copy()
        if start is not None:
            self.residual -= self._product(start, scores(start))
        self.squared_norm = float(self.residual @ self.residual)

    def descent(self) -> tuple[np.ndarray, np.ndarray, float]:
        return self.residual, self._scores(self.residual), self.squared_norm

    def curvature(self, direction: np.ndarray, image: np.ndarray) -> float:
        self._bent = self._product(direction, image)
        return float(direction @ self._bent)

    def advance(self, size: float, direction: np.ndarray, image: np.ndarray) -> None:
        self.x += size * direction
        self.residual -= size * self._bent
        self.squared_norm = float(self.residual @ self.residual)

    def _product(self, direction: np.ndarray, image: np.ndarray) -> np.ndarray:
        product = self._pullback(self._C(image))
        product += self._ridge * direction
        return product


class ConjugateGradientSolver(Solver):
    """(FᵀLF + alpha·I) w = Fᵀb to a relative residual `tol` (section 4.3 of Pahikkala et al. 2009).

    O(nnz) per iteration and output; nothing becomes dense. Outputs are solved one after another. A
    warning tells if max_iter ended the iterations.
    """

    name = "cg"
    requires = frozenset({"features", "quadratic"})

    def __init__(self, F: Any, quadratic: Quadratic, *, tol: float = 1e-6, max_iter: int = 1000):
        self.tol, self.max_iter = tol, max_iter
        self._F, self._laplacian = F, quadratic.laplacian
        self._right = np.asarray(F.T @ quadratic.target.b)

    def solve(self, alpha: float, *, start: np.ndarray | None = None) -> Solution:
        """w is (n, k), n_iter the largest number of iterations of an output."""
        solution = Solution(np.zeros_like(self._right), n_iter=0)
        for j, right in enumerate(self._right.T):
            self._solve_output(solution, j, right, alpha, start)
        return solution

    def _solve_output(
        self, solution: Solution, j: int, right: np.ndarray, alpha: float, start: np.ndarray | None
    ) -> None:
        size = float(np.linalg.norm(right))
        if size == 0:
            return
        first = None if start is None else start[:, j]
        F = self._F
        system = NormalEquations(
            lambda w: F @ w, lambda g: F.T @ g, self._laplacian.apply, alpha, right, first
        )
        goal, n_iter = (self.tol * size) ** 2, 0
        steps = islice(conjugate_steps(system), self.max_iter)
        while not system.squared_norm <= goal and next(steps, None):
            n_iter += 1
        solution.w[:, j] = system.x
        solution.n_iter = max(solution.n_iter, n_iter)
        solution.gap += system.squared_norm / alpha
        if not system.squared_norm <= goal:
            solution.status = MAX_ITER
            warnings.warn(
                f"conjugate gradients stopped after {n_iter} iterations with a relative residual "
                f"of {np.sqrt(system.squared_norm) / size:.1e}, above tol={self.tol:g}; raise "
                "max_iter or alpha.",
                ConvergenceWarning,
                stacklevel=4,
            )


def conjugate_gradients(
    F: Any,
    quadratic: Quadratic,
    alpha: float,
    *,
    tol: float,
    max_iter: int,
    start: np.ndarray | None = None,
) -> tuple[np.ndarray, int]:
    """The weights of ConjugateGradientSolver for one alpha, and its number of iterations."""
    solution = ConjugateGradientSolver(F, quadratic, tol=tol, max_iter=max_iter).solve(
        alpha, start=start
    )
    return solution.w, solution.n_iter
