"""Where bytes come from: a path, "-" for standard input, or an open file; compressed or not.

Also the data files of a folder, in a fixed order.
"""

from __future__ import annotations

import bz2
import codecs
import glob
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

from rankwise.exceptions import ReadError, TooLarge
from rankwise.numerics import memory

BLOCK = 1 << 24
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BYTE_ORDER_MARKS = {
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)
"""Errors that a compressed file raises while it is read; bz2 raises an OSError without errno."""


class Compression(NamedTuple):
    """A format of compressed files: their first bytes, their extension, and how to use it."""

    first_bytes: bytes
    extension: str
    open: Callable[..., Any]
    compress: Callable[[bytes], bytes]


COMPRESSIONS = (
    Compression(b"\x1f\x8b", ".gz", gzip.open, partial(gzip.compress, mtime=0)),
    Compression(b"\xfd7zXZ\x00", ".xz", lzma.open, lzma.compress),
    Compression(b"BZh", ".bz2", bz2.open, bz2.compress),
)

Readable = str | os.PathLike | IO
"""What readers take: a path, "-" for standard input, or an open file, binary or text."""


@dataclass
class Source:
    """The whole content of a file, unpacked, and its name for messages."""

    name: str
    data: bytes

    def error(self, reason: str, position: int) -> ReadError:
        """The error at a byte of the data, with its line and column (in characters) from 1."""
        start = self.data.rfind(b"\n", 0, position) + 1
        line = self.data.count(b"\n", 0, start) + 1
        before = self.data[start:position].removeprefix(BYTE_ORDER_MARK if start == 0 else b"")
        return ReadError(reason, self.name, line, len(before.decode("utf-8", "replace")) + 1)

    def text(self) -> str:
        """The data as text, without a byte order mark."""
        self.refuse_other_encodings()
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            start = len(BYTE_ORDER_MARK) if self.data.startswith(BYTE_ORDER_MARK) else 0
            raise self.not_utf8(start + error.start) from None

    def refuse_other_encodings(self) -> None:
        """Raise a ReadError if the file is binary, or UTF-16 without a byte order mark."""
        if (position := self.data.find(b"\x00")) >= 0:
            reason = "byte 0x00: this is a binary file, or UTF-16, which its encoding must say."
            raise self.error(reason, position)

    def not_utf8(self, position: int, what: str = "") -> ReadError:
        reason = f"byte 0x{self.data[position]:02x}{what} is not UTF-8 text"
        return self.error(f"{reason}: save it as UTF-8, or name its encoding (cp1252?).", position)


def read_source(path: Readable, encoding: str | None = None) -> Source:
    """Read a path, "-" or an open file, and unpack gzip, xz and bzip2, recognised by content.

    The text of the result is UTF-8: text with a byte order mark of UTF-16 or UTF-32, or in the
    named encoding, is converted. Files that would unpack to more than half of the free memory are
    refused.
    """
    return _as_utf8(_unpacked(read_raw(path)), encoding)


def _as_utf8(source: Source, encoding: str | None) -> Source:
    if encoding is None:
        marks = (mark for mark in BYTE_ORDER_MARKS if source.data.startswith(mark))
        encoding = BYTE_ORDER_MARKS.get(next(marks, b""))
        if encoding is None:
            return source
    try:
        codecs.lookup(encoding)
        text = source.data.decode(encoding)
    except LookupError:
        raise ValueError(
            f"{encoding!r} is no encoding that is known; usual ones are utf-8, cp1252, latin-1, "
            "utf-16."
        ) from None
    except UnicodeDecodeError as error:
        raise source.error(f"the text is not {encoding}: {error.reason}.", error.start) from None
    return Source(source.name, text.removeprefix("\ufeff").encode("utf-8", "surrogatepass"))


def _unpacked(source: Source) -> Source:
    compression = _compression_of(source.data)
    if compression is None:
        return source
    blocks, size = [], 0
    try:
        with compression.open(io.BytesIO(source.data), "rb") as stream:
            while block := stream.read(BLOCK):
                blocks.append(block)
                size += len(block)
                _refuse_too_much(size, source.name)
    except (*DAMAGED, OSError) as error:
        reason = f"the {compression.extension} file is damaged or cut short: {error}."
        raise ReadError(reason, source.name) from None
    return Source(source.name, b"".join(blocks))


def read_raw(path: Readable) -> Source:
    """The bytes of a path, "-" or an open file, not unpacked."""
    if isinstance(path, str) and path == "-":
        return Source("standard input", sys.stdin.buffer.read())
    if hasattr(path, "read"):
        name = str(getattr(path, "name", "the open file"))
        content = path.read()
        if not isinstance(content, bytes | bytearray | str):
            raise ReadError(f"read() gave {type(content).__name__}, not bytes or text.", name)
        return Source(name, content.encode() if isinstance(content, str) else bytes(content))
    name = os.fsdecode(path)
    try:
        with open(path, "rb") as stream:
            _refuse_too_much(os.fstat(stream.fileno()).st_size, name)
            return Source(name, stream.read())
    except OSError as error:
        if error.errno is not None:  # FileNotFoundError and others name the file themselves
            raise
        raise ReadError(str(error), name) from None


def open_unpacked(path: str | os.PathLike) -> IO[bytes]:
    """A stream of the bytes of a file, unpacked if its first bytes say that it is compressed."""
    with open(path, "rb") as stream:
        compression = _compression_of(stream.read(6))
    return open(path, "rb") if compression is None else compression.open(path, "rb")


def _compression_of(data: bytes) -> Compression | None:
    return next((known for known in COMPRESSIONS if data.startswith(known.first_bytes)), None)


def _refuse_too_much(size: int, name: str) -> None:
    available = memory.available_memory()
    if size > BLOCK and available is not None and 2 * size > available:
        raise TooLarge(
            f"{name} holds {size / 1e9:.1f} GB or more, but only {available / 1e9:.1f} GB of "
            "memory are free: split it."
        )


def files_of(path: Any, leave_out: str = "") -> list[str]:
    """The files that are not empty, in a fixed order; ReadError if there is none."""
    if isinstance(path, list | tuple):
        files = [os.fspath(file) for file in path]
    elif os.path.isdir(path):
        files = sorted(str(file) for file in Path(path).rglob("*") if file.is_file())
        files = [file for file in files if not _is_hidden(Path(file), Path(path))]
    else:
        files = sorted(glob.glob(os.fspath(path)))
    if leave_out:
        files = [file for file in files if not file.endswith(leave_out)]
    files = [file for file in files if not os.path.exists(file) or os.path.getsize(file)]
    if not files:
        raise ReadError("no file with anything in it.", str(path))
    return files


def _is_hidden(file: Path, root: Path) -> bool:
    """.crc files, _SUCCESS markers and the like."""
    return any(part.startswith((".", "_")) for part in file.relative_to(root).parts)
