"""Compiled 2 × 2 hold-outs: leave-pair-out in O(1) a pair."""

from __future__ import annotations

import numpy as np
from numba import njit

from rankwise.numerics.threads import over_ranges
from rankwise.spaces.basis_removal import REDUNDANT


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


def solve_bound(M, Q, f, e, held, basis, redundancy, BN, PN, NN, known) -> np.ndarray:
    """The same for hold-outs of one or two items that take basis items along, (p, u, k).

    Constraints Nᵀw = −values update D to D − D N (NᵀDN)⁻¹ NᵀD, so with the products BN = B D N,
    PN = P D N, NN = NᵀDN and known = NᵀDc + values each hold-out costs O(1).
    """
    held = np.ascontiguousarray(held, dtype=np.int64)
    out = np.empty((*held.shape, f.shape[1]))

    def task(low, high):
        arrays = (M, Q, f, e, held, basis, redundancy, BN, PN, NN, known)
        _solve_bound(*arrays, low, high, out)

    over_ranges(task, len(held), work=200.0 * out.size)
    return out


@njit(cache=True, nogil=True)
def _solve_bound(M, Q, f, e, held, basis, redundancy, BN, PN, NN, known, low, high, out):
    u, k = held.shape[1], f.shape[1]
    for p in range(low, high):
        items = held[p]
        M_U, Q_U = np.empty((u, u)), np.empty((u, u))
        f_U, e_U = np.empty((u, k)), np.empty((u, k))
        for i in range(u):
            f_U[i], e_U[i] = f[items[i]], e[items[i]]
            for j in range(u):
                M_U[i, j], Q_U[i, j] = M[items[i], items[j]], Q[items[i], items[j]]
        members = basis[items]
        members = members[members >= 0]
        h = len(members)
        shared = np.empty((h, h))
        for i in range(h):
            for j in range(h):
                shared[i, j] = redundancy[members[i], members[j]]
        weight, z = np.linalg.eigh(shared)
        z = np.ascontiguousarray(z[:, weight < REDUNDANT])
        if z.shape[1] > 0:
            B_N, P_N = np.empty((u, h)), np.empty((u, h))
            N_N, s = np.empty((h, h)), np.empty((h, k))
            for j in range(h):
                s[j] = known[members[j]]
                for i in range(u):
                    B_N[i, j] = BN[items[i], members[j]]
                    P_N[i, j] = PN[items[i], members[j]]
                for i in range(h):
                    N_N[i, j] = NN[members[i], members[j]]
            B_z, P_z, z_t = np.dot(B_N, z), np.dot(P_N, z), np.ascontiguousarray(z.T)
            inner = np.dot(np.dot(z_t, N_N), z)
            to_B = np.linalg.solve(inner, np.ascontiguousarray(B_z.T))
            to_s = np.linalg.solve(inner, np.dot(z_t, s))
            M_U += np.dot(B_z, to_B)
            Q_U -= np.dot(P_z, to_B)
            f_U -= np.dot(P_z, to_s)
            e_U += np.dot(B_z, to_s)
        out[p] = f_U - np.dot(Q_U, np.linalg.solve(M_U, e_U))


TIE = 1e-9
"""Held-out predictions closer than this share of the difference of the scores count as tied."""


def agree(predicted: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """1 where predicted and true difference have the same sign, ½ for a predicted tie, else 0."""
    right = 0.5 + 0.5 * np.sign(predicted) * np.sign(gap)
    right[np.abs(predicted) <= TIE * np.abs(gap)] = 0.5
    right[gap == 0] = 0.0
    return right


def judge_pairs(M, Q, f, e, s, smallest) -> tuple[np.ndarray, np.ndarray] | None:
    """Per item and output: pairs with different scores it is in, and how many are held out right.

    Every pair U held out, with the predictions f_U − Q_UU M_UU⁻¹ e_U of solve_pairs: any problem
    that pairs leave freely. Q is a matrix, or a number that stands for so many identities: in a
    single query with all pairs and equal weights the residuals alone tell, f being s. O(m²) time
    for each output, O(mk) memory. None if a pivot of some M_UU falls below `smallest`.
    """
    counted, right = np.zeros(s.shape), np.zeros(s.shape)
    unsafe = np.zeros(len(s), dtype=np.int64)
    scale, Q = (float(Q), None) if np.ndim(Q) == 0 else (1.0, Q)

    def task(low, high):
        _judge_rows(M, Q, scale, f, e, s, smallest, low, high, counted, right, unsafe)

    over_ranges(task, len(s), work=20.0 * len(s) * s.size)
    return None if unsafe.any() else (counted, right)


@njit(cache=True, nogil=True)
def _judge_rows(M, Q, scale, f, e, s, smallest, low, high, counted, right, unsafe):
    m, k = s.shape
    for i in range(low, high):
        a = M[i, i]
        for j in range(m):
            if i == j:
                continue
            b, d = M[i, j], M[j, j]
            determinant = a * d - b * b
            if determinant <= smallest * max(a, d):
                unsafe[i] += 1
                continue
            if Q is None:
                to_i, to_j = scale, -scale
            else:
                to_i, to_j = Q[i, i] - Q[j, i], Q[i, j] - Q[j, j]
            inverse = 1.0 / determinant
            for_i, for_j = (to_i * d - to_j * b) * inverse, (to_j * a - to_i * b) * inverse
            for c in range(k):
                gap = s[i, c] - s[j, c]
                if gap == 0.0:
                    continue
                counted[i, c] += 1.0
                predicted = f[i, c] - f[j, c] - for_i * e[i, c] - for_j * e[j, c]
                if abs(predicted) <= TIE * abs(gap):
                    right[i, c] += 0.5
                elif (predicted > 0.0) == (gap > 0.0):
                    right[i, c] += 1.0
