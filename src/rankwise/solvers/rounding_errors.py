"""What rounding errors leave of a decomposition, and the errors for numbers that overflow."""

from __future__ import annotations

import numpy as np

EPS = float(np.finfo(float).eps)


def is_noise(eigenvalues: np.ndarray, tolerance: float) -> np.ndarray:
    """Eigenvalues that may be rounding errors alone: below tolerance · eps of the largest."""
    largest = eigenvalues[-1] if len(eigenvalues) else 0.0
    return eigenvalues <= tolerance * EPS * max(largest, 0.0)


def blur_of(largest: float) -> float:
    """The λ below which rounding errors of a kernel matrix may change predictions by 1e-6."""
    return 1e6 * EPS * largest


def refuse_overflow(*matrices: np.ndarray) -> None:
    """Finite input can still overflow when it is squared."""
    if not all(np.isfinite(matrix).all() for matrix in matrices):
        raise ValueError(
            "X, y or sample_weight is so large that its squares overflow: scale it down, for "
            "example with sklearn.preprocessing.StandardScaler."
        )
