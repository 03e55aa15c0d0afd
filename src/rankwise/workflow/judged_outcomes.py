"""How well scores order censored outcomes: concordance with intervals, and survival by tercile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rankwise import metrics
from rankwise.evaluation import confidence_interval, dynamic_auc_intervals, uno_interval
from rankwise.evaluation.intervals import TRAINING, score_interval
from rankwise.exceptions import UndefinedMetric
from rankwise.losses.item_concordance import item_concordance, query_concordance
from rankwise.metrics.survival_measures import SurvivalCurve, log_rank_test, survival_curve
from rankwise.metrics.uncertainty import share_of_pairs
from rankwise.model_selection.folds import Folds, group_labels, kept_together
from rankwise.numerics.progress import track
from rankwise.supervision.censored import Censored
from rankwise.supervision.queries import Queries
from rankwise.workflow.judging import Judgement, Measure
from rankwise.workflow.ranking_data import Items
from rankwise.workflow.recipe import Recipe
from rankwise.workflow.training import train_best

HARRELL, UNO = "Harrell's concordance", "Uno's concordance"
AUC = "AUC at the median time of events"
TAU = 0.9
"""Uno's concordance judges pairs up to this quantile of the times: later weights are too large."""
GROUPS = ("shortest survival predicted", "middle", "longest survival predicted")


@dataclass
class OutcomeJudgement(Judgement):
    """The measures of censored outcomes; the first one is Harrell's concordance."""

    outcome: Censored | None = None

    def record(self) -> dict[str, Any]:
        assert self.outcome is not None
        return {
            "items": self.queries.n_items,
            "events": int(self.outcome.event.sum()),
            "strata": len(self.queries),
            "measures": {measure.key: measure.record() for measure in self.measures},
        }


def judge_outcomes(outcome: Censored, s: np.ndarray, qid: Any = None) -> OutcomeJudgement:
    """Scores s of unseen items judged by their outcomes; higher scores mean longer survival.

    With strata Harrell's concordance is the mean over them. Uno's, and the AUC at the median time
    of the events, correct for censoring by the censoring curve of these same items. Raises
    UndefinedMetric if no pair of items is comparable.
    """
    queries = Queries.from_labels(qid, len(outcome))
    value = metrics.concordance(outcome, s, qid)
    pairs, right = query_concordance(outcome, s[:, None], queries)
    errors = 1.0 - np.divide(right[:, 0], pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
    measures = [_with_interval("concordance", HARRELL, value, (outcome, s, qid))]
    if len(queries) == 1:
        measures += [_uno(outcome, s), _auc(outcome, s)]
    by_query = {"ranking_error": errors, "concordance": 1.0 - errors}
    by_query |= {one.key: np.full(len(queries), np.nan) for one in measures[1:]}
    return OutcomeJudgement(measures, queries, by_query, None, outcome)


def _with_interval(key: str, title: str, value: float, judged: Any) -> Measure:
    try:
        low, high = confidence_interval(*judged, random_state=0)
    except UndefinedMetric as error:
        return Measure(key, value, reason=str(error).rstrip("."), title=title)
    return Measure(key, value, low, high, title=title)


def _uno(outcome: Censored, s: np.ndarray) -> Measure:
    tau = float(np.quantile(outcome.time, TAU))
    title = f"{UNO} up to {tau:.4g}"
    try:
        value = metrics.uno_concordance(outcome, outcome, s, tau)
        low, high = uno_interval(outcome, outcome, s, tau)
    except ValueError as error:
        return Measure("uno_concordance", None, reason=str(error).rstrip("."), title=title)
    return Measure("uno_concordance", value, low, high, title=title)


def _auc(outcome: Censored, s: np.ndarray) -> Measure:
    time = float(np.median(outcome.time[outcome.event]))
    title = f"{AUC}, {time:.4g}"
    try:
        value = metrics.cumulative_dynamic_auc(outcome, outcome, s, [time]).mean
        low, high = dynamic_auc_intervals(outcome, outcome, s, [time])[0]
    except ValueError as error:
        return Measure("dynamic_auc", None, reason=str(error).rstrip("."), title=title)
    return Measure("dynamic_auc", value, float(low), float(high), title=title)


class OutcomesOutOfFold(NamedTuple):
    """The judgement of recipes on outer folds, the scores that each item got from models that were
    trained without its fold, the strata (or, without strata, the folds) within which these scores
    are compared, and the number of folds."""

    judgement: OutcomeJudgement
    scores: np.ndarray
    units: np.ndarray
    folds: int


def judge_recipes_on_outcomes(
    recipes: Sequence[Recipe], items: Items, folds: int
) -> OutcomesOutOfFold:
    """The best recipe by nested cross-validation: every choice is repeated without the judged fold.

    Folds keep strata and groups whole, and share the events evenly if there are neither. Items are
    compared within their stratum, or within their fold.
    """
    outcome, queries = items.y, items.queries
    assert isinstance(outcome, Censored)
    kept = kept_together(queries, group_labels(items.groups, len(items)))
    available = len(items) if kept is None else int(kept.max()) + 1
    outer = Folds(min(folds, available), queries, outcome.event, items.groups, recipes[0].seed)
    s, fold = np.zeros(len(items)), np.zeros(len(items), dtype=int)
    for number, (held, test) in track(enumerate(outer.splits), folds, "outer folds"):
        staying = np.setdiff1d(np.arange(len(items)), held)
        tested = items.take(test)
        s[test] = train_best(recipes, items.take(staying)).predict(tested.X, tested.qid)
        fold[test] = number
    done = int(fold.max()) + 1
    if len(queries) > 1:
        judgement = judge_outcomes(outcome, s, queries.codes)
        return OutcomesOutOfFold(judgement, s, queries.labels[queries.codes], done)
    units = Queries(*np.unique(fold, return_inverse=True)[::-1])
    counted, right = item_concordance(outcome, s, units)
    if not counted.any():
        raise UndefinedMetric("no fold holds a comparable pair: use fewer folds.")
    share, influence = share_of_pairs(counted, right)
    variance, events = TRAINING * float(influence @ influence), int(outcome.event.sum())
    limits = score_interval(
        float(share), variance, 0.95, disjoint=max(events // 2, 1), freedom=max(events - 1, 1)
    )
    measure = Measure("concordance", float(share), *limits, title=HARRELL)
    errors = {"ranking_error": np.array([1.0 - float(share)])}
    judgement = OutcomeJudgement([measure], queries, errors, None, outcome)
    return OutcomesOutOfFold(judgement, s, fold, done)


class Tercile(NamedTuple):
    """A third of the items by predicted score, with its survival curve."""

    name: str
    outcome: Censored
    curve: SurvivalCurve

    def at_risk(self, times: np.ndarray) -> np.ndarray:
        """(T,) how many items are still followed just before each time."""
        return (self.outcome.time[:, None] >= times).sum(axis=0)


class Terciles(NamedTuple):
    """The three groups, and the log-rank test between them (None if it is not defined)."""

    groups: list[Tercile]
    p_value: float | None


def terciles(outcome: Censored, s: np.ndarray) -> Terciles:
    """Survival of the items in thirds of their scores; equal scores stay together.

    There are fewer groups if many scores are equal.
    """
    cuts = np.quantile(s, [1 / 3, 2 / 3])
    number = np.searchsorted(cuts, s, side="left")
    kept = [k for k in range(3) if np.any(number == k)]
    names = GROUPS if len(kept) == 3 else [f"group {k + 1}" for k in range(len(kept))]
    parts = [outcome[number == k] for k in kept]
    groups = [Tercile(name, part, survival_curve(part)) for name, part in zip(names, parts)]
    try:
        return Terciles(groups, log_rank_test(parts)[1])
    except UndefinedMetric:
        return Terciles(groups, None)


class OrderCalibration(NamedTuple):
    """Items in tenths of their scores, from low to high: mean score and median survival.

    `survived` is the share that survives `horizon`, with the ends of its 95% interval.
    """

    score: np.ndarray
    survived: np.ndarray
    low: np.ndarray
    high: np.ndarray
    horizon: float


def calibration_of_order(outcome: Censored, s: np.ndarray, most: int = 10) -> OrderCalibration:
    """Whether a higher score goes with a greater share that survives the median time of events.

    Each group holds at least 20 items.
    """
    horizon = float(np.median(outcome.time[outcome.event]))
    order = np.argsort(s, kind="stable")
    parts = np.array_split(order, max(1, min(most, len(order) // 20)))
    curves = [survival_curve(outcome[part]) for part in parts]
    survived = np.array([float(curve.at(horizon)) for curve in curves])
    score = np.array([float(s[part].mean()) for part in parts])
    limits = []
    for part, curve, share in zip(parts, curves, survived):
        followed = max(int((outcome.time[part] >= horizon).sum()), 1)
        limits.append(
            score_interval(share, _error_at(curve, horizon) ** 2, 0.95, disjoint=followed)
        )
    low, high = np.array(limits).T
    return OrderCalibration(score, survived, low, high, horizon)


def _error_at(curve: SurvivalCurve, time: float) -> float:
    steps = np.searchsorted(curve.times, time, side="right")
    return float(curve.error[steps - 1]) if steps else 0.0
