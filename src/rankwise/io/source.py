"""Where bytes come from: a path, "-" for standard input, or an open file; compressed or not."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from rankwise.exceptions import ReadError, TooLarge
from rankwise.numerics import memory

BLOCK = 1 << 24
COMPRESSED: dict[bytes, tuple[str, Callable]] = {
    b"\x1f\x8b": (".gz", gzip.open),
    b"\xfd7zXZ\x00": (".xz", lzma.open),
    b"BZh": (".bz2", bz2.open),
}
"""First bytes -> extension and opener."""


@dataclass
class Source:
    """The whole content of a file, unpacked, and its name for messages."""

    name: str
    data: bytes

    def error(self, reason: str, position: int) -> ReadError:
        """An error at a byte of the data, as line and column (in characters) from 1."""
        start = self.data.rfind(b"\n", 0, position) + 1
        line = self.data.count(b"\n", 0, start) + 1
        before = self.data[start:position].removeprefix(b"\xef\xbb\xbf" if start == 0 else b"")
        return ReadError(reason, self.name, line, len(before.decode("utf-8", "replace")) + 1)

    def text(self) -> str:
        """The data as text, without a byte order mark."""
        refuse_other_encodings(self)
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            place = error.start + (3 if self.data.startswith(b"\xef\xbb\xbf") else 0)
            byte = self.data[place]
            raise self.error(f"byte 0x{byte:02x} is not UTF-8 text.", place) from None


def read_source(path) -> Source:
    """Read a path, "-" or an open file (binary or text), unpacking gzip, xz and bzip2 by content.

    What would unpack to more than half of the free memory is refused.
    """
    source = read_raw(path)
    source.data = _unpacked(source.data, source.name)
    return source


def read_raw(path) -> Source:
    """The bytes of a path, "-" or an open file as they are."""
    if isinstance(path, str) and path == "-":
        return Source("standard input", sys.stdin.buffer.read())
    if hasattr(path, "read"):
        name = str(getattr(path, "name", "the open file"))
        content = path.read()
        if not isinstance(content, bytes | bytearray | str):
            raise ReadError(f"read() gave {type(content).__name__}, not bytes or text.", name)
        data = content.encode() if isinstance(content, str) else bytes(content)
        return Source(name, data)
    name = os.fsdecode(path)
    try:
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            _refuse_too_much(size, name)
            return Source(name, stream.read())
    except OSError as error:
        raise _as_read_error(error, name) from None


def _as_read_error(error: OSError, name: str) -> Exception:
    """Missing files keep their own class, FileNotFoundError and the like; others are named."""
    if error.errno is not None:
        return error
    return ReadError(str(error), name)


def _unpacked(data: bytes, name: str) -> bytes:
    for magic, (extension, opener) in COMPRESSED.items():
        if data.startswith(magic):
            try:
                return _unpack(opener(io.BytesIO(data), "rb"), name)
            except (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError) as error:
                if isinstance(error, TooLarge):
                    raise
                reason = f"damaged or cut {extension} file: {error}."
                raise ReadError(reason, name) from None
    return data


def _unpack(stream, name: str) -> bytes:
    blocks, size = [], 0
    while block := stream.read(BLOCK):
        blocks.append(block)
        size += len(block)
        _refuse_too_much(size, name)
    return b"".join(blocks)


def _refuse_too_much(size: int, name: str) -> None:
    available = memory.available_memory()
    if size > BLOCK and available is not None and 2 * size > available:
        raise TooLarge(
            f"{name} holds {size / 1e9:.1f} GB or more, but only {available / 1e9:.1f} GB of "
            "memory are free: split it."
        )


def refuse_other_encodings(source: Source) -> None:
    """Say so where the text is UTF-16 or UTF-32, or no text at all."""
    if source.data.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")):
        raise ReadError("the text is UTF-16 or UTF-32: save it as UTF-8.", source.name, 1, 1)
    if (place := source.data.find(b"\x00")) >= 0:
        raise source.error("byte 0x00: this is a binary file, not text.", place)
