"""The choice of alpha and of a threshold by predictions for documents that were left out."""

from __future__ import annotations

from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from rankwise.exceptions import UndefinedMetric
from rankwise.holdout.kernel_folds import LeaveOut
from rankwise.learners.rank_rls import RLS
from rankwise.metrics import auc
from rankwise.spaces.basis_removal import REDUNDANT

Seed = int | np.random.RandomState | None
LEARNERS = {"rls": "pointwise, y = ±1", "rank_rls": "all pairs of candidates"}

Part = tuple[np.ndarray, list[np.ndarray]]
"""The rows of a test fold, which may be empty, and the groups of rows in its training part."""


class Chosen(NamedTuple):
    """What was chosen on the training part of a fold.

    `held_out` has the prediction for each training item by the model without its group, and `auc`
    is their AUC. `scores` are the predictions for the test fold. The dual coefficients, zero for
    items outside the basis, and the intercept are those of the model on all items.
    """

    alpha: float
    threshold: float
    auc: float
    held_out: np.ndarray
    scores: np.ndarray
    coefficients: np.ndarray
    intercept: float


def default_alphas(K: np.ndarray) -> np.ndarray:
    """2^-14 … 2^6, every second power, times the mean of the kernel's diagonal."""
    scale = float(np.mean(np.diagonal(K)))
    return 2.0 ** np.arange(-14, 8, 2) * (scale if scale > 0 else 1.0)


def choose(
    K: np.ndarray,
    y: np.ndarray,
    groups: list[np.ndarray],
    alphas: np.ndarray,
    learner: str,
    basis: int | None = None,
    random_state: Seed = None,
) -> Chosen:
    """The alpha with the largest AUC of predictions for held-out groups, and the threshold with the
    largest F of these predictions.

    It costs O(m³) per alpha for m items, or one eigendecomposition with a basis of r items.
    """
    if basis is not None and (not isinstance(basis, Integral) or basis < 1):
        raise ValueError(f"basis must be None or a positive integer; got {basis!r}.")
    if basis is None or basis >= len(y):
        return choose_each(K, y, [(np.zeros(0, dtype=int), groups)], alphas, learner)[0]
    if learner != "rls":
        raise ValueError('basis works with learner="rls".')
    members = check_random_state(random_state).choice(len(y), basis, replace=False)
    return _choose_reduced(K, y, groups, np.sort(alphas)[::-1], np.sort(members))


def choose_each(
    K: np.ndarray, y: np.ndarray, parts: list[Part], alphas: np.ndarray, learner: str
) -> list[Chosen]:
    """The same for the training part of each test fold, from one m × m inverse per alpha.

    Of equally good alphas the largest is taken.
    """
    best: dict[int, Chosen] = {}
    for alpha in np.sort(alphas)[::-1].tolist():
        model = LeaveOut(K, y, alpha, learner == "rank_rls")
        for number, (test, groups) in enumerate(parts):
            held_out = model.groups_without(groups, fold=test)
            known = np.isfinite(held_out)
            quality = pooled_auc(y[known], held_out[known])
            if number not in best or quality > best[number].auc:
                threshold = best_threshold(y[known] > 0, held_out[known])
                scores, solution = model.without(test), (model.coefficients, model.intercept)
                best[number] = Chosen(alpha, threshold, quality, held_out, scores, *solution)
        del model  # its m × m matrix, before the next one is made
    return [best[number] for number in range(len(parts))]


def _choose_reduced(
    K: np.ndarray, y: np.ndarray, groups: list[np.ndarray], alphas: np.ndarray, basis: np.ndarray
) -> Chosen:
    """The same with basis vectors, of which those of a held-out group are removed with it.

    Candidates of one sentence often have the same graph. A small number on the kernel's diagonal,
    far below any alpha, makes them different, so that an update can remove a basis vector.
    """
    apart = K.copy()
    apart.flat[:: len(K) + 1] += 2 * REDUNDANT * np.trace(K)
    model = RLS(alphas[0], kernel="precomputed", basis=basis).fit(apart, y)
    held_out = model.training_problem.leave_groups_out(groups, alphas)[..., 0]
    qualities = [pooled_auc(y, scores) for scores in held_out]
    best = int(np.argmax(qualities))
    coefficients = np.zeros(len(y))
    coefficients[model.basis_index_] = model.path([alphas[best]])[0]
    alpha, held_out, quality = float(alphas[best]), held_out[best], qualities[best]
    threshold = best_threshold(y > 0, held_out)
    return Chosen(alpha, threshold, quality, held_out, np.zeros(0), coefficients, 0.0)


def pooled_auc(y: np.ndarray, scores: np.ndarray) -> float:
    """AUC of all items together; ½ if only one class is present."""
    try:
        return auc(y, scores)
    except UndefinedMetric:
        return 0.5


class Decision(NamedTuple):
    """Precision, recall and F; a ratio 0/0 counts as 0."""

    precision: float
    recall: float
    f: float


def judge(y: np.ndarray, positive: np.ndarray) -> Decision:
    """How well `positive` (bool) agrees with the truth y (bool)."""
    y, positive = np.asarray(y, dtype=bool), np.asarray(positive, dtype=bool)
    hits, called, true = (int(np.count_nonzero(a)) for a in (y & positive, positive, y))
    f = 2 * hits / max(1, true + called)
    return Decision(hits / max(1, called), hits / max(1, true), f)


def best_threshold(y: np.ndarray, scores: np.ndarray) -> float:
    """The threshold with the largest F, if candidates with a score above it are called positive.

    It lies midway between two scores, or below all of them if everything is best called positive.
    The highest of equally good thresholds is taken. O(m log m).
    """
    y, scores = np.asarray(y, dtype=bool), np.asarray(scores, dtype=float)
    if not y.any():
        raise UndefinedMetric("a threshold needs at least one positive candidate to be chosen on.")
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(y[order])
    called = np.arange(1, len(y) + 1)
    f = 2 * hits / (called + hits[-1])
    f[:-1][ranked[:-1] == ranked[1:]] = -1.0  # no threshold lies between equal scores
    last = int(np.argmax(f))
    if last + 1 == len(ranked):
        return float(ranked[-1] - 1.0 - abs(ranked[-1]))
    return float(ranked[last + 1] + (ranked[last] - ranked[last + 1]) / 2)
