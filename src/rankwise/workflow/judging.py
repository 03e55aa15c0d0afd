"""How good a ranking is: measures with intervals, over all queries and for each query."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rankwise import metrics
from rankwise.evaluation import confidence_interval
from rankwise.evaluation.intervals import TOO_FEW, interval_over_queries
from rankwise.exceptions import UndefinedMetric
from rankwise.metrics.scorers import Scorer
from rankwise.metrics.uncertainty import jackknife
from rankwise.supervision.queries import Queries
from rankwise.workflow.suited_measures import UnsuitedScores, lowest_relevant, suited

MEASURED = ("ranking_error", "ndcg@10", "map", "tau_b")
"""What is shown if nothing else is asked for."""


@dataclass(frozen=True)
class Measure:
    """A value with the ends of its 95% interval; `reason` says why they are None or doubtful."""

    key: str
    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""
    title: str = ""  # default: that of the measure in rankwise.metrics

    @property
    def name(self) -> str:
        return self.title or Scorer(self.key).title

    def cells(self, digits: int = 4) -> tuple[str, str]:
        """The value and its interval (or the reason that there is none) as text."""
        value = "–" if self.value is None else f"{self.value:.{digits}f}"
        if self.low is None:
            return value, self.reason
        words = f" ({self.reason})" if self.reason else ""
        return value, f"{self.low:.{digits}f} to {self.high:.{digits}f}{words}"

    def record(self) -> dict[str, Any]:
        left_out = ("key", "title")
        return {name: value for name, value in asdict(self).items() if name not in left_out}


@dataclass
class Judgement:
    """The measures over all queries and of each query (nan for a query that has no pair).

    Items with at least the score `relevant` count as relevant for MAP.
    """

    measures: list[Measure]
    queries: Queries
    by_query: dict[str, np.ndarray]
    relevant: float | None

    @property
    def keys(self) -> list[str]:
        return [measure.key for measure in self.measures]

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
    y: Any,
    s: Any,
    qid: Any = None,
    *,
    relevant: float | None = None,
    scoring: Sequence[str] = MEASURED,
    seed: int = 0,
) -> Judgement:
    """Measures of the scores s by name; with queries the means over queries, with intervals.

    `suited` says which form of a measure the scores y ask for; a measure that they do not allow has
    no value, but a reason. Raises UndefinedMetric if there is no pair to judge.
    """
    y, s = np.asarray(y, dtype=float), np.asarray(s, dtype=float)
    queries = Queries.from_labels(qid, len(y))
    relevant = lowest_relevant(y) if relevant is None else relevant
    errors = _each(Scorer("ranking_error"), y, s, queries)
    if np.isnan(errors).all():
        metrics.ranking_error(y, s, qid)
    by_query = {"ranking_error": -errors}
    rng = np.random.RandomState(seed)
    measures = []
    for key in scoring:
        try:
            scorer = suited(key, y, relevant).bound(y)
        except UnsuitedScores as reason:
            measures.append(Measure(key, None, reason=str(reason)))
            by_query[key] = np.full(len(queries), np.nan)
            continue
        by_query[key] = scorer.sign * _each(scorer, y, s, queries)
        if len(queries) > 1:
            measures.append(_over_queries(key, scorer, by_query[key], rng))
        else:
            measures.append(_single(key, scorer, y, s))
    return Judgement(measures, queries, by_query, relevant)


def _each(scorer: Scorer, y: np.ndarray, s: np.ndarray, queries: Queries) -> np.ndarray:
    values = np.full(len(queries), np.nan)
    for number, items in enumerate(queries):
        with suppress(UndefinedMetric):
            values[number] = scorer.measure(y[items], s[items])
    return values


def _limits(scorer: Scorer) -> tuple[float, float]:
    """The least and the greatest value of the measure with its own sign."""
    low, high = sorted(scorer.sign * end for end in scorer.range)
    return low, high


def _over_queries(
    key: str, scorer: Scorer, values: np.ndarray, rng: np.random.RandomState
) -> Measure:
    """The mean over queries with the interval of rankwise.evaluation, which is wide for few."""
    values = values[~np.isnan(values)]
    q = len(values)
    if not q:
        return Measure(key, None, reason="no query can be judged")
    mean = float(values.mean())
    if q < 2:
        return Measure(key, mean, reason="one query gives no interval")
    low, high = interval_over_queries(values, 0.95, rng, _limits(scorer))
    if not np.isfinite(high - low):
        return Measure(key, mean, reason="all queries have the same value")
    reason = f"{q} queries are too few to say more" if q < TOO_FEW else ""
    return Measure(key, mean, low, high, reason)


def _single(key: str, scorer: Scorer, y: np.ndarray, s: np.ndarray) -> Measure:
    """A measure of one list; only measures that count pairs have an interval over items."""
    try:
        value = scorer.sign * float(scorer.measure(y, s))
    except UndefinedMetric as error:
        return Measure(key, None, reason=str(error))
    if scorer.judges_pairs or scorer.name == "ranking_error":
        try:
            low, high = confidence_interval(y, s)
        except UndefinedMetric as error:
            return Measure(key, value, reason=str(error))
        ends = (low, high) if scorer.judges_pairs else (1 - high, 1 - low)
        return Measure(key, value, *ends)
    if scorer.name == "kendall_tau_b":
        reach = 1.96 * _jackknife_error(scorer, y, s)
        if np.isfinite(reach):
            return Measure(key, value, max(value - reach, -1.0), min(value + reach, 1.0))
    return Measure(key, value, reason="one list gives no interval: it needs queries")


def _jackknife_error(scorer: Scorer, y: np.ndarray, s: np.ndarray) -> float:
    """The standard error of a measure over random groups of items; nan if it is not defined."""

    def of_items(items: np.ndarray) -> np.ndarray:
        with suppress(UndefinedMetric, ValueError):
            return np.array(scorer.measure(y[items], s[items]))
        return np.array(np.nan)

    return float(np.linalg.norm(jackknife(of_items, len(y))))
