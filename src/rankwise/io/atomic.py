"""Files that are written completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

READERS_BLOCK = os.name == "nt"
"""Whether a file that is being read cannot be replaced."""
PATIENCE, STEP = 2.0, 0.05
"""Seconds to wait for readers, altogether and at a time."""


def write_atomically(path: str | os.PathLike, blocks: Iterable[bytes | memoryview]) -> None:
    """Write to a temporary file in the same folder, flush it to disk, then rename it to `path`.

    If the write fails or the process is killed, an older file at `path` keeps its content. A kill
    may leave the temporary file, whose name starts with a dot and ends in .part. Symbolic links are
    followed, and the permissions of an older file are kept.
    """
    target = Path(os.path.realpath(os.fsdecode(path)))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder to write to", str(target.parent))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "a folder, not a file to write to", str(target))
    prefix = f".{target.name[:100]}."
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=prefix, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            for block in blocks:
                stream.write(block)
            stream.flush()
            os.chmod(name, _permissions(target))
            os.fsync(stream.fileno())
        _replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    with contextlib.suppress(OSError):
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _replace(name: str, target: Path) -> None:
    """Rename the file. Windows refuses that while another program reads `target`: wait a little."""
    waited = 0.0
    while True:
        try:
            os.replace(name, target)
            return
        except PermissionError as error:
            if not READERS_BLOCK or waited >= PATIENCE:
                raise PermissionError(error.errno, _reason(error, waited), str(target)) from error
        time.sleep(STEP)
        waited += STEP


def _reason(error: OSError, waited: float) -> str:
    reason = error.strerror or "no permission"
    return f"{reason}; another program may have it open" if waited else reason


def _permissions(target: Path) -> int:
    """The permissions of the existing file, or those that open() would give to a new one."""
    with contextlib.suppress(OSError):
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
