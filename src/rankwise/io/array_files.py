"""Features in .npy and .npz files, such as embeddings: mapped into memory, never unpickled."""

from __future__ import annotations

import os
import zipfile
from typing import Any

import numpy as np

from rankwise.exceptions import ReadError
from rankwise.numerics.memory import refuse_too_large

KINDS = "fiub"
LOCAL_HEADER = 30
"""Bytes of a member's header in a zip file, before its name and its extra field."""


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
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        if "bject" in reason or "pickle" in reason:
            reason = "it holds Python objects, which are never unpickled: save numbers"
        raise ReadError(f"not a .npy or .npz file of numbers: {reason}.", name) from None
    if not arrays:
        raise ReadError("the file has no arrays.", name)
    return {key: _checked(name, key, array) for key, array in arrays.items()}


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
