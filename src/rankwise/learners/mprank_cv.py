"""MPRankCV: C chosen by the leave-one-out error over pairs, from one decomposition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from rankwise.holdout.pairwise_loo import pairwise_loo_costs
from rankwise.learners.magnitude_ranker import MagnitudeSupervision
from rankwise.learners.mprank import least_squares
from rankwise.solvers.spectral import refuse_overflow
from rankwise.spaces.kernels import Kernel
from rankwise.validation import check_alphas, check_items

DEFAULT_CS = 2.0 ** np.arange(-10, 16)


@dataclass(eq=False, repr=False)
class MPRankCV(MagnitudeSupervision):
    """MPRank with norm 2 and the C of least `pairwise_loo`, the smallest where several have it.

    One decomposition serves every C of the grid; each then costs O(m²). Section 2.6 of Cortes,
    Mohri, Rastogi (2007).

    Parameters
    ----------
    Cs : grid of positive numbers, default 2^-10 … 2^15
    exact : True for the exact error, False for the paper's approximation (one query)
    kernel, gamma, degree, coef0, basis, random_state : as in MPRank

    Attributes
    ----------
    C_ : the chosen C; best_cost_ : its leave-one-out error, averaged over outputs
    cv_results_ : {"C", "cost"}, one entry per C
    coef_ or dual_coef_, basis_index_ : of the model with C_, trained on everything

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import MPRankCV
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> MPRankCV([0.01, 1.0, 100.0]).fit(X, 2 * X[:, 0]).C_
    100.0
    """

    Cs: Sequence[float] | np.ndarray | None = None
    _: KW_ONLY
    exact: bool = True

    def fit(self, X, y, *, qid=None):
        """Score the grid, choose, and keep the model of the chosen C."""
        Cs = check_alphas(DEFAULT_CS if self.Cs is None else self.Cs, "Cs", "C")
        Kernel.of(self)
        X = check_items(self, X, reset=True)
        self._keep(X, *self._supervise(X.shape[0], y, qid, None), qid is not None)
        problem = least_squares(self, X, self._supervision)
        with np.errstate(over="ignore"):
            costs = pairwise_loo_costs(problem, Cs, self.exact).mean(axis=1)
        refuse_overflow(costs)
        self.cv_results_ = {"C": Cs, "cost": costs}
        self.best_cost_ = float(costs.min())
        self.C_ = float(Cs[costs <= self.best_cost_ * (1 + 1e-12)].min())
        solution = problem.path([self._normaliser / (2 * self.C_)])[0]
        self._set_model(problem.space, solution, self._single_output)
        self.n_iter_ = problem.n_iter
        return self
