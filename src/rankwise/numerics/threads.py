"""All cores for compiled loops that release the interpreter's lock.

Plain threads, unlike numba's own parallel loops, are safe inside the threads of joblib and of the
user. The workers are daemon threads that one queue feeds: the interpreter does not wait for them
when it ends, and Ctrl-C at any moment leaves no lock that another thread would wait for. The
calling thread works too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache, partial
from itertools import count, pairwise
from queue import SimpleQueue
from threading import Thread
from typing import Generic, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

T = TypeVar("T")
_workers: list[Thread] = []
_inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
_limit: ContextVar[int | None] = ContextVar("limit", default=None)


def n_threads() -> int:
    """The cores that this process may use, or the environment variable RANKWISE_THREADS.

    Inside `limit_threads` it is never more than the limit.
    """
    wanted = os.environ.get("RANKWISE_THREADS")
    if wanted:
        cores = max(1, int(wanted))
    elif hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return min(cores, _limit.get() or cores)


@contextmanager
def limit_threads(n_jobs: int | None) -> Iterator[None]:
    """A context with at most n_jobs threads, counted as in scikit-learn.

    None and −1 allow all of them, −2 all but one, and so on.
    """
    limit = n_threads()
    if n_jobs is not None:
        limit = min(limit, n_jobs) if n_jobs > 0 else max(1, limit + 1 + n_jobs)
    token = _limit.set(limit)
    try:
        yield
    finally:
        _limit.reset(token)


def single_thread() -> AbstractContextManager[None]:
    """A context without further threads, for a caller that is itself one of many."""
    return limit_threads(1)


def run(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """The results of all tasks, in the order of the tasks.

    Several threads take the tasks if `n_threads` allows it. The result does not depend on the
    number of threads, provided that the tasks themselves do not. A task may call `run`, which
    then starts no further threads. If tasks fail, the error of the first of them is raised. After
    Ctrl-C, `run` waits for the tasks that have begun, which may write to arrays of the caller, and
    drops the others.
    """
    threads = min(n_threads(), len(tasks))
    if threads <= 1:
        return [task() for task in tasks]
    _start_workers(threads - 1)
    return _Batch(tasks).results(threads - 1)


def over_ranges(task: Callable[[int, int], None], total: int, work: float) -> None:
    """Call task(low, high) for disjoint ranges that cover range(total), on several threads.

    `work` estimates the elementary operations of all ranges together; if they are few, the calling
    thread does everything. Different ranges must write to different memory: the outcome then does
    not depend on the number of ranges.
    """
    threads = min(n_threads(), total)
    if threads <= 1 or work < 2e5:
        task(0, total)
        return
    bounds = np.linspace(0, total, min(total, 4 * threads) + 1).astype(int)
    run([partial(task, low, high) for low, high in pairwise(bounds)])


class _Batch(Generic[T]):
    """Tasks that several threads take one after the other."""

    def __init__(self, tasks: Sequence[Callable[[], T]]):
        self._tasks = tasks
        self._next = count()
        self._stopped = False
        self._outcomes: dict[int, T] = {}
        self._errors: dict[int, BaseException] = {}
        self._entered: list[None] = []
        self._left: list[None] = []
        self._finished: SimpleQueue[None] = SimpleQueue()

    def _take_tasks(self) -> None:
        """Tasks run without helpers: all threads might wait for help that nobody could give."""
        with single_thread():
            for number in self._next:
                if self._stopped or number >= len(self._tasks):
                    break
                try:
                    self._outcomes[number] = self._tasks[number]()
                except BaseException as error:
                    self._errors[number] = error
                    self._stopped = True

    def _work(self) -> None:
        """The work of one helping thread."""
        self._entered.append(None)
        self._take_tasks()
        self._left.append(None)
        self._finished.put(None)

    def results(self, helpers: int) -> list[T]:
        try:
            for _ in range(helpers):
                _inbox.put(self._work)
            self._take_tasks()
            for _ in range(helpers):
                self._finished.get()
        except BaseException:
            # Ctrl-C may have come between a message of _finished and its count, so the threads
            # that have entered and not left are counted instead.
            self._stopped = True
            while len(self._left) < len(self._entered):
                time.sleep(1e-3)
            raise
        if self._errors:
            raise self._errors[min(self._errors)]
        return [self._outcomes[number] for number in range(len(self._tasks))]


def _start_workers(wanted: int) -> None:
    while len(_workers) < wanted:
        name = f"rankwise-{len(_workers)}"
        worker = Thread(target=_serve, args=(_inbox,), name=name, daemon=True)
        worker.start()
        _workers.append(worker)


def _serve(inbox: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        inbox.get()()


def _forget_workers() -> None:
    """A forked child has only the thread that forked: it starts workers of its own."""
    global _inbox
    _workers.clear()
    _inbox = SimpleQueue()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_workers)


def one_blas_thread() -> AbstractContextManager[object]:
    """A context in which BLAS starts no threads of its own, which would compete with ours."""
    return _blas_pools().limit(limits=1, user_api="blas")


@cache
def _blas_pools() -> ThreadpoolController:
    return ThreadpoolController()
