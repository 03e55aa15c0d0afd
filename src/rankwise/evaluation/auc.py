"""The AUC of a model on unseen data, by cross-validation (chapter 5.4 of Airola 2011)."""

from __future__ import annotations

import numbers
import warnings

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.validation import column_or_1d

from rankwise.evaluation.held_out import HeldOut, held_out
from rankwise.exceptions import EstimateWarning, UndefinedMetric
from rankwise.losses.pair_counts import concordant_pairs
from rankwise.supervision.queries import Queries
from rankwise.validation import check_choice

METHODS = {
    "leave-pair-out": "every positive with every negative, by the model trained without both",
    "pooled": "all held-out scores in one ranking, though different models gave them",
    "averaged": "the pairs that a fold holds out together",
}
FEW_A_FOLD = 5
"""Averaging over folds with fewer items of the rarer class varies wildly."""


def cross_val_auc(est, X, y, *, method="leave-pair-out", folds=10, random_state=None) -> float:
    """Share of positive-negative pairs that models trained without them put in the right order.

    "leave-pair-out" holds each such pair out on its own: nearly unbiased, and as stable as any.
    "averaged" counts the pairs inside the held-out folds; folds without a pair are skipped.
    "pooled" ranks the held-out scores of all folds together, though they come from different
    models, which makes it pessimistic. `folds` = len(y) is leave-one-out. Folds are stratified
    where each class has as many items, and otherwise not, with a warning. `random_state` shuffles
    them (None: a fixed shuffle).

    In closed form for RLS and RankRLS, with any kernel and with reduced sets: leave-pair-out for
    about the price of a fit. Any other scikit-learn estimator is refitted for each hold-out, a
    cross-validated one such as RankRLSCV with its alpha chosen anew every time. Scores are
    `decision_function`, else `predict_proba`, else `predict`; those equal up to rounding count ½
    (see rankwise.evaluation.ties).
    """
    check_choice("method", method, METHODS)
    y, positive = two_classes(y)
    if method == "leave-pair-out":
        model = held_out(est, X, y)
        return _leave_pair_out(model, positive)
    tests = auc_folds(positive, folds, random_state)
    _warn(method, positive, tests)
    model = held_out(est, X, y)
    return _over_folds(model, positive, tests, method)


def two_classes(y) -> tuple[np.ndarray, np.ndarray]:
    """y (m,) and which items are positive: those of the greater of its two values."""
    y = column_or_1d(y)
    if y.dtype.kind == "b":
        y = y.astype(float)
    if y.dtype.kind in "fc" and not np.isfinite(y).all():
        raise ValueError(f"y is not finite at row {int(np.argmin(np.isfinite(y)))}.")
    try:
        values = np.unique(y)
    except TypeError as error:
        raise ValueError(f"the values of y cannot be ordered: {error}.") from error
    if len(values) < 2:
        held = f"only one value, {values[0]!s}" if len(values) else "no value at all"
        raise UndefinedMetric(f"y holds {held}: an AUC needs positive and negative items.")
    if len(values) > 2:
        row = int(np.flatnonzero((y != values[0]) & (y != values[-1]))[0])
        raise ValueError(
            f"an AUC needs two values of y, found a third: {values[0]!s}, {values[-1]!s} and "
            f"{y[row]!s} (row {row})."
        )
    return y, y == values[1]


def mixed_pairs(positive: np.ndarray) -> np.ndarray:
    """(p, 2) every positive item with every negative one."""
    high, low = np.flatnonzero(positive), np.flatnonzero(~positive)
    return np.column_stack((np.repeat(high, len(low)), np.tile(low, len(high))))


def auc_folds(positive: np.ndarray, folds, random_state) -> list[np.ndarray]:
    """Held-out sets that cover the items once, stratified where a class has enough items."""
    m = len(positive)
    if not isinstance(folds, numbers.Integral) or not 2 <= int(folds) <= m:
        raise ValueError(f"folds must be an integer between 2 and the {m} items; got {folds!r}.")
    if folds == m:
        return list(np.arange(m)[:, None])
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


def _warn(method: str, positive: np.ndarray, tests) -> None:
    every = int(positive.sum()) * int((~positive).sum())
    if method == "pooled":
        warnings.warn(
            "pooling compares scores of different models, which biases the AUC downwards, "
            "without signal far below 0.5: prefer method='leave-pair-out'.",
            EstimateWarning,
            stacklevel=3,
        )
        return
    inside = [int(positive[test].sum()) for test in tests]
    pairs = sum(n * (len(test) - n) for n, test in zip(inside, tests))
    if not pairs:
        raise UndefinedMetric(
            f"none of the {len(tests)} folds holds out a positive together with a negative item: "
            "use fewer folds, or method='leave-pair-out'."
        )
    rarer = min(positive.sum(), (~positive).sum())
    if rarer / len(tests) < FEW_A_FOLD:
        warnings.warn(
            f"averaging compares {pairs} of the {every} pairs, with {rarer / len(tests):.2g} items "
            "of the rarer class a fold: the estimate varies wildly. Prefer "
            "method='leave-pair-out', or fewer folds.",
            EstimateWarning,
            stacklevel=3,
        )


def _leave_pair_out(model: HeldOut, positive: np.ndarray) -> float:
    pairs = mixed_pairs(positive)
    scores = model.pairs(pairs)
    report_untaught(model)
    return float(model.ties.right(pairs, scores, np.ones(len(pairs))).mean())


def report_untaught(model: HeldOut) -> None:
    model.check_taught("each class needs two items or more")
    if model.untaught:
        warnings.warn(
            f"{model.untaught} of {model.trained} training sets hold one class only; what they "
            "leave out is scored 0.",
            EstimateWarning,
            stacklevel=4,
        )


def _over_folds(model: HeldOut, positive: np.ndarray, tests, method: str) -> float:
    scores, fold = np.empty(len(positive)), np.empty(len(positive), dtype=np.intp)
    each = model.each() if len(tests) == len(positive) else None
    for number, test in enumerate(tests):
        found = model.without(test) if each is None else each[test]
        scores[test] = found if method == "pooled" else model.ties.levels(test, found)
        fold[test] = number
    report_untaught(model)
    if method == "pooled":
        scores, fold = model.ties.pooled_levels(scores), np.zeros_like(fold)
    queries = Queries(fold, np.arange(fold.max() + 1))
    pairs, right = concordant_pairs(positive.astype(float), scores[:, None], queries)
    return float(right.sum() / pairs.sum())
