"""Costs of score differences over all m² ordered pairs (Cortes, Mohri, Rastogi 2007)."""

from __future__ import annotations

import numbers

import numpy as np

from rankwise.losses.pair_counts import excess_sums, swapped_sums
from rankwise.metrics.inputs import true_and_predicted
from rankwise.validation import check_choice, check_positive

COSTS = ("HR", "MP", "HMP", "SVR")


def pair_cost(y, s, cost: str, power: int = 1, epsilon: float = 0.0) -> float:
    """Mean over all m² ordered pairs (i, j) of a cost of the predicted difference; O(m log m).

    With n = `power`, 1 or 2, and ε = `epsilon`, which only "SVR" has:

    * "HR", hinge rank: |s_j − s_i|^n where the pair is swapped, else 0 (equation 4);
    * "MP", magnitude-preserving: |(s_j − s_i) − (y_j − y_i)|^n (equation 5);
    * "HMP", its one-sided version: the same where the pair is swapped, else 0 (equation 6);
    * "SVR": max(0, |(s_j − s_i) − (y_j − y_i)| − ε)^n (equation 7).

    A pair is swapped where (s_j − s_i)(y_j − y_i) < 0. All sums are of positive terms, so a small
    cost keeps its digits.
    """
    check_choice("cost", cost, COSTS)
    if not isinstance(power, numbers.Integral) or power not in (1, 2):
        raise ValueError(f"power must be 1 or 2; got {power!r}.")
    epsilon = check_positive("epsilon", epsilon, zero=True)
    y, s = true_and_predicted(y, s)
    with np.errstate(over="ignore"):
        if cost == "HR":
            sums = swapped_sums(y, s, s)
        elif cost == "HMP":
            sums = swapped_sums(y, s, s - y)
        else:
            sums = excess_sums(s - y, epsilon if cost == "SVR" else 0.0)
    mean = 2.0 * sums[power - 1] / len(y) ** 2
    if not np.isfinite(mean):
        raise ValueError("the differences of y and s overflow; scale both to smaller numbers.")
    return float(mean)


def mean_squared_difference(y, s) -> float:
    """Mean of ((s_j − s_i) − (y_j − y_i))² over all m² ordered pairs (equation 67)."""
    return pair_cost(y, s, "MP", power=2)


def mean_absolute_difference(y, s) -> float:
    """Mean of |(s_j − s_i) − (y_j − y_i)| over all m² ordered pairs, the paper's M1D."""
    return pair_cost(y, s, "MP", power=1)
