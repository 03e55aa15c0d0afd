"""RankRLSCV: the regularisation chosen by exact cross-validation, at the price of a few fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankwise.learners.rank_rls import PairwiseLeastSquares
from rankwise.model_selection.choosing import POWERS_OF_TWO, search_grid

if TYPE_CHECKING:  # a saved model predicts without what only a search needs
    from rankwise.model_selection.folds import Folds, Splits

DEFAULT_ALPHAS = POWERS_OF_TWO.alphas


@dataclass(eq=False, repr=False)
class RankRLSCV(PairwiseLeastSquares):
    """RankRLS with alpha chosen from a grid by exact cross-validation.

    Every alpha is scored on predictions by models that never saw the items predicted, from one
    decomposition for the whole grid; nothing is refitted where the algebra has a closed form.

    Parameters
    ----------
    alphas
        Grid of positive numbers. None: 2^-15 … 2^15, extended by further powers of 2 (up to 2^±60)
        while the best alpha lies at an end, from the same decomposition. If the best alpha of a
        given grid lies at its end, a GridWarning says so.
    cv
        "leave-pair-out", "leave-query-out", "leave-one-out", an int number of folds (by query where
        there are queries), a scikit-learn splitter, or an iterable of (train, test) or of test
        index arrays. "auto": leave-query-out with queries, else leave-pair-out up to 4000 items
        where the loss has it for about the price of a fit, else 10 folds (the relative loss and
        losses of your own refit without each pair: folds from 33 items on, and so do kernels with
        censored outcomes, whose linear models and reduced sets solve one small system for each
        pair). Leave-one-out pools the predictions of m models, which is biased for ranking: prefer
        leave-pair-out. With explicit preferences: "leave-preference-out" (all statements about two
        items leave together; "auto"), "leave-item-out" (what to expect of an item that was never
        compared), a number of folds of pairs of items or of groups, a splitter or folds of the
        statements.
    scoring
        None for 1 − ranking error, averaged over queries (over folds where there are no queries);
        the name of a measure in rankwise.metrics, a rankwise.metrics.scorer, or a callable(y, s) to
        maximise.
    alpha_per_target
        Choose an alpha for every output on its own.
    loss, kernel, gamma, degree, coef0, basis, ties, query_weight, solver, tol, max_iter
        As in RankRLS; random_state also shuffles int folds (None: a fixed shuffle).
    random_state
        As in RankRLS; random_state also shuffles int folds (None: a fixed shuffle).

    Attributes
    ----------
    alpha_
        The chosen alpha, (k,) with alpha_per_target.
    alphas_
        The grid that was scored.
    best_score_
        Its score.
    cv_
        What was held out, in words: "leave-pair-out", "leave-query-out", "10 folds" …
    n_units_
        How many queries or folds the scores are averaged over (for single items: half of their
        number, the pairs without a common item); few of them say little about the error.
    cv_results_
        {"alpha", "score", "score_se"}, one entry per alpha, (a, k) with alpha_per_target. The
        standard error is that of a U-statistic for leave-pair-out, else of the mean over queries or
        folds. With explicit preferences the score is the share of held-out statements in the right
        order (ties ½), and its error is clustered by pairs of items, or by groups.
    coef_, dual_coef_, basis_index_
        Of the model refitted on everything with `alpha_`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from rankwise import RankRLSCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RankRLSCV(kernel="rbf", gamma=10.0).fit(X[:100], y[:100])
    >>> model.cv_, model.alpha_, round(model.best_score_, 3)
    ('leave-pair-out', 64.0, 0.708)
    """

    __metadata_request__fit: ClassVar = {"qid": True, "groups": False}
    alphas: Sequence[float] | np.ndarray | None = None
    _: KW_ONLY
    cv: Splits = "auto"
    scoring: str | Callable | None = None
    alpha_per_target: bool = False

    def fit(self, X, y=None, *, qid=None, sample_weight=None, preferences=None, groups=None):
        """Score the grid, choose, and keep the model of the chosen alpha.

        `groups` labels items that are always held out together, such as the samples of a patient;
        cv="auto" without queries then holds out every pair of groups, or folds of whole groups if
        there are fewer than 5 (unless each is a single item) or more than 40 groups. With
        `preferences` in place of y it labels the statements (l,) instead, for example by their
        judge.
        """
        from rankwise.model_selection.preference_folds import (
            PreferenceFolds,
            refuse_scoring,
            score_preferences,
        )
        from rankwise.model_selection.scoring import folds_of, highest_score, score_grid

        problem, single = self._checked_problem(X, y, qid, sample_weight, preferences)
        folds: Folds | PreferenceFolds
        if preferences is None:
            self._warn_of_dependence(problem.X, problem.supervision, qid, groups)
            folds = folds_of(problem, self.cv, self.random_state, groups, self.scoring)
        else:
            refuse_scoring(self.scoring)
            folds = PreferenceFolds(
                self.cv, problem.supervision, groups=groups, random_state=self.random_state
            )
        self.cv_ = str(folds)

        def score(alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            if isinstance(folds, PreferenceFolds):
                return score_preferences(problem, folds, alphas)
            scores, influence = score_grid(problem, folds, alphas, self.scoring)
            if self.alpha_per_target:
                return scores, influence
            return scores.mean(axis=1)[:, None], influence.mean(axis=2)[..., None]

        grid = search_grid(score, self.alphas, ceiling=highest_score(self.scoring))
        self.n_units_ = folds.independent(grid.influence)
        grid.tell(self, by_column=self.alpha_per_target)
        alphas, best = grid.alphas, grid.best
        chosen, which = np.unique(best, return_inverse=True)
        path = problem.path(alphas[chosen])
        columns = np.arange(path.shape[2])
        solution = path[np.broadcast_to(which, len(columns)), :, columns].T
        self._set_model(problem.space, solution, single)
        self.n_iter_ = problem.n_iter
        return self
