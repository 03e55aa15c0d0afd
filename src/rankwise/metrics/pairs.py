"""Measures that count pairs: in the right order, swapped, or tied."""

from __future__ import annotations

import numpy as np

from rankwise.exceptions import UndefinedMetric
from rankwise.losses.pair_counts import (
    SWAPPED,
    TIED_BOTH,
    TIED_S,
    TIED_Y,
    all_pairs,
    concordant_pairs,
    pair_counts,
)
from rankwise.metrics.inputs import finite_vector, real_array, true_and_predicted
from rankwise.supervision.queries import Queries
from rankwise.validation import check_choice


def ranking_error(y, s, qid=None) -> float:
    """Share of the pairs y_i > y_j that s orders wrongly, H(s_j − s_i) with H(0) = ½.

    With qid the mean over the queries that have such a pair (equations 3.2 and 3.4 of Airola
    2011). O(m log m).
    """
    y, s = true_and_predicted(y, s)
    pairs, concordant = concordant_pairs(y, s[:, None], Queries.from_labels(qid, len(y)))
    judged = pairs > 0
    if not judged.any():
        held = "y holds only one value" if qid is None else "no query holds two values of y"
        raise UndefinedMetric(f"{held}, so there is no pair to order.")
    return float(np.mean(1 - concordant[judged, 0] / pairs[judged]))


def concordance(y, s, qid=None) -> float:
    """1 − ranking_error: the share of the pairs y_i > y_j with s_i > s_j, a tie as ½."""
    return 1.0 - ranking_error(y, s, qid)


def auc(y, s) -> float:
    """Area under the ROC curve: the concordance of a y with two values, the greater positive."""
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


def misranking(y, s) -> float:
    """Share of the pairs y_i > y_j with s_i ≤ s_j: a tie is as bad as a swap. O(m log m)."""
    y, s = true_and_predicted(y, s)
    counts = pair_counts(y, s[:, None], Queries.from_labels(None, len(y)))[0, 0]
    pairs = all_pairs(len(y)) - counts[TIED_Y]
    if not pairs:
        raise UndefinedMetric("y holds only one value, so there is no pair to order.")
    return float((counts[SWAPPED] + counts[TIED_S] - counts[TIED_BOTH]) / pairs)


def kendall_tau_b(y, s, qid=None) -> float:
    """Kendall's τ_b = (concordant − swapped) / √(pairs untied in y · pairs untied in s).

    With qid the mean over the queries where it is defined: neither y nor s is constant.
    O(m log m).
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
    # One root each: the product of the counts would overflow int64.
    return float(np.mean(balance / np.sqrt(untied_y[defined]) / np.sqrt(untied_s[defined])))


def preference_error(preferences, s) -> float:
    """Weighted mean of H(s_loser − s_winner) over explicit preferences, H(0) = ½; O(l).

    The disagreement error (1) of Pahikkala et al. (2009), with ½ for ties.
    """
    s = finite_vector(s, "s")
    winner, loser, weight = preferences.winner, preferences.loser, preferences.weight
    if preferences.n_items is not None and preferences.n_items != len(s):
        raise ValueError(f"preferences speak of {preferences.n_items} items, s has {len(s)}.")
    total = weight.sum()
    if not total > 0:
        raise UndefinedMetric("preferences hold no single preference with a positive weight.")
    largest = max(winner.max(), loser.max())
    if largest >= len(s):
        raise ValueError(f"preferences name item {largest}, but s has {len(s)} items.")
    wrong = (s[loser] > s[winner]) + 0.5 * (s[loser] == s[winner])
    return float(weight @ wrong / total)


def conditional_error(Y, S, condition: str = "row", *, average: bool = True):
    """Ranking error of each row (or column) of a relation, averaged over those with a pair.

    Equation 4 of Pahikkala et al. (2013), ½ for ties. With condition "row" each row is a query over
    the columns; nan in Y is not observed, and what S predicts there does not matter. With
    average=False the errors of all conditions are returned, nan for those without a pair.
    O(pq log(pq)) for p rows and q columns.
    """
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
    errors = np.full(Y.shape[axis], np.nan)
    if observed.any():
        queries = Queries.from_labels(np.nonzero(observed)[axis], int(observed.sum()))
        pairs, right = concordant_pairs(Y[observed], S[observed][:, None], queries)
        some = pairs > 0
        errors[queries.labels[some]] = 1.0 - right[some, 0] / pairs[some]
    if np.isnan(errors).all():
        raise UndefinedMetric(
            f"no {condition} of Y holds two different observed values, so nothing is ordered."
        )
    return float(np.nanmean(errors)) if average else errors
