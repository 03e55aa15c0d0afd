"""Polynomial kernels of items that are far from zero beside their distances, for losses over pairs.

If the items are far from zero, or coef0 is large, all values of (γ⟨x, y⟩ + c₀)^d are nearly equal,
and their differences have lost most digits. A loss over pairs sees nothing else. With φ the feature
map of the kernel and x₀ one of the items, it does not change if φ(x₀) is subtracted from all items,
and neither does ‖w‖², because w is a sum of differences of items. So

    K̃(x, y) = ⟨φ(x) − φ(x₀), φ(y) − φ(x₀)⟩ = k(x, y) − k(x, x₀) − k(x₀, y) + k(x₀, x₀)

takes the place of k. It is not computed as this difference. With T, A, B and c for the values
γ⟨·, ·⟩ + c₀ of (x, y), (x, x₀), (x₀, y) and (x₀, x₀), and T = c + p + q + t, where
p = γ⟨x₀, x − x₀⟩, q = γ⟨x₀, y − x₀⟩ and t = γ⟨x − x₀, y − x₀⟩, the sums

    D_A = T^j − A^j ,  D_B = T^j − B^j ,  K̃ = T^j − A^j − B^j + c^j

follow from j to j + 1 without a difference of large numbers:

    K̃ ← c K̃ + p D_A + q D_B + t T^j ,  D_A ← T D_A + (q + t) A^j ,  D_B ← T D_B + (p + t) B^j .
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from rankwise.numerics.arrays import Matrix, dense, row_squares

FAR = 100.0
"""Values are nearly equal if γ‖x₀‖² + c₀ exceeds all γ‖x − x₀‖² by this factor."""
EPS = float(np.finfo(float).eps)
STRIP = 256
"""Rows that are computed at once, so that the terms need little memory."""


class _Parts(NamedTuple):
    """x − x₀ of some items: dense columns U, and other columns as they are, x₀'s being `near`."""

    U: np.ndarray
    rest: Matrix | None
    of_rest: np.ndarray | float
    p: np.ndarray


class PolynomialFromAnchor:
    """The polynomial kernel of degree 1, 2, … as a loss over pairs sees it from the item x₀."""

    def __init__(self, anchor: Matrix, far: np.ndarray, gamma: float, degree: int, coef0: float):
        """`far` marks the columns whose differences from x₀ are formed; the others stay sparse."""
        self._anchor = dense(anchor)[0].astype(np.float64)
        self._far, self._gamma, self._degree = far, gamma, degree
        self._c = gamma * float(self._anchor @ self._anchor) + coef0
        self._spread = 0.0

    @classmethod
    def of(
        cls, X: Matrix, gamma: float, degree: float, coef0: float
    ) -> PolynomialFromAnchor | None:
        """The kernel seen from the first item, or None if the items are not far from zero.

        O(m n). The sum of the smaller terms of k must keep its sign, so coef0 is not negative.
        """
        m, n = X.shape
        if m < 2 or coef0 < 0 or degree != int(degree):
            return None
        if isinstance(X, np.ndarray):
            far = np.ones(n, dtype=bool)
        else:
            far = _far_columns(X)
        found = cls(X[:1], far, gamma, int(degree), coef0)
        found._spread = gamma * float(found._squared_distances(X).max())
        return found if 0 < FAR * found._spread < found._c else None

    def matrix(self, X: Matrix, Y: Matrix) -> np.ndarray:
        """(n, r) K̃ between the rows of X and of Y, O(n r (columns + degree))."""
        of_Y = self._parts(Y)
        K = np.empty((X.shape[0], Y.shape[0]))
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, len(K), STRIP):
                rows = slice(start, start + STRIP)
                K[rows] = self._strip(self._parts(X[rows]), of_Y)
        return K

    def hides_terms(self, K: np.ndarray) -> bool:
        """Whether the terms of highest degree, (γ⟨x − x₀, y − x₀⟩)^d, are lost in the rounding of
        K̃, which is dominated by the terms of degree 1: a small alpha would have made use of them.
        """
        rounding = len(K) * EPS * float(np.diagonal(K).max(initial=0.0))
        return self._spread**self._degree < rounding

    def offsets(self, X: Matrix) -> np.ndarray:
        """(n,) k(x, x₀) − k(x₀, x₀), which a model Σ a_i k(x, x_i) with Σ a_i = 0 adds up."""
        p, c = self._parts(X).p, self._c
        A, power, total = c + p, np.ones_like(p), np.zeros_like(p)
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(self._degree):
                total, power = c * total + p * power, power * A
        return total

    def values(self, X: Matrix) -> np.ndarray:
        """(n,) k(x, x₀)."""
        with np.errstate(over="ignore"):
            return (self._c + self._parts(X).p) ** self._degree

    def _strip(self, of_X: _Parts, of_Y: _Parts) -> np.ndarray:
        p, q, c = of_X.p[:, None], of_Y.p[None, :], self._c
        t = self._gamma * self._inner_products(of_X, of_Y)
        A, B, T = c + p, c + q, c + (p + q) + t
        by_A, by_B = q + t, p + t
        K, D_A, D_B = t.copy(), by_A, by_B
        A_power, B_power, T_power = A, B, T
        for _ in range(self._degree - 1):
            K = c * K + (p * D_A + q * D_B) + t * T_power
            D_A, D_B = T * D_A + by_A * A_power, T * D_B + by_B * B_power
            A_power, B_power, T_power = A_power * A, B_power * B, T_power * T
        return K

    def _parts(self, X: Matrix) -> _Parts:
        a = self._anchor
        if self._far.all():
            U = dense(X) - a
            return _Parts(U, None, 0.0, self._gamma * (U @ a))
        near = a[~self._far]
        U, rest = dense(X[:, self._far]) - a[self._far], X[:, ~self._far]
        of_rest = np.asarray(rest @ near) - near @ near
        return _Parts(U, rest, of_rest, self._gamma * (U @ a[self._far] + of_rest))

    def _inner_products(self, of_X: _Parts, of_Y: _Parts) -> np.ndarray:
        """⟨x − x₀, y − x₀⟩; multiplied out for columns that are not far, which costs no digits."""
        products = of_X.U @ of_Y.U.T
        if of_X.rest is None or of_Y.rest is None:
            return products
        near = self._anchor[~self._far]
        of_X_rest, of_Y_rest = np.asarray(of_X.of_rest), np.asarray(of_Y.of_rest)
        of_rest = dense(of_X.rest @ of_Y.rest.T)
        return products + (of_rest - (of_X_rest[:, None] + of_Y_rest) - near @ near)

    def _squared_distances(self, X: Matrix) -> np.ndarray:
        """(m,) ‖x − x₀‖²."""
        parts = self._parts(X)
        squares = np.einsum("ij,ij->i", parts.U, parts.U)
        if parts.rest is None:
            return squares
        rest, near = parts.rest, self._anchor[~self._far]
        of_rest = row_squares(rest)
        return squares + of_rest - 2 * np.asarray(parts.of_rest) - near @ near


def _far_columns(X: sparse.csr_array | sparse.csr_matrix) -> np.ndarray:
    """Columns of sparse items that are farther from zero than their range; they have no zero."""
    m, n = X.shape
    full = np.flatnonzero(np.bincount(X.indices, minlength=n) == m)
    columns = dense(X[:, full])
    far = np.zeros(n, dtype=bool)
    far[full] = np.maximum(columns.min(axis=0), -columns.max(axis=0)) > np.ptp(columns, axis=0)
    return far
