"""How good a ranking is: four measures with intervals, overall and query by query."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from rankwise import metrics
from rankwise.evaluation import confidence_interval
from rankwise.evaluation.intervals import bootstrap_interval
from rankwise.exceptions import UndefinedMetric
from rankwise.metrics.uncertainty import jackknife
from rankwise.supervision.queries import Queries

NAMES = {
    "ranking_error": "ranking error",
    "ndcg@10": "NDCG@10",
    "map": "MAP",
    "tau_b": "Kendall's τ_b",
}
LARGEST_GRADE = 30


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

    def record(self) -> dict:
        return {"value": self.value, "low": self.low, "high": self.high, "reason": self.reason}


@dataclass
class Judgement:
    """Measures over all queries, and of each query (nan where one has nothing to judge)."""

    measures: list[Measure]
    queries: Queries
    by_query: dict[str, np.ndarray]
    relevant: float | None
    """Items of this score and above count as relevant for MAP."""

    def __getitem__(self, key: str) -> Measure:
        return next(measure for measure in self.measures if measure.key == key)

    def worst_first(self) -> np.ndarray:
        """Numbers of the queries that have a pair, by falling ranking error."""
        errors = self.by_query["ranking_error"]
        judged = np.flatnonzero(~np.isnan(errors))
        return judged[np.argsort(-errors[judged], kind="stable")]

    def record(self) -> dict:
        return {
            "items": self.queries.n_items,
            "queries": len(self.queries),
            "relevant": self.relevant,
            "measures": {measure.key: measure.record() for measure in self.measures},
        }

    def query_records(self) -> list[dict]:
        rows = []
        for number, label in enumerate(self.queries.labels):
            row = {"query": str(label), "items": int(self.queries.sizes[number])}
            for key, values in self.by_query.items():
                value = float(values[number])
                row[key] = None if np.isnan(value) else value
            rows.append(row)
        return rows


def judge(y, s, qid=None, *, relevant: float | None = None, seed: int = 0) -> Judgement:
    """All measures of scores s; with queries means over queries, intervals by bootstrap over them.

    NDCG takes gains 2^y − 1 where scores are grades 0, 1, ..., 30, y itself where it is not
    negative, and is left out otherwise. MAP needs to know what is relevant: y > 0 for grades,
    unless `relevant` gives a least score. `UndefinedMetric` where there is no pair to judge.
    """
    y, s = np.asarray(y, dtype=float), np.asarray(s, dtype=float)
    queries = Queries.from_labels(qid, len(y))
    metrics.ranking_error(y, s, qid)
    grades = bool(np.all((y >= 0) & (y <= LARGEST_GRADE) & (y == np.floor(y))))
    if relevant is None and (grades or set(np.unique(y)) <= {-1.0, 1.0}):
        relevant = float(np.min(y[y > 0])) if np.any(y > 0) else None
    gain = "exp2" if grades else "linear"
    judges = {
        "ranking_error": metrics.ranking_error,
        "ndcg@10": lambda a, b: metrics.ndcg(a, b, k=10, gain=gain),
        "map": lambda a, b: metrics.average_precision((a >= relevant).astype(float), b),
        "tau_b": metrics.kendall_tau_b,
    }
    absent = {}
    if np.any(y < 0):
        absent["ndcg@10"] = "negative scores are no gains"
    if relevant is None:
        absent["map"] = "say what is relevant: --relevant"
    elif not np.any(y >= relevant):
        absent["map"] = f"no item has a score of {relevant:g} or more"
    elif np.all(y >= relevant):
        absent["map"] = f"all scores are {relevant:g} or more: --relevant says which matter"
    by_query = {
        key: _each(measure, y, s, queries) if key not in absent else np.full(len(queries), np.nan)
        for key, measure in judges.items()
    }
    rng = np.random.RandomState(seed)
    several = len(queries) > 1
    measures = []
    for key, measure in judges.items():
        if key in absent:
            measures.append(Measure(key, None, reason=absent[key]))
        elif several:
            measures.append(_over_queries(key, by_query[key], rng))
        else:
            measures.append(_single(key, measure, y, s))
    return Judgement(measures, queries, by_query, relevant)


def _each(measure, y, s, queries: Queries) -> np.ndarray:
    values = np.full(len(queries), np.nan)
    for number, items in enumerate(queries):
        with suppress(UndefinedMetric):
            values[number] = measure(y[items], s[items])
    return values


def _over_queries(key: str, values: np.ndarray, rng) -> Measure:
    """The mean over queries, with its bootstrap interval."""
    values = values[~np.isnan(values)]
    if not len(values):
        return Measure(key, None, reason="no query can be judged")
    mean, q = float(values.mean()), len(values)
    if q < 2 or np.ptp(values) < 1e-12:
        reason = "one query has no spread" if q < 2 else "all queries are alike"
        return Measure(key, mean, reason=reason)
    low, high = bootstrap_interval(values, 0.95, rng)
    floor = -1.0 if key == "tau_b" else 0.0
    return Measure(key, mean, max(low, floor), min(high, 1.0))


def _single(key: str, measure, y, s) -> Measure:
    """One list: intervals over items for the measures that count pairs."""
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
    return Measure(key, value, reason="one list has no interval: it needs queries")


def _jackknife_error(measure, y, s) -> float:
    """The standard error of a measure, by the jackknife over groups of items; nan if undefined."""

    def of_rest(rest: np.ndarray) -> np.ndarray:
        with suppress(ValueError):
            return np.array(measure(y[rest], s[rest]))
        return np.array(np.nan)

    return float(np.linalg.norm(jackknife(of_rest, len(y))))
