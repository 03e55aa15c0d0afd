"""Compiled leave-block-out for many small blocks and many alphas at once.

For each block U of u items and every λ, with B, P, D, β, c of rankwise.solvers.spectrum, the
smaller of two symmetric systems is factorised:

    u ≤ r    (I − B_U D B_Uᵀ) z = β_U − B_U D c         f_U⁻ = P_U D (c − B_Uᵀ z)
    u > r    (I − D^½ B_UᵀB_U D^½) z = D^½ (c − B_Uᵀβ_U)     f_U⁻ = P_U D^½ z

All λ are handled together in the last, vectorised axis of every array: all B_U D B_Uᵀ of a block
are one matrix product, O(u² r a), which runs at the speed of BLAS and takes most of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from rankwise.losses.half_rows import Span, half_rows
from rankwise.losses.laplacian import RowLaplacian
from rankwise.numerics.compiled import compiled
from rankwise.numerics.threads import one_blas_thread, over_ranges
from rankwise.solvers.spectrum import PrimalSpectrum

ROUNDING = 1e-14
"""Pivots of a matrix with a unit diagonal that may be rounding errors alone."""
LARGEST_BLOCK = 128
LANES = 8
BUFFER = 32_000
"""Entries of P, and of B, that a thread computes at once."""
PRODUCTS = 16_000
"""Entries of B_U,i · B_U,j that are held at once, so that they stay in the cache."""


class Blocks(NamedTuple):
    """The items of all blocks, where each block starts, and the first row that is in memory."""

    items: np.ndarray
    starts: np.ndarray
    first: int


class Systems(NamedTuple):
    """What all blocks share: β and c, and one column of D and of D^½ for each λ.

    A system with a pivot below `smallest` has lost its digits.
    """

    beta: np.ndarray
    moments: np.ndarray
    D: np.ndarray
    root: np.ndarray
    smallest: float


def leave_blocks_out(
    spectrum: PrimalSpectrum,
    blocks: list[np.ndarray],
    alphas: Sequence[float] | np.ndarray,
    smallest: float,
) -> tuple[np.ndarray, np.ndarray]:
    """(a, m, k) predictions of every item without its block, and which blocks are safe.

    Blocks are whole queries, or any items of a pointwise loss. A block with a pivot below
    `smallest` has lost its digits, so the caller must predict it in another way.
    """
    alphas = np.asarray(alphas, dtype=float)
    r, a = len(spectrum.eigenvalues), len(alphas)
    D = np.zeros((r, _in_lanes(a)))
    D[:, :a] = 1.0 / (spectrum.eigenvalues[:, None] + alphas)
    D[spectrum.noise] = 0.0
    starts = np.concatenate(([0], np.cumsum([len(block) for block in blocks])))
    items = np.concatenate(blocks)
    assert isinstance(spectrum.quadratic.laplacian, RowLaplacian)
    laplacian = spectrum.quadratic.laplacian.take(items)
    queries = np.searchsorted(laplacian.query_starts, starts)
    moments = np.ascontiguousarray(spectrum.moments.T)
    beta = np.ascontiguousarray(spectrum.beta[items])
    systems = Systems(beta, moments, D, np.sqrt(D), smallest)
    out = np.zeros((len(spectrum.beta), len(moments), a))
    safe = np.ones(len(blocks), dtype=np.bool_)
    most = min(len(items), max(LARGEST_BLOCK, BUFFER // max(r, 1)))

    few = np.diff(starts) <= r

    def task(low: int, high: int) -> None:
        while low < high:
            stop = max(low + 1, int(np.searchsorted(starts, starts[low] + most, "right")) - 1)
            stop = min(stop, high)
            P, shift = spectrum.moved_rows(items[starts[low] : starts[stop]])
            P = np.ascontiguousarray(P)
            B, span = np.empty_like(P), Span(queries[low], queries[stop], 0, r)
            half_rows(P, laplacian.transposed, span, starts[low], -1, B)
            if shift is not None:
                P += shift
            part = Blocks(items, starts, starts[low])
            which = np.arange(low, stop)
            for chosen, leave_out in ((few, _leave_few_rows_out), (~few, _leave_many_rows_out)):
                if chosen[low:stop].any():
                    leave_out(P, B, part, systems, which[chosen[low:stop]], out, safe)
            low = stop

    with one_blas_thread():
        over_ranges(task, len(blocks), work=1e3 * out.shape[0] * len(moments) * a)
    return out.transpose(2, 0, 1), safe


def safe_factor(A: np.ndarray, used: np.ndarray, least: float) -> np.ndarray | None:
    """The Cholesky factor of A, None if one of the `used` pivots is below `least`."""
    try:
        C = np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        return None
    pivots = np.diagonal(C)[used] ** 2
    return C if pivots.min(initial=np.inf) >= least else None


def is_regular(operator: np.ndarray, least: float) -> bool:
    """Whether no pivot is below `least`; if that is 0, whether pivots are more than rounding."""
    if least:
        return smallest_pivot(operator) >= least
    root = np.sqrt(np.maximum(np.diagonal(operator), 0.0))
    return bool(root.all()) and smallest_pivot(operator / root[:, None] / root) > ROUNDING


def smallest_pivot(operator: np.ndarray) -> float:
    """The smallest pivot of the Cholesky factorisation of a symmetric matrix, 0 if it fails."""
    if not len(operator):
        return np.inf
    factor, failed = lapack.dpotrf(operator, lower=1)
    return 0.0 if failed else float(np.diagonal(factor).min()) ** 2


def _in_lanes(columns: int) -> int:
    """The number of columns, rounded up to whole vector registers unless there is only one."""
    return 1 if columns == 1 else -(-columns // LANES) * LANES


@compiled
def _leave_few_rows_out(
    P: np.ndarray,
    B: np.ndarray,
    blocks: Blocks,
    systems: Systems,
    which: np.ndarray,
    out: np.ndarray,
    safe: np.ndarray,
) -> None:
    """Blocks of no more items than features; the rows of P and B are those of `items`."""
    items, starts, first = blocks.items, blocks.starts, blocks.first
    beta, moments, D, smallest = systems.beta, systems.moments, systems.D, systems.smallest
    (r, lanes), k = D.shape, len(moments)
    x, back = np.empty((r, lanes)), np.empty((r, lanes))
    for block in which:
        start, stop = starts[block], starts[block + 1]
        u = stop - start
        B_U, P_U = B[start - first : stop - first], P[start - first : stop - first]
        z, B_t = np.empty((u, lanes)), np.empty((r, u))
        _transpose(B_U, B_t)
        T = _by_items(B_U, D) if lanes > 1 else _at_one_alpha(B_U, D)
        safe[block] = _cholesky(T, u, lanes, smallest)
        if not safe[block]:
            continue
        for output in range(k):
            for s in range(r):
                for c in range(lanes):
                    x[s, c] = moments[output, s] * D[s, c]
            np.dot(B_U, x, z)
            for i in range(u):
                for c in range(lanes):
                    z[i, c] = beta[start + i, output] - z[i, c]
            _solve(T, z, u, lanes)
            np.dot(B_t, z, back)
            for s in range(r):
                for c in range(lanes):
                    x[s, c] -= D[s, c] * back[s, c]
            np.dot(P_U, x, z)
            for i in range(u):
                for c in range(out.shape[2]):
                    out[items[start + i], output, c] = z[i, c]


@compiled
def _leave_many_rows_out(
    P: np.ndarray,
    B: np.ndarray,
    blocks: Blocks,
    systems: Systems,
    which: np.ndarray,
    out: np.ndarray,
    safe: np.ndarray,
) -> None:
    """Blocks of more items than features, in the same way."""
    items, starts, first = blocks.items, blocks.starts, blocks.first
    beta, moments, root, smallest = systems.beta, systems.moments, systems.root, systems.smallest
    (r, lanes), k = root.shape, len(moments)
    x = np.empty((r, lanes))
    for block in which:
        start, stop = starts[block], starts[block + 1]
        u = stop - start
        B_U, P_U = B[start - first : stop - first], P[start - first : stop - first]
        z, B_t = np.empty((u, lanes)), np.empty((r, u))
        _transpose(B_U, B_t)
        T = _by_features(B_U, B_t, root)
        safe[block] = _cholesky(T, r, lanes, smallest)
        if not safe[block]:
            continue
        for output in range(k):
            for s in range(r):
                rest = moments[output, s]
                for i in range(u):
                    rest -= B_t[s, i] * beta[start + i, output]
                for c in range(lanes):
                    x[s, c] = rest * root[s, c]
            _solve(T, x, r, lanes)
            for s in range(r):
                for c in range(lanes):
                    x[s, c] *= root[s, c]
            np.dot(P_U, x, z)
            for i in range(u):
                for c in range(out.shape[2]):
                    out[items[start + i], output, c] = z[i, c]


@compiled
def _transpose(rows: np.ndarray, columns: np.ndarray) -> None:
    for i in range(len(rows)):
        for s in range(len(columns)):
            columns[s, i] = rows[i, s]


@compiled
def _by_items(B_U: np.ndarray, D: np.ndarray) -> np.ndarray:
    """I − B_U D B_Uᵀ for every column D, upper triangles by diagonals: (u(u + 1)/2, a)."""
    u, r = B_U.shape
    packed = np.empty((u * (u + 1) // 2, D.shape[1]))
    products = np.empty((min(len(packed), max(u, PRODUCTS // r)), r))
    filled, place = 0, 0
    for d in range(u):
        for i in range(u - d):
            for s in range(r):
                products[filled, s] = -B_U[i, s] * B_U[i + d, s]
            filled += 1
            if filled == len(products) or d == u - 1:
                np.dot(products[:filled], D, packed[place : place + filled])
                place += filled
                filled = 0
    for i in range(u):
        for c in range(D.shape[1]):
            packed[i, c] += 1.0
    return packed


@compiled
def _at_one_alpha(B_U: np.ndarray, D: np.ndarray) -> np.ndarray:
    """I − B_U D B_Uᵀ for a single column D, packed in the same way."""
    u, r = B_U.shape
    transposed, product = np.empty((r, u)), np.empty((u, u))
    for i in range(u):
        for s in range(r):
            transposed[s, i] = D[s, 0] * B_U[i, s]
    np.dot(B_U, transposed, product)
    packed = np.empty((u * (u + 1) // 2, 1))
    place = 0
    for d in range(u):
        for i in range(u - d):
            packed[place, 0] = (1.0 if d == 0 else 0.0) - product[i, i + d]
            place += 1
    return packed


@compiled
def _by_features(B_U: np.ndarray, B_t: np.ndarray, root: np.ndarray) -> np.ndarray:
    """I − D^½ (B_UᵀB_U) D^½ for every column D, packed in the same way."""
    r, a = root.shape
    gram, packed = np.empty((r, r)), np.empty((r * (r + 1) // 2, a))
    np.dot(B_t, B_U, gram)
    place = 0
    for d in range(r):
        for s in range(r - d):
            one = 1.0 if d == 0 else 0.0
            for c in range(a):
                packed[place, c] = one - gram[s, s + d] * root[s, c] * root[s + d, c]
            place += 1
    return packed


@compiled
def _cholesky(T: np.ndarray, size: int, lanes: int, smallest: float) -> bool:
    """T = UᵀU in place, one factorisation per column; the diagonal of U is stored inverted.

    Returns False as soon as a pivot falls below `smallest`; T is then useless. T is packed by
    diagonals, so that each update by a pivot is a product of consecutive numbers.
    """
    flat, row = T.reshape(-1), np.empty(size * lanes)
    for i in range(size):
        for c in range(lanes):
            if not T[i, c] >= smallest:
                return False
            T[i, c] = 1.0 / np.sqrt(T[i, c])
        width, place = size - i - 1, i
        for d in range(width):
            place += size - d
            for c in range(lanes):
                T[place, c] *= T[i, c]
                row[d * lanes + c] = T[place, c]
        place = i + 1
        for d in range(width):
            n = (width - d) * lanes
            target, other = flat[place * lanes :], row[d * lanes :]
            for t in range(n):
                target[t] -= row[t] * other[t]
            place += size - d
    return True


@compiled
def _solve(T: np.ndarray, z: np.ndarray, size: int, lanes: int) -> None:
    """z ← (UᵀU)⁻¹ z."""
    for i in range(size):
        for c in range(lanes):
            z[i, c] *= T[i, c]
        place = i
        for d in range(1, size - i):
            place += size - d + 1
            for c in range(lanes):
                z[i + d, c] -= T[place, c] * z[i, c]
    for i in range(size - 1, -1, -1):
        place = i
        for d in range(1, size - i):
            place += size - d + 1
            for c in range(lanes):
                z[i, c] -= T[place, c] * z[i + d, c]
        for c in range(lanes):
            z[i, c] *= T[i, c]
