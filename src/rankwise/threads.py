"""All cores for compiled loops that release the lock; the same result for any thread count.

Plain threads, unlike numba's own parallel loops, are safe under joblib's and the user's threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import pairwise

import numpy as np
from threadpoolctl import ThreadpoolController

_pools: dict[int, ThreadPoolExecutor] = {}


def n_threads() -> int:
    """Cores this process may use; the environment variable RANKWISE_THREADS overrides it."""
    wanted = os.environ.get("RANKWISE_THREADS")
    if wanted:
        return max(1, int(wanted))
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run(tasks: Sequence[Callable[[], object]]) -> list:
    """The results of all tasks, in their order; in threads when there are several of both.

    A task must not call `run` itself. Where the cut into tasks does not depend on the number of
    threads, neither does the result.
    """
    threads = n_threads()
    if threads == 1 or len(tasks) < 2:
        return [task() for task in tasks]
    if threads not in _pools:
        _pools[threads] = ThreadPoolExecutor(threads, thread_name_prefix="rankwise")
    return [future.result() for future in [_pools[threads].submit(task) for task in tasks]]


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
    os.register_at_fork(after_in_child=_pools.clear)
