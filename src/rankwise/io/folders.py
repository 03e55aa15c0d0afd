"""The data files of a folder, in a fixed order."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any

from rankwise.exceptions import ReadError


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
