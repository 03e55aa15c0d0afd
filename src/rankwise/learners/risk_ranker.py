"""The shell around losses that are not quadratic: features, one solution per output, warnings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rankwise.learners.ranker import BasisArguments, MultiOutputRanker, warn_unless_converged
from rankwise.losses.risk import Risk
from rankwise.numerics.arrays import Matrix
from rankwise.solvers.solver import INTERRUPTED, Solution, Solver
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.space import Space, build_space


@dataclass(eq=False, repr=False, kw_only=True)
class RiskRanker(BasisArguments, MultiOutputRanker):
    """Learners that minimise risk(Φ w) + alpha‖w‖² by a solver that iterates over features Φ."""

    def _feature_space(self, X: Matrix) -> Space:
        """The space with features: X itself, a Cholesky factor of the kernel, or a reduced set."""
        return build_space(X, Kernel.of(self), self.basis, self.random_state, as_features=True)

    def _minimise(
        self,
        solver: Callable[[Matrix, Risk], Solver],
        phi: Matrix,
        risks: Sequence[Risk],
        alpha: float,
        *,
        starts: Sequence[np.ndarray | None],
        **limits,
    ) -> list[Solution]:
        """One solution for each risk."""
        solutions: list[Solution] = []
        for risk, start in zip(risks, starts):
            solution = solver(phi, risk).solve(alpha, start=start, **limits)
            last = len(solutions) == len(risks) - 1
            solutions.append(self._checked(solution, last, stacklevel=6))
        return solutions

    def _checked(self, solution: Solution, last: bool, stacklevel: int = 5) -> Solution:
        """Warn unless the solver converged. Ctrl-C ends the fit unless this is the last output."""
        if solution.status == INTERRUPTED and not last:
            raise KeyboardInterrupt("there is no model yet for the remaining outputs")
        warn_unless_converged(solution, self, stacklevel=stacklevel)
        return solution

    def _set_solutions(self, space: Space, solutions: list[Solution], single: bool) -> None:
        W = np.array([solution.w for solution in solutions])
        self._set_model(space, space.to_model(W.T), single)
        for name in ("objective", "gap", "n_iter", "history"):
            values = [getattr(solution, name) for solution in solutions]
            whole = values if name == "history" else np.array(values)
            setattr(self, f"{name}_", values[0] if single else whole)
