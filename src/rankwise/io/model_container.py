"""Model files are safetensors files whose only metadata entry, "rankwise", is a JSON text.

    {"format": 2, "checksum": "<64 hex digits>", "versions": {...}, "probe": ..., "model": {...}}

Files of format 1 have no probe (`model_probe`). The checksum is the SHA-256 of the whole file with
its own 64 digits replaced by zeros.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import safetensors.numpy

from rankwise.exceptions import ReadError

FORMAT, READABLE = 2, (1, 2)
PACKAGES = ("rankwise", "numpy", "scipy", "scikit-learn")
LARGEST_HEADER = 100_000_000
"""Bytes of JSON, as in the safetensors library."""
NO_CHECKSUM = b"0" * 64
DTYPES = {"BOOL": "?", "U8": "u1", "I8": "i1"} | {
    f"{kind.upper()}{8 * size}": f"<{kind}{size}" for kind in "uif" for size in (2, 4, 8)
}
STORABLE = {np.dtype(code).newbyteorder("=") for code in DTYPES.values()}


@dataclass
class Contents:
    """The contents of a model file: the tree of the model, and the arrays that the tree names."""

    format: int
    model: object
    tensors: dict[str, np.ndarray]
    versions: dict
    probe: object


def pack(
    model: object, tensors: dict[str, np.ndarray], probe: object = None
) -> list[bytes | memoryview]:
    """The bytes of the file, in two blocks."""
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    versions["python"] = platform.python_version()
    about = {"format": FORMAT, "checksum": NO_CHECKSUM.decode(), "versions": versions}
    text = json.dumps(
        {**about, "probe": probe, "model": model}, allow_nan=False, separators=(",", ":")
    )
    contiguous = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    data = safetensors.numpy.save(contiguous, {"rankwise": text})
    size = int.from_bytes(data[:8], "little")
    if size > LARGEST_HEADER:
        raise ValueError(
            f"the parameters and names of the model take {size} bytes as text, but a model file "
            f"can hold only {LARGEST_HEADER}."
        )
    header, rest = data[: 8 + size], memoryview(data)[8 + size :]
    start = header.index(NO_CHECKSUM)
    digest = hashlib.sha256(header)
    digest.update(rest)
    return [header[:start] + digest.hexdigest().encode() + header[start + 64 :], rest]


def unpack(data: bytes, name: str) -> Contents:
    """The contents of a file; a ReadError says why a file cannot be trusted."""
    size = _header_size(data, name)
    entries = _json(data[8 : 8 + size], name)
    if not isinstance(entries, dict):
        raise ReadError("the header is not a JSON object.", name)
    metadata = entries.get("__metadata__")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("rankwise"), str):
        raise ReadError("this safetensors file was not written by rankwise.save.", name)
    about = _json(metadata["rankwise"].encode("utf-8", "surrogatepass"), name)
    if not isinstance(about, dict) or not isinstance(about.get("format"), int):
        raise ReadError("the header has no format number.", name)
    if about["format"] not in READABLE:
        raise ReadError(
            f"this version of rankwise reads formats 1 to {FORMAT}, not format {about['format']}: "
            "install a newer version.",
            name,
        )
    _check_sum(data, size, about.get("checksum"), name)
    try:
        stored = safetensors.deserialize(data)
    except safetensors.SafetensorError as error:
        raise ReadError(f"the arrays do not fit the header: {error}.", name) from None
    tensors = {}
    for key, tensor in stored:
        if tensor["dtype"] not in DTYPES:
            raise ReadError(f"array {key!r} has the unknown type {tensor['dtype']}.", name)
        values = np.frombuffer(tensor["data"], dtype=DTYPES[tensor["dtype"]])
        tensors[key] = values.reshape(tensor["shape"])
    versions = about.get("versions")
    versions = versions if isinstance(versions, dict) else {}
    return Contents(about["format"], about.get("model"), tensors, versions, about.get("probe"))


def _header_size(data: bytes, name: str) -> int:
    if len(data) < 10:
        raise ReadError(f"{len(data)} bytes are too few for a model: is it cut short?", name)
    size = int.from_bytes(data[:8], "little")
    if size > LARGEST_HEADER or data[8:9] != b"{":
        raise ReadError("not a model file: it does not begin like a safetensors file.", name)
    if size > len(data) - 8:
        reason = f"the header should have {size} bytes, but there are {len(data) - 8}"
        raise ReadError(f"the file is cut short: {reason}.", name)
    return size


def _json(text: bytes, name: str) -> Any:
    """Parse strict JSON: no repeated key, no NaN, no excessive nesting."""
    try:
        return json.loads(text, object_pairs_hook=_distinct, parse_constant=_refuse_constant)
    except RecursionError:
        raise ReadError("the header is nested too deeply.", name) from None
    except ValueError as error:
        raise ReadError(f"the header is not valid JSON: {error}.", name) from None


def _distinct(pairs: list[tuple]) -> dict:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _check_sum(data: bytes, size: int, checksum: object, name: str) -> None:
    header = data[: 8 + size]
    if not isinstance(checksum, str) or len(checksum) != 64 or not checksum.isascii():
        raise ReadError("the header has no checksum.", name)
    if header.count(checksum.encode()) != 1:
        raise ReadError("the checksum must occur exactly once in the header.", name)
    digest = hashlib.sha256(header.replace(checksum.encode(), NO_CHECKSUM))
    digest.update(memoryview(data)[8 + size :])
    if digest.hexdigest() != checksum:
        reason = "the checksum does not fit the contents"
        raise ReadError(f"the file is altered or cut short: {reason}.", name)
