"""Several models of the same explicit preferences: which is better, and could it be chance?"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator

from rankwise.evaluation.comparison import Comparison, Difference, holm, paired_p
from rankwise.evaluation.estimators import has_closed_form
from rankwise.evaluation.held_out_statements import (
    Statements,
    check_learns_preferences,
    held_out_share,
)
from rankwise.evaluation.intervals import TRAINING, warn_of_few
from rankwise.model_selection.choosing import EQUAL
from rankwise.model_selection.folds import RandomState, Splits
from rankwise.model_selection.preference_folds import PreferenceFolds, share_of_statements

MEASURE = "share of held-out preferences in the right order"


def compare_statements(
    models: dict[str, Any], data: Statements, cv: Splits, random_state: RandomState
) -> Comparison:
    """The comparison of `compare` for preferences, paired by pairs of items, or by groups.

    A value of `models` may be an array of scores, one for each item: a ranking that exists already
    and learns nothing. A model that is not above chance is not better than another one: the p-value
    of a difference is at least twice the one-sided p-value of the better model against ½.
    """
    learners = [model for model in models.values() if not _is_ranking(model)]
    for model in learners:
        check_learns_preferences(model)
    closed = all(has_closed_form(model) for model in learners) and data.X is not None
    folds = data.folds(cv, closed_form=closed, random_state=random_state)
    shares = [_share(model, data, folds, name) for name, model in models.items()]
    score = np.array([share for share, _ in shares])
    # A ranking that exists already learns nothing, so its error is that of one model.
    inflation = [1.0 if _is_ranking(model) else TRAINING for model in models.values()]
    influence = np.column_stack([own for _, own in shares]) * np.sqrt(inflation)
    order = np.argsort(-score, kind="stable")
    names = [list(models)[i] for i in order]
    score, influence = score[order], influence[:, order]
    error, n = np.sqrt((influence**2).sum(axis=0)), len(influence)
    warn_of_few(n, folds.what)
    above_chance = 2 * stats.t(max(n - 1, 1)).sf((score - 0.5) / np.maximum(error, EQUAL))
    rows = []
    for a, b in combinations(range(len(names)), 2):
        difference = float(score[a] - score[b])
        p = paired_p(difference, influence[:, a] - influence[:, b], n)
        rows.append((names[a], names[b], difference, min(1.0, max(p, float(above_chance[a])))))
    rows.sort(key=lambda row: row[3])
    differences = [Difference(*row, float(p)) for row, p in zip(rows, holm([r[3] for r in rows]))]
    how = f"{folds}, {n} {folds.what} paired"
    error = np.where(error > EQUAL, error, np.nan)
    return Comparison(names, score, error, None, differences, how, MEASURE)


def _is_ranking(model: Any) -> bool:
    return not isinstance(model, BaseEstimator) and not hasattr(model, "fit")


def _share(
    model: Any, data: Statements, folds: PreferenceFolds, name: str
) -> tuple[float, np.ndarray]:
    if not _is_ranking(model):
        return held_out_share(model, data, folds)
    scores, m = np.asarray(model, dtype=float), data.queries.n_items
    if scores.shape != (m,) or not np.isfinite(scores).all():
        raise ValueError(
            f"{name} must be an estimator, or one finite score per item, expected shape ({m},), "
            f"got {scores.shape}."
        )
    preferences = data.preferences
    differences = scores[preferences.winner] - scores[preferences.loser]
    judged = [(np.arange(len(preferences)), differences[None])]
    share, influence = share_of_statements(preferences, folds.units, judged, 1)
    return float(share[0, 0]), influence[0, :, 0]
