"""Cholesky factorisation of large matrices by blocks.

OpenBLAS with two threads writes past its buffers when LAPACK's dpotrf, or a product F Fᵀ, has some
16,000 rows or more, which ends the process; ordinary products of blocks are safe, and as fast.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

BLOCK = 2048


def cholesky_in_place(A: np.ndarray, block: int = BLOCK) -> np.ndarray:
    """The lower factor of A, written over its lower triangle; LinAlgError if A is not definite.

    O(m³/3); what stands above the diagonal blocks is left as it was.
    """
    m = len(A)
    for start in range(0, m, block):
        stop = min(start + block, m)
        here = slice(start, stop)
        A[here, here] = scipy.linalg.cholesky(A[here, here], lower=True, check_finite=False)
        if stop == m:
            break
        below = scipy.linalg.solve_triangular(
            A[here, here], A[stop:, here].T, lower=True, check_finite=False
        ).T
        A[stop:, here] = below
        for first in range(stop, m, block):
            right = below[first - stop : first - stop + block]
            A[first:, first : first + block] -= below[first - stop :] @ right.T
    return A
