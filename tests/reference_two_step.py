"""Two-step regression written plainly, and its hold-outs by refitting."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import clone

CASES = [("general", False), ("general", True), ("symmetric", False), ("reciprocal", False)]
"""Each relation, and whether it has two domains."""
SIGNS = {"general": 0, "symmetric": 1, "reciprocal": -1}


def coefficients(K_A, K_B, Y, alphas):
    """(K_A + alpha)⁻¹ Y (K_B + alpha')⁻¹ by two solves."""
    left = np.linalg.solve(K_A + alphas[0] * np.eye(len(K_A)), Y)
    return np.linalg.solve(K_B + alphas[1] * np.eye(len(K_B)), left.T).T


def make_relation(rng, relation, two_domains, n, p=6):
    A = rng.normal(size=(p, n))
    B = rng.normal(size=(p - 1, n)) if two_domains else A
    Y = rng.normal(size=(len(A), len(B)))
    if relation != "general":
        Y = Y + SIGNS[relation] * Y.T
    return A, B, (A, B) if two_domains else A, Y


def unobserved(Y, relation):
    """Two missing cells, with their reverses in a mirrored relation."""
    Y = Y.copy()
    Y[0, 1] = Y[3, 2] = np.nan
    if relation != "general":
        Y[1, 0] = Y[2, 3] = np.nan
    return Y


def refit(model, A, B, Y, kind, i, j, two_domains):
    """The score of (i, j) by the same model, refitted without what the hold-out leaves out."""
    model, Y = clone(model), Y.copy()
    mirrored = model.relation != "general"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if kind == "edge":
            Y[i, j] = np.nan
            if mirrored:
                Y[j, i] = np.nan
            if model.fill is None:
                model.set_params(fill="model")
            return model.fit((A, B) if two_domains else A, Y).predict(A, B)[i, j]
        if mirrored:
            out = {"row": [i], "column": [j], "both": [i, j]}[kind]
            kept = np.delete(np.arange(len(A)), out)
            model.fit(A[kept], Y[np.ix_(kept, kept)])
        else:
            rows = np.delete(np.arange(len(A)), [i] if kind in ("row", "both") else [])
            columns = np.delete(np.arange(len(B)), [j] if kind in ("column", "both") else [])
            model.fit((A[rows], B[columns]), Y[np.ix_(rows, columns)])
        return model.predict(A[[i]], B[[j]])[0, 0]


def held_out(model, A, B, Y, kind, two_domains):
    return np.array(
        [
            [refit(model, A, B, Y, kind, i, j, two_domains) for j in range(len(B))]
            for i in range(len(A))
        ]
    )
