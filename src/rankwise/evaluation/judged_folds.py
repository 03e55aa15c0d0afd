"""Folds that keep queries whole, and how well a model orders what they hold out."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import GroupKFold, StratifiedKFold

from rankwise.evaluation.truths import Truth, split_labels
from rankwise.evaluation.unseen_scores import UnseenScores
from rankwise.exceptions import UndefinedMetric
from rankwise.losses.item_concordance import item_concordance, query_concordance
from rankwise.metrics.score_vectors import finite_vector, no_pair_to_order
from rankwise.metrics.scorers import Scoring, read_scoring
from rankwise.metrics.uncertainty import mean_over_units, share_of_pairs
from rankwise.model_selection.folds import Folds, RandomState, Splits, kept_together
from rankwise.numerics.progress import track
from rankwise.supervision.censored import read_censored
from rankwise.supervision.queries import Queries
from rankwise.validation import refuse_unreal

REFITS = 10
"""The number of folds if each of them costs a refit."""


def checked_scores(y: ArrayLike | None, qid: ArrayLike | None) -> tuple[Truth, Queries]:
    """Real scores or censored outcomes with a pair to order in some query, and the queries.

    Two different strings are accepted as classes; the second in alphabetical order is positive.
    """
    if y is None:
        raise ValueError("give the scores y of the items, or preferences= in their place.")
    outcome = read_censored(y)
    if outcome is not None:
        return _with_a_pair(outcome, qid)
    refuse_unreal(y, "y")
    y = np.asarray(y)
    if y.dtype.kind in "OSU" and len(classes := np.unique(y.astype(str))) == 2:
        y = y.astype(str) == classes[1]
    return _with_a_pair(finite_vector(y, "y"), qid)


def _with_a_pair(y: Truth, qid: ArrayLike | None) -> tuple[Truth, Queries]:
    queries = Queries.from_labels(qid, len(y))
    if not len(y) or not query_concordance(y, np.zeros((len(y), 1)), queries)[0].any():
        raise no_pair_to_order(qid is not None, y)
    return y, queries


def several(queries: Queries) -> Queries | None:
    """The queries if there are at least two, else None: a single query needs no labels."""
    return queries if len(queries) > 1 else None


def whole_query_folds(
    cv: Splits,
    y: Truth,
    queries: Queries,
    random_state: RandomState,
    pair_matrices: float = 1,
    groups: Queries | None = None,
) -> Folds:
    """The folds of `cv`; if a fold would split a query, an error names the query."""
    labels = None if groups is None else groups.codes
    folds = Folds(cv, queries, split_labels(y), labels, random_state, pair_matrices)
    if len(queries) == 1:
        return folds
    if folds.kind in ("leave-one-out", "leave-pair-out"):
        raise ValueError(f"cv={folds.kind!r} splits queries: use leave-query-out or folds.")
    _refuse_split_queries(folds)
    return folds


def _refuse_split_queries(folds: Folds) -> None:
    queries = folds.queries
    for number, (held, _) in enumerate(folds.splits):
        inside = np.bincount(queries.codes[held], minlength=len(queries))
        split = (inside > 0) & (inside < queries.sizes)
        if split.any():
            query = int(np.argmax(split))
            raise ValueError(
                f"cv fold {number} holds out {inside[query]} of the {queries.sizes[query]} items "
                f"of query {queries.labels[query]!s}: queries must stay whole, or the estimate is "
                "too good. Use GroupKFold with the queries as groups, or cv='leave-query-out'."
            )


def refitting_folds(
    cv: Splits,
    y: Truth,
    queries: Queries,
    random_state: RandomState,
    groups: Queries | None = None,
) -> Folds:
    """The same, but "auto" gives at most 10 folds, stratified if y has two values.

    Folds of censored outcomes share the events evenly.
    """
    if isinstance(cv, str) and cv == "auto" and groups is not None:
        together = kept_together(queries, groups)
        assert together is not None
        cv = min(REFITS, int(together.max()) + 1)
    if isinstance(cv, str) and cv == "auto":
        seed = 0 if random_state is None else random_state
        if len(queries) > REFITS:
            cv = GroupKFold(REFITS, shuffle=True, random_state=seed)
        elif len(queries) == 1:
            labels = split_labels(y)
            values, sizes = np.unique(labels, return_counts=True)
            cv = min(REFITS, len(y))
            if len(values) == 2 and sizes.min() > 1:
                count = int(min(REFITS, sizes.min()))
                stratified = StratifiedKFold(count, shuffle=True, random_state=seed)
                cv = list(stratified.split(labels, labels == values[1]))
    return whole_query_folds(cv, y, queries, random_state, groups=groups)


@dataclass
class JudgedFolds:
    """Scores or outcomes y of held-out items, and ranks of their predictions inside a unit.

    A unit is a query, or a fold if there are no queries. `scores` are the predictions themselves.
    """

    y: Truth
    levels: np.ndarray
    units: Queries
    items: np.ndarray
    scores: np.ndarray

    def values(self, scoring: Scoring = None) -> np.ndarray:
        """(u,) the measure of each unit, nan if it has nothing to judge."""
        measure = read_scoring(scoring).bound(self.y)
        values = np.full(len(self.units), np.nan)
        if measure.judges_pairs:
            pairs, right = query_concordance(self.y, self.levels[:, None], self.units)
            return np.divide(right[:, 0], pairs, out=values, where=pairs > 0)
        predicted = self.levels if measure.judges_order else self.scores
        for unit, items in enumerate(self.units):
            with suppress(UndefinedMetric):
                values[unit] = measure.measure(self.y[items], predicted[items])
        return values

    def mean_of_units(
        self, values: np.ndarray, queries: Queries, groups: Queries | None = None
    ) -> tuple[float, np.ndarray]:
        """The mean of the values (u,) that are not nan, and its influence values.

        Queries that share a group count as one unit, whose influence is the sum of theirs.
        """
        judged = np.flatnonzero(~np.isnan(values))
        score, influence = mean_over_units(values[judged])
        q = len(judged)
        together = kept_together(queries, groups) if len(queries) > 1 else None
        if groups is None or together is None or q < 2:
            return float(score), influence
        first = self.items[self.units.order[self.units.starts[judged]]]
        joint, which = np.unique(together[first], return_inverse=True)
        c = len(joint)
        if c == q:
            return float(score), influence
        scale = np.sqrt((q - 1) / q * c / (c - 1)) if c > 1 else np.nan
        return float(score), np.bincount(which, influence) * scale

    def mean_and_influence(
        self, queries: Queries, groups: Queries | None = None, scoring: Scoring = None
    ) -> tuple[float, np.ndarray]:
        """The estimate and its influence values (see rankwise.metrics.uncertainty).

        With queries the estimate is the mean over queries. Without queries it is the share over the
        pairs of all folds together, or for a measure of lists the mean over folds. With groups,
        groups take the place of items, and queries that share a group are one unit.
        """
        if len(queries) > 1 or not read_scoring(scoring).judges_pairs:
            return self.mean_of_units(self.values(scoring), queries, groups)
        read_scoring(scoring).bound(self.y)
        score, influence = share_of_pairs(*item_concordance(self.y, self.levels, self.units))
        if groups is not None:
            influence = np.bincount(groups.codes[self.items], influence, len(groups))
        return float(score), influence


def judge(model: UnseenScores, folds: Folds, task: str = "cross-validation") -> JudgedFolds:
    """Judge the scores of the test items of each fold by the model trained without the fold."""
    if folds.is_leave_pair_out:
        raise ValueError("leave-pair-out compares pairs, not folds: give cv as folds.")
    items, levels, predicted, labels = [], [], [], []
    splits = folds.splits
    for number, (held, test) in track(enumerate(splits), len(splits), task):
        items.append(test)
        predicted.append(model.without(held, test))
        levels.append(model.ties.levels(test, predicted[-1]))
        labels.append(folds.units(number, test))
    model.refuse_untaught("hold out fewer items at a time")
    tested = np.concatenate(items)
    _, codes = np.unique(np.concatenate(labels), return_inverse=True)
    units = Queries(codes, np.arange(codes.max() + 1))
    both = np.concatenate(levels), np.concatenate(predicted)
    judged = JudgedFolds(model.y[tested], both[0], units, tested, both[1])
    if np.isnan(judged.values()).all():
        raise UndefinedMetric(
            "no held-out fold has a pair of items with different scores: use larger folds."
        )
    return judged
