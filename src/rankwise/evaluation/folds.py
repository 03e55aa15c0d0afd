"""Held-out folds that keep queries whole, and what a model makes of them."""

from __future__ import annotations

import numbers
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import GroupKFold, StratifiedKFold

from rankwise.evaluation.held_out import HeldOut
from rankwise.exceptions import UndefinedMetric
from rankwise.losses.item_concordance import item_concordance
from rankwise.losses.pair_counts import concordant_pairs
from rankwise.metrics.inputs import finite_vector
from rankwise.model_selection.scoring import Folds
from rankwise.numerics.progress import track
from rankwise.supervision.queries import Queries

REFITS = 10
"""Folds when every one of them costs a refit."""


def checked_scores(y, qid) -> tuple[np.ndarray, Queries]:
    """Real scores with a pair to order in some query, and the queries."""
    y = np.asarray(y)
    if y.dtype.kind in "OSU" and len(values := np.unique(y.astype(str))) == 2:
        y = y.astype(str) == values[1]
    y = finite_vector(y, "y")
    queries = Queries.from_labels(qid, len(y))
    if not len(y) or not concordant_pairs(y, y[:, None], queries)[0].any():
        held = "y holds only one value" if qid is None else "no query holds two values of y"
        raise UndefinedMetric(f"{held}, so there is no pair to order.")
    return y, queries


def resolve(cv, X, y: np.ndarray, queries: Queries, random_state) -> Folds:
    """The folds of `cv`; queries that a fold would split are an error that names one."""
    folds = Folds(cv, queries, y[:, None], random_state=random_state)
    if len(queries) > 1:
        if folds.kind in ("leave-one-out", "leave-pair-out"):
            raise ValueError(f"cv={folds.kind!r} splits queries: use leave-query-out or folds.")
        _refuse_split_queries(folds)
    return folds


def _refuse_split_queries(folds: Folds) -> None:
    queries = folds.queries
    for number, (held, _) in enumerate(folds.folds):
        inside = np.bincount(queries.codes[held], minlength=len(queries))
        split = (inside > 0) & (inside < queries.sizes)
        if split.any():
            query = int(np.argmax(split))
            raise ValueError(
                f"cv fold {number} holds out {inside[query]} of the {queries.sizes[query]} items "
                f"of query {queries.labels[query]!s}: queries must stay whole, or the estimate is "
                "too good. Use GroupKFold with the queries as groups, or cv='leave-query-out'."
            )


def refitting_folds(cv, X, y: np.ndarray, queries: Queries, random_state) -> Folds:
    """The same, where "auto" is at most 10 folds, stratified where y has two values."""
    if not (isinstance(cv, str) and cv == "auto"):
        return resolve(cv, X, y, queries, random_state)
    seed = 0 if random_state is None else random_state
    if len(queries) > REFITS:
        cv = GroupKFold(REFITS, shuffle=True, random_state=seed)
    elif len(queries) == 1:
        values, sizes = np.unique(y, return_counts=True)
        cv = min(REFITS, len(y))
        if len(values) == 2 and sizes.min() > 1:
            count = int(min(REFITS, sizes.min()))
            cv = StratifiedKFold(count, shuffle=True, random_state=seed)
            return resolve(list(cv.split(y, y)), X, y, queries, random_state)
    return resolve(cv, X, y, queries, random_state)


def splits(folds: Folds) -> list[tuple[np.ndarray, np.ndarray]]:
    """(held out, tested) of every fold that tests an item."""
    if folds.kind == "leave-query-out":
        return [(items, items) for items in folds.queries]
    if folds.kind == "leave-one-out":
        return [(item, item) for item in np.arange(folds.queries.n_items)[:, None]]
    return [(held, test) for held, test in folds.folds if len(test)]


@dataclass
class Judged:
    """Held-out scores of the `items`, comparable inside a unit: a query, or a fold without qid."""

    y: np.ndarray
    levels: np.ndarray
    units: Queries

    def concordance(self) -> np.ndarray:
        """(u,) of every unit, nan where it has no pair."""
        pairs, right = concordant_pairs(self.y, self.levels[:, None], self.units)
        out = np.full(len(pairs), np.nan)
        np.divide(right[:, 0], pairs, out=out, where=pairs > 0)
        return out

    def mean_and_influence(self, by_query: bool) -> tuple[float, np.ndarray]:
        """The estimate, and influence values whose squares sum to its squared standard error.

        With queries the mean over queries; else over the pairs of all folds, item by item.
        """
        if by_query:
            values = self.concordance()
            values = values[~np.isnan(values)]
            n, mean = len(values), values.mean()
            return float(mean), (values - mean) / np.sqrt(n * max(n - 1, 1))
        counted, right = item_concordance(self.y, self.levels, self.units)
        score = right.sum() / counted.sum()
        return float(score), (right - score * counted) / (counted.sum() / 2)


def judge(model: HeldOut, folds: Folds, what: str = "cross-validation") -> Judged:
    """Score every fold's test items by the model trained without the fold."""
    if folds.kind == "leave-pair-out":
        raise ValueError("leave-pair-out compares pairs, not folds: give cv as folds.")
    items, levels, units = [], [], []
    several = len(folds.queries) > 1
    parts = splits(folds)
    for number, (held, test) in track(enumerate(parts), len(parts), what):
        items.append(test)
        levels.append(model.ties.levels(test, model.without(held, test)))
        units.append(folds.units(number, test) if several else np.full(len(test), number))
    model.check_taught("hold out fewer items at a time")
    tested = np.concatenate(items)
    _, codes = np.unique(np.concatenate(units), return_inverse=True)
    judged = Judged(
        model.y[tested], np.concatenate(levels), Queries(codes, np.arange(codes.max() + 1))
    )
    if np.isnan(judged.concordance()).all():
        raise UndefinedMetric(
            "no held-out fold has a pair of items with different scores: use larger folds."
        )
    return judged


def check_folds(folds) -> int:
    if not isinstance(folds, numbers.Integral) or int(folds) < 2:
        raise ValueError(f"folds must be an integer of 2 or more; got {folds!r}.")
    return int(folds)
