"""Choosing the parameter of a learner by cross-validation: one function per way of choosing.

Each function returns the model refitted on all data with a SearchPath, which says how every
candidate did. `options` are the constructor arguments of the learner except the parameter itself.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankwise.evaluation import regularisation_curve
from rankwise.evaluation.judged_folds import checked_scores, refitting_folds
from rankwise.exceptions import UndefinedMetric
from rankwise.learners.mprank_cv import MPRankCV
from rankwise.metrics.scorers import Scorer, read_scoring
from rankwise.model_selection.choosing import DefaultGrid, search_grid
from rankwise.model_selection.folds import Folds, group_labels, kept_together
from rankwise.model_selection.scoring import highest_score, unit_values
from rankwise.numerics.import_paths import imported
from rankwise.numerics.progress import track
from rankwise.supervision.censored import Censored
from rankwise.workflow.ranking_data import Items
from rankwise.workflow.recipe import REFITTED_FOLDS, Recipe
from rankwise.workflow.search_path import (
    COMPARABLE,
    CONCORDANCE,
    COST,
    LEFT,
    PREFERENCES,
    SearchPath,
)
from rankwise.workflow.suited_measures import suited

MOST_ROUNDS = 300
SELECTION_ALPHAS = DefaultGrid(32.0, -3, 3, limit=12, step=1)
REFITTED_ALPHAS = DefaultGrid(10.0, -4, 2, limit=10, step=2)


@dataclass
class Fit:
    """A fitted learner, how its parameter was chosen, and what preceded the fit.

    `path` is None if the parameter was given; `found` holds the values found for "auto".
    """

    model: Any
    path: SearchPath | None = None
    found: dict[str, Any] = field(default_factory=dict)
    scaler: Any = None


def by_own_search(recipe: Recipe, options: dict, items: Items) -> Fit:
    """Alpha by RankRLSCV or RankSVMCV, which share work between candidates and folds."""
    cv = _folds(recipe, items, recipe.method.default_folds)
    alphas = None if recipe.alpha == "auto" else recipe.candidates(())
    search = imported(recipe.method.own_search)
    labels = {} if items.groups is None else {"groups": items.groups}
    scoring = _scoring(recipe, items)
    search = search(alphas, cv=cv, scoring=scoring, **options)
    model = search.fit(items.X, **items.supervision, **labels)
    results = model.cv_results_
    scores = (results["alpha"], results["score"], results["score_se"])
    by = getattr(model, "cv_", None) if isinstance(cv, str) else None
    by = by or _held_out_in_words(cv, items)
    judged = COMPARABLE if isinstance(items.y, Censored) else judged_in_words(recipe)
    about = (judged, recipe.scoring, model.n_units_)
    return Fit(model, SearchPath("alpha", *scores, model.alpha_, by, *about))


def by_pairwise_loo(recipe: Recipe, options: dict, items: Items) -> Fit:
    """Alpha = 1/C by MPRankCV, for the squared loss only: every pair left out in closed form.

    With groups, or with a measure by name, it holds out folds.
    """
    if options["norm"] != 2 or (recipe.cv != "auto" and items.groups is None):
        return by_refitting(recipe, options, items)
    Cs = None if recipe.alpha == "auto" else 1 / recipe.candidates(())
    shared = {k: v for k, v in options.items() if k not in ("norm", "tol", "max_iter")}
    labels = {} if items.groups is None else {"groups": items.groups}
    search = MPRankCV(Cs, cv=recipe.cv, scoring=_scoring(recipe, items), **shared)
    model = search.fit(items.X, **items.supervision, **labels)
    results, alphas = model.cv_results_, 1 / model.cv_results_["C"]
    if recipe.scoring is not None:
        scores, about = (
            (results["score"], results["score_se"]),
            (judged_in_words(recipe), recipe.scoring),
        )
        path = SearchPath("alpha", alphas, *scores, 1 / model.C_, model.cv_, *about, model.n_units_)
        return Fit(model, path)
    costs = results["cost"]
    by = "leaving every pair out, in closed form" if items.groups is None else model.cv_
    return Fit(model, SearchPath("alpha", alphas, costs, None, 1 / model.C_, by, COST))


def by_refitting(recipe: Recipe, options: dict, items: Items) -> Fit:
    """Alpha = 1/C by folds, with one fit per fold and candidate."""
    scale = _deviation_within_queries(items) if options["norm"] == 1 else 1.0
    cv = _folds(recipe, items, REFITTED_FOLDS)
    estimator, scoring = recipe.method.estimator(**options), _scoring(recipe, items)
    units: list[int | None] = []

    def score(alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        curve = regularisation_curve(
            estimator,
            items.X,
            items.y,
            items.qid,
            alphas=1 / alphas,
            parameter="C",
            cv=cv,
            groups=items.groups,
            scoring=scoring,
        )
        units.append(curve.units)
        return curve.score[:, None], curve.score_se[:, None, None]

    given = None if recipe.alpha == "auto" else np.sort(recipe.candidates(()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        grid = search_grid(
            score,
            given,
            REFITTED_ALPHAS._replace(scale=1 / (scale or 1.0)),
            ceiling=highest_score(scoring),
        )
    chosen = float(grid.alphas[grid.best[0]])
    model = recipe.method.build(chosen, options).fit(items.X, **items.supervision)
    by = _held_out_in_words(cv, items)
    scores = (grid.alphas, grid.scores[:, 0], grid.errors[:, 0])
    about = (judged_in_words(recipe), recipe.scoring, units[0])
    return Fit(model, SearchPath("alpha", *scores, chosen, by, *about))


def _deviation_within_queries(items: Items) -> float:
    queries = items.queries
    centred = items.y - (np.bincount(queries.codes, items.y) / queries.sizes)[queries.codes]
    return float(np.sqrt(np.mean(centred**2)))


def boosting_rounds(recipe: Recipe, options: dict, items: Items) -> Fit:
    """Rounds by folds: one run of boosting per fold scores every number of rounds."""
    y, queries = checked_scores(items.y, items.qid)
    cv = _folds(recipe, items, REFITTED_FOLDS)
    build, units = recipe.method.build, []
    scoring = _scoring(recipe, items)
    measure = None if scoring is None else scoring.bound(y)
    groups = group_labels(items.groups, len(items))
    splits = list(refitting_folds(cv, y, queries, recipe.seed, groups).splits)
    for held_out, test in track(splits, len(splits), "folds"):
        train = np.setdiff1d(np.arange(len(y)), held_out)
        model = build(MOST_ROUNDS, options)
        model.fit(items.X[train], y[train], qid=None if items.qid is None else queries.codes[train])
        staged = np.column_stack(list(model.staged_predict(items.X[test])) or [np.zeros(len(test))])
        last = np.repeat(staged[:, -1:], MOST_ROUNDS - staged.shape[1], axis=1)
        scores = np.ascontiguousarray(np.hstack([staged, last]))
        judged = unit_values([y[test]], scores.T[..., None], queries.take(test), measure)
        units.append(judged[:, ~np.isnan(judged).any(axis=(0, 2)), 0].T)
    values = np.concatenate([np.empty((0, MOST_ROUNDS)), *units])
    if not len(values):
        raise UndefinedMetric(
            "cross-validation found nothing to judge: no held-out query or fold has a pair of "
            "items with different scores. Give --rounds a number, or --cv fewer folds."
        )
    score = values.mean(axis=0)
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else None
    rounds = int(np.argmax(score > score.max() - 1e-12)) + 1
    model = build(rounds, options).fit(items.X, y, qid=items.qid)
    grid, by = np.arange(1.0, MOST_ROUNDS + 1), _held_out_in_words(cv, items)
    about = (judged_in_words(recipe), recipe.scoring, len(values))
    return Fit(model, SearchPath("rounds", grid, score, error, float(rounds), by, *about))


def by_greedy_selection(recipe: Recipe, options: dict, items: Items) -> Fit:
    """Alpha by the held-out error after the last feature: one selection for each candidate.

    With a measure by name it is chosen by folds, in each of which the features are selected again.
    """
    labels = {} if items.groups is None else {"groups": items.groups}
    if recipe.scoring is not None:
        return _selection_by_measure(recipe, options, items, labels)
    models: dict[float, Any] = {}

    def score(alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        for alpha in map(float, alphas):
            model = recipe.method.build(alpha, options)
            models[alpha] = model.fit(items.X, **items.supervision, **labels)
        errors = [models[a].criterion_[-1] / models[a].criterion_of_none_ for a in alphas]
        return -np.array(errors)[:, None], np.zeros((len(alphas), 1, 1))

    given = None if recipe.alpha == "auto" else np.sort(recipe.candidates(()))
    grid = search_grid(score, given, SELECTION_ALPHAS, ceiling=0.0)
    chosen = float(grid.alphas[grid.best[0]])
    by, errors = models[chosen].cv_, -grid.scores[:, 0]
    return Fit(models[chosen], SearchPath("alpha", grid.alphas, errors, None, chosen, by, LEFT))


def _selection_by_measure(
    recipe: Recipe, options: dict, items: Items, labels: dict[str, Any]
) -> Fit:
    """Alpha by the measure on folds whose items neither selection nor training saw."""
    cv = _folds(replace(recipe, cv="auto"), items, REFITTED_FOLDS)
    scoring = _scoring(recipe, items)
    estimator = recipe.method.estimator(**options)
    told = (items.X, items.y, items.qid)
    units: list[int | None] = []

    def score(alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        curve = regularisation_curve(
            estimator, *told, alphas=alphas, cv=cv, scoring=scoring, **labels
        )
        units.append(curve.units)
        return curve.score[:, None], curve.score_se[:, None, None]

    given = None if recipe.alpha == "auto" else np.sort(recipe.candidates(()))
    grid = search_grid(score, given, SELECTION_ALPHAS, ceiling=highest_score(scoring))
    chosen = float(grid.alphas[grid.best[0]])
    model = recipe.method.build(chosen, options).fit(items.X, **items.supervision, **labels)
    judged = COMPARABLE if isinstance(items.y, Censored) else judged_in_words(recipe)
    scores = (grid.alphas, grid.scores[:, 0], grid.errors[:, 0])
    by, about = _held_out_in_words(cv, items), (judged, recipe.scoring, units[0])
    return Fit(model, SearchPath("alpha", *scores, chosen, by, *about))


def over_preferences(recipe: Recipe, options: dict, items: Items) -> Fit:
    """Alpha by the search of the learner: statements about the same two items leave together.

    If the judges are known, their statements leave together instead.
    """
    alphas = None if recipe.alpha == "auto" else recipe.candidates(())
    search = imported(recipe.method.own_search)
    search = search(alphas, cv=recipe.cv, scoring=recipe.scoring, **options)
    assert items.preferences is not None
    model = search.fit(items.X, **items.supervision, groups=items.preferences.judge)
    results = model.cv_results_
    scores = (results["alpha"], results["score"], results["score_se"])
    about = (model.cv_, PREFERENCES, None, model.n_units_)
    return Fit(model, SearchPath("alpha", *scores, model.alpha_, *about))


def _scoring(recipe: Recipe, items: Items) -> Scorer | None:
    """The measure of the recipe in the form that the scores ask for."""
    if recipe.scoring is None:
        return None
    if isinstance(items.y, Censored):
        measure = Scorer(recipe.scoring)
        if measure.name != "concordance":
            raise ValueError(
                f"censored outcomes are judged by concordance, not by {measure.title}: leave "
                "--scoring out."
            )
        return measure
    return suited(recipe.scoring, np.asarray(items.y, dtype=float), recipe.relevant)


def judged_in_words(recipe: Recipe) -> str:
    """What the scores of a path measure, in words."""
    if recipe.scoring is None:
        return CONCORDANCE
    return f"held-out {read_scoring(recipe.scoring).title}"


def _folds(recipe: Recipe, items: Items, default: str | int) -> str | int:
    """The cv of the recipe, or the default: with few queries (or items) fewer folds than that."""
    if recipe.cv != "auto" or isinstance(default, str):
        return default if recipe.cv == "auto" else recipe.cv
    available = len(items.queries) if len(items.queries) > 1 else len(items) // 2
    if items.groups is not None:
        groups = group_labels(items.groups, len(items))
        kept = kept_together(items.queries, groups)
        available = 1 if kept is None else int(kept.max()) + 1
    return max(2, min(default, available))


def _held_out_in_words(cv: str | int, items: Items) -> str:
    queries = items.queries
    if isinstance(cv, str):
        return str(Folds(cv, queries))
    return f"{cv} folds of whole queries" if len(queries) > 1 else f"{cv} folds"
