"""Progress of long loops: a bar for a person at a terminal, or whatever a listener makes of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import NamedTuple, TypeVar

MANY = 50
"""Fewer steps than this show no bar."""

Step = TypeVar("Step")
Listener = Callable[[str], None]
"""Takes the progress of all running loops in words: "outer folds 2 of 5, folds 1 of 10"."""


class _Loop:
    """A running loop: what its steps are, and how many of them are done."""

    def __init__(self, what: str, total: int):
        self.what, self.total, self.done = what, total, 0

    def __str__(self) -> str:
        return f"{self.what} {min(self.done + 1, self.total)} of {self.total}"


class _Told(NamedTuple):
    """A listener with the loops that run now; a loop that failed may be closed late, or never."""

    listener: Listener
    loops: list[_Loop]


_told: list[_Told] = []
_lock = Lock()


@contextmanager
def progress_told_to(listener: Listener) -> Iterator[None]:
    """Inside, loops of any length tell the listener about each step instead of showing a bar."""
    told = _Told(listener, [])
    _told.append(told)
    try:
        yield
    finally:
        _told.remove(told)


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
    if _told:
        with _loop_told(_told[-1], _Loop(what, total)) as advance:
            yield advance
        return
    if total < least or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        yield partial(bar.advance, bar.add_task(what, total=total))


@contextmanager
def _loop_told(told: _Told, loop: _Loop) -> Iterator[Callable[[], None]]:
    def tell(steps: int) -> None:
        with _lock:
            loop.done += steps
            words = ", ".join(map(str, told.loops))
        told.listener(words)

    with _lock:
        told.loops.append(loop)
    try:
        tell(0)
        yield partial(tell, 1)
    finally:
        with _lock:
            told.loops.remove(loop)
