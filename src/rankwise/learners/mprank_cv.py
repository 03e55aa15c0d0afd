"""MPRankCV: C chosen by the leave-one-out error over pairs, from one decomposition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from rankwise.holdout.pairwise_loo import pairwise_loo_costs
from rankwise.holdout.quadratic_problem import QuadraticProblem
from rankwise.learners.magnitude_ranker import MagnitudeSupervision
from rankwise.learners.mprank import least_squares
from rankwise.model_selection.choosing import (
    DefaultGrid,
    largest_of_best,
    search_grid,
    warn_at_end,
)
from rankwise.solvers.spectral import refuse_overflow
from rankwise.spaces.kernels import Kernel
from rankwise.validation import check_alphas, check_items

INVERSE_CS = DefaultGrid(2.0, -15, 10, limit=60)
"""The default grid of 1/C, the strength of the regularisation."""


@dataclass(eq=False, repr=False)
class MPRankCV(MagnitudeSupervision):
    """MPRank with norm 2 and the C of least `pairwise_loo`, the smallest where several have it.

    One decomposition serves every C of the grid; each then costs O(m²). Section 2.6 of Cortes,
    Mohri, Rastogi (2007).

    Parameters
    ----------
    Cs : grid of positive numbers. None: 2^-10 … 2^15, extended by further powers of 2 (up to
        2^±60) while the best C lies at an end. If the best C of a given grid lies at its end, a
        GridWarning says so.
    exact : True for the exact error, False for the paper's approximation (one query)
    kernel, gamma, degree, coef0, basis, random_state : as in MPRank

    Attributes
    ----------
    Cs_ : the grid that was scored
    C_ : the chosen C; best_cost_ : its leave-one-out error, averaged over outputs
    cv_results_ : {"C", "cost"}, one entry per C
    coef_ or dual_coef_, basis_index_ : of the model with C_, trained on everything

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import MPRankCV
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> MPRankCV([0.01, 1.0, 100.0]).fit(X, np.array([0.0, 3, 1, 5, 2, 7, 3, 8])).C_
    1.0
    """

    Cs: Sequence[float] | np.ndarray | None = None
    _: KW_ONLY
    exact: bool = True

    def fit(self, X, y, *, qid=None):
        """Score the grid, choose, and keep the model of the chosen C."""
        Kernel.of(self)
        X = check_items(self, X, reset=True)
        self._keep(X, *self._supervise(X.shape[0], y, qid, None), qid is not None)
        problem = least_squares(self, X, self._supervision)
        Cs, costs = self._scored_grid(problem)
        # Logarithms are compared, so that costs are equal if they agree up to a tiny factor.
        best = largest_of_best(1 / Cs, _scores(costs)[:, 0])
        self.Cs_, self.C_, self.best_cost_ = Cs, float(Cs[best]), float(costs[best])
        self.cv_results_ = {"C": Cs, "cost": costs}
        solution = problem.path([self._normaliser / (2 * self.C_)])[0]
        self._set_model(problem.space, solution, self._single_output)
        self.n_iter_ = problem.n_iter
        return self

    def _scored_grid(self, problem: QuadraticProblem) -> tuple[np.ndarray, np.ndarray]:
        """The Cs and their costs; each C is scored once."""

        def cost(Cs: np.ndarray) -> np.ndarray:
            with np.errstate(over="ignore"):
                costs = pairwise_loo_costs(problem, Cs, self.exact).mean(axis=1)
            refuse_overflow(costs)
            return costs

        def score(alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            costs = cost(1 / alphas)
            return _scores(costs), costs[:, None, None]

        if self.Cs is None:
            grid = search_grid(score, None, INVERSE_CS)
            return 1 / grid.alphas[::-1], grid.influence[::-1, 0, 0]
        Cs = check_alphas(self.Cs, "Cs", "C")
        costs = cost(Cs)
        warn_at_end(Cs, _scores(costs), argument="Cs", less=True)
        return Cs, costs


def _scores(costs: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return -np.log(costs)[:, None]
