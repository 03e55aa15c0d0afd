"""Which pair to ask next: the one whose answer takes most from the variance that matters.

With Σ the covariance of the scores and M the Laplacian of the differences that matter, their summed
variance is tr(MΣ). A statement about e = (i, j) with information w turns Σ into
Σ − Σe eᵀΣ/(1/w + eᵀΣe), so it takes eᵀQe/(1/w + eᵀΣe) with Q = ΣMΣ: O(1) for each candidate once Σ
and Q are known. After a choice both are updated, in O(n²).

w is the mean of σ(d)(1 − σ(d)) over the uncertain difference d of the two scores, with MacKay's
approximation (1992, *The evidence framework applied to classification networks*). At the fitted d
alone, an item that lost its first votes would look hopeless and never be asked about again.
"""

from __future__ import annotations

import numpy as np

SMALLEST = 1e-300


def times_differences(C: np.ndarray, f: np.ndarray, top: int | None) -> np.ndarray:
    """M C, M being the Laplacian of all pairs of items, or of those between the `top` best items
    and all others, without forming M: O(n_items) for each column."""
    n, whole = len(f), C.sum(axis=0)
    if top is None:
        return n * C - whole
    best = np.zeros((n, 1), dtype=bool)
    best[np.argsort(-f, kind="stable")[:top]] = True
    number = int(best.sum())
    return np.where(best, n * C - whole, number * C - (best * C).sum(axis=0))


def most_informative(
    f: np.ndarray, covariance: np.ndarray, top: int | None, candidates: np.ndarray, n: int
) -> np.ndarray:
    """Positions of n candidates (c, 2), each the best after those before it.

    None is chosen twice while others are left. O(n_items k² + n (k² + c)) for candidates about k
    of the items: Σ and Q are needed for these alone.
    """
    items, ends = np.unique(candidates, return_inverse=True)
    candidates = ends.reshape(-1, 2)
    columns = covariance[:, items]
    S, Q = columns[items], columns.T @ times_differences(columns, f, top)
    i, j = candidates.T
    d = f[items][i] - f[items][j]
    chosen: list[int] = []
    asked = np.zeros(len(candidates), dtype=bool)
    for _ in range(n):
        if asked.all():
            asked[:] = False
        variance = np.maximum(_of_pairs(S, i, j), 0.0)
        price = 1.0 / expected_information(d, variance)
        gain = _of_pairs(Q, i, j) / (price + variance)
        gain[asked] = -np.inf
        best = int(np.argmax(gain))
        chosen.append(best)
        asked[best] = True
        a, b = candidates[best]
        u, v = S[:, a] - S[:, b], Q[:, a] - Q[:, b]
        s = price[best] + variance[best]
        taken = float(v[a] - v[b])
        Q -= (np.outer(u, v) + np.outer(v, u)) / s - taken * np.outer(u, u) / s**2
        S -= np.outer(u, u) / s
    return np.array(chosen, dtype=int)


def expected_information(d: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """The mean of σ(x)(1 − σ(x)) over x ~ N(d, variance): κ σ(κd)(1 − σ(κd)) with
    κ = 1/√(1 + π variance/8)."""
    kappa = 1.0 / np.sqrt(1.0 + np.pi * variance / 8.0)
    e = np.exp(-np.abs(kappa * d))
    return np.asarray(np.maximum(kappa * e / (1.0 + e) ** 2, SMALLEST))


def _of_pairs(A: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """eᵀA e of each pair e = (i, j)."""
    diagonal = A.diagonal()
    return np.asarray(diagonal[i] + diagonal[j] - 2 * A[i, j])
