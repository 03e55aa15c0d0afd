"""Confidence intervals of measures that correct for censoring."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.evaluation.intervals import check_level, jackknife_of_shares, score_interval
from rankwise.exceptions import UndefinedMetric
from rankwise.metrics.survival_measures import (
    censoring_weights,
    cumulative_dynamic_auc,
    weighted_pairs,
)
from rankwise.supervision.censored import checked_outcome


def uno_interval(
    train: Any, test: Any, s: ArrayLike, tau: float | None = None, *, level: float = 0.95
) -> tuple[float, float]:
    """Lower and upper limit for Uno's concordance, by the jackknife over test items; O(m log m).

    The scores s must be predictions of one model for items that it has not seen. The censoring
    curve of the training outcomes is taken as known. That makes the interval a little too wide
    rather than too narrow if it is estimated from few items, because the errors of an estimated
    curve cancel part of those of the events that it weighs. Simulated coverage is in
    docs/papers/evaluation.md.

    Parameters
    ----------
    train, test, s, tau
        As in `metrics.uno_concordance`.
    level : float
        Of the interval.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import Censored
    >>> from rankwise.evaluation import uno_interval
    >>> rng = np.random.default_rng(0)
    >>> outcome = Censored(rng.random(200) < 0.7, rng.exponential(size=200))
    >>> low, high = uno_interval(outcome, outcome, outcome.time + rng.normal(size=200))
    >>> f"{low:.2f} to {high:.2f}"
    '0.69 to 0.78'
    """
    check_level(level)
    counted, right = weighted_pairs(train, test, s, tau)
    if not np.any(np.ravel(s) != np.ravel(s)[0]):
        raise UndefinedMetric("s is constant: scores that order nothing have no interval.")
    estimate, variance = jackknife_of_shares(counted, right)
    outcome = checked_outcome(test, "test")
    used = outcome.event if tau is None else outcome.event & (outcome.time < tau)
    events = int(used.sum())
    disjoint = max(min(events, len(outcome) // 2), 1)
    return score_interval(estimate, variance, level, disjoint=disjoint, freedom=max(events - 1, 1))


def dynamic_auc_intervals(
    train: Any, test: Any, s: ArrayLike, times: ArrayLike, *, level: float = 0.95
) -> np.ndarray:
    """(T, 2) lower and upper limits for `metrics.cumulative_dynamic_auc` at each of the times.

    By the jackknife over test items, each of which is a case, a control, or neither at a time;
    O(m log m) for each time. The censoring curve is taken as known, as in `uno_interval`.

    Parameters
    ----------
    train, test, s, times
        As in `metrics.cumulative_dynamic_auc`.
    level : float
        Of the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import Censored
    >>> from rankwise.evaluation import dynamic_auc_intervals
    >>> rng = np.random.default_rng(0)
    >>> outcome = Censored(rng.random(200) < 0.7, rng.exponential(size=200))
    >>> s = outcome.time + rng.normal(size=200)
    >>> dynamic_auc_intervals(outcome, outcome, s, times=[0.5, 1.0]).round(2)
    array([[0.72, 0.87],
           [0.72, 0.86]])
    """
    check_level(level)
    found = cumulative_dynamic_auc(train, test, s, times)
    outcome, scores = checked_outcome(test, "test"), np.asarray(s, dtype=float).ravel()
    weights = censoring_weights(train, outcome, np.nextafter(found.times[-1], np.inf))
    limits = np.empty((len(found.times), 2))
    for row, (t, auc) in enumerate(zip(found.times, found.auc)):
        is_control = outcome.time > t
        is_case = ~is_control & (weights > 0)
        values = _without_each(scores[is_case], weights[is_case], scores[is_control])
        rest = np.full(len(outcome) - len(values), auc)  # neither case nor control
        values = np.concatenate((values, rest))
        m, fewer = len(values), min(int(is_case.sum()), int(is_control.sum()))
        variance = (m - 1) / m * float(((values - values.mean()) ** 2).sum())
        limits[row] = score_interval(
            float(auc), variance, level, disjoint=fewer, freedom=max(fewer - 1, 1)
        )
    return limits


def _without_each(case: np.ndarray, weight: np.ndarray, control: np.ndarray) -> np.ndarray:
    """The AUC without each case, then without each control, where one of them can be spared."""
    ordered, order = np.sort(control), np.argsort(case)
    cumulated = np.concatenate(([0.0], np.cumsum(weight[order])))
    left, right = (np.searchsorted(ordered, case, side) for side in ("left", "right"))
    above = len(control) - 0.5 * (left + right)
    left, right = (np.searchsorted(case[order], control, side) for side in ("left", "right"))
    below = 0.5 * (cumulated[left] + cumulated[right])
    total, n, area = weight.sum(), len(control), float(weight @ above)
    parts = []
    if len(case) > 1:
        parts.append((area - weight * above) / ((total - weight) * n))
    if n > 1:
        parts.append((area - below) / (total * (n - 1)))
    return np.concatenate(parts) if parts else np.zeros(0)
