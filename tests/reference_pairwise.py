"""Pairwise kernels by brute force: explicit matrices over edges, and bordered systems for effects.

Written plainly from the table of Viljanen, Airola and Pahikkala (2022).
"""

from __future__ import annotations

import numpy as np

from tests.reference_conditional import SIGNS, loss_matrix

KERNELS = ("kronecker", "cartesian", "linear", "polynomial", "ranking", "mlpk")
OWN_SIGN = {"ranking": -1, "mlpk": 1}


def exists(pairwise, relation, two_domains):
    own = OWN_SIGN.get(pairwise, 0)
    return own == 0 or (not two_domains and SIGNS[relation] != -own)


def pair_value(pairwise, K, G, first, second, known):
    (u, v), (s, t) = first, second
    if pairwise == "kronecker":
        return K[u, s] * G[v, t]
    if pairwise == "cartesian":
        return K[u, s] * (v == t and v < known[1]) + (u == s and u < known[0]) * G[v, t]
    if pairwise == "linear":
        return K[u, s] + G[v, t]
    if pairwise == "polynomial":
        return (K[u, s] + G[v, t]) ** 2
    difference = K[u, s] - K[u, t] - K[v, s] + K[v, t]
    return difference if pairwise == "ranking" else difference**2


def edge_kernel(pairwise, K, G, first, second, sign, known):
    """k(e, e') of the edges of `first` and `second`; nodes from `known` on are new."""
    out = np.empty((len(first), len(second)))
    for i, e in enumerate(first):
        for j, f in enumerate(second):
            out[i, j] = pair_value(pairwise, K, G, e, f, known)
            if sign:
                mirrored = pair_value(pairwise, K, G, e, (f[1], f[0]), known)
                out[i, j] = (out[i, j] + sign * mirrored) / 2
    return out


def with_item_effect(K, delta, known):
    """K + δ on the diagonal of known nodes."""
    K = K.copy()
    K[range(known), range(known)] += delta
    return K


def scores(pairwise, K, G, edges, y, alpha, *, known, at, objective, relation, condition):
    """Predictions at the edges `at`: (L R + alpha I) a = L y."""
    sign = SIGNS[relation]
    R = edge_kernel(pairwise, K, G, edges, edges, sign, known)
    L = loss_matrix(edges, objective, condition)
    a = np.linalg.solve(L @ R + alpha * np.eye(len(edges)), L @ y)
    return edge_kernel(pairwise, K, G, at, edges, sign, known) @ a


def bordered(R, y, alpha, edges, effects, relation, shape):
    """Dual variables, and fitted effects at the edges: [R + alpha, E; Eᵀ, 0] [a; b] = [y; 0]."""
    rows, columns = np.eye(shape[0])[edges[:, 0]], np.eye(shape[1])[edges[:, 1]]
    sign = SIGNS[relation]
    both = rows + sign * columns if sign else np.hstack([rows, columns])
    E = {"intercept": np.ones((len(y), 1)), "rows": rows, "columns": columns, "both": both}[effects]
    q, m = E.shape
    system = np.block([[R + alpha * np.eye(q), E], [E.T, np.zeros((m, m))]])
    solution = np.linalg.lstsq(system, np.concatenate([y, np.zeros(m)]), rcond=1e-12)[0]
    return solution[:q], E @ solution[q:]
