"""Whether a matrix is a kernel matrix (square, symmetric, positive semi-definite), and repairs.

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
from rankwise.numerics.block_cholesky import cholesky_in_place, largest_eigenvalue
from rankwise.numerics.tiles import mirror_upper, upper_tiles
from rankwise.validation import refuse_unreal

NEGATIVE_EIGENVALUE = 1e-8
"""An eigenvalue below −1e-8 of the largest makes a kernel indefinite beyond rounding."""


def check_square(K: np.ndarray, name: str = "the precomputed kernel") -> np.ndarray:
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise InvalidKernel(f"{name} must be a square matrix for fit, got shape {K.shape}.")
    return K


def check_gram(
    K: np.ndarray, name: str = "the precomputed kernel", own: bool = False
) -> np.ndarray:
    """Return K, or raise InvalidKernel unless it is symmetric and semi-definite; O(m³/3).

    If K is our `own`, it is factorised in place, without a second matrix of its size. Its lower
    triangle is then restored from the upper one.
    """
    check_square(K, name)
    _refuse_asymmetric(K, name)
    smallest = _negative_eigenvalue(K, own)
    if smallest is not None:
        raise InvalidKernel(
            f"{name} is indefinite: its smallest eigenvalue is {smallest:.3g}. "
            "rankwise.kernels.repair_kernel symmetrises it and clips its spectrum."
        )
    return K


def _refuse_asymmetric(K: np.ndarray, name: str) -> None:
    allowed = NEGATIVE_EIGENVALUE * max(K.max(initial=0.0), -K.min(initial=0.0))
    for rows, columns in upper_tiles(len(K)):
        gap = np.abs(K[rows, columns] - K[columns, rows].T)
        if gap.max() <= allowed:
            continue
        i, j = np.unravel_index(int(np.argmax(gap)), gap.shape)
        i, j = i + rows.start, j + columns.start
        raise InvalidKernel(
            f"{name} is not symmetric: K[{i}, {j}] = {K[i, j]:.6g} but K[{j}, {i}] = "
            f"{K[j, i]:.6g}. rankwise.kernels.repair_kernel symmetrises it and clips its spectrum."
        )


def _negative_eigenvalue(K: np.ndarray, own: bool) -> float | None:
    """None if K is positive semi-definite up to rounding, else its smallest eigenvalue.

    Cholesky of K shifted by the allowed 1e-8 of its largest eigenvalue decides in O(m³/3);
    power iterations bound that eigenvalue from below, so only failures need the exact spectrum.
    """
    if not len(K):
        return None
    if _is_definite(K if own else K.copy(), NEGATIVE_EIGENVALUE * largest_eigenvalue(K)):
        return None
    eigenvalues = scipy.linalg.eigvalsh(K)
    if eigenvalues[0] < -NEGATIVE_EIGENVALUE * max(eigenvalues[-1], 0.0):
        return float(eigenvalues[0])
    return None


def _is_definite(K: np.ndarray, shift: float) -> bool:
    """Whether K + shift is positive definite. K is restored, its lower triangle by mirroring."""
    diagonal = np.diagonal(K).copy()
    K.flat[:: len(K) + 1] += shift
    try:
        cholesky_in_place(K)
    except scipy.linalg.LinAlgError:
        return False
    finally:
        mirror_upper(K)
        K.flat[:: len(K) + 1] = diagonal
    return True


def repair_kernel(K: np.ndarray) -> np.ndarray:
    """The nearest positive semi-definite matrix: symmetrised, negative eigenvalues set to zero.

    Real similarity matrices (alignment scores, Tanimoto tables) are often slightly asymmetric or
    indefinite. The result is their projection in the Frobenius norm. O(m³).

    Parameters
    ----------
    K : (m, m) array
        Similarities of the items.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.kernels import repair_kernel
    >>> K = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.9], [0.1, 0.9, 1.0]])
    >>> np.linalg.eigvalsh(K).round(2), np.linalg.eigvalsh(repair_kernel(K)).round(2) + 0.0
    (array([-0.22,  0.9 ,  2.32]), array([0.  , 0.9 , 2.32]))
    """
    refuse_unreal(K, "K")
    K = np.asarray(K, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise InvalidKernel(f"a kernel over one set of items is square, got shape {K.shape}.")
    eigenvalues, Q = np.linalg.eigh((K + K.T) / 2)
    if eigenvalues[0] >= 0:
        return (K + K.T) / 2
    half = Q * np.sqrt(np.maximum(eigenvalues, 0.0))
    return half @ half.T


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
