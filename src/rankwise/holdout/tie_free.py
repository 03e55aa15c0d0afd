"""Hold-outs inside one query whose tied pairs are left out, O(1) each after one matrix a type.

The tie-free cost of a query, after items left, is Σ_i d_i (s_i − f_i − g − γ_k)² + Σ_k ρ_k γ_k²
at its stationary point over g and γ, k the class of item i, with V and V_k the weights that stay,

    d_i = c v_i (V − V_k) ,      ρ_k = −c V (V − V_k) :

profiling γ and g out gives back c (V − V_k) inside classes and c V between them. The items enter
one by one, so leaving some out is leave-rows-out of a pointwise problem with kernel
K/λ + Σ_k 1_k 1_kᵀ/ρ_k, noise 1/d_i and an intercept g. d and ρ depend only on which classes lost
how much weight: the *type* of the hold-out. r score levels have r(r + 1)/2 types of pairs.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from rankwise.holdout.pair_systems import solve_pairs
from rankwise.losses.least_squares import PairwiseScores, balance

SLACK = 1e-3
"""Share of the noise 1/d below which a class's own direction counts as lost, see `_is_weak`."""


class TieFreeQuery:
    """The items of one query with kernel K, λ and scores; `offset` known beforehand."""

    def __init__(self, K: np.ndarray, supervision: PairwiseScores, alpha: float, offset):
        self.K = K / alpha
        self.supervision = supervision
        self.offset = offset
        self.weight = supervision.weight
        levels = supervision.Y[:, 0]
        _, self.classes = np.unique(levels, return_inverse=True)
        self.class_weight = np.bincount(self.classes, self.weight)

    def types(self, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Hold-outs (p, u) sorted into types: classes lost and with which weight."""
        lost = np.stack((self.classes[held], self.weight[held]), axis=-1)
        lost = lost[np.arange(len(held))[:, None], np.lexsort((lost[..., 1], lost[..., 0]))]
        kinds, kind = np.unique(
            lost.reshape(len(held), 2 * held.shape[1]), axis=0, return_inverse=True
        )
        return kinds, kind.ravel()

    def leave_out(self, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(p, u, k) predictions for hold-outs of u ≤ 2 items, and which are settled.

        Not settled: items of no weight, and types whose matrix is numerically singular.
        """
        out = np.zeros((*held.shape, self.offset.shape[1]))
        settled = np.zeros(len(held), dtype=bool)
        kinds, kind = self.types(held)
        weighted = (self.weight[held] > 0).all(axis=1)
        for number in range(len(kinds)):
            chosen = np.flatnonzero((kind == number) & weighted)
            if len(chosen):
                found = self._leave_type_out(held[chosen])
                settled[chosen] = found is not None
                out[chosen] = 0.0 if found is None else found
        return out, settled

    def _leave_type_out(self, held: np.ndarray) -> np.ndarray | None:
        left = self.class_weight.copy()
        np.subtract.at(left, self.classes[held[0]], self.weight[held[0]])
        V = left.sum()
        if np.count_nonzero(left > 1e-12 * self.class_weight.sum()) < 2:
            return self.offset[held]
        c = 2.0 / (V**2 - left @ left) if self.supervision.by_query else 1.0
        d = c * self.weight * (V - left)[self.classes]
        used = np.flatnonzero(d > 0)
        if self._is_weak(left, V, d):
            return None
        classes = self.classes[used]
        scores = self._scores(left, V)[used] - self.offset[used]
        covariance = self.K[np.ix_(used, used)].copy()
        covariance -= (classes[:, None] == classes) / (c * V * (V - left)[classes])
        covariance.flat[:: len(used) + 1] += 1.0 / d[used]
        G = _inverse_or_none(covariance)
        if G is None:
            return None
        column = G.sum(axis=1)
        M = G - np.outer(column, column) / column.sum()
        a = M @ scores
        cross = self.K[:, used]
        Q, f = (cross @ M)[used], (cross @ a)[used]
        place = np.searchsorted(used, held)
        if held.shape[1] == 2:
            return solve_pairs(M, Q, f, a, place) + self.offset[held]
        i = place[:, 0]
        single = f[i] - (Q[i, i] / M[i, i])[:, None] * a[i]
        return single[:, None] + self.offset[held]

    def _is_weak(self, left, V, d) -> bool:
        """Whether some class's constant direction has next to no variance.

        There noise and negative penalty leave 1 − V_k/V of 1/d, which is little or nothing where
        the class holds almost all weight; the kernel has to make up for it.
        """
        for k in np.flatnonzero(self.class_weight / V > 0.9):
            members = np.flatnonzero((self.classes == k) & (d > 0))
            if not len(members):
                continue
            kernel = self.K[np.ix_(members, members)].mean() * len(members) * d[members].mean()
            if 1.0 - self.class_weight[k] / V + kernel < SLACK:
                return True
        return False

    def _scores(self, left: np.ndarray, V: float) -> np.ndarray:
        if self.supervision.loss != "unit":
            return self.supervision.Y
        unit = balance(left, np.array([V]), np.array([0, len(left)]))
        return np.repeat(unit[self.classes][:, None], self.offset.shape[1], axis=1)


def _inverse_or_none(matrix: np.ndarray) -> np.ndarray | None:
    """The inverse of a symmetric, perhaps indefinite matrix; None if it is nearly singular."""
    norm = np.abs(matrix).sum(axis=0).max()
    factor, pivots, info = scipy.linalg.lapack.dsytrf(matrix, lower=1)
    if info:
        return None
    reciprocal, info = scipy.linalg.lapack.dsycon(factor, pivots, norm, lower=1)
    if info or reciprocal < 1e-10:
        return None
    inverse, info = scipy.linalg.lapack.dsytri(factor, pivots, lower=1)
    if info:
        return None
    return np.tril(inverse) + np.tril(inverse, -1).T
