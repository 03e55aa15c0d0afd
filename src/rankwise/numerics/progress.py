"""A progress bar for long loops, shown only to a person at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

MANY = 50
"""Fewer steps than this show no bar."""

Step = TypeVar("Step")


def track(work: Iterable[Step], total: int, what: str, least: int = MANY) -> Iterator[Step]:
    """The steps of `work`, one after the other, with a progress bar from `least` steps on."""
    with progress_bar(total, what, least) as advance:
        for step in work:
            yield step
            advance()


@contextmanager
def progress_bar(total: int, what: str, least: int = MANY) -> Iterator[Callable[[], None]]:
    """A bar on standard error, and the function that any thread calls after one of `total` steps.

    There is no bar if standard error is not a terminal or if there are fewer than `least` steps.
    """
    if total < least or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        yield partial(bar.advance, bar.add_task(what, total=total))
