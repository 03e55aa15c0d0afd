"""Cross-validation of a grid of alphas on held-out predictions, with standard errors.

The functions return scores (a, k) and influence values (a, units, k), whose squares sum to the
squared standard errors (see rankwise.metrics.uncertainty). Shapes: a alphas, k outputs.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.exceptions import UndefinedMetric
from rankwise.holdout.pair_systems import Judged
from rankwise.holdout.protocol import Alphas, HeldOut
from rankwise.losses.item_concordance import item_concordance, query_concordance
from rankwise.losses.pair_counts import concordant_pairs
from rankwise.metrics.scorers import OwnMeasure, Scorer, Scoring, read_scoring
from rankwise.metrics.ties import tied
from rankwise.metrics.uncertainty import jackknife, mean_over_units, share_of_pairs
from rankwise.model_selection.folds import Folds, RandomState, Splits
from rankwise.numerics.progress import track
from rankwise.supervision.queries import Queries

Measure = Scorer | OwnMeasure


def folds_of(
    held_out: HeldOut,
    cv: Splits,
    random_state: RandomState = None,
    groups: ArrayLike | None = None,
    scoring: Scoring = None,
) -> Folds:
    """The folds of `cv` for these hold-outs, whose cost decides what cv="auto" means.

    Leave-pair-out is not chosen for a measure of whole lists.
    """
    supervision = held_out.supervision
    return Folds(
        cv,
        supervision.queries,
        supervision.for_splitters(),
        groups,
        random_state=random_state,
        pair_matrices=held_out.pair_matrices() if read_scoring(scoring).judges_pairs else np.inf,
    )


def score_grid(
    held_out: HeldOut, folds: Folds, alphas: Alphas, scoring: Scoring
) -> tuple[np.ndarray, np.ndarray]:
    """Leave-pair-out or folds, whichever `folds` says."""
    if folds.is_leave_pair_out:
        return score_pairs(held_out, alphas, scoring, folds.groups)
    return score_folds(held_out, folds, alphas, scoring)


def highest_score(scoring: Scoring) -> float:
    """The greatest value that a score can take; infinite for measures that are not ours."""
    return read_scoring(scoring).range[1]


def score_pairs(
    held_out: HeldOut, alphas: Alphas, scoring: Scoring, groups: Queries | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Leave-pair-out: the share of pairs in the right order; with queries the mean over them.

    With groups the groups of both items are held out, and influence values are those of groups.
    """
    measure = read_scoring(scoring)
    if not measure.judges_pairs:
        raise ValueError(
            f"leave-pair-out judges pairs, not {measure.title}: scoring must be None, 1 − ranking "
            "error, or give cv as a number of folds."
        )
    for y in held_out.supervision.truths():
        measure.bound(y)
    queries = held_out.supervision.queries
    if groups is None:
        judged = held_out.judge_pairs(alphas)
    else:
        judged = judge_group_pairs(held_out, groups, alphas)
    scored = [_score_judged(*of_alpha, queries) for of_alpha in zip(*judged)]
    scores, influence = map(np.stack, zip(*scored))
    if groups is not None and len(queries) == 1:
        of_groups = np.zeros((len(scores), len(groups), scores.shape[1]))
        _add_at(of_groups, groups.codes, influence)
        influence = of_groups
    return scores, influence


def judge_group_pairs(held_out: HeldOut, groups: Queries, alphas: Alphas) -> Judged:
    """(a, m, k) counts of leave-pair-out that leaves the groups of both items out.

    One hold-out for every pair of groups, and one for every group whose own items differ.
    """
    supervision, codes = held_out.supervision, held_out.supervision.queries.codes
    typical = np.stack([np.quantile(held_out.term_sizes(a), 0.9, axis=0) for a in alphas])
    counted = np.zeros((len(alphas), supervision.n_items, supervision.n_outputs))
    right = np.zeros_like(counted)
    number = len(groups)
    both = [(g, h) for g in range(number) for h in range(g, number)]
    for g, h in track(both, len(both), "pairs of groups"):
        first, second = groups.members(g), groups.members(h)
        i, j = (part.ravel() for part in np.meshgrid(first, second, indexing="ij"))
        gap = supervision.differences(np.column_stack((i, j)))
        judged = (codes[i] == codes[j]) & (gap != 0).any(axis=1) & ((g != h) | (i < j))
        i, j, gap = i[judged], j[judged], gap[judged]
        if not len(i):
            continue
        held = np.unique(np.concatenate([first, second]))
        scores = held_out.without(held, alphas)
        s_i, s_j = (scores[:, np.searchsorted(held, part)] for part in (i, j))
        sizes = [np.maximum(np.abs(s), typical[:, None]) for s in (s_i, s_j)]
        counts = gap != 0
        order = 0.5 + 0.5 * np.sign(s_i - s_j) * np.sign(gap)
        order = np.where(tied(s_i - s_j, sizes[0] + sizes[1]), 0.5, order) * counts
        for items in (i, j):
            _add_at(counted, items, np.broadcast_to(counts, order.shape))
            _add_at(right, items, order)
    return Judged(counted, right)


def _add_at(sums: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
    """Add values (a, p, k) to the rows (p,) of sums (a, m, k); a row may occur several times."""
    np.add.at(sums.swapaxes(0, 1), rows, values.swapaxes(0, 1))


def _score_judged(
    counted: np.ndarray, right: np.ndarray, queries: Queries
) -> tuple[np.ndarray, np.ndarray]:
    if len(queries) == 1:
        return share_of_pairs(counted, right)
    pairs, hits = (_sum_over_queries(values, queries) for values in (counted, right))
    return mean_over_units(
        np.divide(hits, pairs, out=np.full(pairs.shape, np.nan), where=pairs > 0)
    )


def _sum_over_queries(values: np.ndarray, queries: Queries) -> np.ndarray:
    return np.column_stack([np.bincount(queries.codes, column) for column in values.T])


def score_folds(
    held_out: HeldOut, folds: Folds, alphas: Alphas, scoring: Scoring
) -> tuple[np.ndarray, np.ndarray]:
    """The mean of a measure over units: queries, folds, or queries within folds.

    Leaving out single items or groups compares all items of a query with each other, although
    different models predict them. If there is only one unit, the influence values are those of its
    items (of the share of pairs) or of groups of its items (of any other measure).
    """
    truths = held_out.supervision.truths()
    tested, predictions, labels = _predict_folds(held_out, folds, alphas)
    truths = [y[tested] for y in truths]
    _, codes = np.unique(labels, return_inverse=True)
    units = Queries(codes, np.arange(codes.max() + 1))
    if read_scoring(scoring).judges_pairs and len(units) == 1:
        return _score_single_unit(truths, predictions, units)
    values = unit_values(truths, predictions, units, scoring)
    if len(units) == 1:
        measures = _bound(scoring, truths)
        influence = jackknife(
            lambda rest: _measured(measures, truths, predictions, rest, ValueError), len(tested)
        )
        return values[:, 0], influence.swapaxes(0, 1)
    means, influences = zip(*(mean_over_units(value) for value in values))
    return np.stack(means), np.stack(influences)


def _predict_folds(
    held_out: HeldOut, folds: Folds, alphas: Alphas
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Items tested, their predictions (a, tested, k), and labels of the units that they are in."""
    everything, codes = np.arange(folds.queries.n_items), folds.queries.codes
    if folds.kind == "leave-one-out":
        return everything, held_out.leave_each_out(alphas), codes
    if folds.blocks is not None:
        return everything, held_out.leave_groups_out(folds.blocks, alphas), codes
    splits = folds.splits
    if not splits:
        raise ValueError("cv holds no fold with a test item.")
    predictions = [
        held_out.without(held, alphas)[:, np.searchsorted(held, test)]
        for held, test in track(splits, len(splits), "folds")
    ]
    tested = np.concatenate([test for _, test in splits])
    units = np.concatenate([folds.units(number, test) for number, (_, test) in enumerate(splits)])
    return tested, np.concatenate(predictions, axis=1), units


def unit_values(
    truths: list[Any], predictions: np.ndarray, units: Queries, scoring: Scoring
) -> np.ndarray:
    """(a, units, k) values of the measure, nan where a unit has nothing to judge.

    `truths` holds y (m,) of the tested items for each output (see Supervision.truths), and
    `predictions` (a, m, k) the held-out scores.
    """
    a, _, k = predictions.shape
    values = np.full((a, len(units), k), np.nan)
    measures = _bound(scoring, truths)
    if read_scoring(scoring).judges_pairs:
        for j, y in enumerate(truths):
            S = np.ascontiguousarray(predictions[:, :, j].T)
            pairs, right = query_concordance(y, S, units)
            judged = pairs > 0
            values[:, judged, j] = (right[judged] / pairs[judged, None]).T
        return values
    undefined = (UndefinedMetric,) if len(units) > 1 else ()
    for unit, items in enumerate(units):
        values[:, unit] = _measured(measures, truths, predictions, items, *undefined)
    return values


def _measured(
    measures: list[Measure],
    truths: list[Any],
    predictions: np.ndarray,
    items: np.ndarray,
    *ignored: type[Exception],
) -> np.ndarray:
    """(a, k) values of the k measures of predictions (a, m, k) for some of the items.

    They are nan where an error is `ignored`.
    """
    a, _, k = predictions.shape
    values = np.full((a, k), np.nan)
    for i, j in np.ndindex(a, k):
        with suppress(*ignored):
            values[i, j] = measures[j].measure(truths[j][items], predictions[i, items, j])
    return values


def _bound(scoring: Scoring, truths: list[Any]) -> list[Measure]:
    """The measure of each output."""
    measure = read_scoring(scoring)
    return [measure.bound(y) for y in truths]


def _score_single_unit(
    truths: list[Any], predictions: np.ndarray, unit: Queries
) -> tuple[np.ndarray, np.ndarray]:
    """The share of pairs in the right order, with one influence value per item; O(a k m log m)."""
    a, m, k = predictions.shape
    scores, influence = np.empty((a, k)), np.empty((a, m, k))
    for i, j in np.ndindex(a, k):
        counted, right = item_concordance(truths[j], predictions[i, :, j], unit)
        if not counted.any():
            raise UndefinedMetric("cross-validation found nothing to judge: all scores are equal.")
        scores[i, j], influence[i, :, j] = share_of_pairs(counted, right)
    return scores, influence


def condition_values(
    measure: Scorer | OwnMeasure, y: np.ndarray, s: np.ndarray, conditions: Queries
) -> np.ndarray:
    """(q,) the measure of each condition, nan if it has nothing to judge.

    Concordance takes one pass over all conditions, O(m log m).
    """
    if isinstance(measure, Scorer) and measure.name == "concordance":
        pairs, right = concordant_pairs(y, s[:, None], conditions)
        return np.divide(right[:, 0], pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
    values = []
    for items in conditions:
        try:
            values.append(measure.measure(y[items], s[items]) if np.ptp(y[items]) > 0 else np.nan)
        except UndefinedMetric:
            values.append(np.nan)
    return np.array(values)
