"""Measures that judge pairs of items: their order, or the cost of their score difference."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.exceptions import UndefinedMetric
from rankwise.losses.item_concordance import query_concordance
from rankwise.losses.pair_counts import (
    SWAPPED,
    TIED_BOTH,
    TIED_S,
    TIED_Y,
    all_pairs,
    concordant_pairs,
    pair_counts,
)
from rankwise.losses.pair_sums import excess_sums, swapped_sums
from rankwise.metrics.score_vectors import (
    finite_vector,
    no_pair_to_order,
    outcome_and_predicted,
    real_array,
    true_and_predicted,
)
from rankwise.supervision.preferences import Preferences
from rankwise.supervision.queries import Queries
from rankwise.validation import check_choice, check_positive

COSTS = ("HR", "MP", "HMP", "SVR")
TIES = {"half": 0.5, "wrong": 1.0}
"""What a preference between two items with equal scores costs."""


def ranking_error(y: ArrayLike, s: ArrayLike, qid: ArrayLike | None = None) -> float:
    """Share of the pairs y_i > y_j that s orders wrongly, H(s_j − s_i) with H(0) = ½.

    With qid it is the mean over the queries that have such a pair (equations 3.2 and 3.4 of
    Airola 2011). O(m log m).

    Parameters
    ----------
    y : (m,) array or Censored
        True scores. For censored outcomes the pairs are the comparable ones.
    s : (m,) array
        Predicted scores.
    qid : (m,) array, optional
        Labels of the queries, or of strata for censored outcomes.

    Examples
    --------
    >>> from rankwise.metrics import ranking_error
    >>> round(ranking_error([1, 2, 3], [0.1, 0.3, 0.2]), 3)
    0.333
    >>> ranking_error([1, 2, 3, 9], [0.1, 0.3, 0.2, 0.4], qid=["a", "a", "b", "b"])
    0.0
    """
    truth, s = outcome_and_predicted(y, s)
    pairs, concordant = query_concordance(truth, s[:, None], Queries.from_labels(qid, len(truth)))
    judged = pairs > 0
    if not judged.any():
        raise no_pair_to_order(qid is not None, truth)
    return float(np.mean(1 - concordant[judged, 0] / pairs[judged]))


def concordance(y: ArrayLike, s: ArrayLike, qid: ArrayLike | None = None) -> float:
    """1 − ranking_error: the share of the pairs y_i > y_j with s_i > s_j; a tie counts ½.

    For censored outcomes y (rankwise.Censored, or scikit-survival's structured arrays) this is
    Harrell's concordance: the share of comparable pairs in which the item that lived longer has
    the greater score. Equal scores count ½; of equal times, only those of which exactly one had the
    event are a pair, in which the event is the shorter. With qid it is the mean over strata. It is
    scikit-survival's concordance_index_censored of the risk −s, if no two scores are closer than
    its tolerance. Harrell, Califf, Pryor, Lee, Rosati (1982). O(m log m).

    Parameters
    ----------
    y, s, qid
        As in `ranking_error`.

    Examples
    --------
    >>> from rankwise import Censored
    >>> from rankwise.metrics import concordance
    >>> round(concordance([1, 2, 3], [0.1, 0.3, 0.2]), 3)
    0.667
    >>> concordance(Censored([True, False, True], [2.0, 3.0, 5.0]), [0.1, 0.2, 0.3])
    1.0
    """
    return 1.0 - ranking_error(y, s, qid)


def auc(y: ArrayLike, s: ArrayLike) -> float:
    """Area under the ROC curve: the concordance where y has two values, the greater positive.

    O(m log m).

    Parameters
    ----------
    y : (m,) array
        Two different values.
    s : (m,) array
        Predicted scores.

    Examples
    --------
    >>> from rankwise.metrics import auc
    >>> auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    y, s = true_and_predicted(y, s)
    low, high = y.min(), y.max()
    between = (y != low) & (y != high)
    if between.any():
        row = int(np.argmax(between))
        raise ValueError(
            f"auc needs two values of y, found a third: {low:g}, {high:g} and {y[row]:g} "
            f"(row {row}). For more values use concordance."
        )
    return concordance(y, s)


def misranking(y: ArrayLike, s: ArrayLike, qid: ArrayLike | None = None) -> float:
    """Share of the pairs y_i > y_j with s_i ≤ s_j: a tie is as bad as a swap. O(m log m).

    With qid it is the mean over the queries that have such a pair.

    Parameters
    ----------
    y, s, qid
        As in `ranking_error`.

    Examples
    --------
    >>> from rankwise.metrics import misranking, ranking_error
    >>> misranking([0, 1, 1], [0.5, 0.5, 0.9]), ranking_error([0, 1, 1], [0.5, 0.5, 0.9])
    (0.5, 0.25)
    """
    y, s = true_and_predicted(y, s)
    queries = Queries.from_labels(qid, len(y))
    counts = pair_counts(y, s[:, None], queries)[:, 0]
    pairs = all_pairs(queries.sizes) - counts[:, TIED_Y]
    judged = pairs > 0
    if not judged.any():
        raise no_pair_to_order(with_queries=qid is not None)
    wrong = counts[:, SWAPPED] + counts[:, TIED_S] - counts[:, TIED_BOTH]
    return float(np.mean(wrong[judged] / pairs[judged]))


def kendall_tau_b(y: ArrayLike, s: ArrayLike, qid: ArrayLike | None = None) -> float:
    """Kendall's τ_b = (concordant − swapped) / √(pairs untied in y · pairs untied in s).

    With qid it is the mean over the queries where neither y nor s is constant. O(m log m).

    Parameters
    ----------
    y, s, qid
        As in `ranking_error`.

    Examples
    --------
    >>> from rankwise.metrics import kendall_tau_b
    >>> round(kendall_tau_b([1, 2, 2, 3], [0.1, 0.3, 0.2, 0.4]), 3)
    0.913
    """
    y, s = true_and_predicted(y, s)
    queries = Queries.from_labels(qid, len(y))
    counts = pair_counts(y, s[:, None], queries)[:, 0]
    untied_y = all_pairs(queries.sizes) - counts[:, TIED_Y]
    untied_s = all_pairs(queries.sizes) - counts[:, TIED_S]
    defined = (untied_y > 0) & (untied_s > 0)
    if not defined.any():
        where = "" if qid is None else " in every query"
        raise UndefinedMetric(f"y or s is constant{where}, so Kendall's tau is not defined.")
    untied = untied_y - counts[:, TIED_S] + counts[:, TIED_BOTH]
    balance = (untied - 2 * counts[:, SWAPPED])[defined]
    # Two square roots, because the product of the counts would overflow int64.
    return float(np.mean(balance / np.sqrt(untied_y[defined]) / np.sqrt(untied_s[defined])))


def preference_error(preferences: Preferences, s: ArrayLike, ties: str = "half") -> float:
    """Weighted mean of H(s_loser − s_winner) over explicit preferences; O(l).

    This is the disagreement error (1) of Pahikkala et al. (2009). A statement that judges both
    items equal (`tie`) is half a win each way: it costs ½ whatever is predicted, as in
    `best_score_` of the searches.

    Parameters
    ----------
    preferences : Preferences
        The statements.
    s : (m,) array
        Predicted scores of the items.
    ties : {"half", "wrong"}
        What equal scores of the two items cost: ½ or 1.

    Examples
    --------
    >>> from rankwise import Preferences
    >>> from rankwise.metrics import preference_error
    >>> preference_error(Preferences(winner=[0, 0, 1, 2], loser=[1, 2, 2, 1]), [0.9, 0.5, 0.2])
    0.25
    """
    check_choice("ties", ties, TIES)
    s = finite_vector(s, "s")
    winner, loser, weight = preferences.winner, preferences.loser, preferences.weight
    if preferences.n_items is not None and preferences.n_items != len(s):
        raise ValueError(f"preferences are about {preferences.n_items} items, s has {len(s)}.")
    total = weight.sum()
    if not total > 0:
        raise UndefinedMetric("preferences hold no single preference with a positive weight.")
    largest = max(winner.max(), loser.max())
    if largest >= len(s):
        raise ValueError(f"preferences name item {largest}, but s has {len(s)} items.")
    wrong = (s[loser] > s[winner]) + TIES[ties] * (s[loser] == s[winner])
    return float(weight @ np.where(preferences.tie, 0.5, wrong) / total)


def conditional_error(
    Y: ArrayLike, S: ArrayLike, condition: str = "row", average: str | bool | None = "conditions"
) -> Any:
    """Ranking error of a relation: with condition "row" each row is a query over the columns.

    O(pq log(pq)) for p rows and q columns.

    Parameters
    ----------
    Y : (p, q) array
        True values of the relation. A nan means not observed; the value of S at that place does not
        matter.
    S : (p, q) array
        Predicted values.
    condition : {"row", "column"}
        What is given, while the other side is ranked.
    average : {"conditions", "pairs"} or bool
        "conditions" is the mean of the errors of the rows (or columns) that have a pair. "pairs" is
        the share over the pairs of all conditions together, equation 4 of Pahikkala et al. (2013).
        Both count ½ for ties. False (or None) returns the errors of all conditions, nan for those
        without a pair; True is "conditions".

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.metrics import conditional_error
    >>> Y = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, np.nan]])
    >>> S = np.array([[0.1, 0.3, 0.2], [0.9, 0.1, 0.0]])
    >>> round(conditional_error(Y, S), 3), conditional_error(Y, S, average="pairs")
    (0.167, 0.25)
    """
    if isinstance(average, bool):
        average = "conditions" if average else None
    if average is not None:
        check_choice("average", average, ("conditions", "pairs"))
    check_choice("condition", condition, ("row", "column"))
    Y, S = real_array(Y, "Y"), real_array(S, "S")
    if Y.ndim != 2 or Y.shape != S.shape:
        raise ValueError(
            f"Y and S must be matrices of the same shape, got {Y.shape} and {S.shape}."
        )
    observed = ~np.isnan(Y)
    for name, values in (("Y", Y), ("S", S)):
        bad = observed & ~np.isfinite(values)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise ValueError(f"{name} is not finite at row {row}, column {column}.")
    axis = 0 if condition == "row" else 1
    pairs, right = np.zeros(Y.shape[axis]), np.zeros(Y.shape[axis])
    if observed.any():
        queries = Queries.from_labels(np.nonzero(observed)[axis], int(observed.sum()))
        counted, concordant = concordant_pairs(Y[observed], S[observed][:, None], queries)
        pairs[queries.labels], right[queries.labels] = counted, concordant[:, 0]
    if not pairs.any():
        raise UndefinedMetric(
            f"no {condition} of Y holds two different observed values, so nothing is ordered."
        )
    if average == "pairs":
        return float(1.0 - right.sum() / pairs.sum())
    errors = 1.0 - np.divide(right, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
    return errors if average is None else float(np.nanmean(errors))


def pair_cost(
    y: ArrayLike,
    s: ArrayLike,
    cost: str,
    power: int = 1,
    epsilon: float = 0.0,
    qid: ArrayLike | None = None,
) -> float:
    """Mean over all m² ordered pairs (i, j) of a cost of the predicted difference; O(m log m).

    The costs are those of Cortes, Mohri, Rastogi (2007). With n = `power` and ε = `epsilon`:

    * "HR", hinge rank: `|s_j − s_i|^n` where the pair is swapped, else 0 (equation 4);
    * "MP", magnitude-preserving: `|(s_j − s_i) − (y_j − y_i)|^n` (equation 5);
    * "HMP", its one-sided version: the same where the pair is swapped, else 0 (equation 6);
    * "SVR": `max(0, |(s_j − s_i) − (y_j − y_i)| − ε)^n` (equation 7).

    A pair is swapped where (s_j − s_i)(y_j − y_i) < 0. All sums are of positive terms, so a small
    cost loses no digits.

    Parameters
    ----------
    y, s : (m,) arrays
        True and predicted scores.
    cost : {"HR", "MP", "HMP", "SVR"}
        Which of them.
    power : {1, 2}
        The power n.
    epsilon : float
        Differences up to it cost nothing; only "SVR" uses it.
    qid : (m,) array, optional
        Labels of the queries. The cost is then the mean over the queries of two or more items, each
        with its own m_q² pairs.

    Examples
    --------
    >>> from rankwise.metrics import pair_cost
    >>> y, s = [1.0, 2.0, 4.0], [1.0, 3.0, 2.0]
    >>> [round(pair_cost(y, s, cost), 3) for cost in ("HR", "MP", "HMP", "SVR")]
    [0.222, 1.333, 0.667, 1.333]
    """
    check_choice("cost", cost, COSTS)
    if not isinstance(power, numbers.Integral) or power not in (1, 2):
        raise ValueError(f"power must be 1 or 2; got {power!r}.")
    epsilon = check_positive("epsilon", epsilon, zero=True)
    y, s = true_and_predicted(y, s)
    queries = Queries.from_labels(qid, len(y))
    judged = queries.sizes > 1 if qid is not None else np.array([True])
    if not judged.any():
        raise UndefinedMetric("no query holds two items, so there is no pair.")
    with np.errstate(over="ignore"):
        if cost == "HR":
            sums = swapped_sums(y, s, s, queries)
        elif cost == "HMP":
            sums = swapped_sums(y, s, s - y, queries)
        else:
            sums = excess_sums(s - y, epsilon if cost == "SVR" else 0.0, queries)
        mean = np.mean(2.0 * sums[judged, power - 1] / queries.sizes[judged] ** 2)
    if not np.isfinite(mean):
        raise ValueError("the differences of y and s overflow; scale both to smaller numbers.")
    return float(mean)


def mean_squared_difference(y: ArrayLike, s: ArrayLike, qid: ArrayLike | None = None) -> float:
    """Mean of ((s_j − s_i) − (y_j − y_i))² over all m² ordered pairs (equation 67); O(m).

    With qid it is the mean over the queries of two or more items, each with its m_q² pairs.

    Parameters
    ----------
    y, s, qid
        As in `ranking_error`.

    Examples
    --------
    >>> from rankwise.metrics import mean_squared_difference
    >>> mean_squared_difference([1.0, 2.0, 3.0], [11.0, 12.0, 13.0])
    0.0
    >>> round(mean_squared_difference([1.0, 2.0, 3.0], [1.0, 3.0, 3.0]), 3)
    0.444
    """
    return pair_cost(y, s, "MP", power=2, qid=qid)


def mean_absolute_difference(y: ArrayLike, s: ArrayLike, qid: ArrayLike | None = None) -> float:
    """Mean of `|(s_j − s_i) − (y_j − y_i)|` over all m² ordered pairs, the paper's M1D; O(m log m).

    With qid it is the mean over the queries of two or more items, each with its m_q² pairs.

    Parameters
    ----------
    y, s, qid
        As in `ranking_error`.

    Examples
    --------
    >>> from rankwise.metrics import mean_absolute_difference
    >>> round(mean_absolute_difference([1.0, 2.0, 3.0], [1.0, 3.0, 3.0]), 3)
    0.444
    """
    return pair_cost(y, s, "MP", power=1, qid=qid)
