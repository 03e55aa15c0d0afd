"""All cores for compiled loops that release the lock; the same result for any thread count.

Plain threads, unlike numba's own parallel loops, are safe under joblib's and the user's threads.
They are daemons fed by one queue: nothing waits for them when the interpreter ends, and Ctrl-C at
any moment leaves no lock taken that another thread would wait for. The calling thread works too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from itertools import count, pairwise
from queue import SimpleQueue
from threading import Thread

import numpy as np
from threadpoolctl import ThreadpoolController

_workers: list[Thread] = []
_inbox: SimpleQueue = SimpleQueue()
_alone: ContextVar[bool] = ContextVar("alone", default=False)


def n_threads() -> int:
    """Cores this process may use; the environment variable RANKWISE_THREADS overrides it."""
    if _alone.get():
        return 1
    wanted = os.environ.get("RANKWISE_THREADS")
    if wanted:
        return max(1, int(wanted))
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run(tasks: Sequence[Callable[[], object]]) -> list:
    """The results of all tasks, in their order; in threads when there are several of both.

    A task must not call `run` itself. Where the cut into tasks does not depend on the number of
    threads, neither does the result. On Ctrl-C the tasks under way are waited for (they may write
    to arrays that the caller goes on using), the others are dropped.
    """
    threads = min(n_threads(), len(tasks))
    if threads <= 1:
        return [task() for task in tasks]
    _start_workers(threads - 1)
    return _Batch(tasks).results(threads - 1)


class _Batch:
    """Tasks that several threads take one after another."""

    def __init__(self, tasks: Sequence[Callable[[], object]]):
        self._tasks = tasks
        self._next = count()
        self._stopped = False
        self._outcomes: list = [None] * len(tasks)
        self._errors: dict[int, BaseException] = {}
        self._entered: list[None] = []
        self._left: list[None] = []
        self._finished: SimpleQueue = SimpleQueue()

    def _take_tasks(self) -> None:
        for number in self._next:
            if self._stopped or number >= len(self._tasks):
                break
            try:
                self._outcomes[number] = self._tasks[number]()
            except BaseException as error:
                self._errors[number] = error
                self._stopped = True

    def _work(self) -> None:
        """What a helping thread does."""
        self._entered.append(None)
        self._take_tasks()
        self._left.append(None)
        self._finished.put(None)

    def results(self, helpers: int) -> list:
        try:
            for _ in range(helpers):
                _inbox.put(self._work)
            self._take_tasks()
            for _ in range(helpers):
                self._finished.get()
        except BaseException:
            # An interrupt may come between a message and its being counted: count the workers.
            self._stopped = True
            while len(self._left) < len(self._entered):
                time.sleep(1e-3)
            raise
        if self._errors:
            raise self._errors[min(self._errors)]
        return self._outcomes


def _start_workers(wanted: int) -> None:
    while len(_workers) < wanted:
        name = f"rankwise-{len(_workers)}"
        worker = Thread(target=_serve, args=(_inbox,), name=name, daemon=True)
        worker.start()
        _workers.append(worker)


def _serve(inbox: SimpleQueue) -> None:
    while True:
        inbox.get()()


def _forget_workers() -> None:
    """A forked child has no threads but the one that forked."""
    global _inbox
    _workers.clear()
    _inbox = SimpleQueue()


@contextmanager
def single_thread():
    """A context in which compiled loops keep to the calling thread, one of many that work."""
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


@cache
def _pools_of_blas() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread():
    """A context in which BLAS starts no threads beside ours, which would wait for each other."""
    return _pools_of_blas().limit(limits=1, user_api="blas")


def over_ranges(task: Callable[[int, int], None], total: int, work: float) -> None:
    """Call task(low, high) over disjoint ranges that cover range(total), in threads where it pays.

    `work` estimates the elementary operations of the whole; small tasks stay in this thread. The
    ranges must write to disjoint places, so the outcome does not depend on their number.
    """
    threads = min(n_threads(), total)
    if threads <= 1 or work < 2e5:
        task(0, total)
        return
    bounds = np.linspace(0, total, min(total, 4 * threads) + 1).astype(int)
    run([partial(task, low, high) for low, high in pairwise(bounds)])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_workers)
