"""A ROC curve from leave-pair-out: a tournament of every item against every other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_curve

from rankwise.evaluation.auc import report_untaught, two_classes
from rankwise.evaluation.held_out import held_out
from rankwise.metrics import auc


@dataclass
class Tournament:
    """Who beat whom when each pair was held out, and the ROC curve of the wins.

    `wins` (m,) counts the pairs that an item won, a tie as ½. `fpr`, `tpr` and `auc` are the ROC
    curve of the items ordered by wins; `pair_auc` is the plain leave-pair-out AUC over positive
    and negative items, from which a tournament without a cycle never differs. `cycles` counts the
    triples i beats j beats k beats i, and `inconsistency` is their share of the largest number
    that m players can have: 0 for one common order, 1 for none at all.
    """

    wins: np.ndarray
    fpr: np.ndarray
    tpr: np.ndarray
    auc: float
    pair_auc: float
    cycles: int
    inconsistency: float


def tournament(est, X, y) -> Tournament:
    """Hold out every pair of items, those of the same class too, and count who is ranked higher.

    In closed form for RLS and RankRLS, O(m³) for the triples; else m(m − 1)/2 refits.
    """
    y, positive = two_classes(y)
    model = held_out(est, X, y)
    m = len(y)
    i, j = np.triu_indices(m, 1)
    pairs = np.column_stack((i, j))
    scores = model.pairs(pairs)
    report_untaught(model)
    beaten = np.zeros((m, m))
    beaten[i, j] = model.ties.right(pairs, scores, np.ones(len(pairs)))
    beaten[j, i] = 1.0 - beaten[i, j]
    wins = beaten.sum(axis=1)
    fpr, tpr, _ = roc_curve(positive, wins)
    cycles = _cycles(beaten == 1.0)
    most = m * (m * m - (1 if m % 2 else 4)) // 24
    return Tournament(
        wins=wins,
        fpr=fpr,
        tpr=tpr,
        auc=auc(positive.astype(float), wins),
        pair_auc=float(beaten[np.ix_(positive, ~positive)].mean()),
        cycles=cycles,
        inconsistency=cycles / most if most else 0.0,
    )


def _cycles(beats: np.ndarray) -> int:
    """trace(B³)/3: the triples in which everyone beats someone."""
    B = beats.astype(float)
    return round(float(((B @ B) * B.T).sum()) / 3)


def lpo_roc(est, X, y) -> tuple[np.ndarray, np.ndarray, float]:
    """False and true positive rates of a tournament over leave-pair-out, and the area beneath.

    Leave-pair-out says of each pair which item is higher, not where a threshold would lie. In a
    tournament over all pairs an item's score is the number of pairs it wins; every comparison is
    of two scores by the same model, which never saw either item. `tournament` says more, how
    inconsistent the comparisons were above all.
    """
    found = tournament(est, X, y)
    return found.fpr, found.tpr, found.auc
