"""The size of a semi-definite matrix, without its spectrum."""

from __future__ import annotations

import numpy as np

from rankwise.numerics.threads import one_blas_thread


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
