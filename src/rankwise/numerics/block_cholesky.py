"""Cholesky factorisation of large matrices by blocks.

OpenBLAS with two threads writes past its buffers when LAPACK's dpotrf, or a product F Fᵀ, has some
16,000 rows or more, which ends the process; ordinary products of blocks are safe, and as fast.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, lapack, solve_triangular

BLOCK = 4096


def cholesky_in_place(A: np.ndarray, block: int = BLOCK) -> np.ndarray:
    """The lower factor of A, written over its lower triangle; LinAlgError if A is not definite.

    O(m³/3); what stands above the diagonal blocks is left as it was.
    """
    m = len(A)
    for start in range(0, m, block):
        stop = min(start + block, m)
        here = slice(start, stop)
        A[here, here] = _lower_factor(A[here, here])
        if stop == m:
            break
        below = solve_triangular(A[here, here], A[stop:, here].T, lower=True, check_finite=False).T
        A[stop:, here] = below
        for first in range(stop, m, block):
            right = below[first - stop : first - stop + block]
            A[first:, first : first + block] -= below[first - stop :] @ right.T
    return A


def _lower_factor(A: np.ndarray) -> np.ndarray:
    """In A itself where it lies row by row in one piece: LAPACK's columns of Aᵀ = L Lᵀ."""
    upper, failed = lapack.dpotrf(A.T, lower=0, clean=0, overwrite_a=1)
    if failed:
        raise LinAlgError(f"the leading minor of order {failed} is not positive definite.")
    return upper.T
