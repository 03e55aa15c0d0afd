"""The file: a safetensors container whose only metadata entry, "rankwise", is a JSON text.

    {"format": 1, "checksum": "<64 hex digits>", "versions": {...}, "model": {...}}

The checksum is the SHA-256 of the whole file with its own 64 digits replaced by zeros.
"""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import dataclass

import numpy as np
import safetensors.numpy
import scipy
import sklearn

from rankwise.exceptions import ReadError

FORMAT = 1
LARGEST_HEADER = 100_000_000
"""Bytes of JSON; the limit of the safetensors library too."""
NO_CHECKSUM = b"0" * 64
DTYPES = {
    "BOOL": "?",
    "U8": "u1",
    "I8": "i1",
    "U16": "<u2",
    "I16": "<i2",
    "U32": "<u4",
    "I32": "<i4",
    "U64": "<u8",
    "I64": "<i8",
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
}
NAMES = {np.dtype(code).newbyteorder("="): name for name, code in DTYPES.items()}


@dataclass
class Contents:
    """What a model file holds: the model's tree, and the arrays that it names."""

    model: object
    tensors: dict[str, np.ndarray]
    versions: dict


def pack(model, tensors: dict[str, np.ndarray], rankwise_version: str) -> list[bytes | memoryview]:
    """The file's bytes, in two blocks."""
    versions = {
        "rankwise": rankwise_version,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
    text = json.dumps(
        {
            "format": FORMAT,
            "checksum": NO_CHECKSUM.decode(),
            "versions": versions,
            "model": model,
        },
        allow_nan=False,
        separators=(",", ":"),
    )
    contiguous = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    data = safetensors.numpy.save(contiguous, {"rankwise": text})
    size = int.from_bytes(data[:8], "little")
    if size > LARGEST_HEADER:
        raise ValueError(
            f"the model's parameters and names take {size} bytes as text, more than a model file "
            f"may hold ({LARGEST_HEADER})."
        )
    header, rest = data[: 8 + size], memoryview(data)[8 + size :]
    place = header.index(NO_CHECKSUM)
    digest = hashlib.sha256(header)
    digest.update(rest)
    header = header[:place] + digest.hexdigest().encode() + header[place + 64 :]
    return [header, rest]


def unpack(data: bytes, name: str) -> Contents:
    """The contents of a file, or a ReadError that says why it is not to be trusted."""
    size = _header_size(data, name)
    entries = _json(data[8 : 8 + size], name)
    if not isinstance(entries, dict):
        raise ReadError("the header is not a JSON object.", name)
    metadata = entries.get("__metadata__")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("rankwise"), str):
        raise ReadError("a safetensors file, but not one that rankwise.save wrote.", name)
    about = _json(metadata["rankwise"].encode("utf-8", "surrogatepass"), name)
    if not isinstance(about, dict) or not isinstance(about.get("format"), int):
        raise ReadError("its description lacks the format number.", name)
    if about["format"] != FORMAT:
        raise ReadError(
            f"format {about['format']} is not known to this version of rankwise, which reads "
            f"format {FORMAT}: install a newer one.",
            name,
        )
    _check_sum(data, size, about.get("checksum"), name)
    try:
        found = safetensors.deserialize(data)
    except safetensors.SafetensorError as error:
        raise ReadError(f"the arrays are not what the header says: {error}.", name) from None
    tensors = {}
    for key, tensor in found:
        if tensor["dtype"] not in DTYPES:
            raise ReadError(f"array {key!r} has the unknown type {tensor['dtype']}.", name)
        values = np.frombuffer(tensor["data"], dtype=DTYPES[tensor["dtype"]])
        tensors[key] = values.reshape(tensor["shape"])
    versions = about.get("versions")
    return Contents(about.get("model"), tensors, versions if isinstance(versions, dict) else {})


def _header_size(data: bytes, name: str) -> int:
    if len(data) < 10:
        raise ReadError(f"{len(data)} bytes are too few for a model: cut short?", name)
    size = int.from_bytes(data[:8], "little")
    if size > LARGEST_HEADER or data[8:9] != b"{":
        raise ReadError("not a model file: it does not begin as a safetensors file.", name)
    if size > len(data) - 8:
        raise ReadError(
            f"cut short: the header should have {size} bytes, {len(data) - 8} are there.", name
        )
    return size


def _json(text: bytes, name: str):
    """Strict JSON: no key twice, no NaN, no nesting without end."""
    try:
        return json.loads(text, object_pairs_hook=_distinct, parse_constant=_refuse_constant)
    except RecursionError:
        raise ReadError("the header is nested too deeply.", name) from None
    except ValueError as error:
        raise ReadError(f"the header is not valid JSON: {error}.", name) from None


def _distinct(pairs: list[tuple]) -> dict:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key comes twice")
    return found


def _refuse_constant(text: str):
    raise ValueError(f"{text} is not JSON")


def _check_sum(data: bytes, size: int, checksum, name: str) -> None:
    header = data[: 8 + size]
    if not isinstance(checksum, str) or len(checksum) != 64 or not checksum.isascii():
        raise ReadError("its description lacks the checksum.", name)
    if header.count(checksum.encode()) != 1:
        raise ReadError("the checksum does not stand once in the header.", name)
    digest = hashlib.sha256(header.replace(checksum.encode(), NO_CHECKSUM))
    digest.update(memoryview(data)[8 + size :])
    if digest.hexdigest() != checksum:
        raise ReadError("altered or cut short: the checksum does not fit the contents.", name)
