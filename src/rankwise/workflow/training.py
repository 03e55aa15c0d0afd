"""A recipe and data in, a model with its record out."""

from __future__ import annotations

import platform
import re
import time
import warnings
from datetime import UTC, datetime
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_random_state

from rankwise.learners.item_scaler import ItemScaler
from rankwise.workflow.items import Items
from rankwise.workflow.recipe import Recipe
from rankwise.workflow.relation import Relation
from rankwise.workflow.search import (
    Path,
    choose_preferences,
    choose_relation,
    choose_scores,
)
from rankwise.workflow.trained_model import TrainedModel

EXACT_KERNEL_UP_TO = 4000
"""With more items than this, a kernel without --basis gets a reduced set."""
BASIS = 500
MEDIAN_OF = 1000
"""Items that the median heuristic looks at."""


def train(recipe: Recipe, data: Any) -> TrainedModel:
    """Scale Items (or a Relation), fill in what the recipe leaves open, choose, fit."""
    started = time.perf_counter()
    with interruptions_raised():
        if recipe.learner == "conditional":
            model, path, found = _train_relation(recipe, data)
            scaler = None
        else:
            model, path, found, scaler = _train_items(recipe, data)
    record = {
        "recipe": recipe.record(),
        "found": found,
        "path": None if path is None else path.record(),
        "trained": _about(data),
        "seconds": time.perf_counter() - started,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _versions(),
    }
    if isinstance(data, Items):
        record["features"] = list(data.features)
        record["support"] = _support(model, data)
    else:
        record["features"] = list(data.column_items.features)
        record["support"] = None
    return TrainedModel(model, scaler, record)


def _train_items(recipe: Recipe, items: Items):
    missing = "keep" if recipe.learner == "rank-boost" else recipe.missing
    if missing == "refuse":
        items.refuse_missing("--missing median fills it, --learner rank-boost takes it as it is.")
    scaler = None
    X = items.X
    if recipe.learner == "rank-boost" and sparse.issparse(X):
        X = X.toarray()
    if recipe.scale != "none" or missing == "median":
        scaler = ItemScaler(recipe.scale, missing=missing).fit(X)
        X = scaler.transform(X, items.qid)
    options, found = fitting_options(recipe, X)
    chosen: Any = recipe.rounds if recipe.learner == "rank-boost" else recipe.alpha
    automatic = chosen == "auto" or isinstance(chosen, tuple)
    if items.preferences is not None:
        if "preferences" not in recipe.table.options:
            raise ValueError(f"{recipe.learner} learns from scores: rank-rls takes preferences.")
        if automatic:
            return *choose_preferences(recipe, options, X, items.preferences), found, scaler
        model = recipe.table.make(chosen, **options).fit(X, preferences=items.preferences)
        return model, None, found, scaler
    if items.y is None:
        raise ValueError(f"{items.source} holds no scores to learn from.")
    if automatic:
        return *choose_scores(recipe, options, X, items.y, items.qid), found, scaler
    value = 1 / chosen if recipe.table.regulariser == "C" else chosen
    model = recipe.table.make(value, **options).fit(X, items.y, qid=items.qid)
    return model, None, found, scaler


def _train_relation(recipe: Recipe, relation: Relation):
    if relation.y is None:
        raise ValueError(f"{relation.source} holds no values of its edges to learn from.")
    if recipe.scale != "none":
        raise ValueError("conditional takes the objects' features as they are: leave scale out.")
    options, found = fitting_options(recipe, relation.rows.X)
    options |= {"relation": recipe.relation, "condition": recipe.condition}
    if recipe.alpha == "auto" or isinstance(recipe.alpha, tuple):
        y, edges = relation.y, relation.edges
        return *choose_relation(recipe, options, relation.nodes, y, edges), found
    model = recipe.table.make(recipe.alpha, **options)
    return model.fit(relation.nodes, relation.y, edges=relation.edges), None, found


def fitting_options(recipe: Recipe, X) -> tuple[dict, dict]:
    """The learner's constructor arguments but for its regulariser, and what "auto" became."""
    options, found = dict(recipe.table.losses[recipe.chosen_loss]), {}
    taken = recipe.table.options
    if "kernel" in taken:
        gamma = None if recipe.gamma == "auto" else recipe.gamma
        if recipe.gamma == "auto" and recipe.kernel in ("rbf", "laplacian"):
            gamma = median_gamma(X, recipe.kernel, recipe.seed)
            found["gamma"] = gamma
        names = {"kernel": recipe.kernel, "gamma": gamma, "degree": recipe.degree}
        options |= {**names, "coef0": recipe.coef0}
    if "basis" in taken:
        basis = recipe.basis
        if basis == "auto":
            large = recipe.kernel != "linear" and X.shape[0] > EXACT_KERNEL_UP_TO
            basis = BASIS if large else None
            if large:
                found["basis"] = BASIS
        options |= {"basis": basis, "random_state": recipe.seed}
    if "epsilon" in taken:
        options["epsilon"] = recipe.epsilon
    if recipe.learner == "rank-boost":
        options["random_state"] = recipe.seed
    for name in ("tol", "max_iter"):
        if name in taken and getattr(recipe, name) is not None:
            options[name] = getattr(recipe, name)
    return options, found


def median_gamma(X, kernel: str, seed=0) -> float:
    """The kernel's width from the data: a pair at the median distance has a kernel of e^-½ (rbf).

    Over at most 1000 random items; 1 where all of them are alike.
    """
    m = X.shape[0]
    index = np.arange(m)
    if m > MEDIAN_OF:
        index = np.sort(check_random_state(seed).choice(m, MEDIAN_OF, replace=False))
    metric, power = ("euclidean", 2) if kernel == "rbf" else ("manhattan", 1)
    distances = pairwise_distances(X[index], metric=metric)[np.triu_indices(len(index), 1)]
    apart = distances[distances > 1e-12 * max(distances.max(initial=0.0), 1e-300)]
    if not len(apart):
        return 1.0
    return float(0.5 / np.median(apart) ** power)


def interruptions_raised():
    """A context in which a solver that was interrupted raises, though it kept its best model."""
    return _Interruptions()


class _Interruptions(warnings.catch_warnings):
    """Turns the warning of an interrupted fit into KeyboardInterrupt, shows all others at exit."""

    def __init__(self):
        super().__init__(record=True)

    def __enter__(self):
        self._seen = super().__enter__()
        warnings.simplefilter("default", UserWarning)
        return self

    def __exit__(self, *error):
        seen = list(self._seen)
        super().__exit__(*error)
        if error[0] is not None:
            return
        for warning in seen:
            text = str(warning.message)
            if issubclass(warning.category, ConvergenceWarning) and "was interrupted" in text:
                found = re.search(r"after (\d+) iterations", text)
                reached = text.split(";")[0] + "."
                way = f" --max-iter {found.group(1)} would write this model." if found else ""
                raise KeyboardInterrupt(reached + way)
        for warning in seen:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )


def _about(data: Items | Relation) -> dict:
    about = {"source": data.source, "summary": data.describe(), "items": len(data)}
    if isinstance(data, Items):
        about["queries"] = None if data.qid is None else len(data.queries)
        about["features"] = data.X.shape[1]
    return about


def _support(model, items: Items) -> dict | None:
    """Names of the training items that a kernel model rests on."""
    if getattr(model, "dual_coef_", None) is None or not hasattr(model, "basis_index_"):
        return None
    index = model.basis_index_
    return {
        "names": [str(name) for name in items.names[index]],
        "queries": None if items.qid is None else [str(label) for label in items.qid[index]],
        "scores": None if items.y is None else [float(score) for score in items.y[index]],
    }


def _versions() -> dict:
    from rankwise import __version__

    return {
        "rankwise": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }


def path_of(model: TrainedModel) -> Path | None:
    """How the candidates fared in cross-validation; None where the regulariser was given."""
    found = (model.record or {}).get("path")
    return None if not found else Path.from_record(found)


def unfitted(model: TrainedModel):
    """The model's learner with the regulariser that was chosen, to be trained anew."""
    recipe = Recipe.from_record(model.record["recipe"])
    found, path = model.record["found"], path_of(model)
    options = dict(recipe.table.losses[recipe.chosen_loss])
    parameters = model.ranker.get_params()
    for name in ("kernel", "gamma", "degree", "coef0", "epsilon", "tol", "max_iter"):
        if name in parameters and name in recipe.table.make().get_params():
            options[name] = parameters[name]
    basis = found.get("basis", recipe.basis)
    if isinstance(basis, int) and "basis" in recipe.table.options:
        options |= {"basis": basis, "random_state": recipe.seed}
    if recipe.table.regulariser == "rounds":
        return recipe.table.make(int(path.chosen if path else recipe.rounds), **options)
    alpha: Any = path.chosen if path is not None else recipe.alpha
    return recipe.table.make(1 / alpha if recipe.table.regulariser == "C" else alpha, **options)
