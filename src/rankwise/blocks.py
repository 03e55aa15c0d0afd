"""Compiled leave-block-out for many small blocks and many alphas at once.

For each block U and every λ: f_U⁻ = P_U (x − D B_Uᵀ z) with (I − H_UU) z = e_U, H = B D Bᵀ. Per
λ that is O(u² r). With Θ = Λ/(Λ + λ) as an r × a table, of numerical rank ρ that is small however
many λ there are (it is a Cauchy matrix), all H_UU(λ) together cost O(u² r ρ + u² ρ a), and the
triangular systems run over λ in the innermost, vectorised loop.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.linalg import lapack

from rankwise.solvers.spectral import PrimalSpectrum
from rankwise.threads import over_ranges

LARGEST_BLOCK = 128


def leave_blocks_out(spectrum: PrimalSpectrum, blocks: list[np.ndarray], alphas, smallest: float):
    """(a, m, k) predictions of every item without its block, and which blocks are safe.

    Each block's rows of P, B and β carry the numbers of its items. A block with a pivot of
    I − H_UU below `smallest` has lost its digits and is to be done another way.
    """
    a, k = len(alphas), spectrum.moments.shape[1]
    eigenvalues = spectrum.eigenvalues
    used = eigenvalues > eigenvalues.max(initial=0.0) * len(eigenvalues) * np.finfo(float).eps
    if not used.any():
        return np.zeros((a, len(spectrum.P), k)), np.ones(len(blocks), dtype=bool)
    root = np.sqrt(eigenvalues[used])
    B, P = spectrum.B[:, used] / root, spectrum.P[:, used] / root
    theta = eigenvalues[used][:, None] / (eigenvalues[used][:, None] + np.asarray(alphas))
    left, size, right = np.linalg.svd(theta, full_matrices=False)
    rank = np.count_nonzero(size > 1e-14 * size[0])
    left, theta = np.ascontiguousarray(left[:, :rank]), _padded(theta)
    right = _padded(size[:rank, None] * right[:rank])
    solution = theta[:, None, :] * (spectrum.moments[used] / root[:, None])[:, :, None]
    solution = solution.reshape(len(root), -1)
    residuals = spectrum.beta[:, :, None] - (B @ solution).reshape(len(B), k, -1)
    out = (P @ solution).reshape(len(P), k, -1)
    starts = np.concatenate(([0], np.cumsum([len(block) for block in blocks])))
    rows = np.concatenate(blocks)
    safe = np.ones(len(blocks), dtype=np.bool_)
    arrays = (P, B, theta, left, right, residuals, rows, starts)

    def task(low, high):
        _leave_blocks_out(*arrays, low, high, smallest, out, safe)

    over_ranges(task, len(blocks), work=1e3 * out.size)
    return out[:, :, :a].transpose(2, 0, 1), safe


def smallest_pivot(operator: np.ndarray) -> float:
    """The smallest pivot of a symmetric matrix's Cholesky factorisation, 0 if it has none."""
    if not len(operator):
        return np.inf
    factor, failed = lapack.dpotrf(operator, lower=1)
    return 0.0 if failed else float(np.diagonal(factor).min()) ** 2


def _padded(table: np.ndarray) -> np.ndarray:
    """Columns filled up to whole vector registers."""
    wide = np.zeros((len(table), -(-table.shape[1] // 16) * 16))
    wide[:, : table.shape[1]] = table
    return wide


@njit(cache=True, nogil=True)
def _leave_blocks_out(
    P, B, theta, left, right, residuals, rows, starts, low, high, smallest, out, safe
):
    a = theta.shape[1]
    for block in range(low, high):
        items = rows[starts[block] : starts[block + 1]]
        u = len(items)
        B_U, P_U = B[items], P[items]
        T = _residual_operators(B_U, left, right)
        safe[block] = _cholesky(T, u, a, smallest)
        for output in range(out.shape[1]):
            z = residuals[items, output, :].copy()
            _solve(T, z, u, a)
            change = np.dot(P_U, theta * np.dot(B_U.T, z))
            for i in range(u):
                out[items[i], output] -= change[i]


@njit(cache=True, nogil=True)
def _residual_operators(B_U, left, right):
    """(I − H_UU)(λ) for every λ, the lower triangle packed row by row: (u(u + 1)/2, a)."""
    u, r = B_U.shape
    rank = left.shape[1]
    packed = np.empty((u * (u + 1) // 2, right.shape[1]))
    at_once = max(1, 200_000 // (r * rank))
    products = np.empty((at_once, r))
    filled, place = 0, 0
    for i in range(u):
        for j in range(i + 1):
            products[filled] = B_U[i] * B_U[j]
            filled += 1
            if filled == at_once or (i == u - 1 and j == i):
                H = np.dot(np.dot(products[:filled], left), right)
                packed[place : place + filled] = -H
                place += filled
                filled = 0
    for i in range(u):
        packed[i * (i + 1) // 2 + i] += 1.0
    return packed


@njit(cache=True, nogil=True)
def _cholesky(T, u, a, smallest):
    """T = C Cᵀ in place (packed lower triangle), one factorisation a λ in the last axis.

    False if a pivot falls below `smallest`; the factor is of no use then.
    """
    safe = True
    for i in range(u):
        row = i * (i + 1) // 2
        for j in range(i + 1):
            other = j * (j + 1) // 2
            entry = T[row + j]
            for s in range(j):
                first, second = T[row + s], T[other + s]
                for c in range(a):
                    entry[c] -= first[c] * second[c]
            if i == j:
                for c in range(a):
                    safe = safe and entry[c] >= smallest
                    entry[c] = 1.0 / np.sqrt(max(entry[c], smallest))
            else:
                inverse = T[other + j]
                for c in range(a):
                    entry[c] *= inverse[c]
    return safe


@njit(cache=True, nogil=True)
def _solve(T, z, u, a):
    """z ← (C Cᵀ)⁻¹ z; the diagonal of C is kept as its inverse."""
    for i in range(u):
        row = i * (i + 1) // 2
        for s in range(i):
            for c in range(a):
                z[i, c] -= T[row + s, c] * z[s, c]
        for c in range(a):
            z[i, c] *= T[row + i, c]
    for i in range(u - 1, -1, -1):
        for s in range(i + 1, u):
            row = s * (s + 1) // 2
            for c in range(a):
                z[i, c] -= T[row + i, c] * z[s, c]
        for c in range(a):
            z[i, c] *= T[i * (i + 1) // 2 + i, c]
