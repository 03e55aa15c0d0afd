"""Compiled leave-block-out for many small blocks and many alphas at once.

For each block U and every λ: f_U⁻ = P_U (x − D B_Uᵀ z) with (I − H_UU) z = e_U, H = B D Bᵀ. All λ
go together, in the last axis of every array. Where the block's leverage is small I − H_UU is close
to the identity, and a few steps of conjugate gradients, two products each, solve the systems
without forming them. Else all H_UU(λ) are formed: with Θ = Λ/(Λ + λ) as an r × a table, of
numerical rank ρ that is small however many λ there are (it is a Cauchy matrix), that costs
O(u² r ρ + u² ρ a), and the triangular systems run over λ in the innermost, vectorised loop.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.linalg import lapack

from rankwise.solvers.spectral import PrimalSpectrum
from rankwise.threads import one_blas_thread, over_ranges

LARGEST_BLOCK = 128
SMALL_LEVERAGE = 1.0
MOST_STEPS = 8


def leave_blocks_out(spectrum: PrimalSpectrum, blocks: list[np.ndarray], alphas, smallest: float):
    """(a, m, k) predictions of every item without its block, and which blocks are safe.

    Each block's rows of P, B and β carry the numbers of its items. A block with a pivot of
    I − H_UU below `smallest` has lost its digits and is to be done another way.
    """
    a, k = len(alphas), spectrum.moments.shape[1]
    eigenvalues, B, P = spectrum.eigenvalues, spectrum.B, spectrum.P
    D = _padded(1.0 / (eigenvalues[:, None] + np.asarray(alphas)))
    root = np.sqrt(np.where(eigenvalues > 0, eigenvalues, 1.0))
    left, size, right = np.linalg.svd(root[:, None] ** 2 * D[:, :a], full_matrices=False)
    rank = np.count_nonzero(size > 1e-14 * size[0])
    left, right = np.ascontiguousarray(left[:, :rank]), _padded(size[:rank, None] * right[:rank])
    solution = (D[:, None, :] * spectrum.moments[:, :, None]).reshape(len(D), -1)
    residuals = spectrum.beta[:, :, None] - (B @ solution).reshape(len(B), k, -1)
    out = np.zeros((len(P), k, D.shape[1]))
    starts = np.concatenate(([0], np.cumsum([len(block) for block in blocks])))
    rows = np.concatenate(blocks)
    safe = np.ones(len(blocks), dtype=np.bool_)
    solution = np.ascontiguousarray(solution.reshape(len(D), k, -1).swapaxes(0, 1))
    arrays = (P, B, D, root, left, right, solution, residuals, rows, starts)

    def task(low, high):
        _leave_blocks_out(*arrays, low, high, smallest, out, safe)

    with one_blas_thread():
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
    P, B, D, root, left, right, solution, residuals, rows, starts, low, high, smallest, out, safe
):
    for block in range(low, high):
        items = rows[starts[block] : starts[block + 1]]
        B_U, P_U = B[items], P[items]
        B_t = np.ascontiguousarray(B_U.T)
        gentle = _trace(B_U, D) < SMALL_LEVERAGE
        factored = False
        for output in range(out.shape[1]):
            z = residuals[items, output, :].copy()
            if not (gentle and _conjugate_gradients(B_U, B_t, D, z)):
                if not factored:
                    T = _residual_operators(B_U / root, left, right)
                    safe[block] = _cholesky(T, len(items), D.shape[1], smallest)
                    factored = True
                _solve(T, z, len(items), D.shape[1])
            held_out = np.dot(P_U, solution[output] - D * np.dot(B_t, z))
            for i in range(len(items)):
                out[items[i], output] = held_out[i]


@njit(cache=True, nogil=True)
def _trace(B_U, D):
    """The block's leverage, the trace of H_UU, for the λ where it is largest."""
    largest = 0.0
    for c in (0, D.shape[1] // 2):
        total = 0.0
        for i in range(B_U.shape[0]):
            for s in range(B_U.shape[1]):
                total += B_U[i, s] ** 2 * D[s, c]
        largest = max(largest, total)
    return largest


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def _conjugate_gradients(B_U, B_t, D, z):
    """z ← (I − H_UU)⁻¹ z for every λ to 3e-9 of its norm; False, z untouched, if that is far."""
    u, a = z.shape
    x, residual, p = np.zeros((u, a)), z.copy(), z.copy()
    inner, q = np.empty(D.shape), np.empty((u, a))
    square, start = np.zeros(a), np.zeros(a)
    curvature, next_square = np.empty(a), np.empty(a)
    for i in range(u):
        for c in range(a):
            start[c] += z[i, c] * z[i, c]
    square[:] = start
    for _ in range(MOST_STEPS):
        np.dot(B_t, p, inner)
        inner *= D
        np.dot(B_U, inner, q)
        curvature[:] = 0.0
        next_square[:] = 0.0
        for i in range(u):
            for c in range(a):
                q[i, c] = p[i, c] - q[i, c]
                curvature[c] += p[i, c] * q[i, c]
        for c in range(a):
            curvature[c] = square[c] / curvature[c] if curvature[c] > 0.0 else 0.0
        for i in range(u):
            for c in range(a):
                x[i, c] += curvature[c] * p[i, c]
                residual[i, c] -= curvature[c] * q[i, c]
                next_square[c] += residual[i, c] * residual[i, c]
        if np.all(next_square <= 1e-17 * start):
            z[:] = x
            return True
        for c in range(a):
            curvature[c] = next_square[c] / square[c] if square[c] > 0.0 else 0.0
        for i in range(u):
            for c in range(a):
                p[i, c] = residual[i, c] + curvature[c] * p[i, c]
        square[:] = next_square
    return False


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
