"""Large semi-definite matrices: their Cholesky factor by blocks, and their size.

With two threads, OpenBLAS writes beyond its buffers in LAPACK's dpotrf, or in a product F Fᵀ, of
about 16,000 rows or more, and the process ends. Ordinary products of blocks are safe and as fast.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, lapack, solve_triangular

from rankwise.numerics.threads import one_blas_thread
from rankwise.numerics.tiles import mirror_upper

WHOLE, BLOCK = 8192, 2048
"""Up to WHOLE rows LAPACK factorises the matrix at once, half of what it fails at."""


def cholesky_in_place(A: np.ndarray, block: int | None = None) -> np.ndarray:
    """The lower factor of A, written over its lower triangle; O(m³/3).

    The entries above the diagonal keep their values. LinAlgError if A is not positive definite.
    """
    m = len(A)
    if block is None:
        block = BLOCK if m > WHOLE else max(m, 1)
    for start in range(0, m, block):
        stop = min(start + block, m)
        diagonal = slice(start, stop)
        A[diagonal, diagonal] = _lower_factor(A[diagonal, diagonal])
        if stop == m:
            break
        below = solve_triangular(
            A[diagonal, diagonal], A[stop:, diagonal].T, lower=True, check_finite=False
        ).T
        A[stop:, diagonal] = below
        for first in range(stop, m, block):
            right = below[first - stop : first - stop + block]
            change = below[first - stop :] @ right.T
            change[: len(right)] = np.tril(change[: len(right)])
            A[first:, first : first + block] -= change
    return A


def inverse_in_place(A: np.ndarray) -> np.ndarray:
    """The inverse of a positive definite A of at most WHOLE rows, contiguous by rows; O(m³).

    LinAlgError if A is not positive definite.
    """
    upper, failed = lapack.dpotri(cholesky_in_place(A).T, lower=0, overwrite_c=1)
    if failed:
        raise LinAlgError("the matrix has no inverse.")
    mirror_upper(upper)  # the transpose of A, so its upper triangle is the lower one of A
    return A


def _lower_factor(A: np.ndarray) -> np.ndarray:
    """The lower factor of one block, computed in place if A is contiguous by rows.

    LAPACK stores matrices by columns, so A.T is the upper triangle that it expects.
    """
    upper, failed = lapack.dpotrf(A.T, lower=0, clean=0, overwrite_a=1)
    if failed:
        raise LinAlgError(f"the leading minor of order {failed} is not positive definite.")
    return upper.T


def largest_eigenvalue(A: np.ndarray, steps: int = 3) -> float:
    """A lower bound of the largest eigenvalue of a semi-definite A by power iterations, O(m²).

    The start is the column with the largest diagonal entry. The bound is usually within a factor
    of 2, and at least the largest diagonal entry. Any scale of A will do; inf or nan if A is not
    finite.
    """
    if not len(A):
        return 0.0
    first = int(np.diagonal(A).argmax())
    largest, v = A[first, first], A[first]
    with one_blas_thread():  # the threads of NumPy's BLAS would compete with those of SciPy's
        for _ in range(steps):
            size = np.abs(v).max()
            if not 0 < size < np.inf:
                return float(max(largest, size))
            v = v / size  # so that the squares in the norm neither overflow nor underflow
            v = v / np.linalg.norm(v)
            image = A @ v
            largest, v = max(largest, v @ image), image
    return float(largest)
