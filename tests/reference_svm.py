"""RankSVM written plainly: every pair by itself, O(m²). What the fast code must equal."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from tests.reference import query_scale


def pair_counts(y, p, qid=None):
    """c and d of equations 5 and 6 (Airola et al. 2011) by comparing all pairs: PairRSVM."""
    same = _same_query(qid, len(y))
    above, below = y[:, None] < y[None, :], y[:, None] > y[None, :]
    c = same & above & (p[:, None] > p[None, :] - 1)
    d = same & below & (p[:, None] < p[None, :] + 1)
    return c.sum(axis=1), d.sum(axis=1)


def rival_sums(y, p, v, qid=None):
    same = _same_query(qid, len(y))
    above = (y[:, None] < y[None, :]) & (p[:, None] > p[None, :] - 1)
    below = (y[:, None] > y[None, :]) & (p[:, None] < p[None, :] + 1)
    return (same & (above | below)) @ v


def pair_list(y, qid=None):
    """Winner, loser and weight of every pair; the weights make the mean over queries of means."""
    same = _same_query(qid, len(y))
    winner, loser = np.nonzero(same & (y[:, None] > y[None, :]))
    codes = np.zeros(len(y), int) if qid is None else np.unique(qid, return_inverse=True)[1]
    pairs_of_query = np.bincount(codes[winner], minlength=codes.max() + 1)
    weight = 1.0 / (pairs_of_query[codes[winner]] * np.count_nonzero(pairs_of_query))
    return winner, loser, weight


def weighted_pairs(pairs, qid, item_weight, query_weight):
    """(winner, loser, weight) of (h, j, weight of the statement) triples, as a weighted mean."""
    v, qid = np.asarray(item_weight, dtype=float), np.asarray(qid)
    winner, loser, weight = [], [], []
    for label in np.unique(qid):
        inside = [(h, j, u * v[h] * v[j]) for h, j, u in pairs if qid[h] == label]
        c = query_scale(query_weight, v[qid == label].sum(), sum(u for _, _, u in inside))
        for h, j, u in inside:
            winner.append(h)
            loser.append(j)
            weight.append(c * u)
    weight = np.array(weight)
    return np.array(winner), np.array(loser), weight / weight.sum()


def risk(p, winner, loser, weight, power=1):
    return weight @ np.maximum(0.0, 1.0 - (p[winner] - p[loser])) ** power


def objective(w, X, winner, loser, weight, alpha, power=1):
    return risk(X @ w, winner, loser, weight, power) + alpha * w @ w


def minimum(X, winner, loser, weight, alpha, power=1):
    """The minimiser by a dense dual over all pairs (hinge) or by BFGS (squared hinge)."""
    D = X[winner] - X[loser]
    if power == 2:

        def value_and_gradient(w):
            slack = np.maximum(0.0, 1.0 - D @ w)
            return weight @ slack**2 + alpha * w @ w, -2 * D.T @ (weight * slack) + 2 * alpha * w

        found = minimize(value_and_gradient, np.zeros(X.shape[1]), jac=True, tol=1e-12)
        return found.x

    def dual(a):
        w = D.T @ a / (2 * alpha)
        return alpha * w @ w - a.sum(), D @ w - 1.0

    bounds = [(0.0, v) for v in weight]
    options = {"maxiter": 20000, "maxfun": 200000, "ftol": 1e-15, "gtol": 1e-10}
    found = minimize(dual, weight / 2, jac=True, bounds=bounds, method="L-BFGS-B", options=options)
    return D.T @ found.x / (2 * alpha)


def _same_query(qid, m):
    if qid is None:
        return np.ones((m, m), dtype=bool)
    qid = np.asarray(qid)
    return qid[:, None] == qid[None, :]
