"""Ridge regression with an intercept for each query, solved point by point in its dual.

The problem is ‖h‖² + Σ_i ((h_i − y_i) − their mean in the query)²/λ_i. Its dual (equation 16 of
Cortes, Mohri, Rastogi 2007) is −αᵀK̃α − Σ λ_i α_i² + 2αᵀỹ with K̃ and ỹ centred within queries. The
update of its section 2.5, α_i ← α_i + 2η[ỹ_i − (K̃α)_i − λ_i α_i], is taken with
η = 1/(2K̃_ii + 2λ_i), which maximises the dual along α_i: the dual rises by (K̃_ii + λ_i)(Δα_i)² per
step, and the passes converge to the batch solution whatever the order of the points.

Nothing is centred in memory: with M = K Q, where Q averages over queries, and s the sums of α in
them, (K̃α)_i = K_i·α − M_i·s − (M_q·α − (QᵀM)_q·s). Points come in blocks whose rows of K are
computed at once. A pass costs O(nnz) for features, O(m²) for kernels, whose rows are kept up to a
limit, and O(q) per point for q queries.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from scipy import sparse

from rankwise.numerics.arrays import Matrix, dense
from rankwise.numerics.compiled import compiled
from rankwise.numerics.memory import refuse_too_large
from rankwise.solvers.solver import (
    CONVERGED,
    INTERRUPTED,
    MAX_ITER,
    Progress,
    Solution,
    Solver,
    refuse_non_finite,
)
from rankwise.spaces.kernels import Kernel
from rankwise.supervision.supervision import ScoredItems

BLOCK_BYTES = 64_000_000
"""Kernel rows that are computed at once take no more memory than this."""


class Rows(Protocol):
    """Rows of K in blocks of `block` items, and products of K with coefficients alpha."""

    block: int
    n_items: int
    offers: frozenset[str]

    def load(self, alpha: np.ndarray) -> None: ...

    def averages(self, Q: sparse.csr_array) -> np.ndarray: ...

    def products(self, rows: np.ndarray, alpha: np.ndarray) -> np.ndarray: ...

    def square(self, rows: np.ndarray) -> np.ndarray: ...

    def update(self, rows: np.ndarray, change: np.ndarray) -> None: ...


class FeatureRows:
    """K = F Fᵀ through the weights u = Fᵀα: O(nnz + n) memory."""

    block = 64
    offers = frozenset({"rows"})

    def __init__(self, F: Matrix):
        self._F = F if sparse.issparse(F) else F - F.mean(axis=0)
        self.n_items = F.shape[0]

    def load(self, alpha: np.ndarray) -> None:
        """Start from given coefficients."""
        self._u = np.asarray(self._F.T @ alpha)

    def averages(self, Q: sparse.csr_array) -> np.ndarray:
        return np.asarray(self._F @ dense(Q.T @ self._F).T)

    def products(self, rows: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        return np.asarray(self._F[rows] @ self._u)

    def square(self, rows: np.ndarray) -> np.ndarray:
        F = self._F[rows]
        return dense(F @ F.T)

    def update(self, rows: np.ndarray, change: np.ndarray) -> None:
        self._u += self._F[rows].T @ change


class KernelRows:
    """Rows of a kernel matrix, computed as needed; as many as fit `limit` bytes are kept.

    Where kernel values are nearly equal it is the matrix of the kernel seen from the first item,
    which is the same for pairs: see rankwise.spaces.polynomial_kernel.
    """

    offers = frozenset({"rows"})

    def __init__(self, X: Matrix, kernel: Kernel, limit: float):
        self._X, self._kernel = X, kernel
        self._seen = kernel.from_anchor(X) or kernel
        self.n_items = X.shape[0]
        row_bytes = 8 * self.n_items
        self.block = int(np.clip(BLOCK_BYTES // row_bytes, 1, 256))
        n_kept = min(int(limit // row_bytes), self.n_items)
        self._kept = np.empty((n_kept, self.n_items))
        self._known = np.zeros(self.n_items, dtype=bool)
        self._latest = (np.zeros(0, dtype=int), self._kept)

    def rows(self, rows: np.ndarray) -> np.ndarray:
        if self._kernel.is_precomputed:
            return dense(self._X[rows])
        if self._latest[0] is not rows:
            self._latest = (rows, self._gather(rows))
        return self._latest[1]

    def _gather(self, rows: np.ndarray) -> np.ndarray:
        known = self._known[rows]
        K = np.empty((len(rows), self.n_items))
        K[known] = self._kept[rows[known]]
        if not known.all():
            fresh = rows[~known]
            K[~known] = self._seen.matrix(self._X[fresh], self._X)
            kept = fresh[fresh < len(self._kept)]
            self._kept[kept] = K[~known][fresh < len(self._kept)]
            self._known[kept] = True
        return K

    def load(self, alpha: np.ndarray) -> None:
        """Nothing: products read alpha itself."""

    def averages(self, Q: sparse.csr_array) -> np.ndarray:
        blocks = blocks_of(np.arange(self.n_items), self.block)
        return np.vstack([np.asarray(self.rows(rows) @ Q) for rows in blocks])

    def products(self, rows: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        return self.rows(rows) @ alpha

    def square(self, rows: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(self.rows(rows)[:, rows])

    def update(self, rows: np.ndarray, change: np.ndarray) -> None:
        """Nothing: products read alpha itself."""


class OnlineSolver(Solver):
    """Minimises the mean squared cost of ordered pairs + alpha‖w‖², all outputs at once.

    For items of weight v, λ_i = alpha N/(2 V_q v_i) with N = Σ_q V_q² and V_q = Σ v.
    """

    name = "online"
    requires = frozenset({"rows"})

    @np.errstate(over="ignore", invalid="ignore")
    def __init__(self, source: Rows, scores: ScoredItems):
        self.check(source)
        queries, weight = scores.queries, scores.weight
        m, q, codes = source.n_items, len(queries), queries.codes
        refuse_too_large(m, q, "the kernel's averages over queries", 'use solver="closed"')
        self._source, self._codes, self._weight = source, codes, weight
        self._total = np.bincount(codes, weight, minlength=q)
        self._member = sparse.csr_array((np.ones(m), (np.arange(m), codes)), shape=(m, q))
        share = weight / np.where(self._total > 0, self._total, 1.0)[codes]
        self._Q = sparse.csr_array((share, (np.arange(m), codes)), shape=(m, q))
        self._M = np.ascontiguousarray(source.averages(self._Q))
        self._G = np.asarray(self._Q.T @ self._M)
        self._Y = self._centred(scores.Y)
        self._rng = np.random.default_rng(0)

    @np.errstate(over="ignore", invalid="ignore")
    def solve(
        self,
        alpha: float,
        *,
        start: np.ndarray | None = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
    ) -> Solution:
        """Passes until one changes the objective by at most `tol` of it (section 4.6).

        The solution's w is (m, k): coefficients that sum to zero in every query. The gap is the
        difference between the objective and the dual.
        """
        with np.errstate(divide="ignore"):
            self._ridge = (
                alpha * np.sum(self._total**2) / (2 * self._total[self._codes] * self._weight)
            )
        dual_w = np.zeros_like(self._Y) if start is None else start.copy()
        self._source.load(dual_w)
        progress = Progress("online", tol)
        status, n_iter = MAX_ITER, 0
        dual = self._objectives(dual_w)[1] if dual_w.any() else 0.0
        try:
            while status != CONVERGED and n_iter < max_iter:
                gain = self._pass(dual_w)
                n_iter += 1
                dual += gain
                refuse_non_finite(dual)
                progress.record(alpha * dual, np.nan, alpha * gain)
                if gain <= tol * abs(dual):
                    status = CONVERGED
        except KeyboardInterrupt:
            status = INTERRUPTED
            self._source.load(dual_w)
        primal, dual = self._objectives(dual_w)
        refuse_non_finite(primal, dual)
        centred, gap = dual_w - self._Q @ self._sums(dual_w), max(primal - dual, 0.0)
        history = progress.history()
        return Solution(centred, status, alpha * primal, alpha * gap, n_iter, history)

    def _pass(self, alpha: np.ndarray) -> float:
        """Lines 3 and 4: every point once. Returns the rise of the dual.

        The order is random, because a fixed order can be far slower.
        """
        gain, s, t = 0.0, self._sums(alpha), self._M.T @ alpha
        for rows in blocks_of(self._rng.permutation(len(alpha)), self._source.block):
            products = np.ascontiguousarray(self._source.products(rows, alpha))
            changed = alpha[rows]
            points = Points(changed, self._Y[rows], self._codes[rows], self._ridge[rows])
            averages = Averages(self._M[rows], self._G, s, t)
            gain += _sweep(self._source.square(rows), products, points, averages)
            self._source.update(rows, changed - alpha[rows])
            alpha[rows] = changed
        return gain

    def _sums(self, alpha: np.ndarray) -> np.ndarray:
        return np.asarray(self._member.T @ alpha)

    def _centred(self, values: np.ndarray) -> np.ndarray:
        return values - (self._Q.T @ values)[self._codes]

    def _objectives(self, alpha: np.ndarray) -> tuple[float, float]:
        """Primal and dual objective at α; each call costs one pass."""
        blocks = blocks_of(np.arange(len(alpha)), self._source.block)
        products = [self._source.products(rows, alpha) for rows in blocks]
        smoothed = self._centred(np.vstack(products) - self._M @ self._sums(alpha))
        ridge = self._ridge[:, None]
        primal = np.sum(alpha * smoothed) + np.sum((smoothed - self._Y) ** 2 / ridge)
        penalty = np.where(alpha != 0, ridge, 0.0) * alpha
        return float(primal), float(np.sum(alpha * (2 * self._Y - smoothed - penalty)))


def blocks_of(order: np.ndarray, size: int) -> list[np.ndarray]:
    return [order[start : start + size] for start in range(0, len(order), size)]


class Points(NamedTuple):
    """One block of items: α, the centred scores, the queries, and λ_i."""

    alpha: np.ndarray
    Y: np.ndarray
    codes: np.ndarray
    ridge: np.ndarray


class Averages(NamedTuple):
    """M of the block, QᵀM, the sums s of α in each query, and t = Mᵀα."""

    M: np.ndarray
    G: np.ndarray
    s: np.ndarray
    t: np.ndarray


@compiled
def _sweep(K: np.ndarray, f: np.ndarray, points: Points, averages: Averages) -> float:
    """One step for each point of a block, in place; f is K_i·α, kept up to date in the block."""
    alpha, Y, codes, ridge = points
    M, G, s, t = averages
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
