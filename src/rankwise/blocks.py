"""Compiled leave-block-out for many small blocks and many alphas at once.

For each block U of u items and every λ, with B, P, D, β, c of rankwise.solvers.spectral, the
smaller of two symmetric systems is factorised:

    u ≤ r    (I − B_U D B_Uᵀ) z = β_U − B_U D c         f_U⁻ = P_U D (c − B_Uᵀ z)
    u > r    (I − D^½ B_UᵀB_U D^½) z = D^½ (c − B_Uᵀβ_U)     f_U⁻ = P_U D^½ z

All λ go together in the last, vectorised axis of every array; all B_U D B_Uᵀ of a block are one
matrix product, O(u² r a). Where the block's leverage is at most ½ for the smallest λ, the
eigenvalues left without it are no smaller than half of those with it, so that a few of the λ
determine the others (rankwise.interpolation); blocks with more of it are solved for each λ.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.linalg import lapack

from rankwise.interpolation import interpolate_alphas
from rankwise.solvers.spectral import PrimalSpectrum
from rankwise.threads import one_blas_thread, over_ranges, single_thread

LARGEST_BLOCK = 128
MOST_LEVERAGE = 0.5
LANES = 8
PRODUCTS = 16_000
"""Entries of B_U,i · B_U,j held at once: they stay in the cache."""


def leave_blocks_out(spectrum: PrimalSpectrum, blocks: list[np.ndarray], alphas, smallest: float):
    """(a, m, k) predictions of every item without its block, and which blocks are safe.

    Blocks are whole queries, or any items of a pointwise loss. A block with a pivot below
    `smallest` has lost its digits and is to be done another way.
    """
    alphas = np.asarray(alphas, dtype=float)
    learnt = spectrum.eigenvalues[spectrum.eigenvalues > 0]
    if not len(learnt):
        shape = (len(alphas), len(spectrum.beta), spectrum.moments.shape[1])
        return np.zeros(shape), np.ones(len(blocks), dtype=bool)
    first = alphas.min()
    low = (1.0 - MOST_LEVERAGE) * (learnt.min() + first) - first
    nodes, T = interpolate_alphas(alphas, low, learnt.max())
    each = 1.0 / (spectrum.eigenvalues[:, None] + alphas)
    out = np.zeros((len(spectrum.beta), spectrum.moments.shape[1], len(alphas)))
    if _in_lanes(len(nodes) + 1) >= _in_lanes(len(alphas)):
        safe = _solve_blocks(spectrum, blocks, each, smallest, None, out)
        return out.transpose(2, 0, 1), safe
    # the last column has a Cholesky factor exactly where no leverage exceeds MOST_LEVERAGE
    largest = each[:, [int(alphas.argmin())]] / MOST_LEVERAGE
    few = np.hstack((each[:, nodes], largest))
    safe = _solve_blocks(spectrum, blocks, few, smallest, T, out)
    stiff = np.flatnonzero(~safe)
    if len(stiff):
        chosen = [blocks[i] for i in stiff]
        safe[stiff] = _solve_blocks(spectrum, chosen, each, smallest, None, out)
    return out.transpose(2, 0, 1), safe


def smallest_pivot(operator: np.ndarray) -> float:
    """The smallest pivot of a symmetric matrix's Cholesky factorisation, 0 if it has none."""
    if not len(operator):
        return np.inf
    factor, failed = lapack.dpotrf(operator, lower=1)
    return 0.0 if failed else float(np.diagonal(factor).min()) ** 2


def _in_lanes(columns: int) -> int:
    """Columns filled up to whole vector registers."""
    return -(-columns // LANES) * LANES


def _solve_blocks(
    spectrum: PrimalSpectrum, blocks, diagonals: np.ndarray, smallest: float, T, out: np.ndarray
) -> np.ndarray:
    """Predictions for the given columns D into out (m, k, a); returns which blocks are safe.

    With T they are spread over all alphas, the last column left aside. A thread takes some blocks
    at a time and forms their rows of P and B alone, in its cache.
    """
    r, a = diagonals.shape
    D = np.zeros((r, _in_lanes(a)))
    D[:, :a] = diagonals
    moments = np.ascontiguousarray(spectrum.moments.T)
    starts = np.concatenate(([0], np.cumsum([len(block) for block in blocks])))
    items = np.concatenate(blocks)
    safe = np.ones(len(blocks), dtype=np.bool_)

    def task(low, high):
        rows = items[starts[low] : starts[high]]
        own = starts[low : high + 1] - starts[low]
        with single_thread():
            P, B = spectrum.rows(rows)
        found = np.zeros((len(rows), len(moments), D.shape[1]))
        arrays = (P, B, spectrum.beta[rows], moments, D, own)
        _leave_blocks_out(*arrays, smallest, found, safe[low:high])
        if T is None:
            out[rows] = found[:, :, :a]
        else:
            spread = found.reshape(-1, D.shape[1])[:, : a - 1] @ T.T
            out[rows] = spread.reshape(len(rows), len(moments), -1)

    with one_blas_thread():
        over_ranges(task, len(blocks), work=1e3 * out.shape[0] * len(moments) * a)
    return safe


@njit(cache=True, nogil=True)
def _leave_blocks_out(P, B, beta, moments, D, starts, smallest, out, safe):
    r, lanes = D.shape
    k = len(moments)
    root = np.sqrt(D)
    for block in range(len(safe)):
        low, high = starts[block], starts[block + 1]
        B_U, P_U, u = B[low:high], P[low:high], high - low
        B_t = np.ascontiguousarray(B_U.T)
        by_items = u <= r
        T = _by_items(B_U, D) if by_items else _by_features(np.dot(B_t, B_U), root)
        size = min(u, r)
        safe[block] = _cholesky(T, size, lanes, smallest)
        if not safe[block]:
            continue
        for output in range(k):
            beta_U = np.ascontiguousarray(beta[low:high, output])
            if by_items:
                x = moments[output].reshape(r, 1) * D
                z = beta_U.reshape(-1, 1) - np.dot(B_U, x)
                _solve(T, z, size, lanes)
                x -= D * np.dot(B_t, z)
            else:
                x = (moments[output] - np.dot(B_t, beta_U)).reshape(r, 1) * root
                _solve(T, x, size, lanes)
                x *= root
            out[low:high, output] = np.dot(P_U, x)


@njit(cache=True, nogil=True)
def _by_items(B_U, D):
    """I − B_U D B_Uᵀ for every column D, the upper triangle row by row: (u(u + 1)/2, a)."""
    u, r = B_U.shape
    packed = np.empty((u * (u + 1) // 2, D.shape[1]))
    products = np.empty((min(len(packed), max(u, PRODUCTS // r)), r))
    filled, place = 0, 0
    for i in range(u):
        for j in range(i, u):
            for s in range(r):
                products[filled, s] = -B_U[i, s] * B_U[j, s]
            filled += 1
            if filled == len(products) or i == u - 1:
                np.dot(products[:filled], D, packed[place : place + filled])
                place += filled
                filled = 0
    return _plus_identity(packed, u)


@njit(cache=True, nogil=True)
def _by_features(gram, root):
    """I − D^½ (B_UᵀB_U) D^½ for every column D^½, packed alike."""
    r, a = root.shape
    packed = np.empty((r * (r + 1) // 2, a))
    place = 0
    for s in range(r):
        for t in range(s, r):
            for c in range(a):
                packed[place, c] = -gram[s, t] * root[s, c] * root[t, c]
            place += 1
    return _plus_identity(packed, r)


@njit(cache=True, nogil=True)
def _plus_identity(packed, size):
    place = 0
    for i in range(size):
        packed[place] += 1.0
        place += size - i
    return packed


@njit(cache=True, nogil=True)
def _cholesky(T, size, a, smallest):
    """T = UᵀU in place, one factorisation a column; the diagonal of U is kept as its inverse.

    False, and T of no use, as soon as a pivot falls below `smallest`.
    """
    start = 0
    for i in range(size):
        width = size - i
        row = T[start : start + width]
        for c in range(a):
            if not row[0, c] >= smallest:
                return False
            row[0, c] = 1.0 / np.sqrt(row[0, c])
        for j in range(1, width):
            for c in range(a):
                row[j, c] *= row[0, c]
        start += width
        place = start
        for s in range(1, width):
            rest = T[place : place + width - s]
            for j in range(width - s):
                for c in range(a):
                    rest[j, c] -= row[s, c] * row[s + j, c]
            place += width - s
    return True


@njit(cache=True, nogil=True)
def _solve(T, z, size, a):
    """z ← (UᵀU)⁻¹ z."""
    start = 0
    for i in range(size):
        for c in range(a):
            z[i, c] *= T[start, c]
        for j in range(1, size - i):
            for c in range(a):
                z[i + j, c] -= T[start + j, c] * z[i, c]
        start += size - i
    for i in range(size - 1, -1, -1):
        start -= size - i
        for j in range(1, size - i):
            for c in range(a):
                z[i, c] -= T[start + j, c] * z[i + j, c]
        for c in range(a):
            z[i, c] *= T[start, c]
