"""Names that are imported when they are used, not before."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from operator import attrgetter
from typing import Any


def imported(path: str) -> Any:
    """The class, function or constant of an import path "module:name"."""
    module, _, name = path.partition(":")
    return attrgetter(name)(importlib.import_module(module))


@dataclass(frozen=True)
class ClassPath:
    """A class, given by its import path "module:Class"."""

    path: str

    @property
    def name(self) -> str:
        return self.path.partition(":")[2]

    def imported(self) -> Any:
        return imported(self.path)
