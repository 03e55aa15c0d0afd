"""MPRankCV: C chosen by the leave-one-out error over pairs, from one decomposition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from rankwise.holdout.pair_systems import Judged
from rankwise.holdout.pairwise_loo import pairwise_loo_costs
from rankwise.holdout.protocol import Alphas, HeldOut
from rankwise.holdout.quadratic_problem import QuadraticProblem
from rankwise.learners.magnitude_ranker import MagnitudeSupervision
from rankwise.learners.mprank import least_squares
from rankwise.losses.epsilon_insensitive import pair_normaliser
from rankwise.model_selection.choosing import (
    DefaultGrid,
    largest_of_best,
    search_grid,
    warn_at_end,
)
from rankwise.model_selection.folds import Folds, Splits
from rankwise.model_selection.scoring import highest_score, score_folds
from rankwise.solvers.rounding_errors import refuse_overflow
from rankwise.spaces.kernels import Kernel
from rankwise.validation import check_alphas, check_items

INVERSE_CS = DefaultGrid(2.0, -15, 10, limit=60)
"""The default grid of 1/C, the strength of the regularisation."""


@dataclass(eq=False, repr=False)
class MPRankCV(MagnitudeSupervision):
    """MPRank with norm 2 and the C of least `pairwise_loo`, the smallest where several have it.

    One decomposition serves every C of the grid; each then costs O(m²). Section 2.6 of Cortes,
    Mohri, Rastogi (2007). With `scoring`, `cv` or `groups` the C is chosen on held-out folds
    instead, from the same decomposition; every prediction equals that of MPRank(C) refitted to the
    items that stay.

    Parameters
    ----------
    Cs
        Grid of positive numbers. None: 2^-10 … 2^15, extended by further powers of 2 (up to 2^±60)
        while the best C lies at an end. If the best C of a given grid lies at its end, a
        GridWarning says so.
    cv
        What is held out, as in RankRLSCV, except leave-pair-out. "auto": pairwise_loo, or with
        scoring or groups leave-query-out (whole groups leave), without queries 10 folds.
    scoring
        None for the squared error of differences; the name of a measure such as `"ndcg@10"` or
        "concordance", a rankwise.metrics.scorer, or a callable(y, s) to maximise.
    exact
        True for the exact error, False for the paper's approximation (one query).
    kernel, gamma, degree, coef0, basis, random_state
        As in MPRank.

    Attributes
    ----------
    Cs_
        The grid that was scored.
    C_
        The chosen C.
    best_cost_
        Its held-out squared error, averaged over outputs.
    cv_results_
        {"C", "cost"}, one entry per C.
    best_score_, cv_results_
        With `scoring` the score of `C_`, and {"C", "score", "score_se"}.
    cv_
        What was held out, in words.
    coef_, dual_coef_, basis_index_
        Of the model with `C_`, trained on everything.

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
    cv: Splits = "auto"
    scoring: str | Callable | None = None

    __metadata_request__fit: ClassVar = {"qid": True, "groups": False}

    def fit(self, X, y, *, qid=None, groups=None):
        """Score the grid, choose, and keep the model of the chosen C.

        `groups` labels items that are always held out together, such as the samples of a patient.
        """
        Kernel.of(self)
        X = check_items(self, X, reset=True)
        self._keep(X, *self._supervise(X.shape[0], y, qid, None), qid is not None)
        self._warn_of_dependence(X, self._supervision, qid, groups)
        problem = least_squares(self, X, self._supervision)
        is_auto = isinstance(self.cv, str) and self.cv == "auto"
        if is_auto and groups is None and self.scoring is None:
            self._choose_by_loo(problem)
        else:
            self._choose_by_folds(groups, problem)
        solution = problem.path([self._normaliser / (2 * self.C_)])[0]
        self._set_model(problem.space, solution, self._single_output)
        self.n_iter_ = problem.n_iter
        return self

    def _choose_by_loo(self, problem: QuadraticProblem) -> None:
        Cs, costs = self._scored_grid(problem)
        # Logarithms are compared, so that costs are equal if they agree up to a tiny factor.
        best = largest_of_best(1 / Cs, _scores(costs)[:, 0])
        self.Cs_, self.C_, self.best_cost_ = Cs, float(Cs[best]), float(costs[best])
        self.cv_results_ = {"C": Cs, "cost": costs}
        self.cv_ = "leave-pair-out"

    def _choose_by_folds(self, groups, problem: QuadraticProblem) -> None:
        scoring = "mean_squared_difference" if self.scoring is None else self.scoring
        told = self._items_seen()
        folds = Folds(self.cv, told.queries, told.Y, groups, self.random_state, np.inf)
        if folds.is_leave_pair_out:
            raise ValueError(
                'leave-pair-out is what cv="auto" does without scoring and groups; give folds.'
            )
        held_out = _HeldOutByC(problem)

        def score(inverse_Cs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            scores, influence = score_folds(held_out, folds, inverse_Cs, scoring)
            return scores.mean(axis=1)[:, None], influence.mean(axis=2)[..., None]

        given = None if self.Cs is None else 1 / check_alphas(self.Cs, "Cs", "C")
        grid = search_grid(score, given, INVERSE_CS, ceiling=highest_score(scoring))
        self.n_units_ = folds.independent(grid.influence)
        Cs, scores, best = 1 / grid.alphas, grid.scores[:, 0], int(grid.best[0])
        self.Cs_, self.C_, self.cv_ = Cs, float(Cs[best]), str(folds)
        if self.scoring is None:
            self.best_cost_ = float(-scores[best])
            self.cv_results_ = {"C": Cs, "cost": -scores}
        else:
            self.best_score_ = float(scores[best])
            self.cv_results_ = {"C": Cs, "score": scores, "score_se": grid.errors[:, 0]}

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


class _HeldOutByC(HeldOut):
    """Hold-outs of MPRank for values of 1/C: a refit has the normaliser of the items that stay."""

    def __init__(self, problem: QuadraticProblem):
        self._problem, self.supervision = problem, problem.supervision

    def _alphas(self, held: np.ndarray, inverse_Cs: Alphas) -> np.ndarray:
        told = self._problem.supervision.take(np.setdiff1d(np.arange(self.n_items), held))
        return pair_normaliser(told.queries, told.weight) / 2 * np.asarray(inverse_Cs)

    def without(self, items: np.ndarray, alphas: Alphas) -> np.ndarray:
        return self._problem.without(items, self._alphas(items, alphas))

    def scores_without(
        self, items: np.ndarray, predicted: np.ndarray, alphas: Alphas
    ) -> np.ndarray:
        return self._problem.scores_without(items, predicted, self._alphas(items, alphas))

    def without_statements(self, statements: np.ndarray, alphas: Alphas) -> np.ndarray:
        raise ValueError("MPRank learns from scores y, not from explicit preferences.")

    def judge_pairs(self, alphas: Alphas) -> Judged:
        raise ValueError("leave-pair-out would refit for every pair: use folds.")

    def term_sizes(self, alpha: float) -> np.ndarray:
        return self._problem.term_sizes(self._alphas(np.zeros(0, dtype=int), [alpha])[0])


def _scores(costs: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return -np.log(costs)[:, None]
