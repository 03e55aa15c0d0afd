"""Spaces of nodes, which pairs of nodes are made of: h(u, v) = φ(u)ᵀ W φ(v).

This is the Kronecker product of two node spaces (equation 7 of Pahikkala et al. 2013), which is
never formed. A symmetric or antisymmetric W gives the kernels of equations 8 and 9 with the same
norm ‖W‖_F, which is why those kernels carry the factor ½.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from rankwise.numerics.arrays import Matrix, dense
from rankwise.spaces.kernels import Kernel


@dataclass
class Spectrum:
    """Z = Q diag(s) Vᵀ of the p nodes' features Z (Z Zᵀ = K), without zero singular values.

    `to_rows` maps coordinates along V to coefficients of whatever represents a node: features, or
    kernel values to the training nodes. If `centred`, this is the decomposition of C Z, where C is
    the centring matrix.
    """

    Q: np.ndarray
    s: np.ndarray
    to_rows: np.ndarray
    centred: bool

    @property
    def is_full(self) -> bool:
        """Whether Q spans all vectors, or all vectors of mean zero if centred."""
        return self.Q.shape[1] == self.Q.shape[0] - self.centred


@dataclass(eq=False)
class Nodes:
    """The training nodes of one domain, by their features (linear kernel, n < p) or their kernel.

    `rows` (p, d) represents the training nodes: by features, d = n, or by the kernel matrix, d = p.
    The route through features does not square the condition number, so alpha may go down to 0.
    `X` holds the features that the kernel of new nodes is computed from; None if it is not needed.
    """

    rows: np.ndarray
    X: Matrix | None
    kernel: str | Callable
    parameters: dict
    through_features: bool

    @classmethod
    def build(cls, X: Matrix, kernel: Kernel, name: str) -> Nodes:
        """The space of the nodes X; `name` is what error messages call them."""
        parameters = {"gamma": kernel.gamma, "degree": kernel.degree, "coef0": kernel.coef0}
        if kernel.is_linear and X.shape[1] < X.shape[0]:
            return cls(np.array(dense(X)), None, kernel.kernel, parameters, True)
        way_out = "take fewer nodes, or a linear kernel with n < p features"
        K = kernel.gram(X, f"the kernel of {name}", way_out)
        if kernel.is_precomputed:
            return cls(K, None, kernel.kernel, {}, False)
        return cls(K, X.copy(), kernel.kernel, parameters, False)

    def __len__(self) -> int:
        return len(self.rows)

    def represent(self, U: Matrix) -> np.ndarray:
        """(len(U), d) rows of new nodes, to be multiplied with coefficients."""
        if self.X is None:
            return dense(U)
        return Kernel(self.kernel, **self.parameters).matrix(U, self.X)

    def kernel_between(self, U: Matrix, V: Matrix) -> np.ndarray:
        """(len(U), len(V)) kernel values of new nodes with each other.

        Rows of a precomputed kernel are the values of a node to the training nodes, so V must then
        be these nodes, in their order.
        """
        if self.through_features:
            return dense(U) @ dense(V).T
        if self.X is not None:
            return Kernel(self.kernel, **self.parameters).matrix(U, V)
        U, V = dense(U), dense(V)
        if V.shape != self.rows.shape or not np.allclose(V, self.rows):
            raise ValueError(
                "a precomputed kernel says nothing about two new nodes: V must be the kernel "
                "matrix of the training nodes."
            )
        return U

    def represent_to(self, kept: np.ndarray, index: int | slice | np.ndarray) -> np.ndarray:
        """Rows of the training nodes `index`, as the model of the `kept` nodes needs them."""
        return self.rows[index] if self.through_features else self.rows[index][..., kept]

    def take(self, index: np.ndarray | None) -> Nodes:
        """The space of some of the nodes; None means all of them."""
        if index is None:
            return self
        rows = self.rows[index] if self.through_features else self.rows[np.ix_(index, index)]
        X = None if self.X is None else self.X[index]
        return Nodes(rows, X, self.kernel, self.parameters, self.through_features)

    def gram(self) -> np.ndarray:
        return self.rows @ self.rows.T if self.through_features else self.rows

    def from_dual(self, A: np.ndarray) -> np.ndarray:
        """Coefficients of `rows` from coefficients A of a kernel expansion over the nodes."""
        return self.rows.T @ A if self.through_features else A

    def spectrum(self, centred: bool = False) -> Spectrum:
        """Thin SVD of the features, O(p n²), or eigendecomposition of the kernel, O(p³)."""
        if self.through_features:
            Z = self.rows - self.rows.mean(axis=0) if centred else self.rows
            Q, s, Vt = np.linalg.svd(Z, full_matrices=False)
            kept = s > max(Z.shape) * np.finfo(float).eps * s.max(initial=0.0)
            return Spectrum(_recentred(Q[:, kept], centred), s[kept], Vt[kept].T, centred)
        K = centre_kernel(self.rows) if centred else self.rows
        eigenvalues, Q = scipy.linalg.eigh(K, check_finite=False, overwrite_a=centred)
        kept = eigenvalues > len(K) * np.finfo(float).eps * max(eigenvalues[-1], 0.0)
        if centred:
            kept[0] = False
        first = len(K) if not kept.any() else int(np.argmax(kept))
        Q, s = _recentred(Q[:, first:], centred), np.sqrt(eigenvalues[first:])
        return Spectrum(Q, s, Q / s, centred)


def _recentred(Q: np.ndarray, centred: bool) -> np.ndarray:
    """Q with columns of mean zero: tiny singular values let the constant vector leak into them."""
    if centred and Q.size:
        Q -= Q.mean(axis=0)
    return Q


def centre_kernel(K: np.ndarray) -> np.ndarray:
    """C K C with C = I − 11ᵀ/p, O(p²)."""
    means = K.mean(axis=0)
    centred = K - means
    centred -= (means - means.mean())[:, None]
    return centred
