"""Greedy selection of features by the plain loop: all candidates refitted for all hold-outs."""

import numpy as np

from rankwise import Censored
from tests.reference import (
    enumerate_pairs,
    laplacian_and_target,
    primal_solution,
    query_scale,
    target_and_weight,
)


def holdouts(cv, qid, m):
    """(held, tested) items; `cv` is "leave-query-out", "leave-pair-out" or a list of test sets."""
    q = np.zeros(m) if qid is None else np.asarray(qid)
    if cv == "leave-query-out":
        return [(np.flatnonzero(q == label),) * 2 for label in np.unique(q)]
    if cv == "leave-pair-out":
        pairs = [(i, j) for i in range(m) for j in range(i + 1, m) if q[i] == q[j]]
        return [(np.array(pair),) * 2 for pair in pairs]
    return [(np.asarray(test),) * 2 for test in cv]


def comparable_pairs(y, qid, weight, loss="magnitude", ties="keep", query_weight="pairs"):
    """(h, j, z, w²) of censored outcomes: j had its event, and h was followed for longer."""
    found = []
    for label in set(qid):
        items, rows = [i for i in range(len(y)) if qid[i] == label], []
        for h in items:
            for j in items:
                gap = y.time[h] - y.time[j]
                equal_counts = loss == "unit" or (loss == "magnitude" and ties == "keep")
                later = gap > 0 or (gap == 0 and not y.event[h] and equal_counts)
                if h != j and y.event[j] and later:
                    rows.append((h, j, gap, weight[h] * weight[j]))
        scale = query_scale(query_weight, sum(weight[items]), sum(row[3] for row in rows))
        for h, j, gap, u in rows:
            z, w = target_and_weight(loss, gap)
            found.append((h, j, z, scale * u * w**2))
    return found


def held_out_error(X, y, alpha, cv, qid=None, weight=None, **options):
    """Σ over tested pairs of w² (z − (f_h − f_j))², f by the model trained without the fold."""
    m, total = len(y), 0.0
    labels = [0] * m if qid is None else list(qid)
    weight = np.ones(m) if weight is None else weight
    enumerated = comparable_pairs if isinstance(y, Censored) else enumerate_pairs
    everything = enumerated(y, labels, weight, **options)
    for held, tested in holdouts(cv, qid, m):
        train = np.setdiff1d(np.arange(m), held)
        pairs = enumerated(y[train], [labels[i] for i in train], weight[train], **options)
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
