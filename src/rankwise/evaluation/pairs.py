"""Leave-pair-out over all pairs with different scores, item by item."""

from __future__ import annotations

import numpy as np

from rankwise.evaluation.auc import mixed_pairs, report_untaught
from rankwise.evaluation.folds import checked_scores
from rankwise.evaluation.held_out import HeldOut, held_out
from rankwise.evaluation.intervals import (
    TRAINING,
    check_level,
    score_interval,
    two_sample_variance,
)


def judge_pairs(model: HeldOut) -> tuple[np.ndarray, np.ndarray]:
    """For each item its pairs y_i ≠ y_j, and those that the model without both orders right."""
    y = model.y
    if len(np.unique(y)) == 2:
        pairs = mixed_pairs(y == y.max())
    else:
        i, j = np.triu_indices(len(y), 1)
        differ = y[i] != y[j]
        pairs = np.column_stack((i[differ], j[differ]))
    gap = y[pairs[:, 0]] - y[pairs[:, 1]]
    right = model.ties.right(pairs, model.pairs(pairs), gap)
    report_untaught(model)
    both = pairs.ravel()
    counted = np.bincount(both, minlength=len(y)).astype(float)
    return counted, np.bincount(both, np.repeat(right, 2), minlength=len(y))


def pair_influence(counted: np.ndarray, right: np.ndarray) -> tuple[float, np.ndarray]:
    """The share of pairs in the right order, and its influence values, one an item."""
    score = right.sum() / counted.sum()
    return float(score), (right - score * counted) / (counted.sum() / 2)


def leave_pair_out_interval(est, X, y, *, level=0.95) -> tuple[float, float]:
    """An interval for the AUC of est on unseen data, around its leave-pair-out estimate.

    For a y of more than two values the same for the concordance. DeLong's variance over the pairs
    that leave-pair-out judges (for real y that of a U-statistic) treats the held-out scores as if
    one model had given them. But each item is judged and also trains the models that judge the
    others, which at no signal doubles the variance; simulation asks for a little more, so it is
    taken times 2.5. That covers about right for the model trained on all the data, except where
    the model nearly interpolates: see docs/papers/evaluation.md.
    """
    check_level(level)
    y, _ = checked_scores(y, None)
    model = held_out(est, X, y)
    counted, right = judge_pairs(model)
    score, influence = pair_influence(counted, right)
    values = np.unique(y)
    if len(values) > 2:
        variance = float(influence @ influence) * len(y) / (len(y) - 1)
        apart, freedom = len(y) // 2, len(y) - 1.0
    else:
        share = right / counted
        spread = [((share[y == value] - score) ** 2).sum() for value in values]
        low, high = (int((y == value).sum()) for value in values)
        variance, apart, freedom = two_sample_variance(spread[1], high, spread[0], low)
    return score_interval(score, TRAINING * variance, level, apart=apart, freedom=freedom)
