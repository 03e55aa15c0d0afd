"""The estimates that a comparison of models of preferences pairs: all on the same statements."""

from __future__ import annotations

import numpy as np

from rankwise.evaluation.compared_estimates import Estimate, Model
from rankwise.evaluation.estimators import ExistingRanking, has_closed_form
from rankwise.evaluation.held_out_statements import (
    Statements,
    check_learns_preferences,
    held_out_share,
)
from rankwise.model_selection.folds import RandomState, Splits
from rankwise.model_selection.preference_folds import PreferenceFolds, share_of_statements


def statement_estimates(
    models: dict[str, Model], data: Statements, cv: Splits, random_state: RandomState
) -> tuple[dict[str, Estimate], PreferenceFolds]:
    """The share of held-out statements in the right order by each model, and the folds of all.

    cv="auto" is leave-preference-out if all models have a closed form. An existing ranking learns
    nothing, so that nothing has to be held out from it.
    """
    for model in models.values():
        if not isinstance(model, ExistingRanking):
            check_learns_preferences(model)
    closed = all(map(has_closed_form, models.values())) and data.X is not None
    folds = data.folds(cv, closed_form=closed, random_state=random_state)
    estimates = {}
    for name, model in models.items():
        existing = isinstance(model, ExistingRanking)
        share, influence = (_existing if existing else held_out_share)(model, data, folds)
        error = float(np.sqrt(influence @ influence))
        estimates[name] = Estimate(share, influence, share, error, not existing)
    return estimates, folds


def _existing(
    ranking: ExistingRanking, data: Statements, folds: PreferenceFolds
) -> tuple[float, np.ndarray]:
    ranking.check_length(data.queries.n_items)
    preferences, scores = data.preferences, ranking.scores
    differences = scores[preferences.winner] - scores[preferences.loser]
    judged = [(np.arange(len(preferences)), differences[None])]
    share, influence = share_of_statements(preferences, folds.counted, judged, 1)
    return float(share[0, 0]), np.nan_to_num(influence[0, :, 0])
