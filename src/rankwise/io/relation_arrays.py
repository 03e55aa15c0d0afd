"""Relations and kernels in .npy and .npz files: arrays of numbers with names beside them."""

from __future__ import annotations

import io
from typing import NamedTuple

import numpy as np

from rankwise.exceptions import ReadError
from rankwise.io.source import Source

ZIP, NPY = b"PK\x03\x04", b"\x93NUMPY"
ROW_NAMES, COLUMN_NAMES = ("row_names", "rows", "names"), ("column_names", "columns")
SPARSE = {"indices", "indptr", "data", "shape"}
"""The keys of a compressed sparse matrix as scipy.sparse.save_npz writes it."""


class NamedMatrix(NamedTuple):
    """A matrix with names of its rows and of its columns, or None where they have none."""

    values: np.ndarray
    rows: list[str] | None
    columns: list[str] | None


class NamedEdges(NamedTuple):
    """(q, 2) numbers of row and column objects, their values, and names of the objects."""

    edges: np.ndarray
    y: np.ndarray | None
    rows: list[str] | None
    columns: list[str] | None


def holds_arrays(source: Source) -> bool:
    """Whether the content is that of a .npy or .npz file."""
    return source.data.startswith((ZIP, NPY))


def read_matrix(source: Source) -> NamedMatrix:
    """The one matrix of a .npy or .npz file; the keys `row_names` and `column_names` name it."""
    found = _content(source)
    if isinstance(found, NamedEdges):
        raise ReadError("it holds edges, but a matrix is expected.", source.name)
    return found


def read_labels(source: Source) -> NamedMatrix | NamedEdges:
    """The values of pairs: `edges` (q, 2) with `y` (q,), or a matrix, or a sparse matrix of SciPy.

    In a matrix nan is not observed; of a sparse matrix the stored entries are the edges.
    """
    return _content(source)


def _content(source: Source) -> NamedMatrix | NamedEdges:
    arrays = _arrays(source)
    if arrays.keys() >= SPARSE:
        return _sparse(arrays, source.name)
    rows = _names(arrays, ROW_NAMES, source.name)
    columns = _names(arrays, COLUMN_NAMES, source.name)
    if "edges" in arrays:
        edges = arrays["edges"]
        if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
            raise ReadError(
                f"'edges' must be (q, 2) integers, row and column; got {edges.dtype} of shape "
                f"{edges.shape}.",
                source.name,
            )
        y = arrays.get("y")
        if y is not None and (y.shape != edges.shape[:1] or y.dtype.kind not in "fiub"):
            raise ReadError(
                f"'y' must hold one number per edge: {len(edges)} edges, y of shape {y.shape}.",
                source.name,
            )
        return NamedEdges(
            edges.astype(np.int64), None if y is None else y.astype(float), rows, columns
        )
    matrices = {key: a for key, a in arrays.items() if a.ndim == 2 and a.dtype.kind in "fiub"}
    if len(matrices) != 1:
        raise ReadError(
            f"expected one matrix of numbers (or 'edges' and 'y'), but found "
            f"{', '.join(map(repr, matrices)) or 'none'}; its arrays are "
            f"{', '.join(map(repr, arrays))}.",
            source.name,
        )
    (values,) = matrices.values()
    for names, size, what in (
        (rows, values.shape[0], "rows"),
        (columns, values.shape[1], "columns"),
    ):
        if names is not None and len(names) != size:
            raise ReadError(f"{len(names)} names for {size} {what}.", source.name)
    return NamedMatrix(values.astype(float), rows, columns)


def _arrays(source: Source) -> dict[str, np.ndarray]:
    """Every array of the file; Python objects are refused, because reading them executes code."""
    try:
        loaded = np.load(io.BytesIO(source.data), allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return {"": loaded}
        with loaded:
            return {key: loaded[key] for key in loaded.files}
    except Exception as error:  # whatever a damaged header leads to
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        if "bject" in reason or "pickle" in reason:
            reason = "it holds Python objects, which are never unpickled: save numbers and text"
        raise ReadError(f"not a .npy or .npz file of numbers: {reason}.", source.name) from None


def _names(arrays: dict[str, np.ndarray], keys: tuple[str, ...], path: str) -> list[str] | None:
    key = next((key for key in keys if key in arrays), None)
    if key is None:
        return None
    array = arrays[key]
    if array.ndim != 1 or array.dtype.kind not in "USiu":
        raise ReadError(f"{key!r} must be a list of names; got {array.dtype}.", path)
    texts = np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array
    return [str(name) for name in texts.tolist()]


def _sparse(arrays: dict[str, np.ndarray], path: str) -> NamedEdges:
    """The stored entries of a compressed matrix, by rows ("csr") or by columns ("csc")."""
    shape, indptr, indices = (
        arrays[key].astype(np.int64) for key in ("shape", "indptr", "indices")
    )
    kind = arrays.get("format", np.array(b"csr")).item()
    by_rows = kind in (b"csr", "csr")
    major, minor = (0, 1) if by_rows else (1, 0)
    right = shape.shape == (2,) and (indices < shape[minor]).all() and (indices >= 0).all()
    counts = np.diff(indptr)
    if kind not in (b"csr", b"csc", "csr", "csc") or not right or (counts < 0).any():
        raise ReadError("not a sparse matrix by rows or by columns: save it as csr.", path)
    if len(indptr) != shape[major] + 1 or counts.sum() != len(indices):
        raise ReadError("the sparse matrix is damaged.", path)
    edges = np.empty((len(indices), 2), dtype=np.int64)
    edges[:, major], edges[:, minor] = np.repeat(np.arange(shape[major]), counts), indices
    rows, columns = (_names(arrays, keys, path) for keys in (ROW_NAMES, COLUMN_NAMES))
    return NamedEdges(edges, arrays["data"].astype(float), rows, columns)
