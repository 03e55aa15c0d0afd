"""Every choice made anew without the fold that judges it."""

from __future__ import annotations

import numpy as np

from rankwise.evaluation.judged_folds import checked_scores, refitting_folds
from rankwise.numerics.progress import track
from rankwise.supervision.queries import Queries
from rankwise.workflow.items import Items
from rankwise.workflow.judging import Judgement, judge
from rankwise.workflow.recipe import Recipe
from rankwise.workflow.training import train


def nested(recipe: Recipe, items: Items, folds: int) -> Judgement:
    """The recipe judged on outer folds; without queries every fold is a list of its own."""
    if items.y is None:
        raise ValueError("nested cross-validation judges scores, not preferences.")
    y, queries = checked_scores(items.y, items.qid)
    several = len(queries) > 1
    folds = min(folds, len(queries) if several else len(y))
    parts = refitting_folds(folds, y, queries, recipe.seed).splits
    scores, units = np.zeros(len(y)), np.zeros(len(y), dtype=int)
    for number, (held, test) in track(enumerate(parts), len(parts), "outer folds"):
        staying = np.setdiff1d(np.arange(len(y)), held)
        model = train(recipe, items.take(staying))
        tested = items.take(test)
        scores[test] = model.predict(tested.X, tested.qid)
        units[test] = number
    return judge(y, scores, Queries(queries.codes, queries.labels).codes if several else units)
