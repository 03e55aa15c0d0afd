"""What .npy and .npz files hold: features, such as embeddings, which are mapped into memory, and
relations and kernels with names beside them. Nothing is unpickled."""

from __future__ import annotations

import io
import os
import zipfile
from typing import Any, NamedTuple

import numpy as np

from rankwise.exceptions import ReadError
from rankwise.io.source import Source
from rankwise.numerics.memory import refuse_too_large

KINDS = "fiub"
LOCAL_HEADER = 30
"""Bytes of a member's header in a zip file, before its name and its extra field."""
ZIP, NPY = b"PK\x03\x04", b"\x93NUMPY"
ROW_NAMES, COLUMN_NAMES = ("row_names", "rows", "names"), ("column_names", "columns")
SPARSE = {"indices", "indptr", "data", "shape"}
"""The keys of a compressed sparse matrix as scipy.sparse.save_npz writes it."""


def read_arrays(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """{key: (m, n) array} of a .npz file, or {"": array} of a .npy file, in the order of the file.

    Arrays of float16, float32, float64, integers or truth values with one row per item; one with a
    single dimension is one feature. A .npy file and the members of a .npz file that is not
    compressed are mapped, so that only what is used is read. Arrays of Python objects are refused:
    they would have to be unpickled, which can execute code.
    """
    name = os.fsdecode(path)
    with open(name, "rb") as file:
        is_zip = file.read(4) == b"PK\x03\x04"
    try:
        arrays = _members(name) if is_zip else {"": _mapped(name)}
    except Exception as error:  # whatever a damaged header leads to
        raise no_arrays(error, name) from None
    if not arrays:
        raise ReadError("the file has no arrays.", name)
    return {key: _checked(name, key, array) for key, array in arrays.items()}


def no_arrays(error: Exception, name: str) -> ReadError:
    """The error for a file that NumPy cannot read."""
    reason = first_line(error)
    if "bject" in reason or "pickle" in reason:
        reason = "it holds Python objects, which are never unpickled: save numbers and text"
    return ReadError(f"not a .npy or .npz file of numbers: {reason}.", name)


def first_line(error: Exception) -> str:
    """What an error of another library says, in short."""
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__


def _mapped(path: str) -> np.ndarray:
    return np.load(path, mmap_mode="r", allow_pickle=False)


def _members(path: str) -> dict[str, np.ndarray]:
    """The arrays of a zip file; what is stored without compression is mapped where it lies."""
    arrays = {}
    with zipfile.ZipFile(path) as archive, np.load(path, allow_pickle=False) as loaded:
        for member in archive.infolist():
            key = member.filename.removesuffix(".npy")
            if member.compress_type == zipfile.ZIP_STORED:
                arrays[key] = _mapped_member(path, member)
            else:
                refuse_too_large(member.file_size, 1, f"{path}: {key!r}", "save with np.savez")
                arrays[key] = loaded[key]
    return arrays


def _mapped_member(path: str, member: zipfile.ZipInfo) -> np.ndarray:
    with open(path, "rb") as file:
        file.seek(member.header_offset)
        header = file.read(LOCAL_HEADER)
        skipped = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        start = member.header_offset + LOCAL_HEADER + skipped
        file.seek(start)
        version = np.lib.format.read_magic(file)
        read = {(1, 0): np.lib.format.read_array_header_1_0}
        read[(2, 0)] = np.lib.format.read_array_header_2_0
        if version not in read:
            raise ValueError(f"version {version} of the format is not known")
        shape, by_columns, kind = read[version](file)
        if kind.hasobject:
            raise ValueError("Object arrays cannot be loaded")
        at = file.tell()
        if at - start + int(np.prod(shape)) * kind.itemsize > member.file_size:
            raise ValueError(f"{member.filename!r} is cut short")
    if int(np.prod(shape)) == 0:
        return np.empty(shape, dtype=kind)
    return np.memmap(path, kind, "r", at, shape, "F" if by_columns else "C")


def _checked(path: str, key: str, array: Any) -> np.ndarray:
    what = f"{path}, array {key!r}" if key else path
    if array.dtype.kind not in KINDS:
        raise ReadError(f"holds {array.dtype}, not real numbers.", what)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or not array.shape[1]:
        raise ReadError(f"has the shape {array.shape}; expected one row per item.", what)
    return array


def as_features(array: np.ndarray, what: str, rows_at_once: int = 65_536) -> np.ndarray:
    """The array as float64, in blocks; a ReadError names the first value that is not finite."""
    refuse_too_large(len(array), array.shape[1], what, "use fewer dimensions")
    X = np.empty(array.shape)
    for start in range(0, len(array), rows_at_once):
        block = X[start : start + rows_at_once]
        block[:] = array[start : start + rows_at_once]
        if not np.isfinite(block).all():
            row, column = np.argwhere(~np.isfinite(block))[0]
            value = block[row, column]
            raise ReadError(
                f"row {start + row} (from 0), column {column} is {value}, not a finite number.",
                what,
            )
    return X


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
        raise no_arrays(error, source.name) from None


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
