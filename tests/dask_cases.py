"""Data cut into partitions of whole queries, and clusters, for the tests of rankwise.dask."""

import dask.array as da
import numpy as np
from dask import delayed

COSTS = [
    {"loss": loss, "ties": ties, "query_weight": weight}
    for loss, ties in (
        ("magnitude", "keep"),
        ("magnitude", "drop"),
        ("unit", "keep"),
        ("relative", "keep"),
    )
    for weight in ("pairs", "size", "queries")
]
REDUCED = {"kernel": "rbf", "gamma": 0.1, "basis": 12, "random_state": 3}


def ranking_data(m=240, n=5, n_queries=24, outputs=None, seed=0):
    """X away from zero, graded y with ties, sorted qid."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)) + 2.0
    qid = np.sort(rng.integers(0, n_queries, m))
    shape = (m,) if outputs is None else (m, outputs)
    signal = X[:, 0] if outputs is None else X[:, :outputs]
    y = np.round(signal + rng.normal(size=shape))
    return X, y, qid, rng.integers(0, 3, m).astype(float)


def whole_query_chunks(qid, per_partition=4) -> tuple[int, ...]:
    """Chunk sizes that cut a sorted qid between queries only."""
    first = np.flatnonzero(np.diff(qid)) + 1
    return tuple(np.diff(np.r_[0, first[per_partition - 1 :: per_partition], len(qid)]).tolist())


def as_dask(X, qid, per_partition=4) -> da.Array:
    return da.from_array(X, chunks=(whole_query_chunks(qid, per_partition), X.shape[1]))


def as_delayed(chunks, *arrays) -> list[list]:
    """Every array as a list of delayed partitions."""
    ends = np.cumsum(chunks)
    return [[delayed(a[e - c : e]) for c, e in zip(chunks, ends)] for a in arrays]
