"""Ridge regression with an intercept a query, solved point by point in its dual.

The problem is ‖h‖² + Σ_i ((h_i − y_i) − their mean in the query)²/λ_i, whose dual (equation 16 of
Cortes, Mohri, Rastogi 2007) is −αᵀK̃α − Σ λ_i α_i² + 2αᵀỹ with K̃ and ỹ centred within queries. The
update of its section 2.5, α_i ← α_i + 2η[ỹ_i − (K̃α)_i − λ_i α_i], is taken with
η = 1/(2K̃_ii + 2λ_i), which maximises the dual along α_i: the dual rises by (K̃_ii + λ_i)(Δα_i)² a
step, and the passes converge to the batch solution whatever the order of the points.

Nothing is centred in memory: with M = K Q, Q averaging over queries, and s the sums of α in them,
(K̃α)_i = K_i·α − M_i·s − (M_q·α − (QᵀM)_q·s). Points come in blocks whose rows of K are computed at
once. A pass costs O(nnz) for features and O(m²) for kernels, whose rows are kept up to a limit, and
O(q) a point for q queries.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy import sparse

from rankwise.solvers.solver import (
    CONVERGED,
    INTERRUPTED,
    MAX_ITER,
    Progress,
    Solution,
    refuse_non_finite,
)
from rankwise.spaces.kernels import kernel_matrix, refuse_too_large
from rankwise.supervision.queries import Queries

BLOCK_BYTES = 64_000_000
"""Kernel rows computed at once take no more."""


class FeatureRows:
    """K = F Fᵀ through the weights u = Fᵀα: O(nnz + n) memory."""

    block = 64

    def __init__(self, F):
        self._F = F if sparse.issparse(F) else F - F.mean(axis=0)
        self.n_items = F.shape[0]

    def load(self, alpha: np.ndarray) -> None:
        """Start from given coefficients."""
        self._u = np.asarray(self._F.T @ alpha)

    def averages(self, Q) -> np.ndarray:
        means = Q.T @ self._F
        return np.asarray(self._F @ (means.toarray() if sparse.issparse(means) else means).T)

    def products(self, rows: np.ndarray, alpha) -> np.ndarray:
        return np.asarray(self._F[rows] @ self._u)

    def square(self, rows: np.ndarray) -> np.ndarray:
        F = self._F[rows]
        K = F @ F.T
        return K.toarray() if sparse.issparse(K) else K

    def update(self, rows: np.ndarray, change: np.ndarray) -> None:
        self._u += self._F[rows].T @ change


class KernelRows:
    """Rows of a kernel matrix, computed as needed; as many as fit `limit` bytes are kept."""

    def __init__(self, X, kernel, parameters: dict, limit: float):
        self._X, self._kernel, self._parameters = X, kernel, parameters
        self.n_items = X.shape[0]
        row_bytes = 8 * self.n_items
        self.block = int(np.clip(BLOCK_BYTES // row_bytes, 1, 256))
        n_kept = min(int(limit // row_bytes), self.n_items)
        self._kept = np.empty((n_kept, self.n_items))
        self._known = np.zeros(self.n_items, dtype=bool)
        self._latest = (np.zeros(0, dtype=int), self._kept)

    def rows(self, rows: np.ndarray) -> np.ndarray:
        if self._kernel == "precomputed":
            K = self._X[rows]
            return K.toarray() if sparse.issparse(K) else K
        if self._latest[0] is not rows:
            self._latest = (rows, self._gather(rows))
        return self._latest[1]

    def _gather(self, rows: np.ndarray) -> np.ndarray:
        known = self._known[rows]
        K = np.empty((len(rows), self.n_items))
        K[known] = self._kept[rows[known]]
        if not known.all():
            fresh = rows[~known]
            K[~known] = kernel_matrix(self._X[fresh], self._X, self._kernel, **self._parameters)
            kept = fresh[fresh < len(self._kept)]
            self._kept[kept] = K[~known][fresh < len(self._kept)]
            self._known[kept] = True
        return K

    def load(self, alpha: np.ndarray) -> None:
        """Nothing: products read alpha itself."""

    def averages(self, Q) -> np.ndarray:
        blocks = blocks_of(np.arange(self.n_items), self.block)
        return np.vstack([np.asarray(self.rows(rows) @ Q) for rows in blocks])

    def products(self, rows: np.ndarray, alpha) -> np.ndarray:
        return self.rows(rows) @ alpha

    def square(self, rows: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(self.rows(rows)[:, rows])

    def update(self, rows: np.ndarray, change: np.ndarray) -> None:
        """Nothing: products read alpha itself."""


class OnlineSolver:
    """All outputs at once, for items of weight v: λ_i = N/(2C V_q v_i), N = Σ_q V_q², V_q = Σ v."""

    @np.errstate(over="ignore", invalid="ignore")
    def __init__(self, source, Y: np.ndarray, queries: Queries, weight: np.ndarray, C: float):
        m, q, codes = source.n_items, len(queries), queries.codes
        refuse_too_large(m, q, "the kernel's averages over queries", 'use solver="closed"')
        self._source, self._codes = source, codes
        total = np.bincount(codes, weight, minlength=q)
        with np.errstate(divide="ignore"):
            self._ridge = np.sum(total**2) / (2 * C * total[codes] * weight)
        self._member = sparse.csr_array((np.ones(m), (np.arange(m), codes)), shape=(m, q))
        share = weight / np.where(total > 0, total, 1.0)[codes]
        self._Q = sparse.csr_array((share, (np.arange(m), codes)), shape=(m, q))
        self._M = np.ascontiguousarray(source.averages(self._Q))
        self._G = np.asarray(self._Q.T @ self._M)
        self._Y = self._centred(Y)
        self._rng = np.random.default_rng(0)

    @np.errstate(over="ignore", invalid="ignore")
    def solve(self, *, start=None, tol=1e-4, max_iter=1000) -> Solution:
        """Passes until one changes the objective by at most `tol` of it (section 4.6).

        The solution's w is (m, k), coefficients that sum to zero in every query; the gap is what
        the dual leaves open.
        """
        alpha = np.zeros_like(self._Y) if start is None else start.copy()
        self._source.load(alpha)
        progress = Progress("online", tol)
        status, n_iter, dual = MAX_ITER, 0, self._objectives(alpha)[1] if alpha.any() else 0.0
        try:
            while status != CONVERGED and n_iter < max_iter:
                gain = self._pass(alpha)
                n_iter += 1
                dual += gain
                refuse_non_finite(dual)
                progress.record(dual, np.nan, gain)
                if gain <= tol * abs(dual):
                    status = CONVERGED
        except KeyboardInterrupt:
            status = INTERRUPTED
            self._source.load(alpha)
        primal, dual = self._objectives(alpha)
        refuse_non_finite(primal, dual)
        centred, gap = alpha - self._Q @ self._sums(alpha), max(primal - dual, 0.0)
        return Solution(centred, status, primal, gap, n_iter, progress.history())

    def _pass(self, alpha) -> float:
        """Lines 3 and 4: every point once, in a new order (a fixed one can be far slower);
        returns the rise of the dual."""
        gain, s, t = 0.0, self._sums(alpha), self._M.T @ alpha
        for rows in blocks_of(self._rng.permutation(len(alpha)), self._source.block):
            products = np.ascontiguousarray(self._source.products(rows, alpha))
            changed = alpha[rows]
            points = (changed, self._Y[rows], self._codes[rows], self._ridge[rows])
            averages = (self._M[rows], self._G, s, t)
            gain += _sweep(self._source.square(rows), products, *points, *averages)
            self._source.update(rows, changed - alpha[rows])
            alpha[rows] = changed
        return gain

    def _sums(self, alpha) -> np.ndarray:
        return np.asarray(self._member.T @ alpha)

    def _centred(self, values) -> np.ndarray:
        return values - (self._Q.T @ values)[self._codes]

    def _objectives(self, alpha) -> tuple[float, float]:
        """Primal and dual at α, a pass each time."""
        blocks = blocks_of(np.arange(len(alpha)), self._source.block)
        products = [self._source.products(rows, alpha) for rows in blocks]
        smoothed = self._centred(np.vstack(products) - self._M @ self._sums(alpha))
        ridge = self._ridge[:, None]
        primal = np.sum(alpha * smoothed) + np.sum((smoothed - self._Y) ** 2 / ridge)
        penalty = np.where(alpha != 0, ridge, 0.0) * alpha
        return float(primal), float(np.sum(alpha * (2 * self._Y - smoothed - penalty)))


def blocks_of(order: np.ndarray, size: int) -> list[np.ndarray]:
    return [order[start : start + size] for start in range(0, len(order), size)]


@njit(cache=True, nogil=True)
def _sweep(K, f, alpha, Y, codes, ridge, M, G, s, t):
    """One step for each point of a block, in place; f is K_i·α, kept true within the block."""
    b, k = f.shape
    q = len(s)
    gain = 0.0
    for i in range(b):
        if ridge[i] == np.inf:
            continue
        own = codes[i]
        curvature = K[i, i] - 2.0 * M[i, own] + G[own, own] + ridge[i]
        for c in range(k):
            centred = f[i, c] - t[own, c]
            for other in range(q):
                centred -= s[other, c] * (M[i, other] - G[own, other])
            step = (Y[i, c] - centred - ridge[i] * alpha[i, c]) / curvature
            alpha[i, c] += step
            s[own, c] += step
            gain += curvature * step * step
            for other in range(q):
                t[other, c] += step * M[i, other]
            for j in range(i + 1, b):
                f[j, c] += step * K[j, i]
    return gain
