"""ConditionalRankerCV: alpha chosen by cross-validation in the setting the model is meant for."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid

from rankwise.exceptions import UndefinedMetric
from rankwise.holdout.relation_holdouts import RelationHoldouts
from rankwise.learners.conditional_ranker import ConditionalRanker, relation_problem
from rankwise.learners.relation_model_search import SETTINGS, RelationModelSearch
from rankwise.metrics.scorers import OwnMeasure, Scorer, read_scoring
from rankwise.metrics.uncertainty import mean_over_units
from rankwise.model_selection.choosing import ScoredGrid, search_grid
from rankwise.model_selection.folds import Fold
from rankwise.model_selection.scoring import condition_values
from rankwise.numerics.progress import track
from rankwise.solvers.relation_problem import RelationProblem
from rankwise.supervision.queries import Queries
from rankwise.supervision.relation import Labels
from rankwise.validation import check_alphas, check_choice

REFIT = 10
"""The refit may take so many times max_iter iterations."""
Measure = Scorer | OwnMeasure
ScoresOf = Callable[[np.ndarray], np.ndarray]
"""Scores (units, a) of held-out edges for a grid of alphas, largest first."""


class ConditionalRankerCV(RelationModelSearch):
    """ConditionalRanker with the alpha, and other parameters, that rank held-out edges best.

    Each fold is solved once for all alphas: in closed form if its training edges are a complete
    graph of some nodes (as they are when rows, columns or both of a complete graph are held out),
    else by conjugate gradients whose products all alphas share. Of equal scores, the largest alpha
    wins. Kernels of interaction profiles are made from the training edges of each fold.

    Parameters
    ----------
    ranker
        The ConditionalRanker whose alpha is to be chosen; None means one with its defaults.
    alphas
        Candidates; None means 2.0**arange(-15, 16), extended by further powers of 2 (up to 2^±60)
        while the best alpha lies at an end. If the best alpha of a given grid lies at its end, a
        GridWarning says so.
    grid
        None, or a dict of lists as for sklearn.model_selection.ParameterGrid: further parameters of
        the ranker to choose, every combination with every alpha on the same folds. For example
        {"kernel": KernelSum(...).weightings(4), "item_effect": [0.0, 0.1]}. Of equal scores the
        first combination wins.
    setting
        What is new at test time: "edges" (setting 1), "rows", "columns" (settings 2 and 3 if rows
        are conditions) or "both" (setting 4).
    cv
        Number of folds, a splitter with `split(edges)`, "leave-one-out" (complete graphs: the
        hold-outs of ConditionalRanker), or "auto". "auto" is leave-one-out if that is a closed form
        that holds out whole conditions of two domains, else 5 folds. In one domain, folds leave
        nodes out in both roles. Leave-one-out compares scores of different models, unless whole
        conditions are held out.
    random_state
        Draws the folds.
    scoring
        None for 1 − the conditional ranking error; the name of a measure such as `"ndcg@10"`, a
        rankwise.metrics.scorer, or a callable(y, s) to maximise, for the edges of each condition.

    Attributes
    ----------
    alpha_, best_score_
        The chosen alpha, and its score.
    alphas_
        The grid that was scored, largest first.
    cv_results_
        {"alpha", "score", "score_se"}; the standard error is taken over folds, or over conditions
        with leave-one-out.
    n_units_
        How many folds, or conditions with leave-one-out, the scores are averaged over.
    best_params_
        The chosen combination of `grid`, {} without one.
    grid_results_
        One dict for each combination: "params", its best "alpha" and "score".
    best_estimator_
        The ranker refitted on all edges with `alpha_`; its conjugate gradients may take ten times
        the ranker's max_iter, so that the chosen model is the minimiser.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import ConditionalRankerCV
    >>> rng = np.random.default_rng(0)
    >>> users, films = rng.normal(size=(20, 3)), rng.normal(size=(30, 3))
    >>> likes = users @ films.T + rng.normal(size=(20, 30))
    >>> model = ConditionalRankerCV(setting="rows").fit((users, films), likes)
    >>> model.alpha_, round(model.best_score_, 2)
    (16.0, 0.8)
    """

    def __init__(
        self,
        ranker=None,
        *,
        alphas=None,
        grid=None,
        setting="both",
        cv="auto",
        random_state=None,
        scoring=None,
    ):
        self.ranker = ranker
        self.alphas = alphas
        self.grid = grid
        self.setting = setting
        self.cv = cv
        self.random_state = random_state
        self.scoring = scoring

    def fit(self, X, Y, *, edges=None) -> ConditionalRankerCV:
        """As ConditionalRanker.fit, once per fold; then refits with the best alpha on all edges."""
        check_choice("setting", self.setting, tuple(SETTINGS))
        alphas = None if self.alphas is None else np.sort(check_alphas(self.alphas))
        ranker = ConditionalRanker() if self.ranker is None else clone(self.ranker)
        ranker.set_params(alpha=1.0)
        drawn: list[list[Fold]] = []
        searched = []
        for parameters in self._combinations():
            candidate = clone(ranker).set_params(**parameters)
            problem, _ = relation_problem(candidate, X, Y, edges)
            drawn = drawn or self._drawn_folds(problem)
            searched.append((self._search(problem, alphas, drawn), parameters))
        bests = [float(grid.scores[grid.best[0], 0]) for grid, _ in searched]
        grid, self.best_params_ = searched[int(np.argmax(bests))]
        self.grid_results_ = [
            {
                "params": parameters,
                "alpha": float(one.alphas[one.best[0]]),
                "score": float(one.scores[one.best[0], 0]),
            }
            for one, parameters in searched
        ]
        best = grid.best[0]
        self.alphas_, scores = grid.alphas[::-1], grid.scores[::-1, 0]
        errors = grid.errors[::-1, 0]
        self.cv_results_ = {"alpha": self.alphas_, "score": scores, "score_se": errors}
        self.alpha_, self.best_score_ = float(grid.alphas[best]), float(grid.scores[best, 0])
        ranker.set_params(**self.best_params_, alpha=self.alpha_)
        ranker.set_params(max_iter=REFIT * int(ranker.max_iter))
        self.best_estimator_ = ranker.fit(X, Y, edges=edges)
        return self

    def _combinations(self) -> list[dict[str, Any]]:
        grid = {} if self.grid is None else dict(self.grid)
        for name in ("alpha", "condition"):
            if name in grid:
                reason = "is searched by itself" if name == "alpha" else "changes the score"
                raise ValueError(f"grid must not hold {name!r}, which {reason}.")
        return list(ParameterGrid(grid))

    def _search(
        self, problem: RelationProblem, alphas: np.ndarray | None, drawn: list[list[Fold]]
    ) -> ScoredGrid:
        """The scores of a grid of alphas for one combination of parameters."""
        measures = [read_scoring(self.scoring).bound(one.as_edges().y) for one in problem.labels]
        if drawn:
            scores_of = self._fold_scores(problem, measures, drawn)
        else:
            scores_of = self._leave_one_out_scores(problem, measures)

        def score(alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            descending = alphas[::-1]  # conjugate gradients start from the next larger alpha
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the refit tells
                scores, influence = mean_over_units(scores_of(descending))
            self.n_units_ = influence.shape[0]
            return scores[::-1, None], influence.T[::-1, :, None]

        return search_grid(score, alphas, ceiling=measures[0].range[1])

    def _drawn_folds(self, problem: RelationProblem) -> list[list[Fold]]:
        """(train, test) of each fold of each relation; [] if single units are left out."""
        if self._leaves_one_out(problem):
            return []
        splitter = self._relation_splitter(not problem.two_domains, problem.task.sign != 0)
        drawn = []
        for labels in (labels.as_edges() for labels in problem.labels):
            edges = np.column_stack([labels.rows, labels.columns])
            drawn.append(list(splitter.split(edges)))
        return drawn

    def _leaves_one_out(self, problem: RelationProblem) -> bool:
        if isinstance(self.cv, str):
            check_choice("cv", self.cv, ("auto", "leave-one-out"))
        complete = all(labels.is_complete for labels in problem.labels)
        if self.cv == "leave-one-out":
            if not complete:
                raise ValueError('cv="leave-one-out" needs a complete graph; use folds: cv=5.')
            problem.refuse_holdouts()
            return True
        whole_conditions = self.setting == problem.task.condition + "s"
        closed = complete and problem.two_domains and problem.has_holdouts and not self.grid
        return self.cv == "auto" and closed and whole_conditions

    def _leave_one_out_scores(self, problem: RelationProblem, measures: list[Measure]) -> ScoresOf:
        """(relations × conditions, alphas): the decompositions are shared by all alphas."""
        problem.refuse_holdouts()
        holdouts, turned = RelationHoldouts(problem), problem.task.turned
        _, what = SETTINGS[self.setting]

        def scored(alpha: float) -> list[float]:
            held_out = np.moveaxis(holdouts.without(what, alpha), -1, 0)
            return [
                _value(measure, y, s)
                for measure, labels, scores in zip(measures, problem.labels, held_out)
                for y, s in zip(turned(labels.Y), turned(scores))
                if np.ptp(y) > 0
            ]

        def scores(alphas: np.ndarray) -> np.ndarray:
            tracked = track(alphas.tolist(), len(alphas), "alphas")
            return np.array([scored(alpha) for alpha in tracked]).T

        return scores

    def _fold_scores(
        self, problem: RelationProblem, measures: list[Measure], drawn: list[list[Fold]]
    ) -> ScoresOf:
        """(relations × folds, alphas): each fold keeps its decomposition."""
        folds = []
        for relation, labels in enumerate(labels.as_edges() for labels in problem.labels):
            for train, test in drawn[relation]:
                fold = problem.with_labels(relation, labels.take(train))
                folds.append((fold, labels.take(test), measures[relation]))

        def scores(alphas: np.ndarray) -> np.ndarray:
            tracked = track(folds, len(folds), "folds")
            return np.array([_test_scores(*fold, alphas) for fold in tracked])

        return scores


def _value(measure: Measure, y: np.ndarray, s: np.ndarray) -> float:
    """The measure of one condition, nan if it has nothing to judge."""
    try:
        return measure.measure(y, s)
    except UndefinedMetric:
        return np.nan


def _test_scores(
    fold: RelationProblem, test: Labels, measure: Measure, alphas: np.ndarray
) -> list[float]:
    """Mean over conditions at the test edges for every alpha, from one training set."""
    condition, _ = fold.task.conditions_first(test.rows, test.columns)
    conditions = Queries.from_labels(condition, len(condition))
    if not any(np.ptp(test.y[items]) > 0 for items in conditions):
        raise UndefinedMetric(
            "a fold has no condition with two test edges of different value; use fewer folds."
        )
    scores = []
    path = fold.predictions_at(test, alphas.tolist())
    for predicted in track(path, len(alphas), "alphas"):
        values = condition_values(measure, test.y, predicted[:, 0], conditions)
        scores.append(float(np.nanmean(values)) if np.isfinite(values).any() else np.nan)
    return scores
