"""How good a ranking is: four measures with intervals, over all queries and for each query."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rankwise import metrics
from rankwise.evaluation import confidence_interval
from rankwise.evaluation.intervals import bootstrap_interval
from rankwise.evaluation.judged_folds import checked_scores, refitting_folds
from rankwise.exceptions import UndefinedMetric
from rankwise.metrics.uncertainty import jackknife
from rankwise.model_selection.folds import group_labels, kept_together
from rankwise.numerics.progress import track
from rankwise.supervision.queries import Queries
from rankwise.workflow.ranking_data import Items
from rankwise.workflow.recipe import Recipe
from rankwise.workflow.training import train

NAMES = {
    "ranking_error": "ranking error",
    "ndcg@10": "NDCG@10",
    "map": "MAP",
    "tau_b": "Kendall's τ_b",
}
LARGEST_GRADE = 30
"""Scores are grades if they are integers from 0 to this number."""


@dataclass(frozen=True)
class Measure:
    """A value with the ends of its 95% interval; `reason` says why one of them is None."""

    key: str
    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""

    @property
    def name(self) -> str:
        return NAMES[self.key]

    def cells(self, digits: int = 4) -> tuple[str, str]:
        """The value and its interval (or the reason that there is none) as text."""
        value = "–" if self.value is None else f"{self.value:.{digits}f}"
        if self.low is None:
            return value, self.reason
        return value, f"{self.low:.{digits}f} to {self.high:.{digits}f}"

    def record(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "key"}


@dataclass
class Judgement:
    """The measures over all queries and of each query (nan for a query that has no pair).

    Items with at least the score `relevant` count as relevant for MAP.
    """

    measures: list[Measure]
    queries: Queries
    by_query: dict[str, np.ndarray]
    relevant: float | None

    def __getitem__(self, key: str) -> Measure:
        return next(measure for measure in self.measures if measure.key == key)

    def worst_first(self) -> np.ndarray:
        """The numbers of the queries that have a pair, largest ranking error first."""
        errors = self.by_query["ranking_error"]
        judged = np.flatnonzero(~np.isnan(errors))
        return judged[np.argsort(-errors[judged], kind="stable")]

    def record(self) -> dict[str, Any]:
        """All measures as plain values."""
        return {
            "items": self.queries.n_items,
            "queries": len(self.queries),
            "relevant": self.relevant,
            "measures": {measure.key: measure.record() for measure in self.measures},
        }

    def query_records(self) -> list[dict[str, Any]]:
        """The measures of each query as plain values."""
        rows = []
        for number, (label, size) in enumerate(zip(self.queries.labels, self.queries.sizes)):
            row: dict[str, Any] = {"query": str(label), "items": int(size)}
            for key, values in self.by_query.items():
                row[key] = None if np.isnan(values[number]) else float(values[number])
            rows.append(row)
        return rows


def judge(
    y: Any, s: Any, qid: Any = None, *, relevant: float | None = None, seed: int = 0
) -> Judgement:
    """All measures of the scores s; with queries the means over queries, with bootstrap intervals.

    NDCG uses the gains 2^y − 1 if the scores y are grades 0, 1, ..., 30, and y itself if they are
    other numbers without a negative one; otherwise it is omitted. MAP needs to know which items are
    relevant: those with y > 0 for grades, or with at least the score `relevant`. Raises
    UndefinedMetric if there is no pair to judge.
    """
    y, s = np.asarray(y, dtype=float), np.asarray(s, dtype=float)
    queries = Queries.from_labels(qid, len(y))
    metrics.ranking_error(y, s, qid)
    grades = bool(np.all((y >= 0) & (y <= LARGEST_GRADE) & (y == np.floor(y))))
    if relevant is None and (grades or set(np.unique(y)) <= {-1.0, 1.0}):
        relevant = float(np.min(y[y > 0])) if np.any(y > 0) else None
    gain = "exp2" if grades else "linear"
    functions: dict[str, Callable] = {
        "ranking_error": metrics.ranking_error,
        "ndcg@10": lambda a, b: metrics.ndcg(a, b, k=10, gain=gain),
        "map": lambda a, b: metrics.average_precision((a >= relevant).astype(float), b),
        "tau_b": metrics.kendall_tau_b,
    }
    absent = _absent(y, relevant)
    by_query = {
        key: np.full(len(queries), np.nan) if key in absent else _each(measure, y, s, queries)
        for key, measure in functions.items()
    }
    rng = np.random.RandomState(seed)
    measures = []
    for key, measure in functions.items():
        if key in absent:
            measures.append(Measure(key, None, reason=absent[key]))
        elif len(queries) > 1:
            measures.append(_over_queries(key, by_query[key], rng))
        else:
            measures.append(_single(key, measure, y, s))
    return Judgement(measures, queries, by_query, relevant)


def judge_recipe(recipe: Recipe, items: Items, folds: int) -> Judgement:
    """The recipe by nested cross-validation: every choice is repeated without the judged fold.

    Without queries, each fold is judged as a list of its own.
    """
    if items.y is None:
        raise ValueError("nested cross-validation judges scores, not preferences.")
    y, queries = checked_scores(items.y, items.qid)
    several = len(queries) > 1
    groups = group_labels(items.groups, len(y))
    kept = kept_together(queries, groups)
    folds = min(folds, len(y) if kept is None else int(kept.max()) + 1)
    parts = list(refitting_folds(folds, y, queries, recipe.seed, groups).splits)
    scores, fold_of_item = np.zeros(len(y)), np.zeros(len(y), dtype=int)
    for number, (held_out, test) in track(enumerate(parts), len(parts), "outer folds"):
        staying = np.setdiff1d(np.arange(len(y)), held_out)
        model = train(recipe, items.take(staying))
        tested = items.take(test)
        scores[test] = model.predict(tested.X, tested.qid)
        fold_of_item[test] = number
    return judge(y, scores, queries.codes if several else fold_of_item)


def _absent(y: np.ndarray, relevant: float | None) -> dict[str, str]:
    """The measures that these scores do not allow, with the reason."""
    absent = {}
    if np.any(y < 0):
        absent["ndcg@10"] = "negative scores cannot be gains"
    if relevant is None:
        absent["map"] = "give --relevant, the lowest relevant score"
    elif not np.any(y >= relevant):
        absent["map"] = f"no item has a score of {relevant:g} or more"
    elif np.all(y >= relevant):
        absent["map"] = f"all scores are {relevant:g} or more: choose a larger --relevant"
    return absent


def _each(measure: Callable, y: np.ndarray, s: np.ndarray, queries: Queries) -> np.ndarray:
    values = np.full(len(queries), np.nan)
    for number, items in enumerate(queries):
        with suppress(UndefinedMetric):
            values[number] = measure(y[items], s[items])
    return values


def _over_queries(key: str, values: np.ndarray, rng: np.random.RandomState) -> Measure:
    """The mean over queries with a bootstrap interval, widened for few queries as Student's is."""
    values = values[~np.isnan(values)]
    if not len(values):
        return Measure(key, None, reason="no query can be judged")
    mean, q = float(values.mean()), len(values)
    if q < 2 or np.ptp(values) < 1e-12:
        reason = "one query gives no interval" if q < 2 else "all queries have the same value"
        return Measure(key, mean, reason=reason)
    low, high = bootstrap_interval(values, 0.95, rng)
    floor = -1.0 if key == "tau_b" else 0.0
    return Measure(key, mean, max(low, floor), min(high, 1.0))


def _single(key: str, measure: Callable, y: np.ndarray, s: np.ndarray) -> Measure:
    """A measure of one list; only measures that count pairs have an interval over items."""
    try:
        value = float(measure(y, s))
    except UndefinedMetric as error:
        return Measure(key, None, reason=str(error))
    if key == "ranking_error":
        try:
            low, high = confidence_interval(y, s)
        except UndefinedMetric as error:
            return Measure(key, value, reason=str(error))
        return Measure(key, value, 1 - high, 1 - low)
    if key == "tau_b":
        reach = 1.96 * _jackknife_error(measure, y, s)
        if np.isfinite(reach):
            return Measure(key, value, max(value - reach, -1.0), min(value + reach, 1.0))
    return Measure(key, value, reason="one list gives no interval: it needs queries")


def _jackknife_error(measure: Callable, y: np.ndarray, s: np.ndarray) -> float:
    """The standard error of a measure over random groups of items; nan if it is not defined."""

    def of_items(items: np.ndarray) -> np.ndarray:
        with suppress(UndefinedMetric, ValueError):
            return np.array(measure(y[items], s[items]))
        return np.array(np.nan)

    return float(np.linalg.norm(jackknife(of_items, len(y))))
