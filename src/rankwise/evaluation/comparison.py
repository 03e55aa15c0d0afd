"""Several models on the same data: which is better, and could it be chance?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.base import BaseEstimator

from rankwise.evaluation.estimators import check_estimator, has_closed_form
from rankwise.evaluation.held_out_statements import Statements
from rankwise.evaluation.intervals import TRAINING, warn_of_few
from rankwise.evaluation.judged_folds import checked_scores, judge, refitting_folds, several
from rankwise.evaluation.leave_pair_out import judge_pairs
from rankwise.evaluation.permutation import permutation_test
from rankwise.evaluation.unseen_scores import unseen_scores
from rankwise.exceptions import UndefinedMetric
from rankwise.metrics.scorers import Scoring, read_scoring
from rankwise.metrics.uncertainty import share_of_pairs
from rankwise.model_selection.choosing import EQUAL
from rankwise.model_selection.folds import (
    GROUPS_FROM,
    GROUPS_UP_TO,
    LEAVE_PAIR_OUT_UP_TO,
    RandomState,
    Splits,
    group_labels,
)
from rankwise.supervision.preferences import Preferences
from rankwise.supervision.queries import Queries

DOUBTFUL, CLEAR = 0.2, 4.0
"""A difference with a smaller p-value needs a better model whose score is this many standard errors
above chance, or one that beats chance in a permutation test."""

Models = Mapping[str, BaseEstimator] | Iterable[BaseEstimator]


@dataclass
class Difference:
    """Score of `first` minus score of `second`, and its p-value before and after correction."""

    first: str
    second: str
    difference: float
    p_value: float
    p_adjusted: float


@dataclass
class Comparison:
    """Held-out score of each model, best first, and the differences between all models.

    `by_query` has one row per query that can be judged, and one column per model in the order
    of `names`; it is None without queries. `differences` are sorted by p-value. `how` says what was
    held out, and `measure` what the scores are. An error in `score_se` is nan if all queries (or
    folds) have the same score, which does not show an error.
    """

    names: list[str]
    score: np.ndarray
    score_se: np.ndarray
    by_query: np.ndarray | None
    differences: list[Difference]
    how: str
    measure: str = "share of pairs in the right order"

    @property
    def best(self) -> str:
        return self.names[0]

    def __str__(self) -> str:
        width = max(map(len, self.names))
        lines = [f"{self.measure}; {self.how}", f"{'model':{width}}  score     ±"]
        for name, score, error in zip(self.names, self.score, self.score_se):
            spread = f"{error:.3f}" if np.isfinite(error) else "    –"
            lines.append(f"{name:{width}}  {score:.3f} {spread}")
        both = [f"{d.first} − {d.second}" for d in self.differences]
        width = max(map(len, both), default=0)
        if both:
            lines.append(f"{'difference':{width}}              p  corrected")
        for text, d in zip(both, self.differences):
            p, adjusted = (_short(value) for value in (d.p_value, d.p_adjusted))
            lines.append(f"{text:{width}}  {d.difference:+.3f} {p:>7}    {adjusted:>7}")
        return "\n".join(lines)


def compare(
    models: Models,
    X: ArrayLike,
    y: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    *,
    preferences: Preferences | None = None,
    cv: Splits = "auto",
    groups: ArrayLike | None = None,
    scoring: Scoring = None,
    random_state: RandomState = None,
) -> Comparison:
    """Scores of several models on the same held-out items, paired, with significance tests.

    `models` is a dict of names and estimators, or a list of estimators. With qid each query is
    ranked by models that were trained without it: leave-query-out if all models have a closed form
    or there are at most 10 queries, else 10 folds of whole queries, or the folds of `cv`. Without
    qid it is leave-pair-out if all models have a closed form (up to 4000 items), else 10 folds.

    The tests are paired: Student's test of the differences by query, or over items as in DeLong's
    test for correlated AUCs. Held-out queries (or items) are not independent, because each of them
    also trains the models that are judged on the others. Their variance is therefore multiplied by
    rankwise.evaluation.intervals.TRAINING, for `score_se` as well; docs/evaluation.md has simulated
    levels and power. If the better of two models is less than 4 standard errors above chance and
    has a closed form, it must also beat chance in a permutation test (199 permutations): p is then
    the larger of the two p-values, of which the second is doubled. The p-values of all pairs of
    models are corrected by Holm's method.

    preferences : statements in place of y, judged one by one by models that never saw another one
        about the same two items (`cv` as in RankRLSCV; "auto": leave-preference-out if all models
        have a closed form, else 10 folds). Paired by pairs of items, or by `groups`, which then
        label the statements, for example by their judge; `how` says which.
    groups : labels of items that always leave together. Without qid, groups take the place of items
        in the test, which is then Student's. With qid, queries that share a group are one unit.
    scoring : None for concordance; "ndcg@10", "map", "tau", "auc", "err@10" or another name of a
        measure, a rankwise.metrics.scorer, or a callable(y, s) to maximise. Without qid a measure
        of lists is averaged over folds, which are then paired. Whether a model is above chance is
        always a question about its concordance.

    Fewer than 4 queries (or folds) raise an EstimateWarning.
    """
    models = _named(models)
    if preferences is not None:
        statements = Statements.checked(X, y, qid, preferences, groups, scoring)
        return _of_statements(models, statements, cv, random_state)
    y, queries = checked_scores(y, qid)
    together = group_labels(groups, len(y))
    data = _Data(X, y, queries, together)
    measure = read_scoring(scoring)
    estimates, by_query, how = _held_out_estimates(models, data, cv, random_state, scoring)
    score = np.array([one.score for one in estimates])
    influence = np.sqrt(TRAINING) * np.column_stack([one.influence for one in estimates])
    order = np.argsort(-score, kind="stable")
    names = [list(models)[i] for i in order]
    score, influence = score[order], influence[:, order]
    n_units = None if together is None else len(together)
    if by_query is not None or not measure.judges_pairs:
        n_units = len(influence)
        kind = "folds" if by_query is None else "queries"
        warn_of_few(n_units, kind)
        how += f", {n_units if by_query is None else len(by_query)} {kind} paired"
    by_query = None if by_query is None else by_query[:, order]
    error = np.sqrt((influence**2).sum(axis=0))
    z = {
        name: (one.share - 0.5) / max(np.sqrt(TRAINING) * one.share_error, EQUAL)
        for name, one in zip(models, estimates)
    }
    chance = _BetterThanChance(models, data, cv, random_state, z)
    rows = []
    for a, b in combinations(range(len(names)), 2):
        difference = float(score[a] - score[b])
        p = paired_p(difference, influence[:, a] - influence[:, b], n_units)
        if p < DOUBTFUL and z[names[a]] < CLEAR:
            p = max(p, chance.p_value(names[a]))
        rows.append((names[a], names[b], difference, p))
    rows.sort(key=lambda row: row[3])
    corrected = holm([row[3] for row in rows])
    differences = [Difference(*row, float(p)) for row, p in zip(rows, corrected)]
    error = np.where(error > EQUAL, error, np.nan)
    return Comparison(names, score, error, by_query, differences, how, measure.title)


def _of_statements(
    models: dict[str, BaseEstimator], data: Statements, cv: Splits, random_state: RandomState
) -> Comparison:
    from rankwise.evaluation.statement_comparison import compare_statements

    return compare_statements(models, data, cv, random_state)


class _BetterThanChance:
    """Whether a model beats chance, by a permutation test of its own (199 permutations).

    A model that does not beat chance is not better than another one, whatever their difference is:
    without signal, differences have longer tails than the paired test assumes. The p-value is
    doubled, because the better of two models is tested. For models without a closed form a
    permutation test would cost thousands of refits: there the score itself is compared with chance,
    `z` standard errors above it.
    """

    def __init__(
        self,
        models: dict[str, BaseEstimator],
        data: _Data,
        cv: Splits,
        random_state: RandomState,
        z: dict[str, float],
    ):
        self._models, self._data, self._cv, self._z = models, data, cv, z
        self._seed = 0 if random_state is None else random_state
        self._known: dict[str, float] = {}

    def p_value(self, name: str) -> float:
        model = self._models[name]
        if not has_closed_form(model):
            return min(1.0, 2 * float(stats.norm.sf(self._z[name])))
        if name not in self._known:
            X, y, queries, groups = self._data
            *_, p = permutation_test(
                model,
                X,
                y,
                qid=queries.codes if len(queries) > 1 else None,
                cv=self._cv,
                groups=None if groups is None else groups.codes,
                n_permutations=199,
                random_state=self._seed,
            )
            self._known[name] = min(1.0, 2 * p)
        return self._known[name]


class _Data(NamedTuple):
    """Items, their scores, their queries, and the groups that always leave together."""

    X: ArrayLike
    y: np.ndarray
    queries: Queries
    groups: Queries | None


class _Estimate(NamedTuple):
    """A score with influence values, and the concordance by which a model is above chance."""

    score: float
    influence: np.ndarray
    share: float
    share_error: float

    @classmethod
    def of_pairs(cls, share: float | np.ndarray, influence: np.ndarray) -> _Estimate:
        return cls(float(share), influence, float(share), float(np.sqrt(influence @ influence)))


def _held_out_estimates(
    models: dict[str, BaseEstimator],
    data: _Data,
    cv: Splits,
    random_state: RandomState,
    scoring: Scoring,
) -> tuple[list[_Estimate], np.ndarray | None, str]:
    """The estimate of each model, (queries, models) scores, what was held out."""
    X, y, queries, groups = data
    by_query, pairs = len(queries) > 1, read_scoring(scoring).judges_pairs
    closed = all(has_closed_form(model) for model in models.values())
    if isinstance(cv, str) and cv == "auto" and closed:
        if by_query:
            cv = "leave-query-out"
        elif (pairs and len(y) <= LEAVE_PAIR_OUT_UP_TO) and (
            groups is None or GROUPS_FROM <= len(groups) <= GROUPS_UP_TO
        ):
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
        return [_Estimate.of_pairs(*share) for share in shares], None, str(folds)
    judged = [
        judge(unseen_scores(model, X, y, several(queries), groups), folds, f"folds of {name}")
        for name, model in models.items()
    ]
    ordered = [_Estimate.of_pairs(*one.mean_and_influence(queries, groups)) for one in judged]
    if not by_query and pairs:
        return ordered, None, str(folds)
    values = np.column_stack([one.values(scoring) for one in judged])
    everywhere = ~np.isnan(values).any(axis=1)
    if not everywhere.any():
        raise UndefinedMetric(
            "no held-out query or fold can be judged for every model: use larger folds."
        )
    values[~everywhere] = np.nan  # tests are paired: a unit counts for all models or for none
    means = [one.mean_of_units(column, queries, groups) for one, column in zip(judged, values.T)]
    estimates = [_Estimate(*mean, *own[2:]) for mean, own in zip(means, ordered)]
    return estimates, values[everywhere] if by_query else None, str(folds)


def _short(p: float) -> str:
    return f"{p:.4f}" if p >= 0.0001 else "<0.0001"


def _named(models: Models) -> dict[str, BaseEstimator]:
    if not isinstance(models, Mapping):
        if not isinstance(models, Iterable):
            raise ValueError("models must be a dict of names and estimators, or a list of them.")
        named: dict[str, BaseEstimator] = {}
        for model in models:
            name = base = type(model).__name__
            number = 2
            while name in named:
                name, number = f"{base} {number}", number + 1
            named[name] = model
        models = named
    models = {str(name): model for name, model in models.items()}
    if len(models) < 2:
        raise ValueError(f"compare needs two models or more; got {len(models)}.")
    for model in models.values():
        check_estimator(model)
    return models


def paired_p(difference: float, influence: np.ndarray, n_units: int | None = None) -> float:
    """Two-sided p-value of a difference whose squared standard error is the sum of influence².

    Over items the difference is about normal. The error over a few queries is uncertain itself:
    Student's distribution with q − 1 degrees of freedom. If all q differences are equal, they say
    nothing about the error, and p is 2^(1 − q), the share of all combinations of signs in which
    every difference has the same sign.
    """
    if abs(difference) < EQUAL:
        return 1.0
    if n_units is not None and n_units < 2:
        return 1.0
    error = float(np.sqrt(influence @ influence))
    if error < EQUAL:
        return 0.0 if n_units is None else 2.0 ** (1 - n_units)
    statistic = abs(difference) / error
    distribution = stats.norm if n_units is None else stats.t(n_units - 1)
    return float(2 * distribution.sf(statistic))


def holm(p_values: ArrayLike) -> np.ndarray:
    """Holm's step-down correction of p-values in ascending order."""
    p = np.asarray(p_values)
    return np.minimum(np.maximum.accumulate(p * np.arange(len(p), 0, -1)), 1.0)
