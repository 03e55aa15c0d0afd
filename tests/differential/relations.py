"""ConditionalRanker against the explicit kernel of all edges, in extended precision."""

from __future__ import annotations

import numpy as np

from rankwise import ConditionalRanker

from .extended import Long, dual_coefficients, kernel
from .outcome import Outcome


def edge_kernel(K_A, K_B, first, second, sign: int) -> np.ndarray:
    """Equations 7, 8 and 9 of Pahikkala et al. (2013); sign 0, 1 and −1."""
    (u, v), (s, t) = first.T, second.T
    plain = K_A[np.ix_(u, s)] * K_B[np.ix_(v, t)]
    if not sign:
        return plain
    return (plain + sign * K_A[np.ix_(u, t)] * K_B[np.ix_(v, s)]) / 2


def loss_matrix(conditions: np.ndarray, objective: str) -> np.ndarray:
    L = np.eye(len(conditions), dtype=Long)
    if objective == "regression":
        return L
    same = conditions[:, None] == conditions[None, :]
    return L - same / same.sum(axis=1).astype(Long)[:, None]


def check_relation(rng: np.random.Generator) -> Outcome:
    relation = str(rng.choice(["general", "symmetric", "reciprocal"]))
    two_domains = relation == "general" and rng.random() < 0.5
    p_a, n = int(rng.integers(2, 6)), int(rng.integers(1, 8))
    p_b = int(rng.integers(2, 6)) if two_domains else p_a
    scale = 10.0 ** rng.uniform(-70, 70) if rng.random() < 0.2 else 1.0
    A = scale * rng.normal(size=(p_a + 2, n))
    B = scale * rng.normal(size=(p_b + 2, n)) if two_domains else A
    name = str(rng.choice(["linear", "rbf"]))
    options = {
        "objective": str(rng.choice(["ranking", "regression"])),
        "relation": relation,
        "condition": str(rng.choice(["row", "column"])),
        "kernel": name,
        "gamma": 10.0 ** rng.uniform(-2, 0) / scale**2,
    }
    K_A, K_B = (kernel(name, N, N, options["gamma"], 1, 0.0) for N in (A, B))
    grid = np.array([(u, v) for u in range(p_a) for v in range(p_b)])
    complete = rng.random() < 0.5
    edges = grid if complete else grid[rng.integers(0, len(grid), size=len(grid))]
    y = rng.normal(size=len(edges)) * 10.0 ** rng.uniform(-6, 6)
    if complete and relation != "general":
        sign = 1 if relation == "symmetric" else -1
        Y = y.reshape(p_a, p_a)
        y = (Y + sign * Y.T).ravel() / 2
    sign = {"general": 0, "symmetric": 1, "reciprocal": -1}[relation]
    L = loss_matrix(edges[:, 0 if options["condition"] == "row" else 1], options["objective"])
    K = edge_kernel(K_A, K_B, edges, edges, sign)
    size = float(np.trace(L @ K)) / len(edges)
    description = f"{'complete' if complete else f'{len(edges)} edges'}, {p_a} x {p_b}"
    outcome = Outcome(f"ConditionalRanker({options}), {description}, scale {scale:.1e}", scale != 1)
    plain = float(np.trace(edge_kernel(K_A, K_B, edges, edges, 0))) / len(edges)
    if not size > 1e-12 * plain or not np.any(L @ y):
        return outcome.undecided("there is nothing to learn")
    alpha = size * 10.0 ** rng.uniform(-5, 3)
    a = dual_coefficients(K, L, L @ y.astype(Long), alpha)
    everywhere = np.array([(u, v) for u in range(p_a + 2) for v in range(p_b + 2)])
    expected = edge_kernel(K_A, K_B, everywhere, edges, sign) @ a
    if not np.isfinite(expected).all():
        return outcome.undecided("the elimination met a pivot of zero")
    nodes = (A[:p_a], B[:p_b]) if two_domains else A[:p_a]
    with outcome.refusing():
        model = ConditionalRanker(alpha, tol=1e-10, max_iter=5000, **options)
        if complete:
            model.fit(nodes, y.reshape(p_a, p_b))
        else:
            model.fit(nodes, y, edges=edges)
        found = model.predict(A, B if two_domains else None)
        outcome.rounding = 0.0 if complete else 1e-5  # conjugate gradients stop before that
        outcome.compare("predict", found.ravel(), expected)
    return outcome
