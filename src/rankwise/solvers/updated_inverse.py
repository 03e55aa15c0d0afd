"""Normal equations that grow and shrink: rows and features come and go, O(r²) each.

The inverse D of G + λI is updated where a fit would factorise it, O(r³). Updates lose digits, so
they are never trusted blindly: every solution is refined against the sums G themselves, and if
refinement does not converge at once, D is given up and the equations are factorised. The sums are
kept with twice the digits of a float, so that what was added and removed again leaves nothing
behind.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from rankwise.numerics.compiled import compiled
from rankwise.numerics.threads import one_blas_thread
from rankwise.solvers.cholesky import NormalEquations

REFINED = 1e-13
"""A solution is accurate if the next correction would be smaller than this share of it."""
MOST_STEPS = 3
"""If so many corrections do not suffice, the inverse has lost too many digits."""
UPDATED_FROM = 500
"""With fewer features a factorisation is cheaper than the update of an inverse."""
SAFE = 1e-6
"""Rows leave by an update if 1 − leverage of them is larger than this."""


class ExactSum:
    """An array as the unevaluated sum of two, `high` + `low`: additions lose nothing to rounding.

    (Møller 1965, Knuth: the rounding error of a sum of two floats is a float.)
    """

    def __init__(self, high: np.ndarray, low: np.ndarray | None = None):
        self.high = high
        self.low = np.zeros_like(high) if low is None else low

    def plus(self, more: np.ndarray) -> ExactSum:
        high, low = np.empty_like(self.high), np.empty_like(self.low)
        exact_sum(self.high, self.low, np.ascontiguousarray(more), high, low)
        return ExactSum(high, low)

    def times(self, x: np.ndarray) -> np.ndarray:
        return self.high @ x + self.low @ x


class UpdatedInverse:
    """(G + λI) w = c for sums G (r, r) and c (r, k), to which rows are added and removed.

    Methods return a new object, and none changes this one.
    """

    def __init__(
        self, gram: ExactSum, moments: ExactSum, alpha: float, inverse: np.ndarray | None = None
    ):
        self.gram, self.moments, self.alpha = gram, moments, alpha
        self._inverse = inverse

    @classmethod
    def of_sums(cls, G: np.ndarray, c: np.ndarray, alpha: float) -> UpdatedInverse:
        return cls(ExactSum(G), ExactSum(c), alpha)

    @property
    def size(self) -> int:
        return len(self.gram.high)

    @property
    def inverse(self) -> np.ndarray | None:
        """D, computed when an update first needs it; None if G + λI is singular to rounding."""
        if self._inverse is None:
            A = self.gram.high.copy()
            A.flat[:: len(A) + 1] += self.alpha
            try:
                D = cho_solve(cho_factor(A, lower=True), np.eye(len(A)))
            except np.linalg.LinAlgError:
                return None
            self._inverse = (D + D.T) / 2
        return self._inverse

    def at(self, alpha: float) -> UpdatedInverse:
        """The same equations with another λ."""
        return self if alpha == self.alpha else UpdatedInverse(self.gram, self.moments, alpha)

    def with_rows(self, Z: np.ndarray | None, G: np.ndarray, c: np.ndarray) -> UpdatedInverse:
        """Rows Z (u, r) added, whose sums are G = ZᵀZ and c; O(u r²). Z is None if it is large."""
        return self._changed(Z, G, c, 1.0)

    def without_rows(self, Z: np.ndarray | None, G: np.ndarray, c: np.ndarray) -> UpdatedInverse:
        """The same rows removed; LinAlgError if they cannot have been among those added."""
        found = self._changed(Z, -G, -c, -1.0)
        least = float(found.gram.high.diagonal().min(initial=0.0))
        if found._inverse is None:
            least = float(np.linalg.eigvalsh(found.gram.high).min(initial=0.0))
        if least < -1e-9 * float(np.abs(self.gram.high).max(initial=0.0)):
            raise np.linalg.LinAlgError("a sum of squares became negative")
        return found

    def _is_updated(self, Z: np.ndarray | None) -> bool:
        """Whether these rows are few enough beside r, and r large enough, for an update."""
        return Z is not None and 2 * len(Z) <= self.size >= UPDATED_FROM

    def _changed(
        self, Z: np.ndarray | None, G: np.ndarray, c: np.ndarray, sign: float
    ) -> UpdatedInverse:
        inverse = None
        if self._is_updated(Z) and self.inverse is not None:
            assert Z is not None
            DZ = self.inverse @ Z.T
            S = np.eye(len(Z)) + sign * (Z @ DZ)
            if sign > 0 or float(np.linalg.eigvalsh(S).min(initial=1.0)) > SAFE:
                root = np.linalg.cholesky(S)
                # NumPy's solve, because the threads of SciPy's BLAS would compete with NumPy's.
                half = np.linalg.solve(root, DZ.T)
                inverse = half.T @ half
                inverse *= -sign
                inverse += self.inverse
        return UpdatedInverse(self.gram.plus(G), self.moments.plus(c), self.alpha, inverse)

    def with_feature(self, g: np.ndarray, corner: float, moment: np.ndarray) -> UpdatedInverse:
        """A feature more, with products g (r,) with the others and `corner` with itself; O(r²)."""
        G = np.block([[self.gram.high, g[:, None]], [g[None, :], np.array([[corner]])]])
        low = np.pad(self.gram.low, (0, 1))
        c = np.vstack([self.moments.high, moment[None, :]])
        moments = ExactSum(c, np.pad(self.moments.low, ((0, 1), (0, 0))))
        inverse, D = None, self.inverse if self.size >= UPDATED_FROM else None
        if D is not None:
            direction = np.append(D @ g, -1.0)
            room = corner + self.alpha - float(g @ direction[:-1])
            if room > SAFE * (corner + self.alpha):
                inverse = np.pad(D, (0, 1)) + np.outer(direction, direction) / room
        return UpdatedInverse(ExactSum(G, low), moments, self.alpha, inverse)

    def reflected(self, v: np.ndarray) -> UpdatedInverse:
        """The same in coordinates that are reflected by H = I − 2 v vᵀ/(vᵀv); O(r²)."""
        inverse = None if self._inverse is None else reflect(reflect(self._inverse, v).T, v)
        gram = ExactSum(*(reflect(reflect(part, v).T, v) for part in vars(self.gram).values()))
        moments = ExactSum(*(reflect(part, v) for part in vars(self.moments).values()))
        return UpdatedInverse(gram, moments, self.alpha, inverse)

    def without_last_feature(self) -> UpdatedInverse:
        """O(r²)."""
        gram = ExactSum(*(part[:-1, :-1].copy() for part in vars(self.gram).values()))
        moments = ExactSum(*(part[:-1].copy() for part in vars(self.moments).values()))
        inverse = None
        if self._inverse is not None:
            d = self._inverse[:-1, -1]
            inverse = self._inverse[:-1, :-1] - np.outer(d, d) / self._inverse[-1, -1]
        return UpdatedInverse(gram, moments, self.alpha, inverse)

    def solve(self) -> np.ndarray:
        """(r, k) w, O(r² k) by the updated inverse if refinement shows that it is accurate.

        Otherwise, and if nothing was updated yet, by one factorisation, O(r³/3).
        """
        with one_blas_thread():  # a second thread would not read the matrices faster
            w = None if self._inverse is None else self._refined(self._inverse)
        if w is None:
            self._inverse = None
            return NormalEquations(self.gram.high, self.moments.high).path([self.alpha])[0]
        return w

    def _refined(self, D: np.ndarray) -> np.ndarray | None:
        w = D @ self.moments.high
        for _ in range(MOST_STEPS):
            left = self.moments.high - self.gram.times(w) - self.alpha * w + self.moments.low
            change = D @ left
            w = w + change
            if np.linalg.norm(change) <= REFINED * np.linalg.norm(w):
                return w
        return None


@compiled
def exact_sum(high, low, more, new_high, new_low):  # type: ignore[no-untyped-def]
    """One pass: the error of each addition goes to the lower part."""
    for i in range(high.shape[0]):
        for j in range(high.shape[1]):
            a, b = high[i, j], more[i, j]
            total = a + b
            back = total - a
            rest = low[i, j] + ((a - (total - back)) + (b - back))
            new_high[i, j] = total + rest
            new_low[i, j] = rest - (new_high[i, j] - total)


def reflect(A: np.ndarray, v: np.ndarray) -> np.ndarray:
    """H A with H = I − 2 v vᵀ/(vᵀv)."""
    return A - np.outer(v, (2.0 / float(v @ v)) * (v @ A))
