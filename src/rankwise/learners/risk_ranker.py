"""The shell around losses that are not quadratic: features, one solution per output, warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankwise.learners.ranker import BasisArguments, MultiOutputRanker, warn_unless_converged
from rankwise.losses.risk import Risk
from rankwise.numerics.arrays import Matrix
from rankwise.solvers.rounding_errors import LOST_TERMS, NEARLY_EQUAL, STANDARDISE
from rankwise.solvers.solver import INTERRUPTED, Solution, Solver
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.space import CholeskySpace, ReducedSpace, Space, build_space


class Pull(NamedTuple):
    """The objective divided by alpha, and the difference of scores that pairs ask for."""

    of_pairs: float
    margin: float

    @classmethod
    def of(cls, objective: float | None, alpha: float, margin: float = 1.0) -> Pull:
        assert objective is not None
        return cls(objective / alpha if alpha > 0 else np.inf, margin or 1.0)


def check_digits(
    space: CholeskySpace | ReducedSpace, b: np.ndarray, spread: float, pull: Pull, learner: str
) -> None:
    """ValueError if rounding errors of the kernel decide about the scores K b, and a warning if
    they may; O(m). `spread` is the largest difference of these scores. Σ|a| of the minimiser is
    about the objective over alpha and the margin."""
    digits = space.digits
    misses = digits.may_miss_terms(pull.of_pairs / pull.margin**2)
    if misses and digits.hides_terms:
        raise ValueError(f"{LOST_TERMS}: {STANDARDISE}.")
    expands = not space.representation.kernel.is_linear  # else b are weights of features
    if expands and digits.decide(b, min(spread, pull.margin)):
        raise ValueError(
            f"rounding errors of the kernel decide about the scores of {learner}, because alpha is "
            f"so small beside the values of the kernel: {STANDARDISE}."
        )
    if misses and digits.nearly_equal:
        warnings.warn(
            f"{NEARLY_EQUAL} of {learner}: {STANDARDISE}.",
            ConvergenceWarning,
            stacklevel=4,
        )


@dataclass(eq=False, repr=False, kw_only=True)
class RiskRanker(BasisArguments, MultiOutputRanker):
    """Learners that minimise risk(Φ w) + alpha‖w‖² by a solver that iterates over features Φ."""

    def _feature_space(self, X: Matrix) -> Space:
        """The space with features: X itself, a Cholesky factor of the kernel, or a reduced set."""
        given = (X, Kernel.of(self), self.basis, self.random_state)
        return build_space(*given, as_features=True, ignore_offsets=True)

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

    def _set_solutions(
        self,
        space: Space,
        solutions: list[Solution],
        single: bool,
        pulls: Sequence[Pull],
        spreads: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        """`spreads` gives the largest differences of the scores Φ W of each output; by default they
        are computed from the features of the space."""
        W = np.array([solution.w for solution in solutions]).T
        coefficients = space.to_model(W)
        if isinstance(space, CholeskySpace | ReducedSpace):
            found = np.ptp(space.features @ W, axis=0) if spreads is None else spreads(W)
            for b, spread, pull in zip(coefficients.T, found.tolist(), pulls):
                check_digits(space, b, spread, pull, type(self).__name__)
        self._set_model(space, coefficients, single)
        for name in ("objective", "gap", "n_iter", "history"):
            values = [getattr(solution, name) for solution in solutions]
            whole = values if name == "history" else np.array(values)
            setattr(self, f"{name}_", values[0] if single else whole)
