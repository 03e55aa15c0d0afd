"""Directories of LETOR, Parquet or CSV files as lazy collections, which the workers read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask.delayed import delayed
from scipy import sparse
from sklearn.utils import Bunch

from rankwise.dask.cluster import Cluster, joined
from rankwise.exceptions import ReadError
from rankwise.io import letor
from rankwise.io.source import files_of
from rankwise.numerics.threads import single_thread
from rankwise.supervision.censored import Censored

TABLES = {".parquet": dd.read_parquet, ".csv": dd.read_csv}


def read_letor(path, n_features=None, *, zero_based="auto", dense="auto") -> Bunch:
    r"""Read LETOR files lazily, one partition per file.

    The workers scan all files once to find the numbers of lines and whatever "auto" and None leave
    open. If a query goes on in the next file, partition_by_query brings it together.

    Parameters
    ----------
    path
        A directory (its files in the order of their names, without hidden and .query files), a
        pattern such as `train/part-*.gz`, one file, or a list of files; the workers must find them
        under the same names.
    n_features, zero_based, dense
        As in rankwise.datasets.read_letor, for all files together.

    Returns
    -------
    Bunch
        Dask arrays X, y, qid (None without queries) and comments.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from rankwise.dask import read_letor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part in (1, 2):
    ...         lines = f"1 qid:{part} 1:0.5\n0 qid:{part} 1:0.1\n"
    ...         _ = Path(folder, f"part-{part}").write_text(lines)
    ...     data = read_letor(folder)
    ...     data.X.numblocks, data.qid.compute()
    ((2, 1), array([1, 1, 2, 2]))
    """
    files = files_of(path, leave_out=".query")
    scans = Cluster().reduce([delayed(file, pure=False) for file in files], _scan, joined)
    with_queries = [scan["has_queries"] for scan in scans]
    if any(with_queries) and not all(with_queries):
        missing = files[with_queries.index(False)]
        raise ReadError("this file has no qid, others have: give all of them one.", missing)
    if zero_based == "auto":
        zero_based = any(scan["has_zero"] for scan in scans)
    if n_features is None:
        n_features = max(max(scan["largest"] for scan in scans) + bool(zero_based), 1)
    sizes = [scan["n_items"] for scan in scans]
    if dense == "auto":
        n_written = sum(scan["n_written"] for scan in scans)
        dense = n_written >= letor.DENSE_SHARE * sum(sizes) * n_features
    as_text = any(scan["is_text"] for scan in scans)
    read = delayed(_read, pure=False)
    parts = [read(file, int(n_features), bool(zero_based), bool(dense), as_text) for file in files]
    shape = (0, int(n_features))
    kinds = {"X": np.empty(shape) if dense else sparse.csr_matrix(shape), "y": np.empty(0)}
    if any(with_queries):
        kinds["qid"] = np.empty(0, object if as_text else np.int64)
    kinds["comments"] = np.empty(0, object)
    return Bunch(**{"qid": None, **{k: _array(parts, k, sizes, v) for k, v in kinds.items()}})


def read_table(
    path,
    target: str | None = None,
    query: str | None = None,
    *,
    time: str | None = None,
    event: str | None = None,
    features=None,
    drop=(),
) -> Bunch:
    r"""Read a directory (or pattern, or list) of Parquet or CSV files lazily with Dask.

    Dask may cut Parquet into row groups and CSV into blocks, so that queries are split:
    partition_by_query mends that.

    Parameters
    ----------
    path
        As in `read_letor`.
    target, query : str, optional
        The columns of scores and of labels of queries.
    time, event : str, optional
        In place of target: the columns of times, and of whether the event was observed (true or
        1); y is then a list of Censored partitions.
    features : list of str, optional
        Columns of X, which must hold numbers; by default all others but those in `drop`.
    drop : list of str
        Columns to leave out.

    Returns
    -------
    Bunch
        X, a Dask frame; y; qid (None without query=).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from rankwise.dask import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "part.csv").write_text("traveller,price,stars\nann,98,3\nann,143,4\n")
    ...     data = read_table(folder, target="stars", query="traveller")
    ...     data.X.compute().shape, data.y.compute().tolist()
    ((2, 1), [3, 4])
    """
    if (target is None) == (time is None) or (time is None) != (event is None):
        raise ValueError("give target=, or time= and event=.")
    files = files_of(path)
    kinds = {Path(file).suffix.lower() for file in files}
    if len(kinds) > 1 or not kinds <= set(TABLES):
        seen = ", ".join(sorted(kinds))
        raise ReadError(f"expected .parquet or .csv files, of one kind; found {seen}.", str(path))
    frame = TABLES[kinds.pop()](files)
    named = {"target": target, "query": query, "time": time, "event": event}
    for name, column in named.items():
        if column is not None and column not in frame.columns:
            names = ", ".join(map(str, frame.columns[:10]))
            raise ValueError(f"{name}={column!r} is no column; there are {names}.")
    for column in [*(features or ()), *drop]:
        if column not in frame.columns:
            raise ValueError(f"{column!r} in features or drop is no column.")
    taken = {*named.values(), *drop}
    X = frame[[c for c in frame.columns if c not in taken] if features is None else list(features)]
    if not len(X.columns):
        raise ReadError("no column is left that could be a feature.", str(path))
    for column, kind in X.dtypes.items():
        if getattr(kind, "kind", "O") not in "iufb":
            raise ValueError(f"column {column!r} holds {kind}, not numbers: encode or drop it.")
    y: Any = None if target is None else frame[target]
    if time is not None:
        parts = frame[[time, event]].to_delayed(optimize_graph=False)
        y = [delayed(_outcomes, pure=False)(part, time, event) for part in parts]
    return Bunch(X=X, y=y, qid=None if query is None else frame[query])


def _outcomes(part: Any, time: str, event: str) -> Censored:
    return Censored(part[event].to_numpy(), part[time].to_numpy())


def _scan(file: str, number: int) -> list[dict[str, Any]]:
    data = letor.read_letor(file, zero_based=True, dense=False, query_sizes=None)
    has_sizes = data.qid is None and letor.query_file_beside(file) is not None
    return [
        {
            "n_items": len(data.y),
            "largest": data.X.shape[1] - 1,
            "has_zero": bool((data.X.indices == 0).any()),
            "n_written": data.X.nnz,
            "has_queries": data.qid is not None or has_sizes,
            "is_text": has_sizes or (data.qid is not None and data.qid.dtype.kind not in "iu"),
        }
    ]


def _read(file: str, n_features: int, zero_based: bool, dense: bool, as_text: bool) -> Bunch:
    with single_thread():
        data = letor.read_letor(
            file, n_features, zero_based=zero_based, dense=dense, query_sizes=None
        )
        if data.qid is None and letor.query_file_beside(file) is not None:
            numbers = letor.read_letor(file, n_features, zero_based=zero_based, dense=False).qid
            data.qid = np.array([f"{Path(file).name}:{i}" for i in numbers], dtype=object)
    if data.qid is not None and as_text:
        data.qid = np.asarray(data.qid).astype(str).astype(object)
    return data


def _array(parts: list[Any], name: str, sizes: list[int], empty: Any) -> da.Array:
    """One field of all parts; `empty` is an array of its kind without rows."""
    arrays = [
        da.from_delayed(part[name], (size, *empty.shape[1:]), dtype=empty.dtype, meta=empty)
        for part, size in zip(parts, sizes)
    ]
    return da.concatenate(arrays)
