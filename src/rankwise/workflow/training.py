"""Training: a recipe and data in, a model with its record out."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from rankwise.exceptions import DependenceWarning, GridWarning, InvalidKernel
from rankwise.learners.item_scaler import FILLED, ItemScaler
from rankwise.supervision.censored import Censored
from rankwise.supervision.relation import RelationTask
from rankwise.workflow import search
from rankwise.workflow.ranking_data import Items, Relation
from rankwise.workflow.recipe import Recipe
from rankwise.workflow.recipe_choice import label_of
from rankwise.workflow.relation_pairs import pairs_record, refuse_unmirrored
from rankwise.workflow.relation_recipe import built, relation_arguments
from rankwise.workflow.search import Fit
from rankwise.workflow.search_path import SearchPath
from rankwise.workflow.trained_model import TrainedModel, new_record, support_record


def train(recipe: Recipe, data: Any) -> TrainedModel:
    """Scale the Items (a Relation is not scaled), choose what the recipe leaves open, and fit."""
    started = time.perf_counter()
    with interruptions_raised():
        fit = (_fit_relation if recipe.method.learns_relations else _fit_items)(recipe, data)
    record = new_record(recipe, fit, started, data.about())
    if isinstance(data, Items):
        record["features"] = list(data.features)
        record["support"] = support_record(fit.model, data.names, data.qid, data.y)
    else:
        record["features"], record["support"] = list(data.domains[1].features), None
        record["node_features"] = [list(objects.features) for objects in data.domains]
        record["node_names"] = [[str(name) for name in objects.names] for objects in data.domains]
        record["nodes_named"], record["pairs"] = data.named, pairs_record(data)
    return TrainedModel(fit.model, fit.scaler, record)


def train_best(recipes: Sequence[Recipe], data: Any) -> TrainedModel:
    """The recipe with the best held-out score, trained; of equal scores the first one.

    The record then holds the score of each recipe in "tried". The score of the best of several is
    too good: rankwise.workflow.nested_judging says by how much.
    """
    if len(recipes) == 1:
        return train(recipes[0], data)
    started = time.perf_counter()
    models: list[TrainedModel] = []
    tried: list[dict[str, Any]] = []
    for recipe in recipes:
        model = train(recipe, data)
        path = SearchPath.from_record(model.training["path"])
        if path is None or path.lower_is_better:
            raise ValueError(
                f"{recipe.learner} cannot be compared with other recipes: it "
                + (
                    "chooses by the error of differences. Give --scoring."
                    if path is not None
                    else "has a fixed parameter and so no held-out score. Give --alpha auto or a "
                    "list."
                )
            )
        models.append(model)
        tried.append(
            {
                "recipe": label_of(recipe, recipes),
                "chosen": f"{path.parameter} {path.chosen:.5g}",
                "score": path.at_chosen[0],
                "by": path.by,
            }
        )
    scores = [one["score"] for one in tried]
    best = models[scores.index(max(scores))]
    best.record["tried"] = tried
    best.record["seconds"] = time.perf_counter() - started
    return best


def _fit_items(recipe: Recipe, items: Items) -> Fit:
    if items.preferences is not None and "preferences" not in recipe.method.options:
        raise ValueError(f"{recipe.learner} learns from scores: rank-rls takes preferences.")
    if items.preferences is None and recipe.method.needs_preferences:
        raise ValueError(f"{recipe.learner} learns from votes, not from scores: --preferences.")
    if isinstance(items.y, Censored) and "outcomes" not in recipe.method.options:
        raise ValueError(
            f"{recipe.learner} learns from scores: rank-rls and rank-svm take --time and --event."
        )
    if items.preferences is None and items.y is None:
        raise ValueError(f"{items.source} holds no scores to learn from.")
    items, scaler = _prepared(recipe, items)
    options, found = recipe.arguments(len(items), items.X)
    if not recipe.searches:
        model = recipe.method.build(recipe.value, options)
        labels = {}
        if items.groups is not None and "select" in recipe.method.options:
            labels = {"groups": items.groups}  # the selection itself holds items out
        return Fit(model.fit(items.X, **items.supervision, **labels), None, found, scaler)
    choose = recipe.method.choose if items.preferences is None else search.over_preferences
    return replace(choose(recipe, options, items), found=found, scaler=scaler)


def _prepared(recipe: Recipe, items: Items) -> tuple[Items, ItemScaler | None]:
    """The items with scaled and filled features, and the scaler, if the recipe asks for one."""
    X, missing = items.X, recipe.missing
    if recipe.method.takes_missing_values:
        X, missing = X.toarray() if sparse.issparse(X) else X, "keep"
    if missing == "refuse":
        items.refuse_missing(
            "--missing median (or mean) fills it, --learner rank-boost takes it as it is."
        )
    scaler = None
    if recipe.scale != "none" or missing in FILLED:
        scaler = ItemScaler(recipe.scale, missing=missing).fit(X, qid=items.qid)
        X = scaler.transform(X, items.qid)
    return replace(items, X=X), scaler


def _fit_relation(recipe: Recipe, relation: Relation) -> Fit:
    if relation.y is None:
        raise ValueError(f"{relation.source}: every edge needs a value, as the third column.")
    if recipe.scale != "none":
        raise ValueError(
            f"{recipe.learner} takes the features of objects as they are: omit --scale."
        )
    task = RelationTask(relation=recipe.relation, condition=recipe.condition)
    if recipe.relation != "general" and relation.columns is not None:
        raise ValueError(f"--relation {recipe.relation} needs one domain: give --nodes.")
    objective = recipe.method.losses[recipe.chosen_loss].get("objective", "regression")
    refuse_unmirrored(relation, replace(task, objective=objective))
    options, found = relation_arguments(recipe, relation)
    try:
        if recipe.searches:
            fit = recipe.method.choose(recipe, options, relation)
            return replace(fit, found=found | fit.found)
        model = built(recipe, recipe.value, options)
        return Fit(model.fit(relation.nodes, relation.y, edges=relation.edges), None, found)
    except InvalidKernel as error:
        raise InvalidKernel(f"{error} In the command: --repair clip.") from None


@contextmanager
def interruptions_raised() -> Iterator[None]:
    """Raise KeyboardInterrupt after a solver was interrupted, although it kept its best model.

    Such a solver only warns. All other warnings are shown when the context ends.
    """
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default", UserWarning)
        warnings.simplefilter("ignore", GridWarning)  # the search path says it in its own words
        warnings.simplefilter("ignore", DependenceWarning)  # the command names the column
        yield
    for warning in seen:
        text = str(warning.message)
        if issubclass(warning.category, ConvergenceWarning) and "was interrupted" in text:
            iterations = re.search(r"after (\d+) iterations", text)
            way_out = f" --max-iter {iterations[1]} would write this model." if iterations else ""
            raise KeyboardInterrupt(f"{text.split(';')[0]}.{way_out}")
    for warning in seen:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def unfitted(model: TrainedModel) -> Any:
    """The learner of a model with its chosen parameter, ready to be fitted to other data."""
    record = model.training
    recipe = replace(Recipe.from_record(record["recipe"]), **record["found"])
    options, _ = recipe.arguments(n_items=0)
    path = SearchPath.from_record(record["path"])
    return recipe.method.build(recipe.value if path is None else path.chosen, options)
