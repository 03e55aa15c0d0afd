"""Pairs of nodes: h(u, v) = φ(u)ᵀ W φ(v), the Kronecker product of two node spaces, never formed.

Equation 7 of Pahikkala et al. 2013. W symmetric or antisymmetric gives the kernels of equations 8
and 9 with the same norm ‖W‖_F, which is why they carry the factor ½.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import scipy.linalg
from numba import njit
from scipy import sparse

from rankwise.numerics import threads
from rankwise.numerics.memory import refuse_too_large
from rankwise.spaces.kernels import check_gram, kernel_matrix, may_be_indefinite

SPARSE_COST = 10.0
"""Time of one multiply-add along an edge over that of one in a dense product (measured)."""

TASKS = 16


@dataclass
class Spectrum:
    """Z = Q diag(s) Vᵀ of the p nodes' features Z (Z Zᵀ = K), zero singular values left out.

    `to_rows` maps coordinates along V to coefficients of whatever represents a node: features or
    kernel values to the training nodes. With `centred` Z stands for C Z, C the centring matrix.
    """

    Q: np.ndarray
    s: np.ndarray
    to_rows: np.ndarray
    centred: bool

    @property
    def is_full(self) -> bool:
        """Q spans all vectors, or all of mean zero where centred."""
        return self.Q.shape[1] == self.Q.shape[0] - self.centred


class Nodes:
    """One domain's training nodes, through their features (linear kernel, n < p) or their kernel.

    `rows` (p, d) represents the training nodes: features, d = n, or the kernel matrix, d = p. The
    route through features squares no condition number, so that alpha may go down to 0.
    """

    def __init__(self, rows: np.ndarray, X, kernel, parameters: dict, through_features: bool):
        self.rows = rows
        self.X = X
        self.kernel = kernel
        self.parameters = parameters
        self.through_features = through_features

    @classmethod
    def build(cls, X, kernel, parameters: dict, name: str) -> Nodes:
        p = X.shape[0]
        if kernel == "precomputed":
            return cls(check_gram(_dense(X), f"the kernel of {name}"), None, kernel, {}, False)
        if kernel == "linear" and X.shape[1] < p:
            return cls(_dense(X), None, kernel, parameters, True)
        refuse_too_large(
            p,
            p,
            f"the kernel of {name}",
            "take fewer nodes, or a linear kernel with n < p features",
        )
        K = kernel_matrix(X, X, kernel, **parameters)
        if may_be_indefinite(kernel):
            check_gram(K, f"the kernel of {name}")
        return cls(K, X, kernel, parameters, False)

    def __len__(self) -> int:
        return len(self.rows)

    def represent(self, U) -> np.ndarray:
        """(len(U), d) rows of new nodes, to be multiplied with coefficients."""
        if self.through_features or self.kernel == "precomputed":
            return _dense(U)
        return kernel_matrix(U, self.X, self.kernel, **self.parameters)

    def take(self, index: np.ndarray) -> Nodes:
        """The space of some of the nodes."""
        if self.through_features:
            return Nodes(self.rows[index], None, self.kernel, self.parameters, True)
        X = None if self.X is None else self.X[index]
        K = self.rows[np.ix_(index, index)]
        return Nodes(K, X, self.kernel, self.parameters, False)

    def gram(self) -> np.ndarray:
        return self.rows @ self.rows.T if self.through_features else self.rows

    def from_dual(self, A: np.ndarray) -> np.ndarray:
        """Coefficients of the representation from those of a kernel expansion over the nodes."""
        return self.rows.T @ A if self.through_features else A

    def spectrum(self, centred: bool = False) -> Spectrum:
        """Thin SVD of the features, O(p n²), or eigendecomposition of the kernel, O(p³)."""
        if self.through_features:
            Z = self.rows - self.rows.mean(axis=0) if centred else self.rows
            Q, s, Vt = np.linalg.svd(Z, full_matrices=False)
            kept = s > max(Z.shape) * np.finfo(float).eps * s.max(initial=0.0)
            return Spectrum(_clean(Q[:, kept], centred), s[kept], Vt[kept].T, centred)
        K = centre_kernel(self.rows) if centred else self.rows
        eigenvalues, Q = scipy.linalg.eigh(K, check_finite=False, overwrite_a=centred)
        kept = eigenvalues > len(K) * np.finfo(float).eps * max(eigenvalues[-1], 0.0)
        if centred:
            kept[0] = False
        first = len(K) if not kept.any() else int(np.argmax(kept))
        Q, s = _clean(Q[:, first:], centred), np.sqrt(eigenvalues[first:])
        return Spectrum(Q, s, Q / s, centred)


def _clean(Q: np.ndarray, centred: bool) -> np.ndarray:
    """Vectors of tiny singular values mix with the constant, a null vector of the same problem."""
    if centred and Q.size:
        Q -= Q.mean(axis=0)
    return Q


def centre_kernel(K: np.ndarray) -> np.ndarray:
    """C K C with C = I − 11ᵀ/p, O(p²)."""
    means = K.mean(axis=0)
    centred = K - means
    centred -= (means - means.mean())[:, None]
    return centred


def _dense(X) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


class Edges:
    """q edges (row, column) between p_a and p_b nodes, in order of their rows; any may repeat.

    A vector v over the edges is also the p_a × p_b matrix V that holds it (the bookkeeping matrix
    B of section 4.4), so that (K_A ⊗ K_B) on edges is V -> `times` -> `sampled`. Each of the two
    takes O(q d) along the edges or a dense product, whichever the cost model says is cheaper.
    """

    def __init__(self, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]):
        self.order = np.argsort(rows, kind="stable")
        self.rows = np.ascontiguousarray(rows[self.order], dtype=np.int64)
        self.columns = np.ascontiguousarray(columns[self.order], dtype=np.int64)
        self.shape = shape
        self.counts = np.bincount(self.rows, minlength=shape[0])
        self.starts = np.concatenate(([0], np.cumsum(self.counts)))
        self.dense = len(rows) * SPARSE_COST > shape[0] * shape[1]
        self.flat = self.rows * shape[1] + self.columns

    def __len__(self) -> int:
        return len(self.rows)

    def mirrored(self) -> Edges:
        """The edges and, after them, their reverses; `order` tells where each one went."""
        rows, columns = self.rows, self.columns
        both = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        return Edges(*both, self.shape)

    def matrix(self, v: np.ndarray) -> np.ndarray:
        """V (p_a, p_b): parallel edges add up."""
        return np.bincount(self.flat, v, minlength=self.shape[0] * self.shape[1]).reshape(
            self.shape
        )

    def times(self, v: np.ndarray, B: np.ndarray) -> np.ndarray:
        """V B (p_a, d) for B (p_b, d)."""
        if self.dense:
            return self.matrix(v) @ B
        B = np.ascontiguousarray(B)
        out = np.empty((self.shape[0], B.shape[1]))
        cuts = self._cuts()
        threads.run(
            [
                partial(_times, self.starts, self.columns, v, B, out, lo, hi)
                for lo, hi in pairwise(cuts)
            ]
        )
        return out

    def sampled(self, P: np.ndarray, R: np.ndarray) -> np.ndarray:
        """(P Rᵀ) at the edges, for P (p_a, d) and R (p_b, d)."""
        if self.dense:
            return (P @ R.T).ravel()[self.flat]
        P, R = np.ascontiguousarray(P), np.ascontiguousarray(R)
        out = np.empty(len(self))
        cuts = np.linspace(0, len(self), TASKS + 1).astype(int)
        threads.run(
            [
                partial(_sampled, self.rows, self.columns, P, R, out, lo, hi)
                for lo, hi in pairwise(cuts)
            ]
        )
        return out

    def centre(self, v: np.ndarray) -> np.ndarray:
        """L v = v minus its mean over the edges of the same row (equation 35), O(q)."""
        means = np.bincount(self.rows, v, minlength=self.shape[0]) / np.maximum(self.counts, 1)
        return v - means[self.rows]

    def _cuts(self) -> np.ndarray:
        edges = np.linspace(0, len(self), TASKS + 1)
        cuts = np.searchsorted(self.starts, edges)
        cuts[0], cuts[-1] = 0, self.shape[0]
        return cuts


@njit(cache=True, nogil=True, fastmath=True)
def _times(starts, columns, v, B, out, lo, hi):
    d = B.shape[1]
    for i in range(lo, hi):
        total = out[i]
        total[:] = 0.0
        for e in range(starts[i], starts[i + 1]):
            weight, row = v[e], B[columns[e]]
            for j in range(d):
                total[j] += weight * row[j]


@njit(cache=True, nogil=True, fastmath=True)
def _sampled(rows, columns, P, R, out, lo, hi):
    d = P.shape[1]
    for e in range(lo, hi):
        p, r = P[rows[e]], R[columns[e]]
        total = 0.0
        for j in range(d):
            total += p[j] * r[j]
        out[e] = total
