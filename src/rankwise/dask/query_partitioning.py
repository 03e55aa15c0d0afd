"""Whole queries in every partition: by the hash of their labels, or by moving the rows at cuts.

Rows move between workers; they are never gathered in one place.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask.delayed import Delayed, delayed
from sklearn.utils import Bunch

from rankwise.dask.cluster import Cluster, joined
from rankwise.dask.label_hashes import label_hashes
from rankwise.dask.partitions import as_columns, stacked
from rankwise.supervision.queries import Queries
from rankwise.validation import check_choice, check_count

METHODS = {
    "auto": "sorted if only the cuts between partitions split queries, else hash",
    "sorted": "the rows of a query lie together: those after a cut join those before it",
    "hash": "the hash of its label names the partition of every row",
}


def partition_by_query(
    X, y=None, *, qid, sample_weight=None, npartitions=None, method="auto"
) -> Bunch:
    """X, y, qid and sample_weight with every query whole in one partition.

    The order of the rows within a query is kept. A query that is larger than a partition makes
    a large partition.

    Parameters
    ----------
    X, y, qid, sample_weight
        Dask arrays, frames or lists of delayed partitions. If X is a Dask frame, qid (and y) may
        also name columns. X in the result then still holds them.
    npartitions : int, optional
        The number of partitions; by default as many as there are.
    method : {"auto", "sorted", "hash"}
        "sorted" reads the labels once to find the cuts, and keeps the number of partitions. "hash"
        reads nothing beforehand and makes `npartitions` of them; it moves nearly every row, and
        takes one task for each pair of an old and a new partition.

    Returns
    -------
    Bunch
        Lazy collections of the kinds that were given.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from rankwise.dask import partition_by_query
    >>> X = da.from_array(np.arange(6.0).reshape(6, 1), chunks=(2, 1))
    >>> qid = da.from_array(np.array(["a", "a", "a", "b", "b", "b"]), chunks=2)
    >>> whole = partition_by_query(X, qid=qid)
    >>> [part.tolist() for part in map(np.asarray, whole.qid.blocks) if len(part)]
    [['a', 'a', 'a'], ['b', 'b', 'b']]
    """
    check_choice("method", method, METHODS)
    if npartitions is not None:
        npartitions = check_count("npartitions", npartitions)
        if method == "sorted":
            raise ValueError('method="sorted" keeps the partitions: npartitions is for "hash".')
        method = "hash"
    if isinstance(X, dd.DataFrame) and isinstance(qid, str):
        return _arrange_frame(X, y, qid, npartitions, method)
    if qid is None:
        raise ValueError("partition_by_query needs qid, the label of every row's query.")
    parts = _arrange(as_columns(X, y, qid, sample_weight), npartitions, method)
    given = {"X": X, "y": y, "qid": qid, "sample_weight": sample_weight}
    columns = enumerate(given.items())
    return Bunch(**{name: _collect(values, parts, i) for i, (name, values) in columns})


def _arrange_frame(
    frame: dd.DataFrame, y: str | None, qid: str, npartitions: int | None, method: str
) -> Bunch:
    for name in (qid, y):
        if name is not None and name not in frame.columns:
            raise ValueError(f"the frame has no column {name!r}.")
    rows, labels = (part.to_delayed(optimize_graph=False) for part in (frame, frame[qid]))
    nothing = [None] * len(rows)
    parts = _arrange([rows, nothing, labels, nothing], npartitions, method)
    whole = _collect(frame, parts, 0)
    return Bunch(X=whole, y=None if y is None else whole[y], qid=whole[qid], sample_weight=None)


def _arrange(columns: list[list], npartitions: int | None, method: str) -> list[Delayed]:
    """One delayed list [X, y, qid, weight] for each new partition."""
    if method == "hash":
        return _by_hash(columns, npartitions or len(columns[0]))
    labels = [delayed(part, pure=False, traverse=False) for part in columns[2]]
    runs = Cluster().reduce(labels, _runs, joined)
    owners = _owners(runs)
    if owners is not None:
        return _joined_at_cuts(columns, runs, owners)
    if method == "sorted":
        raise ValueError(
            'method="sorted": the rows of a query do not lie together, so it is not enough to '
            'move the rows at the cuts between partitions. Use method="hash".'
        )
    return _by_hash(columns, len(columns[0]))


@dataclass
class _Runs:
    """The labels of one partition: its first and last one, and where the run of the first ends."""

    n_items: int
    first: int = 0
    last: int = 0
    first_run: int = 0
    hashes: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    is_grouped: bool = True
    """Whether the rows of every label lie together."""


def _runs(qid: Any, number: int) -> list[_Runs]:
    m = len(qid)
    if not m:
        return [_Runs(0)]
    hashes = _item_hashes(qid)
    changes = np.flatnonzero(hashes[1:] != hashes[:-1]) + 1
    run = int(changes[0]) if len(changes) else m
    distinct = np.unique(hashes)
    is_grouped = len(distinct) == len(changes) + 1
    return [_Runs(m, int(hashes[0]), int(hashes[-1]), run, distinct, is_grouped)]


def _item_hashes(qid: Any) -> np.ndarray:
    queries = Queries.from_labels(qid, len(qid))
    return label_hashes(queries.labels)[queries.codes]


def _owners(runs: list[_Runs]) -> list[int] | None:
    """The partition that takes the first run of each partition; None if queries are scattered."""
    owners = list(range(len(runs)))
    last_seen: dict[int, int] = {}
    before = -1
    for number, run in enumerate(runs):
        if not run.n_items:
            continue
        if not run.is_grouped:
            return None
        continues = before >= 0 and runs[before].last == run.first
        if continues:
            is_one_query = runs[before].first_run == runs[before].n_items
            owners[number] = owners[before] if is_one_query else before
        for label in run.hashes.tolist():
            is_continued = continues and label == run.first and last_seen[label] == before
            if label in last_seen and not is_continued:
                return None
            last_seen[label] = number
        before = number
    return owners


def _joined_at_cuts(columns: list[list], runs: list[_Runs], owners: list[int]) -> list[Delayed]:
    cut = delayed(_cut, pure=False)
    pieces: list[list] = [[] for _ in runs]
    for number, run in enumerate(runs):
        parts = [column[number] for column in columns]
        start = run.first_run if owners[number] != number else 0
        if start:
            pieces[owners[number]].append(cut(parts, 0, start))
        pieces[number].append(cut(parts, start, run.n_items))
    stack = delayed(_stack_columns, pure=False)
    return [stack(parts) for parts in pieces]


def _by_hash(columns: list[list], count: int) -> list[Delayed]:
    split, stack = delayed(_split, pure=False, nout=count), delayed(_stack_columns, pure=False)
    shares = [split(list(parts), count) for parts in zip(*columns)]
    name = uuid.uuid4().hex
    return [
        stack([share[j] for share in shares], dask_key_name=f"rankwise-query-{name}-{j}")
        for j in range(count)
    ]


def _split(parts: list, count: int) -> list[list]:
    target = _item_hashes(parts[2]) % np.uint64(count) if len(parts[2]) else np.zeros(0)
    return [[_rows(part, np.flatnonzero(target == j)) for part in parts] for j in range(count)]


def _cut(parts: list, low: int, high: int) -> list:
    return [_rows(part, slice(low, high)) for part in parts]


def _rows(part: Any, rows: np.ndarray | slice) -> Any:
    if _is_scalar(part):
        return part
    if hasattr(part, "iloc"):
        return part.iloc[rows]
    return part[rows] if hasattr(part, "shape") else np.asarray(part)[rows]


def _is_scalar(values: Any) -> bool:
    """None, or one weight for all items."""
    return values is None or (np.ndim(values) == 0 and not hasattr(values, "shape"))


def _stack_columns(pieces: list[list]) -> list:
    return [parts[0] if _is_scalar(parts[0]) else stacked(list(parts)) for parts in zip(*pieces)]


def _collect(values: Any, parts: list[Any], column: int) -> Any:
    """One column of the new partitions as a collection of the kind of `values`."""
    if _is_scalar(values):
        return values
    lazy = [part[column] for part in parts]
    if isinstance(values, dd.DataFrame | dd.Series):
        return dd.from_delayed(lazy, meta=values._meta, verify_meta=False)
    if not isinstance(values, da.Array):
        return lazy
    shape = (np.nan, *values.shape[1:])
    meta = values._meta
    arrays = [da.from_delayed(part, shape, dtype=values.dtype, meta=meta) for part in lazy]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)
