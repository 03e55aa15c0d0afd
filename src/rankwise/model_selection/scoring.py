"""Cross-validation of a grid of alphas on held-out predictions, with standard errors.

Every score is a mean over units (queries, folds, or queries within folds). Beside the scores
come their influence values, one a unit or one an item, whose squares sum to the squared standard
error: averaging them over outputs gives the error of the averaged score.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from rankwise.exceptions import UndefinedMetric
from rankwise.losses.pair_counts import concordant_pairs
from rankwise.metrics.scorers import MEASURES, Scorer, scorer
from rankwise.model_selection.splits import read_splits
from rankwise.supervision.queries import Queries

NAMED = ("auto", "leave-pair-out", "leave-query-out", "leave-one-out")
LEAVE_PAIR_OUT_UP_TO = 4000


class Folds:
    """What cross-validation holds out: the pairs, the queries, each item, or given folds.

    `folds` lists (held out, tested), the second part of the first: a fold's training items are
    all others, so a given training set that leaves items aside is honoured.
    """

    def __init__(self, cv, queries, y, groups=None, random_state=None):
        self.queries: Queries = queries
        self.kind = self._kind(cv)
        self.folds: list[tuple[np.ndarray, np.ndarray]] = []
        if self.kind == "folds":
            self.folds = list(self._resolve(cv, y, random_state))

    @property
    def is_leave_pair_out(self) -> bool:
        return self.kind == "leave-pair-out"

    def _kind(self, cv) -> str:
        several = len(self.queries) > 1
        if isinstance(cv, str):
            if cv not in NAMED:
                raise ValueError(
                    f"cv must be one of {NAMED}, an int, a splitter or folds; got {cv!r}."
                )
            if cv == "leave-query-out" and not several:
                raise ValueError("cv='leave-query-out' needs qid with two or more queries.")
            if cv != "auto":
                return cv
            if several:
                return "leave-query-out"
            return "leave-pair-out" if self.queries.n_items <= LEAVE_PAIR_OUT_UP_TO else "folds"
        return "folds"

    def _resolve(self, cv, Y, random_state):
        """(held out, tested) of every fold; what neither trains nor is tested is held out too."""
        cv = 10 if isinstance(cv, str) else cv
        y = Y if Y.shape[1] > 1 else Y[:, 0]
        everything = np.arange(self.queries.n_items)
        for train, test in read_splits(cv, self.queries, name="cv", y=y, random_state=random_state):
            yield np.setdiff1d(everything, train), test

    def units(self, number: int, test: np.ndarray) -> np.ndarray:
        """Labels of the units that the tested items of a fold fall into."""
        return number * len(self.queries) + self.queries.codes[test]


def score_pairs(model, alphas, scoring) -> tuple[np.ndarray, np.ndarray]:
    """Leave-pair-out: (a, k) scores and (a, units, k) influence values."""
    if scoring not in (None, "concordance"):
        raise ValueError("leave-pair-out judges pairs: scoring must be None, 1 − ranking error.")
    queries = model.supervision.queries
    scores, influence = [], []
    for alpha in alphas:
        judged = model.judge_pairs(alpha)
        found = _score_judged(judged[0], judged[1], queries)
        scores.append(found[0])
        influence.append(found[1])
    return np.stack(scores), np.stack(influence)


def _score_judged(counted, right, queries: Queries) -> tuple[np.ndarray, np.ndarray]:
    if len(queries) == 1:
        score = right.sum(axis=0) / counted.sum(axis=0)
        return score, (right - score * counted) / (counted.sum(axis=0) / 2)
    columns = range(counted.shape[1])
    total = np.column_stack([np.bincount(queries.codes, counted[:, j]) for j in columns])
    hits = np.column_stack([np.bincount(queries.codes, right[:, j]) for j in columns])
    means = np.full(total.shape, np.nan)
    np.divide(hits, total, out=means, where=total > 0)
    return _mean_over_units(means)


def _mean_over_units(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean over the first axis, nan left out, and influence values of that mean."""
    defined = ~np.isnan(values)
    count = defined.sum(axis=0)
    if (count == 0).any():
        raise UndefinedMetric(
            "cross-validation found nothing to judge: no held-out query or fold has a pair of "
            "items with different scores. Use larger folds."
        )
    filled = np.where(defined, values, 0.0)
    mean = filled.sum(axis=0) / count
    with np.errstate(divide="ignore"):
        correction = np.where(count > 1, 1.0 / np.sqrt(count * (count - 1.0)), np.nan)
    return mean, np.where(defined, values - mean, 0.0) * correction


def score_folds(model, folds: Folds, alphas, scoring) -> tuple[np.ndarray, np.ndarray]:
    """Held-out predictions of folds: (a, k) scores and (a, units, k) influence values."""
    Y = model.supervision.Y
    tested, predictions, units = _predict_folds(model, folds, alphas)
    _, codes = np.unique(units, return_inverse=True)
    groups = Queries(codes, np.arange(codes.max() + 1))
    if scoring is None and len(groups) == 1:
        return _score_pooled(Y[tested], predictions)
    values = unit_values(Y[tested], predictions, groups, scoring)
    if len(groups) == 1:
        return values[:, 0], _jackknife(Y[tested], predictions, _measure(scoring))
    means, influence = zip(*(_mean_over_units(value) for value in values))
    return np.stack(means), np.stack(influence)


def _predict_folds(model, folds: Folds, alphas):
    """Items tested, their predictions (a, tested, k) and the units they are judged in."""
    m, codes = folds.queries.n_items, folds.queries.codes
    if folds.kind == "leave-query-out":
        return np.arange(m), model.leave_groups_out(list(folds.queries), alphas), codes
    if folds.kind == "leave-one-out":
        return np.arange(m), model.leave_each_out(alphas), codes
    tested, predictions, units = [], [], []
    for number, (held, test) in enumerate(folds.folds):
        if not len(test):
            continue
        values = model.without(held, alphas)
        predictions.append(values[:, np.searchsorted(held, test)])
        tested.append(test)
        units.append(folds.units(number, test))
    if not tested:
        raise ValueError("cv holds no fold with a test item.")
    return np.concatenate(tested), np.concatenate(predictions, axis=1), np.concatenate(units)


def unit_values(Y, predictions, groups: Queries, scoring) -> np.ndarray:
    """(a, units, k) values of the measure, nan where a unit has nothing to judge."""
    a, _, k = predictions.shape
    values = np.full((a, len(groups), k), np.nan)
    if scoring is None:
        for j in range(k):
            S = np.ascontiguousarray(predictions[:, :, j].T)
            pairs, right = concordant_pairs(Y[:, j], S, groups)
            some = pairs > 0
            values[:, some, j] = (right[some] / pairs[some, None]).T
        return values
    measure = _measure(scoring)
    for unit, items in enumerate(groups):
        for j in range(k):
            for i in range(a):
                try:
                    values[i, unit, j] = measure(Y[items, j], predictions[i, items, j])
                except UndefinedMetric:
                    if len(groups) == 1:
                        raise
                    break
                if not np.isfinite(values[i, unit, j]):
                    raise ValueError(f"scoring returned {values[i, unit, j]} for alpha number {i}.")
    return values


def _jackknife(Y, predictions, measure, n_groups=40) -> np.ndarray:
    """(a, groups, k) influence values of a single unit's measure, items left out by groups."""
    a, m, k = predictions.shape
    parts = np.array_split(np.random.default_rng(0).permutation(m), min(n_groups, m))
    values = np.full((a, len(parts), k), np.nan)
    for g, part in enumerate(parts):
        rest = np.delete(np.arange(m), part)
        for i in range(a):
            for j in range(k):
                with suppress(UndefinedMetric):
                    values[i, g, j] = measure(Y[rest, j], predictions[i, rest, j])
    defined = np.isfinite(values)
    count = np.maximum(defined.sum(axis=1, keepdims=True), 1)
    centred = values - np.where(defined, values, 0.0).sum(axis=1, keepdims=True) / count
    return np.where(defined, centred, 0.0) * np.sqrt((count - 1) / count)


def _measure(scoring):
    """callable(y, s), greater is better."""
    if isinstance(scoring, str):
        scoring = scorer(scoring)
    if isinstance(scoring, Scorer):
        found, sign = MEASURES[scoring.name]
        return lambda y, s: sign * found(y, s, **scoring.options)
    if callable(scoring):
        return scoring
    raise ValueError(
        f"scoring must be None, a measure's name or a callable(y, s); got {scoring!r}."
    )


def _score_pooled(Y, predictions) -> tuple[np.ndarray, np.ndarray]:
    """One unit: concordance with its U-statistic's influence values, one an item; O(m²)."""
    a, m, k = predictions.shape
    scores, influence = np.empty((a, k)), np.empty((a, m, k))
    for j in range(k):
        sign = np.sign(Y[:, None, j] - Y[None, :, j])
        counted = np.count_nonzero(sign, axis=1)
        if not counted.any():
            raise UndefinedMetric("cross-validation found nothing to judge: all scores are equal.")
        for i in range(a):
            s = predictions[i, :, j]
            right = (0.5 * (1 + sign * np.sign(s[:, None] - s[None, :])) * (sign != 0)).sum(axis=1)
            scores[i, j] = right.sum() / counted.sum()
            influence[i, :, j] = (right - scores[i, j] * counted) / (counted.sum() / 2)
    return scores, influence
