"""Conditional ranking by brute force: the explicit edge kernel and dense normal equations."""

from __future__ import annotations

import warnings

import numpy as np

SIGNS = {"general": 0, "symmetric": 1, "reciprocal": -1}
OBJECTIVES = ("ranking", "regression")
CONDITIONS = ("row", "column")
CASES = [("general", False), ("general", True), ("symmetric", False), ("reciprocal", False)]
"""Each relation, and whether it has two domains."""


def edge_kernel(K_A, K_B, first, second, sign):
    """k(e, e') for edges (row, column) of `first` and `second`, equations 7, 8 and 9."""
    out = np.empty((len(first), len(second)))
    for i, (u, v) in enumerate(first):
        for j, (s, t) in enumerate(second):
            out[i, j] = K_A[u, s] * K_B[v, t]
            if sign:
                out[i, j] = (K_A[u, s] * K_B[v, t] + sign * K_A[u, t] * K_B[v, s]) / 2
    return out


def loss_matrix(edges, objective, condition):
    """L of the objective yᵀLy: pairs of the same condition, each over the edges there."""
    q = len(edges)
    if objective == "regression":
        return np.eye(q)
    codes = edges[:, 0 if condition == "row" else 1]
    L = np.zeros((q, q))
    for i in range(q):
        for j in range(i):
            if codes[i] == codes[j]:
                weight = 1 / np.sum(codes == codes[i])
                L[i, i] += weight
                L[j, j] += weight
                L[i, j] -= weight
                L[j, i] -= weight
    return L


def scores(K_A, K_B, edges, y, alpha, *, objective, relation="general", condition="row", at):
    """Predictions at the edges `at` of the model trained on (edges, y); node numbers as in K.

    Solves (L R + alpha I) a = L y for the dual variables a of the training edges.
    """
    sign = SIGNS[relation]
    R = edge_kernel(K_A, K_B, edges, edges, sign)
    L = loss_matrix(edges, objective, condition)
    a = np.linalg.solve(L @ R + alpha * np.eye(len(edges)), L @ y)
    return edge_kernel(K_A, K_B, at, edges, sign) @ a


def all_edges(p_a, p_b):
    return np.array([(u, v) for u in range(p_a) for v in range(p_b)])


def make_nodes(rng, two_domains, n, p=6, new=2):
    """Row and column nodes, training ones first, and how many of those there are."""
    A = rng.normal(size=(p + new, n))
    B = rng.normal(size=(p - 1 + new, n)) if two_domains else A
    return A, B, (len(A) - new, len(B) - new)


def fit(model, A, B, shape, *labels, **options):
    """The model fitted to the training nodes, without a warning about labels not mirrored."""
    X = A[: shape[0]] if B is A else (A[: shape[0]], B[: shape[1]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(X, *labels, **options)
