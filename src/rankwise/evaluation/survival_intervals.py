"""Confidence intervals of measures that correct for censoring."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.evaluation.intervals import check_level, jackknife_of_shares, score_interval
from rankwise.exceptions import UndefinedMetric
from rankwise.metrics.survival_measures import checked_outcome, weighted_pairs


def uno_interval(
    train: Any, test: Any, s: ArrayLike, tau: float | None = None, *, level: float = 0.95
) -> tuple[float, float]:
    """Lower and upper limit for Uno's concordance, by the jackknife over test items; O(m log m).

    The scores s must be predictions of one model for items that it has not seen. The censoring
    curve of the training outcomes is taken as known. That makes the interval a little too wide
    rather than too narrow if it is estimated from few items, because the errors of an estimated
    curve cancel part of those of the events that it weighs. Simulated coverage is in
    docs/papers/evaluation.md.
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
