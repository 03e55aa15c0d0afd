"""Slow, obvious versions of every measure: loops over pairs and over all orders of the ties."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np


def by_query(qid, m):
    """The items of each query, queries in the order of their labels."""
    qid = np.zeros(m, dtype=int) if qid is None else np.asarray(qid)
    return [np.flatnonzero(qid == label) for label in np.unique(qid)]


def pair_counts(y, s):
    """Pairs tied in y, tied in s, tied in both, and swapped."""
    counts = np.zeros(4, dtype=int)
    for i in range(len(y)):
        for j in range(i):
            counts += (
                y[i] == y[j],
                s[i] == s[j],
                y[i] == y[j] and s[i] == s[j],
                (y[i] - y[j]) * (s[i] - s[j]) < 0,
            )
    return counts


def heaviside(a):
    return 1.0 if a > 0 else 0.5 if a == 0 else 0.0


def one_ranking_error(y, s):
    errors = [heaviside(s[j] - s[i]) for i, j in product(range(len(y)), repeat=2) if y[i] > y[j]]
    return np.mean(errors) if errors else None


def mean_over_queries(measure, y, s, qid):
    """The mean over the queries where the measure is defined, None where there is none."""
    values = [measure(y[items], s[items]) for items in by_query(qid, len(y))]
    values = [value for value in values if value is not None]
    return np.mean(values) if values else None


def ranking_error(y, s, qid=None):
    return mean_over_queries(one_ranking_error, y, s, qid)


def one_misranking(y, s):
    wrong = [s[i] <= s[j] for i, j in product(range(len(y)), repeat=2) if y[i] > y[j]]
    return np.mean(wrong) if wrong else None


def misranking(y, s, qid=None):
    return mean_over_queries(one_misranking, y, s, qid)


def pair_cost(y, s, cost, power, epsilon):
    """Equations 4-7 of Cortes et al. (2007), with the ε of equation 7 taken off both sides."""
    total = 0.0
    for i, j in product(range(len(y)), repeat=2):
        predicted, true = s[j] - s[i], y[j] - y[i]
        swapped = np.sign(predicted) * np.sign(true) < 0
        total += {
            "HR": abs(predicted) ** power if swapped else 0.0,
            "MP": abs(predicted - true) ** power,
            "HMP": abs(predicted - true) ** power if swapped else 0.0,
            "SVR": max(0.0, abs(predicted - true) - epsilon) ** power,
        }[cost]
    return total / len(y) ** 2


def preference_error(preferences, s, tie=0.5):
    losses = [
        tie if s[i] == s[j] else heaviside(s[j] - s[i])
        for i, j in zip(preferences.winner, preferences.loser)
    ]
    return np.sum(preferences.weight * losses) / np.sum(preferences.weight)


def rankings(s):
    """Every order of the items by falling score, the ties in all possible orders."""
    levels = [np.flatnonzero(s == level).tolist() for level in np.unique(s)[::-1]]
    for choice in product(*(permutations(level) for level in levels)):
        yield [item for level in choice for item in level]


def dcg(gains, k):
    return sum(gain / np.log2(rank + 2) for rank, gain in enumerate(gains[:k]))


def one_ndcg(y, s, k=None, gain="exp2"):
    gains = 2.0**y - 1 if gain == "exp2" else y
    ideal = dcg(np.sort(gains)[::-1], k)
    return np.mean([dcg(gains[r], k) for r in rankings(s)]) / ideal if ideal > 0 else None


def one_average_precision(y, s):
    def precision(ranking):
        relevant = y[ranking] > 0
        return np.mean([relevant[: place + 1].mean() for place in np.flatnonzero(relevant)])

    return np.mean([precision(r) for r in rankings(s)]) if (y > 0).any() else None


def one_reciprocal_rank(y, s, k=None, highest=None):
    """A reader goes down the list and stops at an item with probability (2^y − 1)/2^highest."""

    def expected(ranking):
        total, reads = 0.0, 1.0
        for rank, item in enumerate(ranking[:k], start=1):
            stops = (2.0 ** y[item] - 1) / 2.0**highest
            total, reads = total + reads * stops / rank, reads * (1 - stops)
        return total

    return np.mean([expected(r) for r in rankings(s)])


def conditional_error_of_pairs(Y, S, condition):
    """Equation 4 of Pahikkala et al. (2013): the mean over all pairs of all conditions."""
    if condition == "column":
        Y, S = Y.T, S.T
    errors = [
        heaviside(S[v, b] - S[v, a])
        for v in range(len(Y))
        for a, b in product(range(Y.shape[1]), repeat=2)
        if Y[v, a] > Y[v, b]
    ]
    return np.mean(errors) if errors else None


def conditional_error(Y, S, condition):
    if condition == "column":
        Y, S = Y.T, S.T
    errors = [one_ranking_error(y[~np.isnan(y)], s[~np.isnan(y)]) for y, s in zip(Y, S)]
    errors = [error for error in errors if error is not None]
    return np.mean(errors) if errors else None
