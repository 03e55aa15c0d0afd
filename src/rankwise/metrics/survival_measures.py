"""Measures of scores against censored outcomes that correct for censoring by inverse probabilities.

An event at time t is only seen if the item was not lost before, which happens with probability
G(t). So an observed event stands for 1/G(t) of them. G is the Kaplan–Meier curve of censoring in
the training outcomes, at t itself and not just before it, as in scikit-survival.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankwise.exceptions import UndefinedMetric
from rankwise.losses.item_concordance import comparable_items
from rankwise.metrics.score_vectors import no_pair_to_order, outcome_and_predicted, real_array
from rankwise.metrics.survival_curves import censoring_curve, survival_curve
from rankwise.numerics.compiled import compiled
from rankwise.supervision.censored import Censored, checked_outcome
from rankwise.supervision.queries import Queries
from rankwise.validation import check_positive, refuse_non_finite


def censoring_weights(train: Any, test: Any, tau: float | None = None) -> np.ndarray:
    """(m,) 1/G(time) for the test items with the event (before tau, if it is given), else 0.

    G(t) is the share of training items that are still followed at time t. O(m log m).

    Parameters
    ----------
    train, test, tau
        As in `uno_concordance`.

    Examples
    --------
    >>> from rankwise import Censored
    >>> from rankwise.metrics import censoring_weights
    >>> outcome = Censored([True, False, True, True], [1.0, 2.0, 3.0, 4.0])
    >>> censoring_weights(outcome, outcome)
    array([1. , 0. , 1.5, 1.5])
    """
    train, test = checked_outcome(train, "train"), checked_outcome(test, "test")
    counted = test.event.copy()
    if tau is not None:
        counted &= test.time < check_positive("tau", tau)
    curve, weights = censoring_curve(train), np.zeros(len(test))
    G = curve.at(test.time[counted])
    beyond = (test.time[counted] > curve.last) | (G <= 0)
    if beyond.any():
        row = int(np.flatnonzero(counted)[np.argmax(beyond)])
        raise UndefinedMetric(
            f"the event of test item {row} at time {test.time[row]:g} comes when no training item "
            f"is followed any longer (the last at {curve.last:g}), so its weight is not known: "
            f"give tau, a time up to which to judge."
        )
    weights[counted] = 1.0 / G
    return weights


def uno_concordance(train: Any, test: Any, s: ArrayLike, tau: float | None = None) -> float:
    """Uno's concordance: Harrell's, with pairs weighted by 1/G(time of the shorter)².

    Harrell's concordance (`concordance`) depends on how many items were lost and when; this one
    estimates the share of all pairs whose shorter time is below tau. The pairs and the rules for
    ties are the same: equal scores count ½, and of equal times those pairs count of which exactly
    one had the event. Uno, Cai, Pencina, D'Agostino, Wei (2011). O(m log m). It equals
    scikit-survival's concordance_index_ipcw of the risk −s.

    Parameters
    ----------
    train, test
        rankwise.Censored or structured arrays; train tells G, and may be test itself.
    s
        (m,) scores of the test items, higher for longer survival.
    tau
        Only pairs count whose shorter time is below tau; None: all pairs.

    Examples
    --------
    >>> from rankwise import Censored
    >>> from rankwise.metrics import uno_concordance
    >>> outcome = Censored([True, False, True, True], [1.0, 2.0, 3.0, 4.0])
    >>> round(uno_concordance(outcome, outcome, [0.2, 0.1, 0.4, 0.3]), 3)
    0.381
    """
    counted, right = weighted_pairs(train, test, s, tau)
    return float(right.sum() / counted.sum())


def weighted_pairs(
    train: Any, test: Any, s: ArrayLike, tau: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """(m,) the weight of each test item's pairs, and of those in the right order."""
    outcome, s = outcome_and_predicted(checked_outcome(test, "test"), s)
    weights = censoring_weights(train, outcome, tau) ** 2
    queries = Queries.from_labels(None, len(s))
    counted, right = comparable_items(outcome, s, queries, weights)
    if not counted.any():
        raise no_pair_to_order(False, outcome)
    return counted, right


class DynamicAuc(NamedTuple):
    """`auc` (T,) at the `times` (T,), and their mean over the events between the times."""

    times: np.ndarray
    auc: np.ndarray
    mean: float


def cumulative_dynamic_auc(train: Any, test: Any, s: ArrayLike, times: ArrayLike) -> DynamicAuc:
    """AUC(t): how well s separates items with the event up to t from those followed beyond t.

    The cases are weighted by 1/G of their times, ties of s count ½, and items that were lost before
    t count as neither. The mean weights the times by the fall of the test items' survival curve.
    Uno, Cai, Tian, Wei (2007); Hung, Chiang (2010). O(m log m + m T). It equals scikit-survival's
    cumulative_dynamic_auc of the risk −s.

    Parameters
    ----------
    train, test, s
        As in uno_concordance.
    times
        (T,) times within the follow-up of the test items, sorted and made distinct.

    Examples
    --------
    >>> from rankwise import Censored
    >>> from rankwise.metrics import cumulative_dynamic_auc
    >>> outcome = Censored([True, False, True, True], [1.0, 2.0, 3.0, 4.0])
    >>> s = [0.2, 0.1, 0.4, 0.3]
    >>> cumulative_dynamic_auc(outcome, outcome, s, times=[1.5, 3.5]).auc.round(3)
    array([0.667, 0.4  ])
    """
    outcome, s = outcome_and_predicted(checked_outcome(test, "test"), s)
    grid = _checked_times(times, outcome)
    weights = censoring_weights(train, outcome, np.nextafter(grid[-1], np.inf))
    order = np.argsort(s, kind="stable")
    known = (s[order], outcome.time[order], weights[order])
    auc = np.array([_auc_at(t, *known) for t in grid])
    if np.isnan(auc).any():
        t = grid[np.argmax(np.isnan(auc))]
        raise UndefinedMetric(f"no event up to time {t:g}: leave such times out.")
    left = survival_curve(outcome).at(grid)
    falls = -np.diff(np.concatenate(([1.0], left)))
    return DynamicAuc(grid, auc, float(auc @ falls / falls.sum()))


def _checked_times(times: ArrayLike, outcome: Censored) -> np.ndarray:
    grid = np.unique(np.atleast_1d(real_array(times, "times")))
    refuse_non_finite(grid, "times")
    if not len(grid):
        raise ValueError("times must hold at least one time.")
    low, high = outcome.time.min(), outcome.time.max()
    if grid[0] < low or grid[-1] >= high:
        raise ValueError(
            f"times must lie within the follow-up of the test items: from {low:g} to less than "
            f"{high:g}."
        )
    return grid


@compiled
def _auc_at(t: float, s: np.ndarray, time: np.ndarray, weight: np.ndarray) -> float:
    """From ascending s: the weighted share of (case, control) pairs with the control above."""
    area = cases = controls = 0.0
    start = 0
    while start < len(s):
        stop = start
        new_cases = new_controls = 0.0
        while stop < len(s) and s[stop] == s[start]:
            if time[stop] > t:
                new_controls += 1.0
            else:
                new_cases += weight[stop]
            stop += 1
        area += new_controls * (cases + 0.5 * new_cases)
        cases += new_cases
        controls += new_controls
        start = stop
    if cases == 0.0 or controls == 0.0:
        return np.nan
    return area / (cases * controls)
