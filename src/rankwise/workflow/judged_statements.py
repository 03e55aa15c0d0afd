"""How well scores agree with explicit preferences, with intervals over pairs of items or judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.evaluation import confidence_interval
from rankwise.evaluation.held_out_statements import Statements
from rankwise.evaluation.intervals import TRAINING, interval_of_share, student_interval
from rankwise.metrics import preference_error
from rankwise.model_selection.preference_folds import share_of_statements
from rankwise.numerics.progress import track
from rankwise.supervision.preferences import Preferences
from rankwise.supervision.queries import Queries
from rankwise.workflow.judging import Judgement, Measure
from rankwise.workflow.ranking_data import Items
from rankwise.workflow.recipe import Recipe
from rankwise.workflow.trained_model import TrainedModel
from rankwise.workflow.training import train_best

RIGHT, LOG_LOSS = "preferences in the right order", "log-loss of probabilities"
SMALLEST = 1e-15
"""Probabilities are cut here, so that one impossible outcome does not make the loss infinite."""


@dataclass
class StatementJudgement(Judgement):
    """The measures of statements; `resampled` says what their intervals count.

    The first measure is the share of statements in the right order, where ties count ½.
    """

    preferences: Preferences | None = None
    resampled: str = "pairs of items"
    units: int = 0

    def record(self) -> dict[str, Any]:
        assert self.preferences is not None
        return {
            "items": self.queries.n_items,
            "preferences": len(self.preferences),
            "ties": self.preferences.n_ties,
            "resampled": self.resampled,
            "units": self.units,
            "measures": {measure.key: measure.record() for measure in self.measures},
        }


def judge_statements(
    preferences: Preferences, s: np.ndarray, probability: np.ndarray | None = None
) -> StatementJudgement:
    """The scores s of all items judged by statements that their model has not seen.

    `probability` (l,) is what a model said about each statement, if it tells probabilities: their
    mean logarithm is then a measure too. Judges are resampled if they are known.
    """
    share = 1.0 - preference_error(preferences, s)
    low, high = interval = confidence_interval(preferences, s, groups=preferences.judge)
    units, what = _units(preferences, len(s))
    measures = [Measure("preferences", share, low, high, title=RIGHT)]
    if probability is not None:
        measures.append(_log_loss(preferences, probability, units))
    queries = Queries.from_labels(None, len(s))
    resampled = getattr(interval, "resampled", what)
    return StatementJudgement(measures, queries, {}, None, preferences, resampled, len(units))


def probabilities(model: TrainedModel, items: Items) -> np.ndarray | None:
    """(l,) what the model says about each statement; None if it tells no probabilities.

    The probability of the winner, or of a tie. A model without ties says p of the winner and
    counts a tie as half a win each way.
    """
    ranker, preferences = model.ranker, items.preferences
    if not hasattr(ranker, "preference_proba") or preferences is None:
        return None
    pairs = np.column_stack((preferences.winner, preferences.loser))
    X = model.prepared(items.X, items.qid)
    first = getattr(preferences, "winner_first", None)
    shown = np.full(len(pairs), True) if first is None else np.asarray(first, dtype=bool)
    said = np.asarray(ranker.preference_proba(X, np.where(shown[:, None], pairs, pairs[:, ::-1])))
    if said.ndim == 1:
        won = np.where(shown, said, 1 - said)
        return np.where(preferences.tie, np.sqrt(won * (1 - won)), won)
    won = np.where(shown, said[:, 0], 1 - said.sum(axis=1))
    return np.where(preferences.tie, said[:, 1], won)


def judge_recipes_on_statements(
    recipes: Sequence[Recipe], items: Items, folds: int
) -> StatementJudgement:
    """The best recipe by nested cross-validation: every choice is repeated without the judged fold.

    A fold holds out all statements about some pairs of items, or of some judges.
    """
    preferences = items.preferences
    assert preferences is not None
    data = Statements.checked(items.X, None, items.qid, preferences, preferences.judge)
    outer = data.folds(min(folds, len(data.folds("auto").units)), random_state=recipes[0].seed)
    judged = []
    for held, test in track(outer.splits, len(outer.splits), "outer folds"):
        staying = np.delete(np.arange(len(preferences)), held)
        f = train_best(recipes, items.with_statements(staying)).predict(items.X, items.qid)
        judged.append((test, (f[preferences.winner[test]] - f[preferences.loser[test]])[None]))
    shares, influence = share_of_statements(preferences, outer.counted, judged, 1)
    share, own = float(shares[0, 0]), np.nan_to_num(influence[0, :, 0])
    limits = interval_of_share(share, TRAINING * float(own @ own), 0.95, len(own))
    measure = Measure("preferences", share, *limits, title=RIGHT)
    queries = data.queries
    return StatementJudgement([measure], queries, {}, None, preferences, outer.what, len(own))


def _units(preferences: Preferences, n_items: int) -> tuple[Queries, str]:
    if preferences.judge is not None:
        return Queries.from_labels(preferences.judge, len(preferences), "judge"), "groups"
    pair_of, pairs = preferences.unordered_pairs(n_items)
    return Queries(pair_of, np.arange(len(pairs))), "pairs of items"


def _log_loss(preferences: Preferences, probability: np.ndarray, units: Queries) -> Measure:
    """The weighted mean of −ln p, with Student's interval over units."""
    loss, weight = -np.log(np.maximum(probability, SMALLEST)), preferences.weight
    mean, n = float(weight @ loss / weight.sum()), len(units)
    sums = np.bincount(units.codes, weight * (loss - mean), minlength=n) / weight.sum()
    variance = float(sums @ sums) * n / max(n - 1, 1)
    low, high = student_interval(mean, variance, 0.95, n, (0.0, np.inf))
    if not np.isfinite(high):
        return Measure("log_loss", mean, reason="too little to tell", title=LOG_LOSS)
    return Measure("log_loss", mean, low, high, title=LOG_LOSS)
