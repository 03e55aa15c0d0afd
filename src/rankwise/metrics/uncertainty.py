"""How much an estimate depends on each unit of the data. Everything in the package that needs
influence values or the grouped jackknife takes them from here.

The influence values of an estimate are one number for each unit (item, query, fold or group of
items). The sum of their squares is the squared standard error of the estimate. The influence
values of a mean of several estimates are the means of their influence values, and those of a
difference are the differences, so correlated estimates are handled correctly.

The bootstrap over queries is in rankwise.evaluation.intervals.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankwise.exceptions import UndefinedMetric

JACKKNIFE_GROUPS = 40


def share_of_pairs(counted: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The share of pairs in the right order, (k,), and its influence values, (m, k).

    Each item of the first axis has `counted` pairs, of which `right` are in the right order; a
    pair counts at both of its items. The values are those of a U-statistic. O(mk).
    """
    pairs = counted.sum(axis=0)
    share = right.sum(axis=0) / pairs
    return share, (right - share * counted) / (pairs / 2)


def mean_over_units(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean over the first axis, without nan, and its influence values, one for each unit.

    The influence of a single unit is nan, because one unit tells nothing about the error.
    """
    defined = ~np.isnan(values)
    count = defined.sum(axis=0)
    if (count == 0).any():
        raise UndefinedMetric(
            "cross-validation found nothing to judge: no held-out query or fold has a pair of "
            "items with different scores. Use larger folds."
        )
    mean = np.where(defined, values, 0.0).sum(axis=0) / count
    with np.errstate(divide="ignore"):
        scale = np.where(count > 1, 1.0 / np.sqrt(count * (count - 1.0)), np.nan)
    return mean, np.where(defined, values - mean, 0.0) * scale


def jackknife(statistic: Callable[[np.ndarray], np.ndarray], n_items: int) -> np.ndarray:
    """Influence values of any statistic, by leaving out the items in 40 random groups.

    `statistic(items)` is computed from the items that stay, and is nan where it is undefined. The
    first axis of the result is the group. Groups without a value do not count; the influence is nan
    if fewer than two groups have one.
    """
    shuffled = np.random.default_rng(0).permutation(n_items)
    groups = np.array_split(shuffled, min(JACKKNIFE_GROUPS, n_items))
    values = np.stack([statistic(np.delete(np.arange(n_items), group)) for group in groups])
    defined = np.isfinite(values)
    count = defined.sum(axis=0)
    mean = np.where(defined, values, 0.0).sum(axis=0) / np.maximum(count, 1)
    scale = np.where(count > 1, np.sqrt((count - 1) / np.maximum(count, 1)), np.nan)
    return np.where(defined, values - mean, 0.0) * scale
