"""RankLogisticCV: alpha chosen along a warm-started path, on folds of pairs of items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from rankwise.holdout.risk_holdouts import RiskHoldouts, SolvePath
from rankwise.learners.rank_logistic import LogisticRanker
from rankwise.learners.ranker import ConvergenceTally
from rankwise.losses.risk import Risk
from rankwise.model_selection.choosing import DefaultGrid, ScoredGrid, search_grid
from rankwise.model_selection.folds import Splits
from rankwise.model_selection.preference_folds import (
    HeldOutProbabilities,
    PreferenceFolds,
    score_preferences,
)
from rankwise.numerics.arrays import Matrix
from rankwise.solvers.logistic_path import logistic_path
from rankwise.solvers.solver import Solution
from rankwise.spaces.own_strengths import StrengthSpace
from rankwise.supervision.supervision import ComparedItems, Supervision

POWERS_OF_FOUR = DefaultGrid(4.0, -5, 5, limit=30, step=2)
LOG_LOSS = "log-loss"


@dataclass(eq=False, repr=False)
class RankLogisticCV(LogisticRanker):
    """RankLogistic with alpha chosen from a grid by cross-validation of the statements.

    In every fold the grid is solved from the largest alpha down, each solution being the start of
    the next. Kernels are factorised once for all folds; held-out basis items are removed from a
    reduced set's map.

    Parameters
    ----------
    alphas
        Grid of positive numbers. None: 4^-5 … 4^5, extended by further powers of 4 (up to 4^±30)
        while the best alpha lies at an end. If the best alpha of a given grid lies at its end, a
        GridWarning says so.
    cv
        "auto" 10 folds of pairs of items (statements about the same two items leave together), or
        of groups; a number of such folds; "leave-preference-out" one refit for each pair;
        "leave-item-out" one for each item, whose statements are judged as those of a newcomer; a
        scikit-learn splitter or folds of the statements.
    scoring
        None for the share of held-out statements in the right order (ties ½); "log-loss" for the
        mean of ln(probability of what was said), which also judges the probabilities.
    kernel, gamma, degree, coef0, basis, item_effect, order_effect, ties, tol, max_iter
        As in RankLogistic; random_state also shuffles int folds (None: a fixed shuffle).
    random_state
        As in RankLogistic; random_state also shuffles int folds (None: a fixed shuffle).

    Attributes
    ----------
    alpha_
        The chosen alpha; of equal scores the largest.
    alphas_
        The grid that was scored.
    best_score_
        Its score.
    cv_
        What was held out, in words.
    n_units_
        How many pairs of items or groups the scores are averaged over.
    cv_results_
        {"alpha", "score", "score_se"}, one entry per alpha; the errors are clustered by pairs of
        items or by groups.
    coef_, dual_coef_, strengths_, …
        Those of RankLogistic, of the model refitted on everything with `alpha_`.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import Preferences, RankLogisticCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 2))
    >>> first, second = rng.integers(0, 15, 200), rng.integers(15, 30, 200)
    >>> won = X[first, 0] + 0.5 * rng.normal(size=200) > X[second, 0]
    >>> said = Preferences(np.where(won, first, second), np.where(won, second, first))
    >>> model = RankLogisticCV().fit(X, preferences=said)
    >>> model.cv_, round(model.best_score_, 2)
    ('10 folds of pairs of items', 0.92)
    """

    __metadata_request__fit: ClassVar = {"qid": True, "groups": False}
    alphas: Sequence[float] | np.ndarray | None = None
    _: KW_ONLY
    cv: Splits = "auto"
    scoring: str | None = None

    def fit(self, X=None, y=None, *, preferences=None, qid=None, groups=None):
        """Score the grid on held-out statements, choose, and refit on everything.

        `groups` (l,) labels statements that leave together, for instance by their judge;
        uncertainties are then clustered by them, as in RankLogistic. X=None: items without
        features.
        """
        self._check_parameters()
        if self.scoring not in (None, "concordance", LOG_LOSS):
            raise ValueError(
                'scoring must be None or "concordance" (share of statements in the right order) or '
                f"{LOG_LOSS!r}; got {self.scoring!r}."
            )
        given = X
        X, supervision = self._read(X, y, preferences, qid)
        risk = self._risk(supervision)
        space = self._strength_space(X, supervision.n_items)
        judged = supervision
        if groups is None and isinstance(self.cv, str | int):  # folds of pairs of items
            added_up = risk.counts.statements()
            judged = ComparedItems(added_up, supervision.queries, supervision.weight)
        folds = PreferenceFolds(
            self.cv, judged, groups=groups, closed_form=False, random_state=self.random_state
        )
        self.cv_ = str(folds)
        tally = ConvergenceTally()
        solve_path = partial(self._solve_path, tally)
        grid = self._search(space, judged, folds, solve_path)
        self.n_units_ = folds.independent(grid.influence)
        grid.tell(self)
        path = np.append(grid.alphas[grid.alphas > self.alpha_], self.alpha_)
        solution = solve_path(space.features, risk, path)[-1]
        tally.warn(self)
        self._has_queries = qid is not None
        self._set_fit(X, space, risk, solution, self.alpha_)
        self._keep_for_uncertainty(X, given, risk, (supervision.preferences, groups))
        return self

    def _search(
        self,
        space: StrengthSpace,
        supervision: ComparedItems,
        folds: PreferenceFolds,
        solve_path: SolvePath,
    ) -> ScoredGrid:
        if self.scoring == LOG_LOSS:
            models_ties = self.ties == "davidson"
            probabilities = HeldOutProbabilities(
                space, supervision, self._risk, solve_path, models_ties
            )
            score = lambda alphas: probabilities.score(folds, alphas)  # noqa: E731
            return search_grid(score, self.alphas, POWERS_OF_FOUR, ceiling=0.0)
        held_out = RiskHoldouts(space, supervision, self._risks, solve_path)
        score = lambda alphas: score_preferences(held_out, folds, alphas)  # noqa: E731
        return search_grid(score, self.alphas, POWERS_OF_FOUR, ceiling=1.0)

    def _risks(self, supervision: Supervision) -> list[Risk]:
        assert isinstance(supervision, ComparedItems)
        return [self._risk(supervision)]

    def _solve_path(
        self, tally: ConvergenceTally, phi: Matrix, risk: Risk, alphas: np.ndarray
    ) -> list[Solution]:
        solutions = logistic_path(phi, risk, alphas.tolist(), **self._limits)  # type: ignore[arg-type]
        for solution in solutions:
            tally.add(solution)
        return solutions
