"""Greedy selection of features by the plain loop: all candidates refitted for all hold-outs."""

import numpy as np

from tests.reference import enumerate_pairs, laplacian_and_target, primal_solution


def holdouts(cv, qid, m):
    """(held, tested) items; `cv` is "leave-query-out", "leave-pair-out" or a list of test sets."""
    q = np.zeros(m) if qid is None else np.asarray(qid)
    if cv == "leave-query-out":
        return [(np.flatnonzero(q == label),) * 2 for label in np.unique(q)]
    if cv == "leave-pair-out":
        pairs = [(i, j) for i in range(m) for j in range(i + 1, m) if q[i] == q[j]]
        return [(np.array(pair),) * 2 for pair in pairs]
    return [(np.asarray(test),) * 2 for test in cv]


def held_out_error(X, y, alpha, cv, qid=None, weight=None, **options):
    """Σ over tested pairs of w² (z − (f_h − f_j))², f by the model trained without the fold."""
    m, total = len(y), 0.0
    labels = [0] * m if qid is None else list(qid)
    weight = np.ones(m) if weight is None else weight
    everything = enumerate_pairs(y, labels, weight, **options)
    for held, tested in holdouts(cv, qid, m):
        train = np.setdiff1d(np.arange(m), held)
        pairs = enumerate_pairs(y[train], [labels[i] for i in train], weight[train], **options)
        L, b = laplacian_and_target(pairs, len(train))
        f = X @ primal_solution(X[train], L, b, alpha)
        inside = set(tested.tolist())
        for h, j, z, squared in everything:
            if h in inside and j in inside:
                total += squared * (z - (f[h] - f[j])) ** 2
    return total


def naive_selection(X, y, k, alpha, cv, **options):
    """The selected columns and the error after each; equal errors (to 1e-10): the first column."""
    selected, errors = [], []
    for _ in range(k):
        error = np.full(X.shape[1], np.inf)
        for j in set(range(X.shape[1])) - set(selected):
            error[j] = held_out_error(X[:, [*selected, j]], y, alpha, cv, **options)
        best = int(np.argmax(error <= error.min() * (1 + 1e-10)))
        selected.append(best)
        errors.append(error[best])
    return selected, np.array(errors)
