"""Quadratic problems solved plainly with 60 digits, for scales at which doubles lose theirs.

Matrices are NumPy arrays of `decimal.Decimal`. Every float becomes a Decimal without rounding, so
the results are those of the very numbers that the library was given.
"""

from decimal import Decimal, localcontext

import numpy as np

from tests.reference import enumerate_pairs

DIGITS = 60


def decimals(values) -> np.ndarray:
    """The same numbers as Decimals; gamma and alpha too go through here."""
    return np.vectorize(Decimal, otypes=[object])(np.asarray(values, dtype=float))


def kernel_values(X, Z, kernel: str, gamma: float) -> np.ndarray:
    """Kernel values of decimal items, by the definition of the kernel."""
    gamma = Decimal(gamma)
    if kernel == "linear":
        return X @ Z.T
    if kernel == "poly":
        return (gamma * (X @ Z.T) + 1) ** 3
    power = {"rbf": lambda d: d @ d, "laplacian": lambda d: np.abs(d).sum()}[kernel]
    return np.array([[(-gamma * power(x - z)).exp() for z in Z] for x in X], dtype=object)


def solve(A, B) -> np.ndarray:
    """A⁻¹ B by Gaussian elimination with row pivots."""
    A, B = A.copy(), B.copy()
    for i in range(len(A)):
        pivot = i + int(np.argmax(np.abs(A[i:, i])))
        A[[i, pivot]], B[[i, pivot]] = A[[pivot, i]], B[[pivot, i]]
        factor = A[i + 1 :, i] / A[i, i]
        A[i + 1 :, i:] -= np.outer(factor, A[i, i:])
        B[i + 1 :] -= np.multiply.outer(factor, B[i])
    for i in reversed(range(len(A))):
        B[i] = (B[i] - A[i, i + 1 :] @ B[i + 1 :]) / A[i, i]
    return B


def pairs_as_quadratic(y, qid, loss: str, ties: str) -> tuple[np.ndarray, np.ndarray]:
    """L and b of Σ w² (z − (f_h − f_j))², added up pair by pair."""
    m = len(y)
    L, b = decimals(np.zeros((m, m))), decimals(np.zeros(m))
    for h, j, *_ in enumerate_pairs(y, qid, loss=loss, ties=ties):
        gap = Decimal(y[h]) - Decimal(y[j])
        z = Decimal(1) if loss == "unit" else gap
        squared = 1 / gap**2 if loss == "relative" else Decimal(1)
        for one, other in ((h, j), (j, h)):
            L[one, one] += squared
            L[one, other] -= squared
        b[h] += squared * z
        b[j] -= squared * z
    return L, b


def predictions(X, L, b, X_new, alpha: float, **kernel) -> np.ndarray:
    """Scores of new items by the minimiser of fᵀLf − 2fᵀb + alpha‖f‖²: (L K + alpha) a = b."""
    with localcontext() as context:
        context.prec = DIGITS
        X, X_new = decimals(X), decimals(X_new)
        system = L @ kernel_values(X, X, **kernel)
        system[np.diag_indices(len(X))] += Decimal(alpha)
        a = solve(system, b)
        return (kernel_values(X_new, X, **kernel) @ a).astype(float)
