"""Modules that the process of a command imports when something of them is first used.

scikit-learn imports scipy.stats with its first class, for a function that scoring never calls. That
import takes about a third of the time of `rankwise predict` for a few rows. The library leaves the
imports of a user's program alone: only a command calls this.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from threading import RLock
from types import ModuleType
from typing import Any

_LOADING = RLock()


def defer_import(name: str) -> None:
    """Let a module be imported at the first use of one of its names, unless it is imported yet."""
    if name not in sys.modules:
        sys.modules[name] = _Deferred(name)


class _Deferred(ModuleType):
    """Stands for a module until then, and afterwards hands on what is asked of it."""

    def __init__(self, name: str):
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in ("__path__", "__all__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        with _LOADING:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
            return getattr(importlib.import_module(self.__name__), name)
