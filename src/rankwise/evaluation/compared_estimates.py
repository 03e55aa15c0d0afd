"""The estimates that a comparison pairs: all models on the same held-out units, which may be
statements of preferences."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from rankwise.evaluation.estimators import ExistingRanking, has_closed_form
from rankwise.evaluation.held_out_statements import (
    Statements,
    check_learns_preferences,
    held_out_share,
)
from rankwise.evaluation.intervals import TRAINING
from rankwise.evaluation.judged_folds import JudgedFolds, judge, refitting_folds, several
from rankwise.evaluation.leave_pair_out import judge_pairs
from rankwise.evaluation.truths import Truth
from rankwise.evaluation.unseen_scores import unseen_scores
from rankwise.exceptions import UndefinedMetric
from rankwise.metrics.scorers import Scoring, read_scoring
from rankwise.metrics.uncertainty import share_of_pairs
from rankwise.model_selection.choosing import EQUAL
from rankwise.model_selection.folds import (
    GROUPS_FROM,
    GROUPS_UP_TO,
    LEAVE_PAIR_OUT_UP_TO,
    Folds,
    RandomState,
    Splits,
)
from rankwise.model_selection.preference_folds import PreferenceFolds, share_of_statements
from rankwise.supervision.censored import Censored
from rankwise.supervision.queries import Queries

Model: TypeAlias = BaseEstimator | ExistingRanking


class ComparedData(NamedTuple):
    """Items, their scores, their queries, and the groups that always leave together."""

    X: Any
    y: Truth
    queries: Queries
    groups: Queries | None


class Estimate(NamedTuple):
    """A score with influence values, and the concordance by which a model is above chance.

    The errors of a model that was `trained` on the other queries (or items) are multiplied.
    """

    score: float
    influence: np.ndarray
    share: float
    share_error: float
    trained: bool

    @property
    def error(self) -> float:
        """The standard error, nan if all units have the same score."""
        error = self._training * float(np.sqrt(self.influence @ self.influence))
        return error if error > EQUAL else np.nan

    @property
    def above_chance(self) -> float:
        """How many standard errors the concordance is above ½."""
        return (self.share - 0.5) / max(self._training * self.share_error, EQUAL)

    @property
    def _training(self) -> float:
        return float(np.sqrt(TRAINING)) if self.trained else 1.0


class HeldOutEstimates(NamedTuple):
    """The estimates of the models; (queries, models) scores with the labels of the queries."""

    estimates: list[Estimate]
    by_query: np.ndarray | None
    queries: np.ndarray | None
    how: str


def held_out_estimates(
    models: dict[str, Model],
    data: ComparedData,
    cv: Splits,
    random_state: RandomState,
    scoring: Scoring,
) -> HeldOutEstimates:
    X, y, queries, groups = data
    by_query, pairs = len(queries) > 1, read_scoring(scoring).judges_pairs
    trained = [not isinstance(model, ExistingRanking) for model in models.values()]
    if not any(trained):
        return _judged_estimates(
            [_of_all_items(one, data) for one in models.values()],
            trained,
            data,
            scoring,
            "scores as given",
        )
    closed = all(has_closed_form(model) for model in models.values())
    if isinstance(cv, str) and cv == "auto" and closed:
        if by_query:
            cv = "leave-query-out"
        elif pairs and _pairs_are_affordable(models, data):
            cv = "leave-pair-out"
    folds = refitting_folds(cv, y, queries, random_state, groups)
    if folds.is_leave_pair_out:
        if not pairs:
            raise ValueError("leave-pair-out judges pairs: give cv as folds for this scoring.")
        read_scoring(scoring).bound(y)
        shares = [
            share_of_pairs(*judge_pairs(unseen_scores(model, X, y, groups=groups)))
            for model in models.values()
        ]
        if groups is not None:
            shares = [(share, np.bincount(groups.codes, influence)) for share, influence in shares]
        estimates = [_of_pairs(*share, own) for share, own in zip(shares, trained)]
        return HeldOutEstimates(estimates, None, None, str(folds))
    judged = [
        judge(unseen_scores(model, X, y, several(queries), groups), folds, f"folds of {name}")
        for name, model in models.items()
    ]
    return _judged_estimates(judged, trained, data, scoring, str(folds))


def _pairs_are_affordable(models: dict[str, Model], data: ComparedData) -> bool:
    """Whether every pair of items, or of a few groups, can be held out of all models.

    Censored outcomes with a kernel matrix have no closed form: each pair would be a refit.
    """
    X, y, queries, groups = data
    if groups is not None:
        return GROUPS_FROM <= len(groups) <= GROUPS_UP_TO
    if len(y) > LEAVE_PAIR_OUT_UP_TO or not isinstance(y, Censored):
        return len(y) <= LEAVE_PAIR_OUT_UP_TO
    trained = [model for model in models.values() if not isinstance(model, ExistingRanking)]
    matrices = max(model.hold_outs(X, y).pair_matrices() for model in trained)
    return Folds("auto", queries, pair_matrices=matrices).is_leave_pair_out


def out_of_fold_estimates(
    rankings: list[ExistingRanking], data: ComparedData, by_query: bool, scoring: Scoring
) -> HeldOutEstimates:
    """The first ranking was made by models trained without what they scored; the others exist.

    The queries of `data` are the units. If they are folds, they are not what is averaged over, for
    a measure of pairs: all pairs within folds count alike.
    """
    judged = [_of_all_items(one, data) for one in rankings]
    trained = [number == 0 for number in range(len(rankings))]
    if by_query:
        return _judged_estimates(judged, trained, data, scoring, "outer folds")
    whole = data._replace(queries=Queries.from_labels(None, len(data.y)))
    return _judged_estimates(judged, trained, whole, scoring, "outer folds")


def _judged_estimates(
    judged: list[JudgedFolds], trained: list[bool], data: ComparedData, scoring: Scoring, how: str
) -> HeldOutEstimates:
    """The estimates of models that were judged on the same units."""
    queries, groups = data.queries, data.groups
    by_query, pairs = len(queries) > 1, read_scoring(scoring).judges_pairs
    ordered = [
        _of_pairs(*one.mean_and_influence(queries, groups), own)
        for one, own in zip(judged, trained)
    ]
    if not by_query and pairs:
        read_scoring(scoring).bound(data.y)
        return HeldOutEstimates(ordered, None, None, how)
    values = np.column_stack([one.values(scoring) for one in judged])
    everywhere = ~np.isnan(values).any(axis=1)
    if not everywhere.any():
        raise UndefinedMetric(
            "no held-out query or fold can be judged for every model: use larger folds."
        )
    values[~everywhere] = np.nan  # tests are paired: a unit counts for all models or for none
    means = [one.mean_of_units(column, queries, groups) for one, column in zip(judged, values.T)]
    estimates = [own._replace(score=m, influence=i) for (m, i), own in zip(means, ordered)]
    if not by_query:
        return HeldOutEstimates(estimates, None, None, how)
    units, items = judged[0].units, judged[0].items
    first = items[units.order[units.starts[:-1]]]
    labels = np.asarray(queries.labels)[queries.codes[first]]
    return HeldOutEstimates(estimates, values[everywhere], labels[everywhere], how)


def _of_pairs(share: float | np.ndarray, influence: np.ndarray, trained: bool) -> Estimate:
    error = float(np.sqrt(influence @ influence))
    return Estimate(float(share), influence, float(share), error, trained)


def _of_all_items(ranking: ExistingRanking, data: ComparedData) -> JudgedFolds:
    """Scores that need no training, judged on all items."""
    everything = np.arange(len(data.y))
    model = unseen_scores(ranking, None, data.y, several(data.queries), data.groups)
    levels = model.ties.levels(everything, ranking.scores)
    return JudgedFolds(data.y, levels, data.queries, everything, ranking.scores)


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
