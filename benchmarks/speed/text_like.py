"""Sparse data of the shape of a text collection, with the scores of Airola et al. (2011)."""

from __future__ import annotations

import numpy as np
from scipy import sparse

N_TOPICS = 50


def text_like(m: int, n: int = 50_000, words: int = 80, seed: int = 0):
    """X (m, n) in CSR format with unit rows of about 75 tf-idf values each, and scores y.

    The score of a row is its similarity to one row that was drawn with the others and then removed.
    Word frequencies follow Zipf's law; half of a row's words come from its topic.
    """
    rng = np.random.default_rng(seed)
    lengths = np.maximum(5, rng.poisson(words, m + 1))
    total = int(lengths.sum())
    rank = np.minimum((n ** rng.random(total)).astype(np.int64) - 1, n - 1)
    topic = np.repeat(rng.integers(0, N_TOPICS, m + 1), lengths)
    own = rng.random(total) < 0.5
    columns = np.where(own, (rank * 7919 + topic * 977) % n, rank).astype(np.int32)
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    X = sparse.csr_matrix((np.ones(total), columns, indptr), shape=(m + 1, n))
    X.sum_duplicates()
    documents = np.bincount(X.indices, minlength=n)
    X.data = (1 + np.log(X.data)) * np.log((m + 2) / (documents[X.indices] + 1))
    norms = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))
    X.data /= np.repeat(np.where(norms > 0, norms, 1.0), np.diff(X.indptr))
    target = X[m].toarray().ravel()
    X = X[:m]
    return X, X @ target


def dense_low_dimensional(m: int, n: int = 8, seed: int = 0):
    """Standardised features of uneven spread and real scores that no linear model fits exactly."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) @ rng.standard_normal((n, n))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = X @ rng.standard_normal(n) + np.sin(2 * X[:, 0]) + 0.5 * rng.standard_normal(m)
    return X, y
