"""Compiled 2 × 2 hold-outs: leave-pair-out in O(1) a pair."""

from __future__ import annotations

import numpy as np
from numba import njit

from rankwise.threads import over_ranges


def solve_pairs(M, Q, f, e, pairs) -> np.ndarray:
    """f_U − Q_UU M_UU⁻¹ e_U for every pair U, (p, 2, k); M = J − H, Q = P D Bᵀ, e residuals."""
    pairs = np.ascontiguousarray(pairs, dtype=np.int64)
    out = np.empty((len(pairs), 2, f.shape[1]))

    def task(low, high):
        _solve_pairs(M, Q, f, e, pairs, low, high, out)

    over_ranges(task, len(pairs), work=20.0 * out.size)
    return out


@njit(cache=True, nogil=True)
def _solve_pairs(M, Q, f, e, pairs, low, high, out):
    for p in range(low, high):
        i, j = pairs[p, 0], pairs[p, 1]
        a, b, d = M[i, i], M[i, j], M[j, j]
        scale = 1.0 / (a * d - b * b)
        for c in range(f.shape[1]):
            x = scale * (d * e[i, c] - b * e[j, c])
            y = scale * (a * e[j, c] - b * e[i, c])
            out[p, 0, c] = f[i, c] - Q[i, i] * x - Q[i, j] * y
            out[p, 1, c] = f[j, c] - Q[j, i] * x - Q[j, j] * y


TIE = 1e-9
"""Held-out predictions closer than this share of the difference of the scores count as tied."""


def agree(predicted: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """1 where predicted and true difference have the same sign, ½ for a predicted tie, else 0."""
    right = 0.5 + 0.5 * np.sign(predicted) * np.sign(gap)
    right[np.abs(predicted) <= TIE * np.abs(gap)] = 0.5
    right[gap == 0] = 0.0
    return right


def judge_pairs(M, e, s, root) -> tuple[np.ndarray, np.ndarray]:
    """Per item and output: pairs with different scores it is in, and how many are held out right.

    A single query with all pairs and equal weights, every pair held out: the difference of the
    two predictions is s_i − s_j − (z_i − z_j)/root with z = M_UU⁻¹ e_U. O(m²) time, O(m) memory.
    """
    counted, right = np.zeros(s.shape), np.zeros(s.shape)

    def task(low, high):
        _judge_rows(M, e, s, root, low, high, counted, right)

    over_ranges(task, len(s), work=10.0 * len(s) * s.size)
    return counted, right


@njit(cache=True, nogil=True)
def _judge_rows(M, e, s, root, low, high, counted, right):
    m, k = s.shape
    for i in range(low, high):
        a = M[i, i]
        for j in range(m):
            b, d = M[i, j], M[j, j]
            scale = root * (a * d - b * b)
            for c in range(k):
                gap = s[i, c] - s[j, c]
                if gap == 0.0:
                    continue
                counted[i, c] += 1.0
                predicted = gap - ((d + b) * e[i, c] - (a + b) * e[j, c]) / scale
                if abs(predicted) <= TIE * abs(gap):
                    right[i, c] += 0.5
                elif (predicted > 0.0) == (gap > 0.0):
                    right[i, c] += 1.0
