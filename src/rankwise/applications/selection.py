"""Choosing alpha and a threshold by predictions for documents left out."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from rankwise.applications.thresholds import best_threshold
from rankwise.exceptions import UndefinedMetric
from rankwise.holdout.kernel_folds import LeaveOut
from rankwise.learners.rank_rls import RLS
from rankwise.metrics import auc
from rankwise.spaces.basis_removal import REDUNDANT

LEARNERS = {"rls": "pointwise, y = ±1", "rank_rls": "all pairs of candidates"}


@dataclass
class Chosen:
    """The chosen model: dual coefficients over all training items, zero outside a basis."""

    alpha: float
    threshold: float
    auc: float
    held_out: np.ndarray
    coefficients: np.ndarray
    intercept: float


def default_alphas(K: np.ndarray) -> np.ndarray:
    """2^-14 … 2^6, every second power, times the mean of the kernel's diagonal."""
    scale = float(np.mean(np.diagonal(K)))
    return 2.0 ** np.arange(-14, 8, 2) * (scale if scale > 0 else 1.0)


def choose(K, y, groups, alphas, learner, basis=None, random_state=None) -> Chosen:
    """The alpha with the largest AUC of held-out groups, pooled; its threshold of the largest F."""
    if basis is not None and (not isinstance(basis, Integral) or basis < 1):
        raise ValueError(f"basis must be None or a positive integer; got {basis!r}.")
    if basis is not None and basis < len(y):
        return _choose_reduced(K, y, groups, alphas, learner, basis, random_state)
    best: Any = None
    for alpha in np.sort(alphas)[::-1]:
        model = LeaveOut(K, y, float(alpha), learner == "rank_rls")
        held_out = model.groups_without(groups)
        quality = pooled_auc(y, held_out)
        if best is None or quality > best.auc:
            coefficients, intercept = model.coefficients, model.intercept
            threshold = best_threshold(y > 0, held_out)
            best = Chosen(float(alpha), threshold, quality, held_out, coefficients, intercept)
        del model
    return best


def _choose_reduced(K, y, groups, alphas, learner, basis, random_state) -> Chosen:
    """The same over `basis` random basis vectors: those of a held-out group leave with it.

    Candidates of one sentence are often the same graph. A sliver on the kernel's diagonal, far
    below any alpha, sets them apart, so that basis vectors leave by update.
    """
    if learner != "rls":
        raise ValueError('basis works with learner="rls".')
    chosen = check_random_state(random_state).choice(len(y), basis, replace=False)
    alphas = np.sort(alphas)[::-1]
    apart = K.copy()
    apart.flat[:: len(K) + 1] += 2 * REDUNDANT * np.trace(K)
    model = RLS(alphas[0], kernel="precomputed", basis=np.sort(chosen)).fit(apart, y)
    held_out = model._leave_groups_out(groups, alphas)[..., 0]
    qualities = [pooled_auc(y, scores) for scores in held_out]
    best = int(np.argmax(qualities))
    coefficients = np.zeros(len(y))
    coefficients[model.basis_index_] = model.path([alphas[best]])[0]
    threshold = best_threshold(y > 0, held_out[best])
    found = (float(alphas[best]), threshold, qualities[best], held_out[best], coefficients, 0.0)
    return Chosen(*found)


def pooled_auc(y, scores) -> float:
    """AUC where both kinds are there, else ½."""
    try:
        return auc(y, scores)
    except UndefinedMetric:
        return 0.5
