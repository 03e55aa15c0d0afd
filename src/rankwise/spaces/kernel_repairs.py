"""Indefinite similarity matrices made positive semi-definite, with a report of the change.

Alignment scores (Smith-Waterman) and graph similarities (SIMCOMP) are often indefinite. With
K = Q Λ Qᵀ the repaired matrix is K T, and a new node's similarities k(u) become k(u) T:

| repair | T | matrix |
|---|---|---|
| clip | Q [Λ > 0] Qᵀ | negative eigenvalues become 0, the nearest semi-definite matrix |
| flip | Q sign(Λ) Qᵀ | negative eigenvalues change their sign |
| shift | I | −λ_min is added to the diagonal: known nodes only, as an item effect |

So a training node is treated like a new one (Chen et al. 2009, Journal of Machine Learning Research
10, section 2.1). O(p³).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from rankwise.exceptions import InvalidKernel
from rankwise.spaces.definiteness import NEGATIVE_EIGENVALUE, check_square


@dataclass
class Repair:
    """A repaired matrix, how new rows are changed alike, and what a user is told.

    `transform` is None if rows of new nodes stay as they are. `shift` is what was added to the
    diagonal.
    """

    K: np.ndarray
    transform: np.ndarray | None
    shift: float
    report: dict[str, float | str]


def repaired(K: np.ndarray, how: str, name: str) -> Repair | None:
    """K made symmetric and semi-definite by "clip", "flip" or "shift"; None if it is so already."""
    check_square(K, name)
    symmetric = (K + K.T) / 2
    asymmetry = float(np.abs(K - symmetric).max(initial=0.0))
    size = float(np.abs(K).max(initial=0.0))
    values, Q = scipy.linalg.eigh(symmetric, check_finite=False)
    smallest = float(values[0]) if len(values) else 0.0
    allowed = NEGATIVE_EIGENVALUE * max(float(values[-1]) if len(values) else 0.0, 0.0)
    is_definite = smallest >= -allowed
    if is_definite and asymmetry <= NEGATIVE_EIGENVALUE * size:
        return None
    transform, shift, fixed = None, 0.0, symmetric
    if not is_definite:
        if how == "shift":
            shift = -smallest
            fixed = symmetric + shift * np.eye(len(K))
        else:
            signs = np.where(values > 0, 1.0, 0.0) if how == "clip" else np.sign(values)
            if not signs.any():
                raise InvalidKernel(f"{name} has no positive eigenvalue: clipping leaves nothing.")
            transform = (Q * signs) @ Q.T
            fixed = (Q * (signs * values)) @ Q.T
            fixed = (fixed + fixed.T) / 2
    norm = float(np.linalg.norm(K))
    report: dict[str, float | str] = {
        "repair": how,
        "smallest_eigenvalue": smallest,
        "largest_eigenvalue": float(values[-1]),
        "relative_change": float(np.linalg.norm(fixed - K)) / norm if norm > 0 else 0.0,
        "asymmetry": asymmetry,
    }
    return Repair(fixed, transform, shift, report)
