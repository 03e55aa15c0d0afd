"""Names that are imported when they are used, not before."""

from __future__ import annotations

import importlib
from operator import attrgetter
from typing import Any


def imported(path: str) -> Any:
    """The class, function or constant of an import path "module:name"."""
    module, _, name = path.partition(":")
    return attrgetter(name)(importlib.import_module(module))
