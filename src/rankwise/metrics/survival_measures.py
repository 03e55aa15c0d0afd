"""Measures of scores against censored outcomes that correct for censoring by inverse probabilities,
Kaplan–Meier curves of survival and of censoring, and the log-rank test between groups.

An event at time t is only seen if the item was not lost before, which happens with probability
G(t). So an observed event stands for 1/G(t) of them. G is the Kaplan–Meier curve of censoring in
the training outcomes, at t itself and not just before it, as in scikit-survival.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from rankwise.exceptions import UndefinedMetric
from rankwise.losses.item_concordance import comparable_items
from rankwise.metrics.score_vectors import no_pair_to_order, outcome_and_predicted, real_array
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


@dataclass(frozen=True)
class SurvivalCurve:
    """A step function that starts at 1 and falls at `times` to `survival`.

    `at_risk` and `events` are the numbers of items that were still followed just before each time,
    and that had the event at it. `error` is Greenwood's standard error.
    """

    times: np.ndarray
    survival: np.ndarray
    at_risk: np.ndarray
    events: np.ndarray
    last: float
    """The last time at which an item was followed; nothing is known beyond."""

    @property
    def error(self) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = self.events / (self.at_risk * (self.at_risk - self.events))
        return self.survival * np.sqrt(np.cumsum(np.where(np.isfinite(terms), terms, 0.0)))

    def at(self, times: ArrayLike) -> np.ndarray:
        """The share that survives each time, so that events at that very time have happened."""
        steps = np.searchsorted(self.times, times, side="right")
        return np.concatenate(([1.0], self.survival))[steps]

    def median(self) -> float | None:
        """The first time at which no more than half survive; None if more than half always do."""
        reached = np.flatnonzero(self.survival <= 0.5)
        return float(self.times[reached[0]]) if len(reached) else None


def survival_curve(outcome: Censored) -> SurvivalCurve:
    """The share of items without the event at each time; Kaplan, Meier (1958). O(m log m).

    Parameters
    ----------
    outcome : Censored
        Times, and whether the event was observed; or a structured array with both.

    Examples
    --------
    >>> from rankwise import Censored
    >>> from rankwise.metrics import survival_curve
    >>> curve = survival_curve(Censored([True, False, True, True], [1.0, 2.0, 3.0, 4.0]))
    >>> curve.times, curve.survival
    (array([1., 3., 4.]), array([0.75 , 0.375, 0.   ]))
    """
    outcome = checked_outcome(outcome, "outcome")
    times, events, lost = _counted(outcome)
    at_risk = len(outcome) - np.concatenate(([0], np.cumsum(events + lost)[:-1]))
    return _curve(times, events, at_risk)


def censoring_curve(outcome: Censored) -> SurvivalCurve:
    """The share of items that are still followed at each time, events aside: G(t) = P(C > t).

    Of equal times the events come first, so an item with the event is not at risk of being lost at
    that time. O(m log m).

    Parameters
    ----------
    outcome : Censored
        Times, and whether the event was observed; or a structured array with both.

    Examples
    --------
    >>> from rankwise import Censored
    >>> from rankwise.metrics import censoring_curve
    >>> curve = censoring_curve(Censored([True, False, True, False], [1.0, 2.0, 3.0, 4.0]))
    >>> curve.times, curve.survival.round(3)
    (array([2., 4.]), array([0.667, 0.   ]))
    """
    outcome = checked_outcome(outcome, "outcome")
    times, events, lost = _counted(outcome)
    at_risk = len(outcome) - np.concatenate(([0], np.cumsum(events + lost)[:-1])) - events
    return _curve(times, lost, at_risk)


def _counted(outcome: Censored) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct times, and how many events and how many censored times each of them has."""
    times, which = np.unique(outcome.time, return_inverse=True)
    events = np.bincount(which, outcome.event, minlength=len(times))
    return times, events, np.bincount(which, minlength=len(times)) - events


def _curve(times: np.ndarray, falls: np.ndarray, at_risk: np.ndarray) -> SurvivalCurve:
    happens = falls > 0
    share = falls[happens] / at_risk[happens]
    survival = np.cumprod(1.0 - share)
    kept = (times[happens], survival, at_risk[happens], falls[happens])
    return SurvivalCurve(*kept, float(times[-1]))


def log_rank_test(groups: Sequence[Censored]) -> tuple[float, float]:
    """The log-rank statistic for equal survival in all groups, and its p-value; O(m log m).

    Mantel (1966); χ² with one degree of freedom less than there are groups that were at risk when
    an event happened.

    Parameters
    ----------
    groups : sequence of Censored
        The outcomes of each group, at least two; or structured arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import Censored
    >>> from rankwise.metrics import log_rank_test
    >>> long, short = Censored(np.ones(9), np.arange(9.0) + 6), Censored(np.ones(9), np.arange(9.0))
    >>> statistic, p_value = log_rank_test([long, short])
    >>> round(statistic, 2), round(p_value, 4)
    (12.9, 0.0003)
    """
    groups = [checked_outcome(group, f"group {k}") for k, group in enumerate(groups)]
    if len(groups) < 2:
        raise UndefinedMetric("give the outcomes of two groups or more: nothing to compare.")
    time = np.concatenate([group.time for group in groups])
    event = np.concatenate([group.event for group in groups])
    number = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    times = np.unique(time[event])
    if not len(times):
        raise UndefinedMetric("no item had the event, so survival in groups cannot be compared.")
    counted = np.searchsorted(times, time, side="right")  # at risk for the first so many events
    shape = (len(groups), len(times) + 1)
    left = np.zeros(shape)
    np.add.at(left, (number, counted), 1)
    at_risk = left[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
    died = np.zeros((len(groups), len(times)))
    np.add.at(died, (number[event], np.searchsorted(times, time[event])), 1)
    n, d = at_risk.sum(axis=0), died.sum(axis=0)
    share = at_risk / n
    difference = (died - share * d).sum(axis=1)
    factor = d * np.divide(n - d, n - 1, out=np.zeros_like(n), where=n > 1)
    variance = np.diag((share * factor).sum(axis=1)) - (share * factor) @ share.T
    taking_part = np.flatnonzero(np.diagonal(variance) > 1e-12 * max(d.sum(), 1.0))
    if len(taking_part) < 2:
        raise UndefinedMetric("only one group was at risk at the events: nothing to compare.")
    kept = taking_part[:-1]
    statistic = difference[kept] @ np.linalg.solve(variance[np.ix_(kept, kept)], difference[kept])
    return float(statistic), float(stats.chi2.sf(statistic, len(kept)))
