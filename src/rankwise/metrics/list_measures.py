"""Measures of a ranked list that stress its top: NDCG, average precision, reciprocal rank."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rankwise.exceptions import UndefinedMetric
from rankwise.metrics.list_loops import (
    discounted_gains,
    over_queries,
    precision_loop,
    reciprocal_loop,
)
from rankwise.metrics.score_vectors import true_and_predicted
from rankwise.supervision.queries import Queries
from rankwise.validation import check_choice, check_count, check_positive

_LARGEST_GAIN = 2.0**1000


def ndcg(
    y: ArrayLike,
    s: ArrayLike,
    qid: ArrayLike | None = None,
    k: int | None = None,
    gain: str = "exp2",
    empty: str = "zero",
) -> float:
    """Normalised discounted cumulative gain, DCG / ideal DCG, averaged over queries; O(m log m).

    DCG = Σ gain / log₂(rank + 1) over the first `k` ranks in descending order of s. The
    ideal DCG is that of the items in descending order of gain. For equal scores the result is the
    expected DCG over all orders of the tied items: each tied item counts with their mean gain, as
    in scikit-learn's `ndcg_score`.

    Parameters
    ----------
    y, s : (m,) arrays
        Grades, which may be any real numbers, and predicted scores.
    qid : (m,) array, optional
        Labels of the queries.
    k : int, optional
        How many ranks count; None for all.
    gain : {"exp2", "linear"}
        "exp2" is 2^y − 1, "linear" is y itself. Negative gains reduce the DCG, so the value of a
        query may fall below 0; it never exceeds 1.
    empty : {"zero", "skip"}
        A query whose ideal DCG is not positive has no relevant item. "zero" counts it as 0,
        "skip" leaves it out; `UndefinedMetric` is raised when no query remains.

    Examples
    --------
    >>> from rankwise.metrics import ndcg
    >>> round(ndcg([0, 2, 1], [0.1, 0.8, 0.9]), 3)
    0.797
    >>> ndcg([0, 2, 1, 0, 0], [0.1, 0.8, 0.7, 0.2, 0.1], qid=[1, 1, 1, 2, 2], k=2)
    0.5
    """
    check_choice("gain", gain, ("exp2", "linear"))
    check_choice("empty", empty, ("zero", "skip"))
    y, s = true_and_predicted(y, s)
    gains, queries = _gains(y, gain), Queries.from_labels(qid, len(y))
    discount = 1 / np.log2(np.arange(2.0, _last_rank(k, queries) + 2))
    reached, ideal = discounted_gains(s, gains, queries, discount)
    relevant = ideal > 0
    values = np.minimum(reached[relevant] / ideal[relevant], 1.0)
    return _mean_with_empty(values, len(ideal), empty)


def average_precision(
    y: ArrayLike,
    s: ArrayLike,
    qid: ArrayLike | None = None,
    empty: str = "zero",
    relevant: float | None = None,
) -> float:
    """Mean over the relevant items of the precision at their rank, averaged over queries (MAP).

    For equal scores the result is the exact
    expected value over all orders of the tied items. Let a tie have t items, r of them relevant,
    and let it follow N items, R of them relevant. At its p-th rank it adds the probability r/t
    that the item there is relevant, times the expected precision
    (R + 1 + (p − 1)(r − 1)/(t − 1)) / (N + p). (scikit-learn's `average_precision_score` puts all
    tied items at the last rank of the tie.) O(m log m).

    Parameters
    ----------
    y : (m,) array
        0 or −1 for not relevant, 1 for relevant; any scores if `relevant` is given.
    s : (m,) array
        Predicted scores.
    qid : (m,) array, optional
        Labels of the queries.
    empty : {"zero", "skip"}
        A query without any relevant item counts 0 with "zero" and is left out with "skip";
        `UndefinedMetric` is raised when no query remains.
    relevant : float, optional
        Items with at least this score are the relevant ones.

    Examples
    --------
    >>> from rankwise.metrics import average_precision
    >>> round(average_precision([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.6]), 3)
    0.833
    >>> round(average_precision([3, 1, 2, 0], [0.9, 0.8, 0.7, 0.6], relevant=2), 3)
    0.833
    """
    check_choice("empty", empty, ("zero", "skip"))
    y, s = true_and_predicted(y, s)
    queries = Queries.from_labels(qid, len(y))
    is_relevant = _relevant(y) if relevant is None else (y >= relevant).astype(np.float64)
    precision, total = over_queries(precision_loop, s, is_relevant, queries).T
    return _mean_with_empty(precision[total > 0] / total[total > 0], len(total), empty)


def expected_reciprocal_rank(
    y: ArrayLike,
    s: ArrayLike,
    qid: ArrayLike | None = None,
    k: int | None = None,
    *,
    highest: float | None = None,
) -> float:
    """Expected 1/rank at which a reader is satisfied (ERR), averaged over queries; O(m log m).

    Chapelle et al. (2009): a reader goes down the list and stops at an item of grade y with the
    probability (2^y − 1) / 2^highest. Tied scores give the expected value over all orders of the
    tied items; a tie of t items costs O(t · min(t, k)). A query without any relevant item counts 0.

    Parameters
    ----------
    y : (m,) array
        Grades, not negative.
    s : (m,) array
        Predicted scores.
    qid : (m,) array, optional
        Labels of the queries.
    k : int, optional
        How many ranks count; None for all.
    highest : float, optional
        The best grade of the scale; None is the greatest y.

    Examples
    --------
    >>> from rankwise.metrics import expected_reciprocal_rank
    >>> expected_reciprocal_rank([0, 2, 1], [0.1, 0.8, 0.9], highest=2)
    0.53125
    """
    y, s = true_and_predicted(y, s)
    if (y < 0).any():
        row = int(np.argmax(y < 0))
        raise ValueError(f"grades must not be negative; y = {y[row]:g} at row {row}.")
    top = float(y.max()) if highest is None else check_positive("highest", highest, zero=True)
    if top < y.max():
        row = int(np.argmax(y))
        raise ValueError(f"y = {y[row]:g} at row {row} is greater than highest={highest!r}.")
    queries = Queries.from_labels(qid, len(y))
    stops = np.exp2(y - top) - np.exp2(-top)
    values = over_queries(reciprocal_loop, s, stops, queries, _last_rank(k, queries))[:, 0]
    return float(values.mean())


def _last_rank(k: int | None, queries: Queries) -> int:
    """The number of ranks that count in the longest query."""
    k, longest = check_count("k", k, none=True), int(queries.sizes.max())
    return longest if k is None else min(k, longest)


def _gains(y: np.ndarray, gain: str) -> np.ndarray:
    with np.errstate(over="ignore"):
        gains = np.exp2(y) - 1 if gain == "exp2" else y
    row = int(np.argmax(np.abs(gains)))
    if abs(gains[row]) > _LARGEST_GAIN:
        raise ValueError(
            f"y = {y[row]:g} at row {row} is too large a relevance for gain={gain!r}; "
            "scale y down, or use gain='linear'."
        )
    return gains


def _relevant(y: np.ndarray) -> np.ndarray:
    """1.0 for relevant items, else 0.0; the values of y are 0 and 1, or −1 and 1."""
    lowest = -1.0 if (y == -1).any() else 0.0
    other = (y != lowest) & (y != 1)
    if other.any():
        row = int(np.argmax(other))
        raise ValueError(
            f"average_precision needs a binary y, 0 or 1 (or −1 or 1); row {row} holds {y[row]:g}. "
            "Say which items are relevant, as in relevant=2, or use ndcg."
        )
    return (y > 0).astype(np.float64)


def _mean_with_empty(values: np.ndarray, q: int, empty: str) -> float:
    """The mean over q queries, of which only those in `values` have a relevant item."""
    if empty == "zero":
        return float(values.sum() / q)
    if not len(values):
        raise UndefinedMetric("no query has a relevant item, and empty='skip' leaves all out.")
    return float(values.mean())
