"""RankSVMCV: alpha chosen along a warm-started path, on folds that keep queries whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rankwise.holdout.risk_holdouts import RiskHoldouts
from rankwise.learners.rank_svm import HingeRanker
from rankwise.learners.ranker import ConvergenceTally
from rankwise.learners.risk_ranker import Pull
from rankwise.losses.risk import Risk
from rankwise.model_selection.choosing import DefaultGrid, search_grid
from rankwise.model_selection.folds import Folds, Splits, group_labels, kept_together
from rankwise.model_selection.preference_folds import (
    PreferenceFolds,
    refuse_scoring,
    score_preferences,
)
from rankwise.model_selection.scoring import highest_score, score_folds
from rankwise.numerics.arrays import Matrix
from rankwise.solvers.solver import INTERRUPTED, Solution
from rankwise.spaces.kernels import Kernel
from rankwise.supervision.queries import Queries
from rankwise.supervision.supervision import ComparedItems, Supervision
from rankwise.validation import check_items

POWERS_OF_TEN = DefaultGrid(10.0, -6, 1, limit=18, step=2)
DEFAULT_ALPHAS = POWERS_OF_TEN.alphas


FOLDS = 5
"""The folds of cv="auto" for items with scores."""


@dataclass(eq=False, repr=False)
class RankSVMCV(HingeRanker):
    """RankSVM with alpha chosen from a grid by cross-validation.

    In every fold the grid is solved from the largest alpha down, each solution and (bundle method)
    all cutting planes carried on to the next: planes bound the risk, whatever alpha is. Kernels are
    factorised once for all folds; held-out basis items are removed from a reduced set's map.

    Parameters
    ----------
    alphas
        Grid of positive numbers. None: 10^-6 … 10, extended by further powers of 10 (up to 10^±18)
        while the best alpha lies at an end. If the best alpha of a given grid lies at its end, a
        GridWarning says so.
    cv
        Int number of folds (by query where there are queries), "leave-query-out", a scikit-learn
        splitter, or an iterable of (train, test) or of test index arrays. "auto": 5 folds, of
        queries where there are queries (leave-query-out if there are fewer than 5), else of items
        or of groups; fewer folds if a fold would hold fewer than two items, or no group. With
        explicit preferences a number of folds of pairs of items or of groups ("auto": 10, or as
        many as there are), "leave-preference-out" or "leave-item-out" (one refit for each), a
        splitter or folds of the statements.
    scoring
        None for 1 − ranking error, averaged over queries (over folds where there are no queries);
        the name of a measure in rankwise.metrics, a rankwise.metrics.scorer, or a callable(y, s) to
        maximise.
    loss, query_weight, kernel, gamma, degree, coef0, basis, solver, tol, max_iter, random_state
        As in RankSVM; random_state also shuffles int folds (None: a fixed shuffle).
    verbose
        As in RankSVM; random_state also shuffles int folds (None: a fixed shuffle).

    Attributes
    ----------
    alpha_
        The chosen alpha; of equal scores the largest.
    alphas_
        The grid that was scored.
    best_score_
        Its score.
    cv_
        What was held out, in words: "5 folds", "5 folds of queries", "leave-query-out" …
    n_units_
        How many queries or folds the scores are averaged over (for single items: half of their
        number, the pairs without a common item); few of them say little about the error.
    cv_results_
        {"alpha", "score", "score_se"}, one entry per alpha.
    coef_, dual_coef_, gap_, …
        Those of RankSVM, of the model refitted on everything with `alpha_`.

    Examples
    --------
    >>> from rankwise import RankSVMCV
    >>> from rankwise.datasets import make_ranking
    >>> data = make_ranking(n_queries=10, n_items=20, n_features=4, random_state=0)
    >>> model = RankSVMCV([1e-3, 1e-2, 1e-1]).fit(data.X, data.y, qid=data.qid)
    >>> model.cv_, round(model.best_score_, 2)
    ('5 folds of queries', 0.84)
    """

    __metadata_request__fit: ClassVar = {"qid": True, "groups": False}
    alphas: Sequence[float] | np.ndarray | None = None
    _: KW_ONLY
    cv: Splits = "auto"
    scoring: str | Callable | None = None

    def fit(self, X, y=None, *, qid=None, sample_weight=None, preferences=None, groups=None):
        """Score the grid on held-out predictions, choose, and refit on everything.

        `groups` labels items that are always held out together. With `preferences` in place of y
        it labels the statements (l,) instead, for example by their judge.
        """
        self._check_parameters()
        X = check_items(self, X, reset=True, dtype=self.precisions(Kernel.of(self)))
        supervision, single = self._supervise(X.shape[0], y, qid, sample_weight, preferences)
        self._has_queries = qid is not None
        risks = self._risks(supervision)
        self._warn_of_dependence(X, supervision, qid, groups, preferences)
        folds = self._folds(supervision, groups)
        self.cv_ = str(folds)
        space = self._feature_space(X)
        tally = ConvergenceTally()
        solve_path = partial(self._solve_path, tally)
        held_out = RiskHoldouts(space, supervision, self._risks, solve_path)

        def score(alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            if isinstance(folds, PreferenceFolds):
                return score_preferences(held_out, folds, alphas)
            scores, influence = score_folds(held_out, folds, alphas, self.scoring)
            return scores.mean(axis=1)[:, None], influence.mean(axis=2)[..., None]

        ceiling = highest_score(self.scoring)
        grid = search_grid(score, self.alphas, POWERS_OF_TEN, ceiling=ceiling)
        self.n_units_ = folds.independent(grid.influence)
        grid.tell(self)
        alphas = grid.alphas
        path = np.append(alphas[alphas > self.alpha_], self.alpha_)
        solutions = [solve_path(space.features, risk, path)[-1] for risk in risks]
        tally.warn(self)
        pulls = [Pull.of(found.objective, self.alpha_) for found in solutions]
        self._set_solutions(space, solutions, single, pulls)
        return self

    def _folds(self, supervision: Supervision, groups) -> Folds | PreferenceFolds:
        if isinstance(supervision, ComparedItems):
            refuse_scoring(self.scoring)
            return PreferenceFolds(
                self.cv,
                supervision,
                groups=groups,
                closed_form=False,
                random_state=self.random_state,
            )
        cv = automatic_folds(supervision.queries, groups) if self._cv_is_auto() else self.cv
        y = supervision.for_splitters()
        folds = Folds(cv, supervision.queries, y, groups, self.random_state)
        if folds.kind not in ("folds", "leave-query-out"):
            raise ValueError(
                f"cv={self.cv!r} would refit for every item or pair: use folds, or RankRLSCV, "
                "where it has a closed form."
            )
        return folds

    def _cv_is_auto(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "auto"

    def _solve_path(
        self, tally: ConvergenceTally, phi: Matrix, risk: Risk, alphas: np.ndarray
    ) -> list[Solution]:
        """Solutions in the order of alphas, solved from the largest alpha down."""
        solver, start = self._solver_class()(phi, risk), None
        limits: dict[str, Any] = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "verbose": self.verbose,
        }
        solutions = {}
        for alpha in sorted(set(alphas.tolist()), reverse=True):
            solution = solver.solve(alpha, start=start, **limits)
            if solution.status == INTERRUPTED:
                raise KeyboardInterrupt("alpha was not chosen yet")
            tally.add(solution)
            solutions[alpha], start = solution, solution.w
        return [solutions[alpha] for alpha in alphas.tolist()]


def automatic_folds(queries: Queries, groups: ArrayLike | None) -> int | str:
    """The cv of "auto": folds that keep queries and groups whole, each with a pair to judge."""
    if groups is None and 1 < len(queries) < FOLDS:
        return "leave-query-out"
    together = kept_together(queries, group_labels(groups, queries.n_items))
    available = queries.n_items // 2 if together is None else int(together.max()) + 1
    if available < 2 and together is None:
        raise ValueError(
            f"cross-validation needs 4 items or more, two to train on and two to judge; n_samples "
            f"= {queries.n_items}. Give RankSVM an alpha instead."
        )
    return max(2, min(FOLDS, available))
