"""What rounding errors leave of a decomposition, and the errors for numbers that overflow."""

from __future__ import annotations

import numpy as np

from rankwise.losses.laplacian import Laplacian

POWER_STEPS = 4
EPS = float(np.finfo(float).eps)
HIDDEN = 100.0
"""Terms that are lost in rounding errors do not count if alpha exceeds these by this factor."""
LOST_TERMS = (
    "the features are so far from zero, or coef0 is so large, that the values of the polynomial "
    "kernel have lost its terms of higher degree to rounding"
)
NEARLY_EQUAL = (
    "all values of the kernel are nearly equal, and rounding errors may have taken what tells the "
    "items apart from the scores"
)
STANDARDISE = (
    "standardise the features of X, for example with sklearn.preprocessing.StandardScaler, or use "
    "a larger alpha"
)


def is_noise(eigenvalues: np.ndarray, tolerance: float) -> np.ndarray:
    """Eigenvalues that may be rounding errors alone: below tolerance · eps of the largest."""
    largest = eigenvalues[-1] if len(eigenvalues) else 0.0
    return eigenvalues <= tolerance * EPS * max(largest, 0.0)


def blur_of(largest: float) -> float:
    """The λ below which rounding errors of a kernel matrix may change predictions by 1e-6."""
    return 1e6 * EPS * largest


def stiffness(laplacian: Laplacian) -> float:
    """A lower bound of the largest eigenvalue of L by power iterations, usually a close one."""
    v, found = np.random.default_rng(0).normal(size=(laplacian.n_items, 1)), 0.0
    for _ in range(POWER_STEPS):
        size = float(np.linalg.norm(v))
        if not 0 < size < np.inf:
            break
        v = laplacian.apply(v / size)
        found = float(np.linalg.norm(v))
    return found


def size_before_centring(K: np.ndarray, laplacian: Laplacian) -> float:
    """The size of RᵀKR if nothing cancelled, about max K_ii ‖L‖; O(m) besides products with L.

    If all values of K are nearly equal, the eigenvalues of RᵀKR are small beside their rounding
    errors, which are those of K itself.
    """
    return stiffness(laplacian) * float(np.diagonal(K).max(initial=0.0))


def refuse_hidden_terms(alpha: float, largest: float) -> None:
    """ValueError if alpha could make use of terms that are lost in the rounding of the kernel."""
    if alpha < HIDDEN * EPS * largest:
        raise ValueError(
            f"{LOST_TERMS}, and alpha={alpha:.3g} is so small that they count: {STANDARDISE}."
        )


def refuse_overflow(*matrices: np.ndarray) -> None:
    """Finite input can still overflow when it is squared."""
    if not all(np.isfinite(matrix).all() for matrix in matrices):
        raise ValueError(
            "X, y or sample_weight is so large that its squares overflow: scale it down, for "
            "example with sklearn.preprocessing.StandardScaler."
        )
