"""The all-paths graph kernel written plainly: powers of A, double loops over vertices."""

import numpy as np


def summed_powers(A, terms=4000):
    """A + A² + A³ + …, until nothing is added."""
    total, power = np.zeros_like(A), A.copy()
    for _ in range(terms):
        total = total + power
        power = power @ A
        if not power.any() or np.abs(power).max() < 1e-18:
            break
    return total


def label_pairs(graph, combine, longest=4000) -> dict:
    """(label, label) -> weight, by the definitions (equations 1 and 2 of the erratum)."""
    n = len(graph.labels)
    A = np.zeros((n, n))
    for source, target, weight in graph.edges:
        A[source, target] += weight
    W = summed_powers(A, longest)
    names = sorted(set().union(*graph.labels)) if n else []
    G = {}
    for a in names:
        for b in names:
            terms = [
                W[k, l] if a in graph.labels[k] and b in graph.labels[l] else 0.0
                for k in range(n)
                for l in range(n)
            ]
            G[a, b] = sum(terms) if combine == "sum" else max(terms)
    return G


def kernel(first, second, combine, longest=4000) -> float:
    one, other = label_pairs(first, combine, longest), label_pairs(second, combine, longest)
    return sum(value * other.get(pair, 0.0) for pair, value in one.items())


def kernel_matrix(first, second, combine, normalize=False, longest=4000):
    K = np.array([[kernel(a, b, combine, longest) for b in second] for a in first])
    if normalize:
        own = [
            np.array([kernel(g, g, combine, longest) for g in graphs]) for graphs in (first, second)
        ]
        roots = [np.sqrt(np.where(norms > 0, norms, 1.0)) for norms in own]
        K = K / np.outer(*roots)
    return K
