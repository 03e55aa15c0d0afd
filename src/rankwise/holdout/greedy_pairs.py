"""Greedy selection by leave-pair-out of one query whose pairs all count, with equal weights.

This is ridge regression with an intercept at λ/(m − 2), in which both items of a pair leave by a
2 × 2 system: with the residual operator M and the residuals e = M y,

    (ε_i − ε_j) = ((M_jj + M_ij) e_i − (M_ii + M_ij) e_j) / (M_ii M_jj − M_ij²)

is the held-out error of the pair. A candidate x changes M by −u uᵀ/d and e by −u (xᵀe)/d, where
u = M x and d = λ' + xᵀu. The error is a rational function of M_ij, so the sum over pairs has no
shorter form: O(m²) per candidate and step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from rankwise.holdout.candidate_columns import CandidateColumns
from rankwise.holdout.greedy_holdouts import CONSTANT, GreedyCriterion
from rankwise.numerics.compiled import compiled
from rankwise.numerics.threads import one_blas_thread, run

AT_ONCE = 16
"""Candidates that one task judges."""
LEVERAGE = 1e-8
"""If the pivot of a pair is smaller, as a share of 1 − leverage, its system has lost its digits."""


class PairCriterion(GreedyCriterion):
    """Leave-pair-out with all pairs of m ≥ 4 items, O(m²) per candidate and step.

    Parameters
    ----------
    y : (m,) the scores; alpha : λ divided by the weight of all pairs of an item that stays
    weight : the weight of a pair in the criterion
    by_refitting : (feature) -> the error with a candidate that leaves a pair with all the leverage,
        so that the 2 × 2 systems would lose their digits
    """

    def __init__(
        self,
        columns: CandidateColumns,
        y: np.ndarray,
        alpha: float,
        weight: float,
        by_refitting: Callable[[int], float],
    ):
        self.columns, self._weight, self._by_refitting = columns, weight, by_refitting
        m = columns.m
        self._M = np.eye(m) - 1.0 / m
        self._e = self._M @ y
        self.error_of_zero = float(weight * m * (self._e @ self._e))
        with np.errstate(over="ignore", under="ignore"):
            self._penalty = np.ldexp(np.sqrt(alpha), -columns.exponent) ** 2

    def judge(self) -> np.ndarray:
        n = self.columns.n
        errors, lost = np.empty(n), np.zeros(n, dtype=bool)
        bounds = [(low, min(low + AT_ONCE, n)) for low in range(0, n, AT_ONCE)]
        with one_blas_thread():
            run([partial(self._judge_tile, low, high, errors, lost) for low, high in bounds])
        errors *= self._weight
        for feature in np.flatnonzero(lost):
            errors[feature] = self._by_refitting(int(feature))
        return errors

    def _residual_columns(self, X: np.ndarray) -> np.ndarray:
        """(width, m): u = M x of each column; zero if a column is constant."""
        X = X - X.mean(axis=0)
        X[:, np.abs(X).max(axis=0) <= CONSTANT] = 0.0
        return np.ascontiguousarray((self._M @ X).T)

    def _judge_tile(self, low: int, high: int, errors: np.ndarray, lost: np.ndarray) -> None:
        X = self.columns.rows(low, high)
        U = self._residual_columns(X)
        d = self._penalty[low:high] + np.einsum("wm,mw->w", U, X)
        pull = X.T @ self._e
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.where(d > 0, 1.0 / np.sqrt(d), 0.0)
        U *= root[:, None]
        pair_errors(self._M, self._e, U, pull * root, errors[low:high], lost[low:high])

    def take(self, feature: int) -> None:
        x = self.columns.chosen(np.array([feature]))
        u = self._residual_columns(x)[0]
        d = self._penalty[feature] + u @ x[:, 0]
        if d > 0:
            u = u / np.sqrt(d)
            self._e = self._e - u * (x[:, 0] @ self._e / np.sqrt(d))
            self._M -= np.outer(u, u)


@compiled(fastmath=True)
def pair_errors(M, e, U, pull, errors, lost):  # type: ignore[no-untyped-def]
    """errors (w,): Σ_(i<j) (ε_i − ε_j)² with each candidate, whose û are the rows of U."""
    width, m = U.shape
    a, r = np.empty((width, m)), np.empty((width, m))
    errors[:] = 0.0
    smallest = np.ones(width)
    for b in range(width):
        for i in range(m):
            a[b, i] = M[i, i] - U[b, i] * U[b, i]
            r[b, i] = e[i] - pull[b] * U[b, i]
    for i in range(1, m):  # one row of M serves all candidates while it is in the cache
        for b in range(width):
            a_i, r_i, u_i = a[b, i], r[b, i], U[b, i]
            part, least = 0.0, 1.0
            for j in range(i):
                c = M[i, j] - u_i * U[b, j]
                pivot = a_i * a[b, j] - c * c
                apart = ((a[b, j] + c) * r_i - (a_i + c) * r[b, j]) / pivot
                part += apart * apart
                least = min(least, pivot - LEVERAGE * (a_i + a[b, j]))
            errors[b] += part
            smallest[b] = min(smallest[b], least)
    for b in range(width):
        lost[b] = smallest[b] <= 0.0
