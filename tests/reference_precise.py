"""Quadratic problems in 60 digits, written plainly: kernel, normal equations and their solution.

Numbers are objects of decimal.Decimal, so NumPy adds and multiplies them without rounding that
matters: K_RR may have a condition number of 1e20 and more.
"""

from decimal import Decimal, localcontext

import numpy as np

from tests.reference import enumerate_pairs

DIGITS = 60


def exactly(values):
    return np.vectorize(Decimal, otypes=[object])(np.asarray(values, dtype=float))


def rounded(values):
    """The nearest double precision numbers, as decimals."""
    return exactly(values.astype(float))


def rbf_in_decimals(X, Y, gamma):
    """exp(−gamma‖x − y‖²) for all pairs of rows."""
    with localcontext(prec=DIGITS):
        X, Y, gamma = exactly(X), exactly(Y), Decimal(gamma)
        squares = ((X[:, None, :] - Y[None]) ** 2).sum(axis=2)
        return np.vectorize(lambda d: (-gamma * d).exp(), otypes=[object])(squares)


def reduced_set_scores(K_MR, K_RR, K_new, y, alpha, ranks):
    """K_new b, where b minimises the (pairwise, if `ranks`) squared loss + alpha bᵀK_RR b."""
    with localcontext(prec=DIGITS):
        m, y = len(K_MR), exactly(y)
        centred = K_MR
        if ranks:  # m (I − 11ᵀ/m) is the sum over pairs of (e_h − e_j)(e_h − e_j)ᵀ
            centred = Decimal(m) * (K_MR - K_MR.sum(axis=0) / m)
        b = solve(K_MR.T @ centred + Decimal(alpha) * K_RR, centred.T @ y)
        return (K_new @ b).astype(float)


def solve(A, b):
    """Gaussian elimination with the largest pivot of each column."""
    A, b, n = A.copy(), b.copy(), len(A)
    for i in range(n):
        pivot = i + int(np.argmax(np.abs(A[i:, i])))
        A[[i, pivot]], b[[i, pivot]] = A[[pivot, i]], b[[pivot, i]]
        factors = A[i + 1 :, i] / A[i, i]
        A[i + 1 :, i:] -= factors[:, None] * A[i, i:]
        b[i + 1 :] -= factors * b[i]
    for i in range(n - 1, -1, -1):
        b[i] = (b[i] - (A[i, i + 1 :] * b[i + 1 :]).sum()) / A[i, i]
    return b


def kernel_in_decimals(X, Y, kernel, gamma, degree=3, coef0=1.0):
    """A kernel of decimal items by its definition: "linear", "poly", or "rbf"."""
    if kernel == "rbf":
        return rbf_in_decimals(X.astype(float), Y.astype(float), gamma)
    products = X @ Y.T
    if kernel == "linear":
        return products
    return (Decimal(gamma) * products + Decimal(coef0)) ** degree


def quadratic_in_decimals(y, qid=None, loss="magnitude", ties="keep"):
    """L and b of Σ w² (z − (f_h − f_j))², pair by pair; loss None is Σ (y − f)²."""
    with localcontext(prec=DIGITS):
        m = len(y)
        if loss is None:
            return exactly(np.eye(m)), exactly(y)
        L, b = exactly(np.zeros((m, m))), exactly(np.zeros(m))
        for h, j, *_ in enumerate_pairs(y, qid, loss=loss, ties=ties):
            gap = Decimal(float(y[h])) - Decimal(float(y[j]))
            z = Decimal(1) if loss == "unit" else gap
            squared = 1 / gap**2 if loss == "relative" else Decimal(1)
            L[h, h] += squared
            L[j, j] += squared
            L[h, j] -= squared
            L[j, h] -= squared
            b[h] += squared * z
            b[j] -= squared * z
        return L, b


def exact_scores(
    X, y, X_new, alpha, *, kernel, gamma, qid=None, loss="magnitude", ties="keep", **parameters
):
    """Scores of new items by the minimiser of fᵀLf − 2fᵀb + alpha‖f‖²: (L K + alpha) a = b."""
    with localcontext(prec=DIGITS):
        L, b = quadratic_in_decimals(y, qid, loss, ties)
        X, X_new = exactly(X), exactly(X_new)
        system = L @ kernel_in_decimals(X, X, kernel, gamma, **parameters)
        system[np.diag_indices(len(X))] += Decimal(float(alpha))
        K_new = kernel_in_decimals(X_new, X, kernel, gamma, **parameters)
        return (K_new @ solve(system, b)).astype(float)


def exact_squared_hinge(X, pairs, X_new, alpha, *, kernel, gamma, **parameters):
    """The minimum of mean max(0, 1 − (f_h − f_j))² + alpha‖f‖² over pairs (h, j), and new scores.

    For the pairs with a loss it is a least-squares problem, solved until these pairs are the same.
    """
    with localcontext(prec=DIGITS):
        X, X_new, alpha = exactly(X), exactly(X_new), Decimal(float(alpha))
        K = kernel_in_decimals(X, X, kernel, gamma, **parameters)
        D = exactly(np.zeros((len(pairs), len(X))))
        for row, (h, j) in enumerate(pairs):
            D[row, h], D[row, j] = Decimal(1), Decimal(-1)
        lossy, known = np.ones(len(pairs), dtype=bool), set()
        while lossy.tobytes() not in known:
            known.add(lossy.tobytes())
            E = D[lossy]
            system = E.T @ E @ K / len(pairs)
            system[np.diag_indices(len(X))] += alpha
            a = solve(system, E.sum(axis=0) / len(pairs))
            slack = 1 - D @ (K @ a)
            lossy = slack > 0
        assert (lossy == (slack > 0)).all()
        objective = (slack[lossy] ** 2).sum() / len(pairs) + alpha * (a @ K @ a)
        K_new = kernel_in_decimals(X_new, X, kernel, gamma, **parameters)
        return float(objective), (K_new @ a).astype(float)
