"""Leave-pair-out over all pairs of items: its interval, and a ROC curve from a tournament."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.metrics import roc_curve

from rankwise.evaluation.auc import mixed_pairs, two_classes
from rankwise.evaluation.intervals import (
    TRAINING,
    check_level,
    freedom_of_units,
    score_interval,
    two_sample_variance,
)
from rankwise.evaluation.judged_folds import checked_scores
from rankwise.evaluation.truths import supervision_of
from rankwise.evaluation.unseen_scores import UnseenScores, unseen_scores
from rankwise.metrics import auc
from rankwise.metrics.uncertainty import share_of_pairs
from rankwise.model_selection.folds import group_labels
from rankwise.supervision.censored import Censored


def judge_pairs(model: UnseenScores) -> tuple[np.ndarray, np.ndarray]:
    """For each item its pairs y_i ≠ y_j, and those that the model without both orders right.

    The pairs of censored outcomes are the comparable ones.
    """
    y, told = model.y, supervision_of(model.y)
    if not isinstance(y, Censored) and len(np.unique(y)) == 2:
        pairs = mixed_pairs(y == y.max())
        gap = told.differences(pairs)[:, 0]
    else:
        pairs, differences = told.judged_pairs()
        differ = differences[:, 0] != 0
        pairs, gap = pairs[differ], differences[differ, 0]
    right = model.ties.right(pairs, model.pairs(pairs), gap)
    model.report_untaught()
    both = pairs.ravel()
    counted = np.bincount(both, minlength=len(y)).astype(float)
    return counted, np.bincount(both, np.repeat(right, 2), minlength=len(y))


def leave_pair_out_interval(
    est: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    *,
    level: float = 0.95,
    groups: ArrayLike | None = None,
) -> tuple[float, float]:
    """An interval for the AUC of est on unseen data, around its leave-pair-out estimate.

    If y has more than two values, or holds censored outcomes, it is the same for the concordance.
    DeLong's variance over the
    pairs that leave-pair-out judges (for real y that of a U-statistic) treats the held-out scores
    as if one model had predicted them. But each item is judged, and it also trains the models that
    judge the others. Without signal this doubles the variance, and simulations need a little more,
    so the variance is multiplied by 2.5. The coverage is then about right for the model trained on
    all the data, unless the model nearly interpolates: see docs/papers/evaluation.md. It costs
    what leave-pair-out costs.

    Parameters
    ----------
    est
        The estimator.
    X, y
        As in `fit`.
    level : float
        Of the interval.
    groups : (m,) array, optional
        Labels of items that belong together. Each pair is judged without the groups of both
        items, and groups take the place of items in the variance.

    Returns
    -------
    (low, high)

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from rankwise import RankRLS
    >>> from rankwise.evaluation import leave_pair_out_interval
    >>> X, y = load_diabetes(return_X_y=True)
    >>> low, high = leave_pair_out_interval(RankRLS(), X[:100], y[:100])
    >>> f"{low:.2f} to {high:.2f}"
    '0.63 to 0.80'
    """
    check_level(level)
    y, _ = checked_scores(y, None)
    together = group_labels(groups, len(y))
    counted, right = judge_pairs(unseen_scores(est, X, y, groups=together))
    share, influence = share_of_pairs(counted, right)
    score = float(share)
    if together is not None:
        influence = np.bincount(together.codes, influence)
    if together is None and not isinstance(y, Censored) and len(np.unique(y)) == 2:
        of_item = right / counted
        low, high = (of_item[y == value] for value in np.unique(y))
        spread_low, spread_high = (((part - score) ** 2).sum() for part in (low, high))
        variance, disjoint, freedom = two_sample_variance(
            spread_high, len(high), spread_low, len(low)
        )
        return score_interval(score, TRAINING * variance, level, disjoint=disjoint, freedom=freedom)
    n = len(influence)
    variance = float(influence @ influence) * n / max(n - 1, 1)
    return score_interval(score, TRAINING * variance, level, **freedom_of_units(y, n))


@dataclass
class Tournament:
    """Which item beat which when each pair was held out, and the ROC curve of the wins.

    Attributes
    ----------
    wins : (m,) array
        The number of pairs that an item won; a tie counts ½.
    fpr, tpr, auc
        The ROC curve of the items ordered by wins, and the area under it.
    pair_auc : float
        The plain leave-pair-out AUC over positive and negative items; in a tournament without
        cycles the two AUCs are equal.
    cycles : int
        The number of triples in which i beats j, j beats k and k beats i.
    inconsistency : float
        Their share of the largest number that m players can have: 0 if all comparisons agree with
        one order, 1 at worst.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rankwise import RankRLS
    >>> from rankwise.evaluation import tournament
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = tournament(RankRLS(), X[:60], y[:60])
    >>> round(found.auc, 3), round(found.pair_auc, 3), found.wins.shape
    (0.959, 0.957, (60,))
    """

    wins: np.ndarray
    fpr: np.ndarray
    tpr: np.ndarray
    auc: float
    pair_auc: float
    cycles: int
    inconsistency: float


def tournament(
    est: BaseEstimator, X: ArrayLike, y: ArrayLike, *, groups: ArrayLike | None = None
) -> Tournament:
    """Hold out every pair of items, also of the same class, and count which is ranked higher.

    A closed form for RLS and RankRLS, with O(m³) for the triples; else m(m − 1)/2 refits.

    Parameters
    ----------
    est
        The estimator.
    X, y
        As in `fit`; y has two values.
    groups : (m,) array, optional
        The groups of both items are held out, one hold-out for each pair of groups.

    Returns
    -------
    Tournament

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rankwise import RankRLS
    >>> from rankwise.evaluation import tournament
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tournament(RankRLS(), X[:60], y[:60]).cycles
    6
    """
    y, positive = two_classes(y)
    model = unseen_scores(est, X, y, groups=group_labels(groups, len(y)))
    m = len(y)
    i, j = np.triu_indices(m, 1)
    pairs = np.column_stack((i, j))
    scores = model.pairs(pairs)
    model.report_untaught()
    beats = np.zeros((m, m))
    beats[i, j] = model.ties.right(pairs, scores, np.ones(len(pairs)))
    beats[j, i] = 1.0 - beats[i, j]
    wins = beats.sum(axis=1)
    fpr, tpr, _ = roc_curve(positive, wins)
    cycles = _cycles(beats == 1.0)
    most = m * (m * m - (1 if m % 2 else 4)) // 24
    return Tournament(
        wins=wins,
        fpr=fpr,
        tpr=tpr,
        auc=auc(positive.astype(float), wins),
        pair_auc=float(beats[np.ix_(positive, ~positive)].mean()),
        cycles=cycles,
        inconsistency=cycles / most if most else 0.0,
    )


def _cycles(beats: np.ndarray) -> int:
    """trace(B³)/3: the triples in which each item beats one of the others."""
    B = beats.astype(float)
    return round(float(((B @ B) * B.T).sum()) / 3)


def lpo_roc(
    est: BaseEstimator, X: ArrayLike, y: ArrayLike, *, groups: ArrayLike | None = None
) -> tuple[np.ndarray, np.ndarray, float]:
    """False and true positive rates of a tournament over leave-pair-out, and the area under them.

    Leave-pair-out says which item of a pair is higher, but not where a threshold would be. In a
    tournament over all pairs the score of an item is the number of pairs that it wins. Each
    comparison is between two scores of the same model, which was trained without both items.
    `tournament` returns more, above all how inconsistent the comparisons were, and has the same
    price.

    Parameters
    ----------
    est, X, y, groups
        As in `tournament`.

    Returns
    -------
    fpr, tpr, auc

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rankwise import RankRLS
    >>> from rankwise.evaluation import lpo_roc
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> fpr, tpr, area = lpo_roc(RankRLS(), X[:60], y[:60])
    >>> round(area, 3)
    0.959
    """
    result = tournament(est, X, y, groups=groups)
    return result.fpr, result.tpr, result.auc
