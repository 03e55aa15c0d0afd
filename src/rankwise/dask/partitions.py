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
import pandas as pd
from dask.delayed import Delayed, delayed
from distributed import Future
from scipy import sparse
from sklearn.utils.validation import check_array

from rankwise.numerics.arrays import Matrix, canonical
from rankwise.supervision.censored import CensoredItems, read_censored
from rankwise.supervision.preferences import Preferences
from rankwise.supervision.queries import Queries
from rankwise.supervision.supervision import ComparedItems, ScoredItems
from rankwise.validation import (
    check_scores,
    check_weights,
    naming_text,
    refuse_extreme_weights,
    refuse_masked,
    refuse_non_finite,
    refuse_unreal,
)

FRAMES = (dd.DataFrame, dd.Series)


@dataclass
class Block:
    """One partition as the user gave it, unchecked."""

    X: Any
    y: Any = None
    qid: Any = None
    weight: Any = None
    preferences: Preferences | None = None
    """In place of y: what is said about the items, which are numbered within the block."""

    @property
    def n_items(self) -> int:
        return int(self.X.shape[0])

    def __sizeof__(self) -> int:
        return sum(_n_bytes(part) for part in (self.X, self.y, self.qid, self.weight))


@dataclass
class Items:
    """The same rows, checked, or some of them."""

    X: Matrix
    supervision: ScoredItems | CensoredItems | ComparedItems
    single: bool
    """Whether y has no axis of outputs."""
    rows: np.ndarray
    """The row of each item in its partition, in ascending order."""

    @property
    def n_items(self) -> int:
        return len(self.rows)

    @property
    def scores(self) -> ScoredItems:
        """The supervision, which must be scores."""
        assert isinstance(self.supervision, ScoredItems)
        return self.supervision

    def take(self, rows: np.ndarray) -> Items:
        return Items(self.X[rows], self.supervision.take(rows), self.single, self.rows[rows])


def is_lazy(X: Any) -> bool:
    """Whether X comes in partitions: a Dask collection, or a list of blocks."""
    return isinstance(X, (da.Array, *FRAMES)) or _is_partitions(X, least_dimensions=2)


def as_blocks(X, y=None, qid=None, sample_weight=None) -> list[Delayed]:
    """One delayed Block for each partition of X. A plain matrix is a single partition."""
    make = delayed(Block, pure=False, traverse=False)
    return [make(*parts) for parts in zip(*as_columns(X, y, qid, sample_weight))]


def as_columns(X, y=None, qid=None, sample_weight=None) -> list[list]:
    """The partitions of X, y, qid and sample_weight, cut alike; lists of None for missing ones."""
    if isinstance(X, da.Array):
        X = with_whole_rows(X)
    y, qid, sample_weight = (
        _cut_like(values, name, X)
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


def with_whole_rows(X: da.Array) -> da.Array:
    """X, cut between rows only."""
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got X with {X.ndim} dimensions instead.")
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X


def _cut_like(values: Any, name: str, X: Any) -> Any:
    """`values`, cut into the partitions of X if that is possible without reading the data."""
    is_known = isinstance(X, da.Array) and not np.isnan(X.chunks[0]).any()
    if values is None or isinstance(values, FRAMES) or _is_partitions(values):
        return values
    if name == "sample_weight" and isinstance(values, numbers.Real):
        return values
    if not isinstance(values, da.Array):
        if not is_lazy(X):
            return values
        if not is_known:
            raise ValueError(
                f"{name} must be a Dask collection or a list of partitions like X, because the "
                "sizes of the partitions of X are not known."
            )
        refuse_masked(values, name)
        values = np.asarray(values)
        values = da.from_array(values, chunks=(-1,) * values.ndim)
    if is_known and not np.isnan(values.chunks[0]).any():
        if values.shape[0] != X.shape[0]:
            rows = f"X has {X.shape[0]}, {name} has {values.shape[0]}"
            raise ValueError(f"X and {name} must have as many rows: {rows}.")
        return values.rechunk({0: X.chunks[0], **{i: -1 for i in range(1, values.ndim)}})
    return values


def _partitions_of(X: Any, *others) -> list[list]:
    """A list of partitions for each argument.

    Arrays are optimised together, so that a file which several of them come from is read once.
    """
    given = [X, *others]
    arrays = [i for i, values in enumerate(given) if isinstance(values, da.Array)]
    for i, array in zip(arrays, dask.optimize(*(given[i] for i in arrays))):
        given[i] = list(array.to_delayed(optimize_graph=False).ravel())
    first = _as_list(given[0]) if is_lazy(given[0]) or given[0] is not X else [X]
    return [first, *(_as_list(values, len(first)) for values in given[1:])]


def _as_list(values: Any, count: int = 1) -> list:
    if isinstance(values, FRAMES):
        # If they were optimised one by one, columns of the same files could be cut differently.
        return values.to_delayed(optimize_graph=False)
    if _is_partitions(values):
        return list(values)
    if values is None or isinstance(values, numbers.Real):
        return [values] * count
    return [values]


def _is_partitions(values: Any, least_dimensions: int = 1) -> bool:
    if not isinstance(values, list | tuple) or not len(values):
        return False
    return all(
        isinstance(part, Delayed | Future) or len(getattr(part, "shape", ())) >= least_dimensions
        for part in values
    )


def _n_bytes(part: Any) -> int:
    if sparse.issparse(part):
        return part.data.nbytes + part.indices.nbytes + part.indptr.nbytes
    if hasattr(part, "memory_usage"):
        used = part.memory_usage(deep=False)
        return int(used.sum() if hasattr(used, "sum") else used)
    return int(getattr(part, "nbytes", sys.getsizeof(part)))


def stacked(parts: list) -> Any:
    """The rows of several pieces of one kind, one below the other."""
    first = parts[0]
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack(parts, format="csr")
    if hasattr(first, "iloc"):
        return pd.concat(parts)
    if type(first).__module__.startswith("polars"):
        import polars

        return polars.concat(parts)
    return np.concatenate(parts)


def check_rows(X: Any, dtype: Any = np.float64) -> Matrix:
    """X of one partition, checked as rankwise.validation.check_items does."""
    refuse_unreal(X, "X")
    with naming_text(X, "X"):
        X = check_array(X, accept_sparse="csr", dtype=dtype, ensure_all_finite=False)
    X = canonical(X)
    refuse_non_finite(X, "X")
    return X


def check_block(block: Block, number: int, dtype: Any = np.float64) -> Items | None:
    """The checked items, or None for an empty partition; an error names the partition."""
    try:
        m = block.n_items
        if not m:
            _refuse_more_rows(block)
            return None
        X = check_rows(block.X, dtype)
        weight: Any = np.ones(m) if block.weight is None else np.zeros(m)
        if block.weight is not None and np.any(block.weight):
            # check_weights refuses zeros alone, which one partition of many may hold.
            weight = check_weights(block.weight, m)
            refuse_extreme_weights(weight)
        queries, outcome = Queries.from_labels(block.qid, m), read_censored(block.y)
        if block.preferences is not None:
            compared = ComparedItems(block.preferences, queries, weight)
            compared.refuse_crossing()
            return Items(X, compared, True, np.arange(m))
        if outcome is not None:
            if len(outcome) != m:
                raise ValueError(f"X and y must have as many rows: X has {m}, y {len(outcome)}.")
            return Items(X, CensoredItems(outcome, queries, weight), True, np.arange(m))
        Y = check_scores(block.y, m)
        supervision = ScoredItems(Y.reshape(m, -1), queries, weight)
        return Items(X, supervision, Y.ndim == 1, np.arange(m))
    except ValueError as error:
        raise type(error)(f"partition {number}: {error}") from error


def _refuse_more_rows(block: Block) -> None:
    for name, values in (("y", block.y), ("qid", block.qid)):
        if values is not None and len(values):
            raise ValueError(f"X has no rows, {name} has {len(values)}.")
