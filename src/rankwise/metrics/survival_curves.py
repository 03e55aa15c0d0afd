"""Kaplan–Meier curves of survival and of censoring, and the log-rank test between groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from rankwise.exceptions import UndefinedMetric
from rankwise.supervision.censored import Censored, checked_outcome


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
