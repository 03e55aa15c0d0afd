"""The path of logistic problems: Σ weight · loss + alpha‖w‖², from the largest alpha down."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from rankwise.losses.logistic import LogisticRisk
from rankwise.losses.risk import Evaluation
from rankwise.numerics.arrays import Matrix
from rankwise.solvers.exact_newton import ExactNewtonSolver
from rankwise.solvers.solver import INTERRUPTED, Solution

LIMIT = 1e-12
"""alpha = 0 stands for this share of the largest diagonal entry of the Hessian at w = 0."""
EXTREME = 1e30
"""Features are divided by their largest value if it lies beyond this number, or its inverse."""


class Scaled(NamedTuple):
    """A problem in units of its own: features Φ/unit, and the weighted mean of the losses."""

    phi: Matrix
    unit: float
    risk: LogisticRisk

    @classmethod
    def of(cls, phi: Matrix, risk: LogisticRisk) -> Scaled:
        values = phi.data if not isinstance(phi, np.ndarray) else phi
        largest = float(np.abs(values).max(initial=0.0))
        unit = largest if largest and not 1 / EXTREME <= largest <= EXTREME else 1.0
        scaled = phi / unit if unit != 1.0 else phi
        return cls(scaled, unit, risk)

    def alpha(self, alpha: float) -> float:
        """The alpha of the scaled problem; 0 is the limit of small ones."""
        with np.errstate(over="ignore"):
            scaled = alpha / self.risk.total_weight / self.unit / self.unit
        if alpha > 0 and scaled > 0:
            return min(scaled, 1e300)
        return LIMIT * _largest_curvature(self.phi, self.risk)

    def original(self, solution: Solution) -> Solution:
        solution.w = solution.w / self.unit
        assert solution.objective is not None
        total = self.risk.total_weight
        solution.objective *= total
        solution.gap *= total
        for name in ("objective", "gap"):
            solution.history[name] = solution.history[name] * total
        return solution


def _largest_curvature(phi: Matrix, risk: LogisticRisk) -> float:
    evaluation: Evaluation = risk.at(np.zeros(risk.n_items))
    assert evaluation.diagonal is not None
    squares = phi**2 if isinstance(phi, np.ndarray) else phi.multiply(phi)
    largest = float(np.max(squares.T @ evaluation.diagonal(), initial=0.0))
    return largest or 1.0


def logistic_path(
    phi: Matrix, risk: LogisticRisk, alphas: Iterable[float], **limits: float
) -> list[Solution]:
    """Solutions in the order of alphas; Ctrl-C ends the path unless it has a single alpha.

    `limits` are those of ExactNewtonSolver.solve.
    """
    scaled = Scaled.of(phi, risk)
    solver, start = ExactNewtonSolver(scaled.phi, risk), None
    alphas, solutions = list(alphas), {}
    for alpha in sorted(set(alphas), reverse=True):
        solution = solver.solve(scaled.alpha(alpha), start=start, **limits)  # type: ignore[arg-type]
        if solution.status == INTERRUPTED and len(set(alphas)) > 1:
            raise KeyboardInterrupt("the path is not complete")
        start = solution.w
        solutions[alpha] = scaled.original(solution)
    return [solutions[alpha] for alpha in alphas]
