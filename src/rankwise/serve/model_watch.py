"""The model of a file, taken up anew when the file is replaced.

A request takes `current` once and keeps it, so a replacement never changes a request that runs. A
file that cannot be loaded changes nothing but `problem`.
"""

from __future__ import annotations

import asyncio
import os
import time
from datetime import UTC, datetime
from pathlib import Path

import rankwise
from rankwise.io.plain_text import one_line
from rankwise.serve.served_model import ServedModel

Signature = tuple[int, int, int]


class ModelWatch:
    """The latest model of a path that could be loaded; the first load must succeed."""

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)
        self.problem: str | None = None
        self.reloads = self.failures = 0
        self._seen = self._signature()
        self.current = self._load()
        self.loaded = time.time()

    def _load(self) -> ServedModel:
        return ServedModel(rankwise.load(self.path))

    def _signature(self) -> Signature | None:
        """What changes if the file is replaced or written; None if it is gone."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def refresh(self) -> None:
        """Load the file if it changed since the last look. The old model stays if that fails."""
        signature = self._signature()
        if signature == self._seen:
            return
        self._seen = signature
        if signature is None:
            self._keep("the model file is gone")
            return
        try:
            model = self._load()
        except Exception as error:  # whatever is wrong with the new file, the old model serves on
            self._keep(f"the new model file cannot be loaded: {error}")
            return
        self.current, self.loaded, self.problem = model, time.time(), None
        self.reloads += 1

    def _keep(self, why: str) -> None:
        self.failures += 1
        self.problem = one_line(f"{why}. The model of {self.loaded_at} is still served.")

    @property
    def loaded_at(self) -> str:
        return datetime.fromtimestamp(self.loaded, UTC).isoformat(timespec="seconds")

    async def follow(self, seconds: float) -> None:
        """Look at the file every so many seconds, until cancelled; files are loaded in a thread."""
        while True:
            await asyncio.sleep(seconds)
            if self._signature() != self._seen:
                await asyncio.to_thread(self.refresh)
