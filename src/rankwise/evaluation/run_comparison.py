"""Runs of search engines on the same judged queries: how good is each, and which is better?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from rankwise.evaluation.intervals import (
    RESAMPLES,
    PairedDifference,
    holm,
    interval_over_queries,
    warn_of_few,
)
from rankwise.exceptions import UndefinedMetric
from rankwise.metrics.trec_measures import DEFAULT, is_count, trec_measures
from rankwise.model_selection.choosing import EQUAL
from rankwise.model_selection.folds import RandomState

ALL_SIGNS_UP_TO = 13
"""With at most this many queries the randomisation test visits every combination of signs."""


@dataclass
class RunDifference:
    """Mean of one run minus mean of another over the queries.

    Attributes
    ----------
    measure, first, second : str
        The measure, and the names of the runs.
    difference, low, high : float
        Mean of `first` minus mean of `second`, and its 95% interval.
    p_value : float
        That of Student's paired test.
    p_randomisation : float
        That of the randomisation test, which exchanges the two runs at random in each query.
    p_adjusted : float
        `p_value` corrected by Holm's method for the number of pairs of runs.
    wins, losses : int
        Numbers of queries.

    Examples
    --------
    >>> from rankwise.evaluation import RunDifference
    >>> found = RunDifference("map", "new", "old", 0.02, 0.01, 0.03, 0.004, 0.005, 0.004, 30, 12)
    >>> found.low > 0
    True
    """

    measure: str
    first: str
    second: str
    difference: float
    low: float
    high: float
    p_value: float
    p_randomisation: float
    p_adjusted: float
    wins: int
    losses: int


@dataclass
class RunComparison:
    """Measures of runs with their intervals, and the differences of all pairs of runs.

    Attributes
    ----------
    names : list of str
        The runs, in their order.
    queries : (q,) array
        Labels of the queries.
    by_query, mean, interval : dict
        {measure: (q, runs) values}, {measure: (runs,) means} and {measure: (runs, 2) limits}.
    differences : list of RunDifference

    Examples
    --------
    >>> from sklearn.utils import Bunch
    >>> from rankwise.evaluation import compare_runs
    >>> qid = ["1", "1", "2", "2", "3", "3", "4", "4"]
    >>> qrels = Bunch(qid=qid, docid=["a", "b"] * 4, relevance=[1, 0] * 4)
    >>> good = Bunch(qid=qid, docid=["a", "b"] * 4, score=[2.0, 1.0] * 4)
    >>> bad = Bunch(qid=qid, docid=["a", "b"] * 4, score=[1.0, 2.0] * 3 + [2.0, 1.0])
    >>> found = compare_runs(qrels, {"good": good, "bad": bad}, ["recip_rank"], random_state=0)
    >>> found.mean
    {'recip_rank': array([1.   , 0.625])}
    """

    names: list[str]
    queries: np.ndarray
    by_query: dict[str, np.ndarray]
    mean: dict[str, np.ndarray]
    interval: dict[str, np.ndarray]
    differences: list[RunDifference]


def compare_runs(
    qrels: Any,
    runs: Mapping[str, Any],
    measures: Sequence[str] = DEFAULT,
    *,
    relevant: int = 1,
    all_queries: bool = False,
    random_state: RandomState = None,
) -> RunComparison:
    """Measures of runs with 95% intervals over queries, and paired tests of every two runs.

    Intervals of means are bootstrap intervals over queries. The runs are
    given, not trained on these queries, so the queries are independent and the paired tests are the
    usual ones: Student's, and the randomisation test (all 2^q combinations of signs up to 13
    queries, else 10,000 random ones).

    Parameters
    ----------
    qrels
        What `read_qrels` returns.
    runs : dict
        {name: what `read_run` returns}.
    measures : sequence of str
        Names of `rankwise.metrics.trec_measures`.
    relevant : int
        The least relevance that counts as relevant.
    all_queries : bool
        False for the queries that are judged and that every run has; True for all judged ones,
        where a query that a run lacks counts 0 for it.
    random_state
        Draws the bootstrap and the randomisation.

    Returns
    -------
    RunComparison

    Examples
    --------
    >>> from sklearn.utils import Bunch
    >>> from rankwise.evaluation import compare_runs
    >>> qid = [str(q) for q in range(8) for _ in range(2)]
    >>> qrels = Bunch(qid=qid, docid=["a", "b"] * 8, relevance=[1, 0] * 8)
    >>> good = Bunch(qid=qid, docid=["a", "b"] * 8, score=[2.0, 1.0] * 8)
    >>> bad = Bunch(qid=qid, docid=["a", "b"] * 8, score=[1.0, 2.0] * 6 + [2.0, 1.0] * 2)
    >>> found = compare_runs(qrels, {"good": good, "bad": bad}, ["recip_rank"], random_state=0)
    >>> (one,) = found.differences
    >>> one.difference, one.wins, round(one.p_randomisation, 3)
    (0.375, 6, 0.031)
    """
    if not isinstance(runs, Mapping) or not runs:
        raise ValueError("runs must be a dict of names and what read_run returns.")
    found = {
        name: trec_measures(qrels, run, measures, relevant=relevant, all_queries=all_queries)
        for name, run in runs.items()
    }
    names = list(found)
    shared = sorted(set.intersection(*({*one.queries} for one in found.values())))
    if not shared:
        raise UndefinedMetric("no judged query is in all runs: all_queries=True counts 0 for it.")
    rows = {name: np.searchsorted(one.queries, shared) for name, one in found.items()}
    by_query = {
        measure: np.column_stack([found[name].values[measure][rows[name]] for name in names])
        for measure in dict.fromkeys(measures)
    }
    rng = check_random_state(0 if random_state is None else random_state)
    judged = [measure for measure in by_query if not is_count(measure)]
    warn_of_few(len(shared))
    means = {
        key: values.sum(axis=0) if is_count(key) else values.mean(axis=0)
        for key, values in by_query.items()
    }
    intervals = {
        key: np.array([interval_over_queries(column, 0.95, rng) for column in by_query[key].T])
        for key in judged
    }
    differences: list[RunDifference] = []
    for measure in judged:
        differences += _differences(measure, names, by_query[measure], rng)
    queries = np.array(shared, dtype=object)
    return RunComparison(names, queries, by_query, means, intervals, differences)


def _differences(
    measure: str, names: list[str], values: np.ndarray, rng: np.random.RandomState
) -> list[RunDifference]:
    rows = []
    q = len(values)
    for a, b in combinations(range(len(names)), 2):
        gain = values[:, a] - values[:, b]
        influence = (gain - gain.mean()) / np.sqrt(q * max(q - 1, 1))
        paired = PairedDifference(float(gain.mean()), influence, q)
        rows.append(
            RunDifference(
                measure,
                names[a],
                names[b],
                paired.difference,
                *paired.interval(),
                paired.p_value,
                sign_flip_p(gain, rng),
                1.0,
                int((gain > EQUAL).sum()),
                int((gain < -EQUAL).sum()),
            )
        )
    rows.sort(key=lambda row: row.p_value)
    for row, p in zip(rows, holm([row.p_value for row in rows])):
        row.p_adjusted = float(p)
    return rows


def sign_flip_p(gain: np.ndarray, rng: np.random.RandomState) -> float:
    """Two-sided p-value of the randomisation test (Fisher): each gain keeps or changes its sign.

    Exact for few queries; else the share among 10,000 random combinations, of which the observed
    one is the first. O(q · combinations).
    """
    gain = gain[np.abs(gain) > EQUAL]
    q = len(gain)
    if q == 0:
        return 1.0
    observed = abs(gain.sum())
    if q <= ALL_SIGNS_UP_TO:
        bits = (np.arange(2**q)[:, None] >> np.arange(q)) & 1
        return float((np.abs((2 * bits - 1) @ gain) >= observed - EQUAL).mean())
    reached = 1
    at_once = max(1, 4_000_000 // q)
    for start in range(0, RESAMPLES - 1, at_once):
        signs = 2 * rng.randint(2, size=(min(at_once, RESAMPLES - 1 - start), q)) - 1
        reached += int((np.abs(signs @ gain) >= observed - EQUAL).sum())
    return reached / RESAMPLES
