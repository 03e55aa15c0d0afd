"""From Dask collections to blocks: the rows of X, y, qid and weights that lie in one partition."""

from __future__ import annotations

import numbers
import sys
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask.delayed import Delayed, delayed
from distributed import Future
from scipy import sparse
from sklearn.utils.validation import check_array

from rankwise.supervision.queries import Queries
from rankwise.validation import check_scores, check_weights, refuse_non_finite

Frame = (dd.DataFrame, dd.Series)


@dataclass
class Block:
    """What a user handed over for one partition, unchecked."""

    X: Any
    y: Any = None
    qid: Any = None
    weight: Any = None

    def __sizeof__(self) -> int:
        return sum(_n_bytes(part) for part in (self.X, self.y, self.qid, self.weight))


@dataclass
class Items:
    """The same rows, checked: X float or CSR, Y (m, k), queries, weights."""

    X: Any
    Y: np.ndarray
    single: bool
    queries: Queries
    weight: np.ndarray


def is_lazy(X) -> bool:
    """Whether X comes in partitions: a Dask collection, or a list of blocks."""
    return isinstance(X, (da.Array, *Frame)) or _is_partitions(X, least_dimensions=2)


def as_blocks(X, y=None, qid=None, sample_weight=None) -> list[Delayed]:
    """One delayed Block a partition of X. A plain matrix is a single partition."""
    make = delayed(Block, pure=False, traverse=False)
    return [make(*parts) for parts in zip(*as_columns(X, y, qid, sample_weight))]


def as_columns(X, y=None, qid=None, sample_weight=None) -> list[list]:
    """The partitions of X, y, qid and sample_weight, cut alike; None for what is not given."""
    if isinstance(X, da.Array):
        X = _whole_rows(X)
    y, qid, sample_weight = (
        _like(values, name, X)
        for name, values in (("y", y), ("qid", qid), ("sample_weight", sample_weight))
    )
    columns = _partitions_of(X, y, qid, sample_weight)
    count = len(columns[0])
    if not count:
        raise ValueError("X holds no partition: Found array with 0 sample(s).")
    for name, column in zip(("y", "qid", "sample_weight"), columns[1:]):
        if len(column) != count:
            raise ValueError(
                f"{name} has {len(column)} partitions, X has {count}: they must be cut alike, "
                "for example with rechunk or repartition."
            )
    return columns


def _whole_rows(X: da.Array) -> da.Array:
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got X with {X.ndim} dimensions instead.")
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X


def _like(values, name: str, X):
    """values cut into partitions as X is, wherever that needs no look at the data."""
    known = isinstance(X, da.Array) and not np.isnan(X.chunks[0]).any()
    if values is None or isinstance(values, Frame) or _is_partitions(values):
        return values
    if name == "sample_weight" and isinstance(values, numbers.Real):
        return values
    if not isinstance(values, da.Array):
        if not is_lazy(X):
            return values
        if not known:
            raise ValueError(
                f"{name} must be a Dask collection or a list of partitions, as X is, for the "
                "sizes of X's partitions are not known."
            )
        values = np.asarray(values)
        values = da.from_array(values, chunks=(-1,) * values.ndim)
    if known and not np.isnan(values.chunks[0]).any():
        if values.shape[0] != X.shape[0]:
            rows = f"X has {X.shape[0]}, {name} has {values.shape[0]}"
            raise ValueError(f"X and {name} must have as many rows: {rows}.")
        return values.rechunk({0: X.chunks[0], **{i: -1 for i in range(1, values.ndim)}})
    return values


def _partitions_of(X, *others) -> list[list]:
    """A list of partitions for each; arrays are optimised together, so shared reads stay shared."""
    given = [X, *others]
    arrays = [i for i, values in enumerate(given) if isinstance(values, da.Array)]
    for i, array in zip(arrays, dask.optimize(*(given[i] for i in arrays))):
        given[i] = list(array.to_delayed(optimize_graph=False).ravel())
    first = _as_list(given[0]) if is_lazy(given[0]) or given[0] is not X else [X]
    return [first, *(_as_list(values, len(first)) for values in given[1:])]


def _as_list(values, count: int = 1) -> list:
    if isinstance(values, Frame):
        # optimised one by one, columns of the same files could be cut differently
        return values.to_delayed(optimize_graph=False)
    if _is_partitions(values):
        return list(values)
    if values is None or isinstance(values, numbers.Real):
        return [values] * count
    return [values]


def _is_partitions(values, least_dimensions: int = 1) -> bool:
    if not isinstance(values, list | tuple) or not len(values):
        return False
    return all(
        isinstance(part, Delayed | Future) or len(getattr(part, "shape", ())) >= least_dimensions
        for part in values
    )


def _n_bytes(part) -> int:
    if sparse.issparse(part):
        return part.data.nbytes + part.indices.nbytes + part.indptr.nbytes
    if hasattr(part, "memory_usage"):
        used = part.memory_usage(deep=False)
        return int(used.sum() if hasattr(used, "sum") else used)
    return int(getattr(part, "nbytes", sys.getsizeof(part)))


def names_of(X) -> tuple[str, ...] | None:
    """Column names, where X is a frame whose names are all strings."""
    names = getattr(X, "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return tuple(names)


def rows_of(X) -> int:
    return int(X.shape[0])


def check_rows(X, dtype):
    """X of one partition, as rankwise.validation.check_items would have it."""
    X = check_array(
        X,
        accept_sparse="csr",
        dtype=dtype,
        ensure_all_finite=False,
        ensure_min_samples=0,
        ensure_min_features=0,
    )
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    refuse_non_finite(X, "X")
    return X


def check_block(block: Block, number: int, dtype=np.float64) -> Items | None:
    """None for an empty partition; an error names the partition."""
    try:
        m = rows_of(block.X)
        if not m:
            _refuse_more_rows(block)
            return None
        X = check_rows(block.X, dtype)
        Y = check_scores(block.y, m)
        queries = Queries.from_labels(block.qid, m)
        weight = block.weight
        if weight is None:
            weight = np.ones(m)
        elif np.any(weight):
            weight = check_weights(weight, m)
        else:
            weight = np.zeros(m)
        return Items(X, Y.reshape(m, -1), Y.ndim == 1, queries, weight)
    except ValueError as error:
        raise type(error)(f"partition {number}: {error}") from error


def _refuse_more_rows(block: Block) -> None:
    for name, values in (("y", block.y), ("qid", block.qid)):
        if values is not None and len(values):
            raise ValueError(f"X has no rows, {name} has {len(values)}.")
