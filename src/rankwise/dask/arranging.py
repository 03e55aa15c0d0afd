"""Whole queries in every partition: by hashing their labels, or by mending the cuts of sorted data.

Rows move between workers; they are never gathered in one place.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.delayed import Delayed, delayed
from scipy import sparse
from sklearn.utils import Bunch

from rankwise.dask.blocks import as_columns
from rankwise.dask.cluster import Cluster
from rankwise.dask.hashes import label_hashes
from rankwise.supervision.queries import Queries
from rankwise.validation import check_choice

METHODS = {
    "auto": "sorted where only the cuts between partitions split queries, else hash",
    "sorted": "rows of a query lie together: the part after a cut goes to the part before it",
    "hash": "every row goes to the partition that the hash of its label names",
}


def partition_by_query(
    X, y=None, *, qid, sample_weight=None, npartitions=None, method="auto"
) -> Bunch:
    """X, y, qid and sample_weight with every query whole in one partition.

    They come back lazily and of the kind they were (Dask arrays, frames or lists), in a Bunch. The
    order of the rows within a query is kept. "sorted" reads the labels once to find the cuts, and
    keeps the number of partitions; "hash" reads nothing beforehand and makes `npartitions` of them
    (default: as many as there are), which moves nearly every row and takes as many tasks as there
    are pairs of an old and a new partition. A query that is larger than a partition makes a large
    partition.

    With a Dask frame X, qid (and y) may also name columns: the Bunch then holds X with them in it.
    """
    check_choice("method", method, METHODS)
    if npartitions is not None:
        if not isinstance(npartitions, Integral) or npartitions < 1:
            raise ValueError(f"npartitions must be a positive integer; got {npartitions!r}.")
        if method == "sorted":
            raise ValueError('method="sorted" keeps the partitions: npartitions is for "hash".')
        method = "hash"
    if isinstance(X, dd.DataFrame) and isinstance(qid, str):
        return _arrange_frame(X, y, qid, npartitions, method)
    if qid is None:
        raise ValueError("partition_by_query needs qid, the label of every row's query.")
    columns = as_columns(X, y, qid, sample_weight)
    parts = _arrange(columns, npartitions, method)
    given = {"X": X, "y": y, "qid": qid, "sample_weight": sample_weight}
    wrapped = {name: _wrap(values, parts, i) for i, (name, values) in enumerate(given.items())}
    return Bunch(**wrapped)


def _arrange_frame(frame: dd.DataFrame, y, qid: str, npartitions, method: str) -> Bunch:
    for name in (qid, y):
        if name is not None and name not in frame.columns:
            raise ValueError(f"the frame has no column {name!r}.")
    columns = [part.to_delayed(optimize_graph=False) for part in (frame, frame[qid])]
    nothing = [None] * len(columns[0])
    parts = _arrange([columns[0], nothing, columns[1], nothing], npartitions, method)
    whole = _wrap(frame, parts, 0)
    return Bunch(X=whole, y=None if y is None else whole[y], qid=whole[qid], sample_weight=None)


def _arrange(columns: list[list], npartitions, method: str) -> list[Delayed]:
    """One delayed list [X, y, qid, weight] a new partition."""
    if method == "hash":
        return _by_hash(columns, npartitions or len(columns[0]))
    labels = [delayed(part, pure=False, traverse=False) for part in columns[2]]
    edges = Cluster().reduce(labels, _edges, _joined)
    owners = _owners(edges)
    if owners is not None:
        return _mended(columns, edges, owners)
    if method == "sorted":
        raise ValueError(
            'method="sorted": rows of a query do not lie together, so mending the cuts between '
            'partitions is not enough. Use method="hash".'
        )
    return _by_hash(columns, len(columns[0]))


@dataclass
class _Edges:
    """The first and last query of a partition, and where the first run ends."""

    n_items: int
    first: int = 0
    last: int = 0
    first_run: int = 0
    hashes: Any = None
    is_grouped: bool = True


def _edges(qid, number: int) -> list[_Edges]:
    m = len(qid)
    if not m:
        return [_Edges(0)]
    hashes = _item_hashes(qid)
    changes = np.flatnonzero(hashes[1:] != hashes[:-1]) + 1
    run = int(changes[0]) if len(changes) else m
    distinct = np.unique(hashes)
    grouped = len(distinct) == len(changes) + 1
    return [_Edges(m, int(hashes[0]), int(hashes[-1]), run, distinct, grouped)]


def _item_hashes(qid) -> np.ndarray:
    queries = Queries.from_labels(qid, len(qid))
    return label_hashes(queries.labels)[queries.codes]


def _joined(lists: list[list]) -> list:
    return [each for some in lists for each in some]


def _owners(edges: list[_Edges]) -> list[int] | None:
    """The partition that takes each partition's first run; None if queries are scattered."""
    owners = list(range(len(edges)))
    last_place: dict[int, int] = {}
    before = -1
    for number, edge in enumerate(edges):
        if not edge.n_items:
            continue
        if not edge.is_grouped:
            return None
        continues = before >= 0 and edges[before].last == edge.first
        if continues:
            whole = edges[before].first_run == edges[before].n_items
            owners[number] = owners[before] if whole else before
        for value in edge.hashes.tolist():
            if value in last_place and not (
                continues and value == edge.first and last_place[value] == before
            ):
                return None
            last_place[value] = number
        before = number
    return owners


def _mended(columns: list[list], edges: list[_Edges], owners: list[int]) -> list[Delayed]:
    cut = delayed(_cut, pure=False)
    pieces: list[list] = [[] for _ in edges]
    for number, edge in enumerate(edges):
        parts = [column[number] for column in columns]
        start = edge.first_run if owners[number] != number else 0
        if start:
            pieces[owners[number]].append(cut(parts, 0, start))
        pieces[number].append(cut(parts, start, edge.n_items))
    stack = delayed(_stacked, pure=False)
    return [stack(some) for some in pieces]


def _by_hash(columns: list[list], count: int) -> list[Delayed]:
    split, stack = delayed(_split, pure=False, nout=count), delayed(_stacked, pure=False)
    shares = [split(list(parts), count) for parts in zip(*columns)]
    name = uuid.uuid4().hex
    return [
        stack([share[j] for share in shares], dask_key_name=f"rankwise-query-{name}-{j}")
        for j in range(count)
    ]


def _split(parts: list, count: int) -> list[list]:
    where = _item_hashes(parts[2]) % np.uint64(count) if len(parts[2]) else np.zeros(0)
    return [[_rows(part, np.flatnonzero(where == j)) for part in parts] for j in range(count)]


def _cut(parts: list, low: int, high: int) -> list:
    return [_rows(part, slice(low, high)) for part in parts]


def _rows(part, rows):
    if part is None or (np.ndim(part) == 0 and not hasattr(part, "shape")):
        return part
    return part.iloc[rows] if hasattr(part, "iloc") else _plain(part)[rows]


def _plain(part):
    return part if hasattr(part, "shape") else np.asarray(part)


def _stacked(pieces: list[list]) -> list:
    return [_stack(list(column)) for column in zip(*pieces)]


def _stack(parts: list) -> Any:
    first = parts[0]
    if first is None or not hasattr(first, "shape"):
        return first
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack(parts, format="csr")
    if hasattr(first, "iloc"):
        return pd.concat(parts)
    if type(first).__module__.startswith("polars"):
        import polars

        return polars.concat(parts)
    return np.concatenate(parts)


def _wrap(values, parts: list, place: int):
    """The column `place` of the new partitions as a collection of the kind of `values`."""
    if values is None or (np.ndim(values) == 0 and not hasattr(values, "shape")):
        return values
    lazy = [part[place] for part in parts]
    if isinstance(values, dd.DataFrame | dd.Series):
        return dd.from_delayed(lazy, meta=values._meta, verify_meta=False)
    if not isinstance(values, da.Array):
        return lazy
    shape = (np.nan, *values.shape[1:])
    meta = values._meta
    arrays = [da.from_delayed(part, shape, dtype=values.dtype, meta=meta) for part in lazy]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)
