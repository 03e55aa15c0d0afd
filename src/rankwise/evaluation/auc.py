"""The AUC of a model on unseen data, by cross-validation (chapter 5.4 of Airola 2011)."""

from __future__ import annotations

import numbers
import warnings

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.utils.validation import column_or_1d

from rankwise.evaluation.unseen_scores import UnseenScores, unseen_scores
from rankwise.exceptions import EstimateWarning, UndefinedMetric
from rankwise.losses.pair_counts import concordant_pairs
from rankwise.model_selection.folds import RandomState, group_labels
from rankwise.supervision.queries import Queries
from rankwise.validation import check_choice

METHODS = {
    "leave-pair-out": "each positive with each negative, by the model trained without both",
    "pooled": "all held-out scores in one ranking, although different models predicted them",
    "averaged": "the pairs that a fold holds out together",
}
FEW_IN_A_FOLD = 5
"""If folds have fewer items of the rarer class, the averaged estimate varies too much."""


def cross_val_auc(
    est: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    *,
    method: str = "leave-pair-out",
    folds: int = 10,
    groups: ArrayLike | None = None,
    random_state: RandomState = None,
) -> float:
    """Share of positive-negative pairs that models trained without them put in the right order.

    RLS and RankRLS have a closed form, with any kernel and with reduced sets: leave-pair-out costs
    about as much as a fit. Any other scikit-learn estimator is refitted for each hold-out; a
    cross-validated one such as RankRLSCV chooses alpha again each time. Scores are
    `decision_function`, else `predict_proba`, else `predict`. Scores that are equal up to rounding
    count ½ (see rankwise.metrics.ties).

    Parameters
    ----------
    est
        The estimator.
    X, y
        As in `fit`; y has two values.
    method : {"leave-pair-out", "averaged", "pooled"}
        "leave-pair-out" holds out each such pair on its own. It is nearly unbiased, and no other
        estimate varies less. "averaged" counts the pairs inside the held-out folds and skips folds
        without a pair. "pooled" ranks the held-out scores of all folds together, although different
        models predicted them, which makes it pessimistic.
    folds : int
        len(y) is leave-one-out. Folds are stratified if each class has at least as many items as
        there are folds; otherwise a warning says that they are not.
    groups : (m,) array, optional
        Labels of items that belong together, such as the samples of a patient. They
        always leave together: leave-pair-out leaves the groups of both items out, one hold-out for
        each pair of groups, and folds keep groups whole. Without them, items of the same group in
        the training set make the estimate far too good.
    random_state
        Shuffles the folds (None: a fixed shuffle).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rankwise import RankRLS
    >>> from rankwise.evaluation import cross_val_auc
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> round(cross_val_auc(RankRLS(), X[:60], y[:60]), 3)
    0.957
    """
    check_choice("method", method, METHODS)
    y, positive = two_classes(y)
    together = group_labels(groups, len(y))
    model = unseen_scores(est, X, y, groups=together)
    if method == "leave-pair-out":
        return _leave_pair_out(model, positive)
    tests = auc_folds(positive, folds, random_state, together)
    _warn(method, positive, tests)
    return _over_folds(model, positive, tests, method)


def two_classes(y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """y (m,) and which items are positive: those with the greater of its two values."""
    labels: np.ndarray = column_or_1d(y)
    if labels.dtype.kind == "b":
        labels = labels.astype(float)
    if labels.dtype.kind in "fc" and not np.isfinite(labels).all():
        raise ValueError(f"y is not finite at row {int(np.argmin(np.isfinite(labels)))}.")
    try:
        values = np.unique(labels)
    except TypeError as error:
        raise ValueError(f"the values of y cannot be ordered: {error}.") from error
    if len(values) < 2:
        held = f"only one value, {values[0]!s}" if len(values) else "no value at all"
        raise UndefinedMetric(f"y holds {held}: an AUC needs positive and negative items.")
    if len(values) > 2:
        row = int(np.flatnonzero((labels != values[0]) & (labels != values[-1]))[0])
        raise ValueError(
            f"an AUC needs two values of y, found a third: {values[0]!s}, {values[-1]!s} and "
            f"{labels[row]!s} (row {row})."
        )
    return labels, labels == values[1]


def mixed_pairs(positive: np.ndarray) -> np.ndarray:
    """(p, 2) each positive item with each negative item."""
    high, low = np.flatnonzero(positive), np.flatnonzero(~positive)
    return np.column_stack((np.repeat(high, len(low)), np.tile(low, len(high))))


def auc_folds(
    positive: np.ndarray, folds: int, random_state: RandomState, groups: Queries | None = None
) -> list[np.ndarray]:
    """Held-out sets that cover each item once, stratified if each class has enough items."""
    m = len(positive)
    available, what = (m, "items") if groups is None else (len(groups), "groups")
    if not isinstance(folds, numbers.Integral) or not 2 <= int(folds) <= available:
        raise ValueError(
            f"folds must be an integer between 2 and the {available} {what}; got {folds!r}."
        )
    if folds == available:
        return list(np.arange(m)[:, None]) if groups is None else list(groups)
    if groups is not None:
        seed = 0 if random_state is None else random_state
        by_group = StratifiedGroupKFold(int(folds), shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # fewer groups of a class than folds
            splits = by_group.split(np.zeros(m), positive, groups.codes)
            return [test for _, test in splits if len(test)]
    rarer = int(min(positive.sum(), m - positive.sum()))
    seed = 0 if random_state is None else random_state
    if rarer >= folds:
        splitter = StratifiedKFold(int(folds), shuffle=True, random_state=seed)
    else:
        warnings.warn(
            f"{folds} folds are not stratified: the rarer class has only {rarer} items.",
            EstimateWarning,
            stacklevel=3,
        )
        splitter = KFold(int(folds), shuffle=True, random_state=seed)
    return [test for _, test in splitter.split(np.zeros(m), positive)]


def _warn(method: str, positive: np.ndarray, tests: list[np.ndarray]) -> None:
    if method == "pooled":
        warnings.warn(
            "pooling compares scores of different models, which biases the AUC downwards, "
            "without signal far below 0.5: prefer method='leave-pair-out'.",
            EstimateWarning,
            stacklevel=3,
        )
        return
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    inside = [int(positive[test].sum()) for test in tests]
    pairs = sum(n * (len(test) - n) for n, test in zip(inside, tests))
    if not pairs:
        raise UndefinedMetric(
            f"none of the {len(tests)} folds holds out a positive together with a negative item: "
            "use fewer folds, or method='leave-pair-out'."
        )
    rarer = min(n_positive, n_negative) / len(tests)
    if rarer < FEW_IN_A_FOLD:
        warnings.warn(
            f"averaging compares {pairs} of the {n_positive * n_negative} pairs, with {rarer:.2g} "
            "items of the rarer class per fold: the estimate varies wildly. Prefer "
            "method='leave-pair-out', or fewer folds.",
            EstimateWarning,
            stacklevel=3,
        )


def _leave_pair_out(model: UnseenScores, positive: np.ndarray) -> float:
    pairs = mixed_pairs(positive)
    scores = model.pairs(pairs)
    model.report_untaught()
    return float(model.ties.right(pairs, scores, np.ones(len(pairs))).mean())


def _over_folds(
    model: UnseenScores, positive: np.ndarray, tests: list[np.ndarray], method: str
) -> float:
    scores, fold = np.empty(len(positive)), np.empty(len(positive), dtype=np.intp)
    each = model.each() if len(tests) == len(positive) else None
    for number, test in enumerate(tests):
        predicted = model.without(test) if each is None else each[test]
        scores[test] = predicted if method == "pooled" else model.ties.levels(test, predicted)
        fold[test] = number
    model.report_untaught()
    if method == "pooled":
        scores, fold = model.ties.pooled_levels(scores), np.zeros_like(fold)
    queries = Queries(fold, np.arange(fold.max() + 1))
    pairs, right = concordant_pairs(positive.astype(float), scores[:, None], queries)
    return float(right.sum() / pairs.sum())
