"""Kernel names to scikit-learn's pairwise kernels, and checks of matrices given as kernels."""

from __future__ import annotations

import numbers

import numpy as np
import scipy.linalg
from scipy import sparse
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from rankwise.exceptions import InvalidKernel
from rankwise.numerics.block_cholesky import BLOCK, cholesky_in_place
from rankwise.numerics.memory import refuse_too_large as refuse_too_large
from rankwise.numerics.threads import one_blas_thread
from rankwise.numerics.tiles import mirror_upper, upper_tiles
from rankwise.validation import check_positive

NEGATIVE_EIGENVALUE = 1e-8
"""An eigenvalue below −1e-8 of the largest makes a kernel indefinite beyond rounding."""


POSITIVE_DEFINITE = ("linear", "rbf", "poly", "polynomial", "laplacian", "cosine", "chi2")


def check_kernel_name(kernel) -> None:
    if callable(kernel) or kernel == "precomputed":
        return
    if not isinstance(kernel, str) or kernel not in PAIRWISE_KERNEL_FUNCTIONS:
        names = ", ".join(sorted(PAIRWISE_KERNEL_FUNCTIONS))
        raise ValueError(
            f"kernel must be one of {names}, 'precomputed' or a callable; got {kernel!r}."
        )


def check_kernel(kernel, *, gamma=None, degree=3, coef0=1.0) -> None:
    """The name and the parameters of a kernel."""
    check_kernel_name(kernel)
    if gamma is not None:
        check_positive("gamma", gamma)
    check_positive("degree", degree)
    if not isinstance(coef0, numbers.Real) or not np.isfinite(float(coef0)):
        raise ValueError(f"coef0 must be a finite number; got {coef0!r}.")


def may_be_indefinite(kernel, coef0: float = 1.0) -> bool:
    """Whether nothing but a look at its matrix proves the kernel positive semi-definite."""
    return callable(kernel) or kernel not in POSITIVE_DEFINITE or coef0 < 0


def kernel_matrix(X, Y, kernel, *, gamma=None, degree=3, coef0=1.0) -> np.ndarray:
    """k(X, Y), rows X, columns Y. A callable takes two matrices, or else two rows."""
    if callable(kernel):
        return _callable_kernel(X, Y, kernel)
    parameters = {"degree": degree, "coef0": coef0, "gamma": gamma}
    if gamma is None and kernel == "chi2":
        parameters["gamma"] = 1.0 / X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        K = pairwise_kernels(X, Y, metric=kernel, filter_params=True, **parameters)
    K = np.asarray(K.todense() if sparse.issparse(K) else K, dtype=np.float64)
    if not np.isfinite(K).all():
        raise InvalidKernel(f"the kernel {kernel!r} overflows on X: scale its features down.")
    return K


def _callable_kernel(X, Y, kernel) -> np.ndarray:
    Y = X if Y is None else Y
    shape = (X.shape[0], Y.shape[0])
    try:
        takes_matrices = np.shape(kernel(X[:1], Y[:1])) == (1, 1)
        K = kernel(X, Y) if takes_matrices else None
    except (ValueError, TypeError, IndexError):
        K = None
    if K is None or np.shape(K) != shape:
        K = pairwise_kernels(X, Y, metric=kernel)
    K = np.asarray(K.todense() if sparse.issparse(K) else K, dtype=np.float64)
    if not np.isfinite(K).all():
        raise InvalidKernel("the callable kernel returned values that are not finite.")
    return K


def check_square(K: np.ndarray, name: str = "the precomputed kernel") -> np.ndarray:
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise InvalidKernel(f"{name} must be a square matrix for fit, got shape {K.shape}.")
    return K


def check_gram(
    K: np.ndarray, name: str = "the precomputed kernel", own: bool = False
) -> np.ndarray:
    """A square, symmetric, positive semi-definite matrix, or InvalidKernel; O(m³/3).

    A matrix that is our `own` is factorised where it lies, without a second one of its size, and
    its lower triangle then written anew from the upper one.
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

    Cholesky of K shifted by the allowed 1e-8 of its largest eigenvalue decides in O(m³/3); two
    power iterations bound that eigenvalue from below, so only failures need the exact spectrum.
    """
    m = len(K)
    if not m:
        return None
    diagonal = np.diagonal(K)
    v = K[int(diagonal.argmax())]
    bound = float(diagonal.max())
    with one_blas_thread():  # NumPy's own would spin beside SciPy's in the factorisation
        for _ in range(2):
            u = v / max(float(np.linalg.norm(v)), np.finfo(float).tiny)
            v = K @ u
            bound = max(bound, float(u @ v))
    in_place = own and m <= BLOCK  # by blocks the diagonal ones would lose their upper triangle
    if _is_definite(K if in_place else K.copy(), NEGATIVE_EIGENVALUE * bound):
        return None
    eigenvalues = scipy.linalg.eigvalsh(K)
    if eigenvalues[0] < -NEGATIVE_EIGENVALUE * max(eigenvalues[-1], 0.0):
        return float(eigenvalues[0])
    return None


def _is_definite(K: np.ndarray, shift: float) -> bool:
    """Whether K + shift is positive definite; K is what it was, its lower triangle by mirroring."""
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


def repair_kernel(K) -> np.ndarray:
    """The nearest positive semi-definite matrix: symmetrised, negative eigenvalues set to zero.

    Real similarity matrices (alignment scores, Tanimoto tables) are often slightly asymmetric or
    indefinite; this is the projection in the Frobenius norm. O(m³).
    """
    K = np.asarray(K, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise InvalidKernel(f"a kernel over one set of items is square, got shape {K.shape}.")
    eigenvalues, Q = np.linalg.eigh((K + K.T) / 2)
    if eigenvalues[0] >= 0:
        return (K + K.T) / 2
    half = Q * np.sqrt(np.maximum(eigenvalues, 0.0))
    return half @ half.T
