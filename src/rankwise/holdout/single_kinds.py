"""Hold-outs inside one query whose tied pairs do not count, O(1) each after one matrix per kind.

After items left, the tie-free cost of a query is Σ_i d_i (s_i − f_i − g − γ_k)² + Σ_k ρ_k γ_k² at
its stationary point over g and γ, k being the class of item i, with the remaining weights V, V_k:

    d_i = c v_i (V − V_k) ,      ρ_k = −c V (V − V_k) .

Eliminating γ and g gives back c (V − V_k) inside classes and c V between them. The items enter one
by one, so items leave as rows of a pointwise problem with kernel K/λ + Σ_k 1_k 1_kᵀ/ρ_k, noise
1/d_i and an intercept g. d and ρ depend only on which classes lost how much weight: the *kind* of
the hold-out. With r score levels there are r(r + 1)/2 kinds of pairs.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from rankwise.holdout.pair_systems import RowSystem, solve_pairs
from rankwise.losses.quadratic_loss import TieFreeRows, by_kind
from rankwise.losses.query_weights import kept_pair_total
from rankwise.spaces.space import Gram

SLACK = 1e-3
"""Share of the noise 1/d below which the own direction of a class counts as lost."""


class SingleKinds:
    """The items of one query at λ = alpha; `offset` holds scores that are known beforehand."""

    def __init__(self, matrix: Gram, rule: TieFreeRows, alpha: float, offset: np.ndarray):
        self._K = matrix.K / alpha
        self._shift = 0.0 if matrix.shift is None else matrix.shift / alpha
        self._rule = rule
        self._offset = offset
        self._class_weight = rule.class_weight

    def leave_out(self, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(p, u, k) predictions for hold-outs (p, u) of u ≤ 2 items, and (p,) which are settled.

        Not settled are hold-outs of items without weight, and kinds whose matrix is numerically
        singular.
        """
        out = np.zeros((*held.shape, self._offset.shape[1]))
        settled = np.zeros(len(held), dtype=bool)
        weighted = (self._rule.weight[held] > 0).all(axis=1)
        for same_kind in by_kind(self._kinds(held)):
            chosen = same_kind[weighted[same_kind]]
            if len(chosen):
                predictions = self._leave_kind_out(held[chosen])
                if predictions is not None:
                    settled[chosen] = np.isfinite(predictions).all(axis=(1, 2))
                    out[chosen] = predictions
        return out, settled

    def _kinds(self, held: np.ndarray) -> np.ndarray:
        """(p,) equal numbers for hold-outs that remove the same weights from the same classes."""
        lost = np.stack((self._rule.classes[held], self._rule.weight[held]), axis=-1)
        lost = lost[np.arange(len(held))[:, None], np.lexsort((lost[..., 1], lost[..., 0]))]
        flat = lost.reshape(len(held), 2 * held.shape[1])
        return np.unique(flat, axis=0, return_inverse=True)[1].ravel()

    def _leave_kind_out(self, held: np.ndarray) -> np.ndarray | None:
        rule, left = self._rule, self._class_weight.copy()
        np.subtract.at(left, rule.classes[held[0]], rule.weight[held[0]])
        V = left.sum()
        if np.count_nonzero(left > 1e-12 * self._class_weight.sum()) < 2:
            return self._offset[held]
        c = float(rule.weighting.scale(V, kept_pair_total(left)))
        d = c * rule.weight * (V - left)[rule.classes]
        used = np.flatnonzero(d > 0)
        if self._is_weak(V, d):
            return None
        classes = rule.classes[used]
        covariance = self._K[np.ix_(used, used)].copy()
        covariance -= (classes[:, None] == classes) / (c * V * (V - left)[classes])
        covariance.flat[:: len(used) + 1] += 1.0 / d[used]
        G = _inverse_or_none(covariance)
        if G is None:
            return None
        column = G.sum(axis=1)
        M = G - np.outer(column, column) / column.sum()
        e = M @ (rule.scores_left(left)[used] - self._offset[used])
        cross = (self._K + self._shift)[:, used]
        system = RowSystem(M, (cross @ M)[used], (cross @ e)[used], e)
        return _predictions(system, np.searchsorted(used, held)) + self._offset[held]

    def _is_weak(self, V: float, d: np.ndarray) -> bool:
        """Whether the constant direction of some class has next to no variance.

        There the noise and the negative penalty leave 1 − V_k/V of 1/d, which is little or nothing
        if the class holds almost all weight. Then the kernel has to make up for it.
        """
        for k in np.flatnonzero(self._class_weight / V > 0.9):
            members = np.flatnonzero((self._rule.classes == k) & (d > 0))
            if not len(members):
                continue
            kernel = self._K[np.ix_(members, members)].mean() * len(members) * d[members].mean()
            if 1.0 - self._class_weight[k] / V + kernel < SLACK:
                return True
        return False


def _predictions(system: RowSystem, rows: np.ndarray) -> np.ndarray:
    if rows.shape[1] == 2:
        return solve_pairs(system, rows)
    i = rows[:, 0]
    single = system.f[i] - (system.Q[i, i] / system.M[i, i])[:, None] * system.e[i]
    return single[:, None]


def _inverse_or_none(matrix: np.ndarray) -> np.ndarray | None:
    """The inverse of a symmetric, perhaps indefinite matrix; None if it is nearly singular."""
    norm = np.abs(matrix).sum(axis=0).max()
    factor, pivots, info = scipy.linalg.lapack.dsytrf(matrix, lower=1)
    if info:
        return None
    reciprocal, info = scipy.linalg.lapack.dsycon(factor, pivots, norm, lower=1)
    if info or reciprocal < 1e-10:
        return None
    if not hasattr(scipy.linalg.lapack, "dsytri"):  # SciPy 1.13
        return scipy.linalg.inv(matrix)
    inverse, info = scipy.linalg.lapack.dsytri(factor, pivots, lower=1)
    if info:
        return None
    return np.tril(inverse) + np.tril(inverse, -1).T
