"""A progress bar for long loops, shown only to a person at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

MANY = 50


def track(work: Iterable, total: int, what: str) -> Iterator:
    """The same iterable; with a bar on standard error where it is a terminal and steps are many."""
    if total < MANY or not sys.stderr.isatty():
        yield from work
        return
    from rich.console import Console
    from rich.progress import track as bar

    yield from bar(
        work, description=what, total=total, console=Console(stderr=True), transient=True
    )
