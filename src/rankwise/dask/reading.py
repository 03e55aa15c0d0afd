"""Directories of LETOR, Parquet or CSV files as lazy collections: workers read, nobody gathers."""

from __future__ import annotations

import glob
import os
from pathlib import Path

import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask.delayed import delayed
from scipy import sparse
from sklearn.utils import Bunch

from rankwise import datasets
from rankwise.dask.cluster import Cluster
from rankwise.exceptions import ReadError
from rankwise.io.letor import DENSE_SHARE, query_file_beside
from rankwise.numerics.threads import single_thread

TABLES = {".parquet": dd.read_parquet, ".csv": dd.read_csv}


def read_letor(path, n_features=None, *, zero_based="auto", dense="auto") -> Bunch:
    """Read LETOR files lazily, one partition a file.

    path : a directory (its files in the order of their names, hidden ones and .query files left
        out), a pattern such as "train/part-*.gz", one file, or a list of files; the workers must
        see them under the same names
    n_features, zero_based, dense : as in rankwise.datasets.read_letor, of all files together

    Returns a Bunch of Dask arrays X, y, qid (None without queries) and comments. The workers scan
    all files once for what "auto" and None leave open, and for the numbers of lines. Queries that
    go on in the next file are mended with partition_by_query.
    """
    files = files_of(path, leave_out=".query")
    parts = [delayed(file, pure=False) for file in files]
    scans = Cluster().reduce(parts, _scan, _joined)
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
        written = sum(scan["written"] for scan in scans)
        dense = written >= DENSE_SHARE * sum(sizes) * n_features
    as_text = any(scan["is_text"] for scan in scans)
    read = delayed(_read, pure=False)
    made = [read(file, int(n_features), bool(zero_based), bool(dense), as_text) for file in files]
    empty = np.empty((0, 0)) if dense else sparse.csr_matrix((0, n_features))
    labels = object if as_text else np.int64
    return Bunch(
        X=_array(made, "X", sizes, float, (int(n_features),), empty),
        y=_array(made, "y", sizes, float),
        qid=_array(made, "qid", sizes, labels) if any(with_queries) else None,
        comments=_array(made, "comments", sizes, object),
    )


def read_table(path, target: str, query: str | None = None, *, features=None, drop=()) -> Bunch:
    """Read a directory (or pattern, or list) of Parquet or CSV files lazily with Dask.

    Returns a Bunch of X, the frame of the columns `features` (default: all others but those in
    `drop`), which must be numbers, of y and of qid (None without query=). Parquet may be cut into
    row groups and CSV into blocks, so queries may be split: partition_by_query mends that.
    """
    files = files_of(path)
    kinds = {Path(file).suffix.lower() for file in files}
    if len(kinds) > 1 or not kinds <= set(TABLES):
        found = ", ".join(sorted(kinds))
        raise ReadError(f"expected .parquet or .csv files, of one kind; found {found}.", str(path))
    frame = TABLES[kinds.pop()](files)
    for name, column in (("target", target), ("query", query)):
        if column is not None and column not in frame.columns:
            names = ", ".join(map(str, frame.columns[:10]))
            raise ValueError(f"{name}={column!r} is no column; there are {names}.")
    for column in [*(features or ()), *drop]:
        if column not in frame.columns:
            raise ValueError(f"{column!r} in features or drop is no column.")
    taken = {target, query, *drop}
    X = frame[[c for c in frame.columns if c not in taken] if features is None else list(features)]
    if not len(X.columns):
        raise ReadError("no column is left that could be a feature.", str(path))
    for column, kind in X.dtypes.items():
        if getattr(kind, "kind", "O") not in "iufb":
            raise ValueError(f"column {column!r} holds {kind}, not numbers: encode or drop it.")
    return Bunch(X=X, y=frame[target], qid=None if query is None else frame[query])


def files_of(path, leave_out: str = "") -> list[str]:
    """Files in a fixed order; ReadError where there is none."""
    if isinstance(path, list | tuple):
        found = [os.fspath(file) for file in path]
    elif os.path.isdir(path):
        found = sorted(str(file) for file in Path(path).rglob("*") if file.is_file())
        found = [file for file in found if not _is_hidden(Path(file), Path(path))]
    else:
        found = sorted(glob.glob(os.fspath(path)))
    if leave_out:
        found = [file for file in found if not file.endswith(leave_out)]
    found = [file for file in found if not os.path.exists(file) or os.path.getsize(file)]
    if not found:
        raise ReadError("no file with anything in it.", str(path))
    return found


def _is_hidden(file: Path, root: Path) -> bool:
    """.crc files, _SUCCESS markers and the like."""
    return any(part.startswith((".", "_")) for part in file.relative_to(root).parts)


def _scan(file: str, number: int) -> list[dict]:
    found = datasets.read_letor(file, zero_based=True, dense=False, query_sizes=None)
    numbered = found.qid is None and query_file_beside(file) is not None
    return [
        {
            "n_items": len(found.y),
            "largest": found.X.shape[1] - 1,
            "has_zero": bool((found.X.indices == 0).any()),
            "written": found.X.nnz,
            "has_queries": found.qid is not None or numbered,
            "is_text": numbered or (found.qid is not None and found.qid.dtype.kind not in "iu"),
        }
    ]


def _joined(lists: list[list]) -> list:
    return [each for some in lists for each in some]


def _read(file: str, n_features: int, zero_based: bool, dense: bool, as_text: bool) -> Bunch:
    with single_thread():
        found = datasets.read_letor(
            file, n_features, zero_based=zero_based, dense=dense, query_sizes=None
        )
        if found.qid is None and query_file_beside(file) is not None:
            sizes = datasets.read_letor(file, n_features, zero_based=zero_based, dense=False).qid
            found.qid = np.array([f"{Path(file).name}:{label}" for label in sizes], dtype=object)
    if found.qid is not None and as_text:
        found.qid = np.asarray(found.qid).astype(str).astype(object)
    return found


def _array(made: list, name: str, sizes, dtype, columns=(), meta=None) -> da.Array:
    parts = [
        da.from_delayed(part[name], (size, *columns), dtype=dtype, meta=meta)
        for part, size in zip(made, sizes)
    ]
    return da.concatenate(parts)
