"""Choosing the parameters of learners of relations by what will be new in prediction."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.learners.conditional_ranker_cv import ConditionalRankerCV
from rankwise.learners.two_step_ranker_cv import TwoStepRankerCV
from rankwise.workflow.ranking_data import Relation
from rankwise.workflow.recipe import Recipe
from rankwise.workflow.search import Fit, judged_in_words
from rankwise.workflow.search_path import SearchPath
from rankwise.workflow.suited_measures import suited


def setting_of(recipe: Recipe) -> str:
    """What the recipe holds out; by default the conditions are new."""
    return recipe.new or f"{recipe.condition}s"


def unfitted_search(recipe: Recipe, options: dict[str, Any], relation: Relation) -> Any:
    """The search of the recipe: ConditionalRankerCV or TwoStepRankerCV."""
    alphas = None if recipe.alpha == "auto" else recipe.candidates(())
    y = np.asarray(relation.y, dtype=float)
    shared: dict[str, Any] = {"alphas": alphas, "setting": setting_of(recipe), "cv": recipe.cv}
    shared["random_state"] = recipe.seed
    shared["scoring"] = None
    if recipe.scoring is not None:
        shared["scoring"] = suited(recipe.scoring, y, recipe.relevant)
    if "column_alpha" in recipe.method.options:
        return TwoStepRankerCV(**shared, **options)
    return ConditionalRankerCV(recipe.method.estimator(**options), **shared)


def over_relation(recipe: Recipe, options: dict[str, Any], relation: Relation) -> Fit:
    """Alpha by holding out what will be new in prediction: rows, columns, both, or edges."""
    search = unfitted_search(recipe, options, relation)
    search.fit(relation.nodes, relation.y, edges=relation.edges)
    results = search.cv_results_
    order = np.argsort(results["alpha"])
    alphas, score, error = (results[name][order] for name in ("alpha", "score", "score_se"))
    about = (_held_out(recipe), judged_in_words(recipe), recipe.scoring, search.n_units_)
    path = SearchPath("alpha", alphas, score, error, search.alpha_, *about)
    return Fit(search.best_estimator_, path)


def over_two_steps(recipe: Recipe, options: dict[str, Any], relation: Relation) -> Fit:
    """An alpha for each side; the path is that of the rows' alpha beside the columns' best one."""
    search = unfitted_search(recipe, options, relation)
    search.fit(relation.nodes, relation.y, edges=relation.edges)
    results, (row, column) = search.cv_results_, search.alpha_
    beside = np.flatnonzero(results["alpha"][:, 1] == column)
    beside = beside[np.argsort(results["alpha"][beside, 0])]
    score, error = (results[name][beside] for name in ("score", "score_se"))
    about = (_held_out(recipe), judged_in_words(recipe), recipe.scoring)
    path = SearchPath("alpha", results["alpha"][beside, 0], score, error, row, *about)
    return Fit(search.best_estimator_, path, {"column_alpha": column})


def _held_out(recipe: Recipe) -> str:
    setting = setting_of(recipe)
    return f"folds of {'rows and columns' if setting == 'both' else setting} held out"
