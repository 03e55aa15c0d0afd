"""Brute force in extended precision: pairs are enumerated, matrices formed, systems eliminated."""

from __future__ import annotations

import numpy as np

Long = np.longdouble


def long(values) -> np.ndarray:
    return np.asarray(values).astype(Long)


def solve(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A⁻¹B by Gaussian elimination with pivots; NumPy's own solver rounds to double precision."""
    A, B = A.astype(Long).copy(), B.astype(Long).copy()
    scale = np.abs(A).max(axis=1)
    for column in range(len(A)):
        pivot = column + int(np.argmax(np.abs(A[column:, column]) / scale[column:]))
        for M in (A, B, scale):
            M[[column, pivot]] = M[[pivot, column]]
        for row in range(column + 1, len(A)):
            factor = A[row, column] / A[column, column]
            A[row, column:] -= factor * A[column, column:]
            B[row] -= factor * B[column]
    X = np.zeros_like(B)
    for row in reversed(range(len(A))):
        X[row] = (B[row] - A[row, row + 1 :] @ X[row + 1 :]) / A[row, row]
    return X


def kernel(name: str, U, V, gamma: float, degree: int, coef0: float) -> np.ndarray:
    U, V = long(U), long(V)
    if name == "linear":
        return U @ V.T
    if name == "poly":
        return (Long(gamma) * (U @ V.T) + Long(coef0)) ** degree
    difference = U[:, None, :] - V[None, :, :]
    power = {"rbf": difference**2, "laplacian": np.abs(difference)}[name]
    return np.exp(-Long(gamma) * power.sum(axis=2))


def from_first_item(K: np.ndarray) -> np.ndarray:
    """k(x, y) − k(x, x₀) − k(x₀, y) + k(x₀, x₀): the same kernel for all losses over pairs."""
    return K - K[:, :1] - K[0] + K[0, 0]


def pairs_of_scores(y, codes, v, loss: str, ties: str, query_weight: str):
    """(h, j, z, w²) for every pair of a query that counts, h the better item.

    `query_weight` multiplies the pairs of a query by 1, by one over its total item weight, or by
    one over the total weight of its pairs.
    """
    y, v, found = long(y), long(v), []
    for query in np.unique(codes):
        items, rows = np.flatnonzero(codes == query), []
        for a, i in enumerate(items):
            for j in items[a + 1 :]:
                h, l = (i, j) if y[i] >= y[j] else (j, i)
                gap = y[h] - y[l]
                if gap > 0 or (loss == "magnitude" and ties == "keep"):
                    rows.append((h, l, gap, v[i] * v[j]))
        scale = query_scale(query_weight, v[items].sum(), sum(row[3] for row in rows))
        for h, l, gap, weight in rows:
            z = Long(1) if loss == "unit" else gap
            w = 1 / gap if loss == "relative" else Long(1)
            found.append((h, l, z, weight * w**2 * scale))
    return found


def query_scale(query_weight: str, items, pairs) -> Long:
    total = {"pairs": Long(1), "size": items, "queries": pairs}[query_weight]
    return 1 / total if total else Long(0)


def laplacian(pairs, m: int) -> tuple[np.ndarray, np.ndarray]:
    """L = Σ w² e eᵀ and b = Σ w² z e with e = e_h − e_j."""
    L, b = np.zeros((m, m), dtype=Long), np.zeros(m, dtype=Long)
    for h, l, z, squared in pairs:
        L[h, h] += squared
        L[l, l] += squared
        L[h, l] -= squared
        L[l, h] -= squared
        b[h] += squared * z
        b[l] -= squared * z
    return L, b


def dual_coefficients(K, L, b, alpha) -> np.ndarray:
    """a of (L K + λI) a = b."""
    return solve(L @ K + Long(alpha) * np.eye(len(K)), b[:, None])[:, 0]
