"""The measures of trec_eval by its own definitions, and two of ours for the same judged runs.

trec_eval sorts the documents of a query by score, as a number of 32 bits, and breaks ties by the
name of the document, the last name of the alphabet first. Documents without judgement count as not
relevant. The measures of rankwise average over the orders of tied documents instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from rankwise.exceptions import UndefinedMetric
from rankwise.metrics.list_loops import discounted_gains, over_queries, precision_loop
from rankwise.supervision.queries import Queries

DEFAULT = ("map", "ndcg_cut_10", "P_10", "recall_100", "recip_rank")
NAME = re.compile(r"([A-Za-z_]+?)(?:([_@])([1-9]\d{0,8}))?")


class RankedList(NamedTuple):
    """One query: the relevance of its documents from the first rank on, and of all judged ones.

    Documents without judgement have the relevance −2. `relevant` is the least relevance that counts
    as relevant in measures which know only two levels.
    """

    ranked: np.ndarray
    judged: np.ndarray
    relevant: int

    @property
    def hits(self) -> np.ndarray:
        return self.ranked >= self.relevant

    @property
    def n_relevant(self) -> int:
        return int((self.judged >= self.relevant).sum())


def _average_precision(query: RankedList, k: int | None) -> float:
    ranks = np.flatnonzero(query.hits[:k]) + 1.0
    precision = np.arange(1, len(ranks) + 1) / ranks
    return float(precision.sum() / query.n_relevant) if query.n_relevant else 0.0


def _ndcg(query: RankedList, k: int | None) -> float:
    reached = _dcg(query.ranked[:k])
    ideal = _dcg(np.sort(query.judged)[::-1][:k])
    return reached / ideal if ideal else 0.0


def _dcg(relevance: np.ndarray) -> float:
    return float((np.maximum(relevance, 0) / np.log2(np.arange(2.0, len(relevance) + 2))).sum())


def _precision(query: RankedList, k: int) -> float:
    return float(query.hits[:k].sum() / k)


def _recall(query: RankedList, k: int) -> float:
    return float(query.hits[:k].sum() / query.n_relevant) if query.n_relevant else 0.0


def _success(query: RankedList, k: int) -> float:
    return float(query.hits[:k].any())


def _reciprocal_rank(query: RankedList, k: None) -> float:
    return 1.0 / (int(np.argmax(query.hits)) + 1) if query.hits.any() else 0.0


def _r_precision(query: RankedList, k: None) -> float:
    return _precision(query, query.n_relevant) if query.n_relevant else 0.0


def _bpref(query: RankedList, k: None) -> float:
    """How many judged documents that are not relevant stand above the relevant ones."""
    n_relevant = query.n_relevant
    if not n_relevant:
        return 0.0
    refused = (query.ranked >= 0) & ~query.hits
    n_refused = int(((query.judged >= 0) & (query.judged < query.relevant)).sum())
    above = np.cumsum(refused)[query.hits]
    penalty = np.minimum(above, n_relevant) / max(min(n_refused, n_relevant), 1)
    return float((1.0 - penalty).sum() / n_relevant)


class Definition(NamedTuple):
    """A measure of trec_eval: its value for a query, and whether its name ends in a rank K."""

    value: Callable[[RankedList, Any], float]
    has_ranks: bool = False
    is_count: bool = False


DEFINITIONS = {
    "map": Definition(_average_precision),
    "map_cut": Definition(_average_precision, True),
    "ndcg": Definition(_ndcg),
    "ndcg_cut": Definition(_ndcg, True),
    "P": Definition(_precision, True),
    "recall": Definition(_recall, True),
    "success": Definition(_success, True),
    "recip_rank": Definition(_reciprocal_rank),
    "Rprec": Definition(_r_precision),
    "bpref": Definition(_bpref),
    "num_ret": Definition(lambda query, k: float(len(query.ranked)), is_count=True),
    "num_rel": Definition(lambda query, k: float(query.n_relevant), is_count=True),
    "num_rel_ret": Definition(lambda query, k: float(query.hits.sum()), is_count=True),
}
"""Names as in trec_eval; a K follows after "_"."""
AVERAGED = ("ndcg@K", "average_precision")
"""Measures of rankwise: tied scores averaged, the gain of NDCG is 2^relevance − 1."""


def check_measure(name: str) -> None:
    """A ValueError that lists the names unless there is a measure of this name."""
    base, mark, k = _parsed(name)
    definition = DEFINITIONS.get(base)
    has_ranks = mark == "_" and k is not None
    if definition is not None and mark != "@" and definition.has_ranks == has_ranks:
        return
    if name == "average_precision" or (mark == "@" and base == "ndcg"):
        return
    known = [key + ("_K" if one.has_ranks else "") for key, one in DEFINITIONS.items()]
    raise ValueError(
        f"{name!r} is no measure of runs: those of trec_eval are {', '.join(known)}, and with tied "
        f"scores averaged there are {' and '.join(AVERAGED)}."
    )


def describe_measure(name: str) -> str:
    """The name with what it means, for tables."""
    if "@" in name or name == "average_precision":
        title = "MAP" if name == "average_precision" else name.upper()
        return f"{title} (ties averaged)"
    return name


def _parsed(name: str) -> tuple[str, str | None, int | None]:
    found = NAME.fullmatch(name)
    if found is None or name in DEFINITIONS:
        return name, None, None
    base, mark, k = found.groups()
    return base, mark, None if k is None else int(k)


@dataclass
class TrecValues:
    """The values of measures for each query.

    Attributes
    ----------
    queries : (q,) array
        Labels of the queries.
    values : dict
        {measure: (q,) values}.
    num_q : int
        The number of queries.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.metrics import TrecValues
    >>> found = TrecValues(np.array(["q1", "q2"]), {"P_10": np.array([0.3, 0.5])})
    >>> found.num_q, float(found.values["P_10"].mean())
    (2, 0.4)
    """

    queries: np.ndarray
    values: dict[str, np.ndarray]

    @property
    def num_q(self) -> int:
        return len(self.queries)

    @property
    def mean(self) -> dict[str, float]:
        """The mean of every measure over the queries; of num_ret and its like the sum."""
        return {
            name: float(values.sum() if is_count(name) else values.mean())
            for name, values in self.values.items()
        }


def is_count(name: str) -> bool:
    """Whether the measure is a number of documents, which is added up over the queries."""
    return name in DEFINITIONS and DEFINITIONS[name].is_count


def trec_measures(
    qrels: Any,
    run: Any,
    measures: Sequence[str] = DEFAULT,
    *,
    relevant: int = 1,
    all_queries: bool = False,
) -> TrecValues:
    """The measures of a run for each judged query, by the definitions of trec_eval, O(m log m).

    Documents are ordered by score (as 32 bits) and tied ones by name, descending. A document
    without judgement, or with a negative one, is not relevant. A query without any relevant
    document counts 0. Names: map, map_cut_K, ndcg, ndcg_cut_K (gain = relevance), P_K, recall_K,
    success_K, recip_rank, Rprec, bpref, num_ret, num_rel, num_rel_ret. In addition ndcg@K (gain
    2^relevance − 1) and average_precision are the measures of rankwise, which average over the
    orders of tied documents; documents that were not retrieved count in their ideal order.

    Parameters
    ----------
    qrels
        What `read_qrels` returns: qid, docid, relevance.
    run
        What `read_run` returns: qid, docid, score.
    measures
        Names of measures.
    relevant
        The least relevance that counts as relevant (trec_eval -l); not for ndcg.
    all_queries
        False for the queries that are judged and in the run; True for all judged queries, those
        that the run lacks with the value 0 (trec_eval -c).

    Examples
    --------
    >>> from sklearn.utils import Bunch
    >>> from rankwise.metrics import trec_measures
    >>> qrels = Bunch(qid=["q", "q"], docid=["a", "b"], relevance=[1, 0])
    >>> run = Bunch(qid=["q", "q", "q"], docid=["b", "a", "c"], score=[0.9, 0.8, 0.7])
    >>> trec_measures(qrels, run, ["recip_rank", "P_10"]).values
    {'recip_rank': array([0.5]), 'P_10': array([0.1])}
    """
    for name in measures:
        check_measure(name)
    judged = _JudgedRun(qrels, run, all_queries)
    if not len(judged.labels):
        raise UndefinedMetric("no query of the run is judged: compare the names of the queries.")
    values = {}
    for name in dict.fromkeys(measures):
        base, mark, k = _parsed(name)
        if name == "average_precision":
            values[name] = judged.averaged_precision(relevant)
        elif mark == "@":
            values[name] = judged.averaged_ndcg(k)
        else:
            measure = DEFINITIONS[base].value
            lists = judged.lists
            values[name] = np.array([measure(RankedList(*one, relevant), k) for one in lists])
    return TrecValues(judged.labels, values)


class _JudgedRun:
    """The documents of the judged queries of a run in the order of trec_eval."""

    def __init__(self, qrels: Any, run: Any, all_queries: bool):
        judged = {
            (query, name): int(level)
            for query, name, level in zip(qrels.qid, qrels.docid, qrels.relevance)
        }
        of_query: dict[str, list[int]] = {}
        for (query, _), level in judged.items():
            of_query.setdefault(query, []).append(level)
        retrieved = set(run.qid)
        names = sorted(query for query in of_query if all_queries or query in retrieved)
        self.labels = np.array(names, dtype=object)
        number = {query: i for i, query in enumerate(names)}
        rows = [row for row, query in enumerate(run.qid) if query in number]
        codes = np.array([number[run.qid[row]] for row in rows], dtype=np.int64)
        _, name_codes = np.unique(np.asarray(run.docid, str)[rows], return_inverse=True)
        with np.errstate(over="ignore"):
            narrow = np.asarray(run.score, dtype=float)[rows].astype(np.float32)
        order = np.lexsort((-name_codes, -narrow, codes))
        rows = [rows[i] for i in order]
        self.codes = codes[order]
        self.score = np.asarray(run.score, dtype=float)[rows]
        self.relevance = np.array([judged.get((run.qid[r], run.docid[r]), -2) for r in rows])
        self.judged = [np.array(of_query[query]) for query in names]

    @cached_property
    def lists(self) -> list[tuple[np.ndarray, np.ndarray]]:
        starts = np.searchsorted(self.codes, np.arange(len(self.labels) + 1))
        ranked = (self.relevance[a:b] for a, b in pairwise(starts))
        return list(zip(ranked, self.judged))

    def averaged_precision(self, relevant: int) -> np.ndarray:
        hits = (self.relevance >= relevant).astype(float)
        totals = np.array([float((levels >= relevant).sum()) for levels in self.judged])
        reached = self._spread(lambda s, q: over_queries(precision_loop, s, hits, q)[:, 0])
        return np.where(totals > 0, reached / np.maximum(totals, 1), 0.0)

    def averaged_ndcg(self, k: int | None) -> np.ndarray:
        longest = max(int(np.bincount(self.codes, minlength=1).max()), 1)
        gains = np.exp2(np.maximum(self.relevance, 0).astype(float)) - 1
        discount = 1 / np.log2(np.arange(2.0, min(k or longest, longest) + 2))
        reached = self._spread(lambda s, q: discounted_gains(s, gains, q, discount)[0])
        ideal = np.array([self._ideal(levels, k) for levels in self.judged])
        return np.where(ideal > 0, reached / np.maximum(ideal, 1e-300), 0.0)

    @staticmethod
    def _ideal(levels: np.ndarray, k: int | None) -> float:
        best = np.exp2(np.maximum(np.sort(levels)[::-1][:k], 0).astype(float)) - 1
        return float((best / np.log2(np.arange(2.0, len(best) + 2))).sum())

    def _spread(self, measure: Callable[[np.ndarray, Queries], np.ndarray]) -> np.ndarray:
        """The values of the retrieved queries, 0 for those that the run lacks."""
        values = np.zeros(len(self.labels))
        if len(self.codes):
            queries = Queries.from_labels(self.codes, len(self.codes))
            values[queries.labels] = measure(self.score, queries)
        return values
