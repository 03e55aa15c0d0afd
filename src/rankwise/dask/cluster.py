"""Work is sent to a cluster in one way: a graph of tasks, a fixed tree of sums, one round trip."""

from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import partial
from typing import Any

import dask
import distributed
import numpy as np
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

from rankwise.exceptions import ClusterLost
from rankwise.numerics.threads import single_thread

FAN_IN = 8
"""The number of results that one task merges."""
PATIENCE = 20.0
"""Seconds without any worker after which a warning says so."""
watcher: ContextVar[Callable[[Any], None] | None] = ContextVar("watcher", default=None)
"""Called with the future of every round trip, for example to show its progress."""

Merge = Callable[[list], Any]


def local_cluster(n_workers: int, **options) -> distributed.LocalCluster:
    """A LocalCluster of single-threaded processes that listens on loopback only.

    Parameters
    ----------
    n_workers : int
        The number of processes.
    **options
        Of distributed.LocalCluster.

    Examples
    --------
    >>> from distributed import Client
    >>> from rankwise.dask import local_cluster
    >>> options = {"processes": False, "protocol": "tcp://"}  # threads, for this small example
    >>> with local_cluster(1, **options) as cluster, Client(cluster) as client:
    ...     len(client.scheduler_info()["workers"])
    1
    """
    options = {
        "host": "127.0.0.1",
        "dashboard_address": "127.0.0.1:0",
        "worker_dashboard_address": "127.0.0.1:0",
        "threads_per_worker": 1,
        **options,
    }
    return distributed.LocalCluster(n_workers=n_workers, **options)


class Cluster:
    """The client that is current when a fit starts; without one, Dask's own scheduler."""

    def __init__(self) -> None:
        self.client: Any
        try:
            self.client = distributed.get_client()
        except ValueError:
            self.client = None

    def persist(self, blocks: list[Any], task: Callable, *shared) -> list[Delayed]:
        """task(block, number, *shared) of every block, kept on the worker that computed it."""
        name, layer, results = _layer(blocks, range(len(blocks)), task, shared)
        graph = HighLevelGraph.from_collections(name, layer, dependencies=blocks)
        lazy = [Delayed(key, graph, layer=name) for key in results]
        with _large_graphs():
            if self.client is None:
                return list(dask.persist(*lazy))
            return list(self._call(lambda: self.client.persist(lazy)))

    def reduce(
        self,
        blocks: list[Any],
        task: Callable,
        merge: Merge | tuple[Merge, ...],
        *shared,
        only: Sequence[int] | None = None,
        own: Sequence[Any] | None = None,
    ) -> Any:
        """The results of task(block, number, *shared) over all blocks, merged.

        merge : takes the list of the results of neighbouring blocks. If the task returns a tuple,
            a tuple of functions, one for each of its parts
        only : the numbers of the blocks to visit; by default all of them
        own : a value for each of these blocks, which goes to its worker alone; the task is then
            task(block, number, value, *shared)

        The tree of merges depends only on the number of blocks. The rounding of sums therefore
        does not depend on which worker was faster.
        """
        name, layer, level = _layer(
            blocks, range(len(blocks)) if only is None else only, task, shared, own
        )
        merge_neighbours = partial(_merged, merge)  # Dask would run a bare tuple of functions
        depth = 0
        while len(level) > 1 or not depth:
            depth += 1
            above = []
            for i in range(0, len(level), FAN_IN):
                above.append(f"{name}-merge-{depth}-{i // FAN_IN}")
                layer[above[-1]] = (_on_one_thread, merge_neighbours, level[i : i + FAN_IN])
            level = above
        graph = HighLevelGraph.from_collections(name, layer, dependencies=blocks)
        return self._compute(Delayed(level[0], graph, layer=name))

    def _compute(self, lazy: Delayed) -> Any:
        if self.client is None:
            return lazy.compute()
        with _large_graphs():
            future = self._call(lambda: self.client.compute(lazy))
        watch = watcher.get()
        try:
            if watch is not None:
                watch(future)
            self._wait(future)
            return self._call(future.result)
        except BaseException:
            future.release()
            raise

    def _wait(self, future: distributed.Future) -> None:
        last_seen, warned = time.monotonic(), False
        while True:
            try:
                distributed.wait(future, timeout=2.0)
                return
            except TimeoutError:
                self._refuse_if_lost()
            except (CommClosedError, distributed.CancelledError, OSError) as error:
                raise _lost(error) from error
            if self.client.scheduler_info(n_workers=-1)["workers"]:
                last_seen = time.monotonic()
            elif not warned and time.monotonic() - last_seen > PATIENCE:
                warned = True
                warnings.warn(
                    "the Dask cluster has no worker: waiting for one. Start workers, or stop the "
                    "fit with Ctrl-C.",
                    UserWarning,
                    stacklevel=2,
                )

    def _refuse_if_lost(self) -> None:
        if self.client.status != "running":
            raise _lost(f"its client is {self.client.status}")

    def _call(self, call: Callable[[], Any]) -> Any:
        """The result of a call to the cluster; ClusterLost if the cluster does not answer."""
        self._refuse_if_lost()
        try:
            return call()
        except KilledWorker as error:
            raise ClusterLost(
                f"a task ended every worker that ran it, one after another ({error}). The usual "
                "reason is a partition that is too large for the memory of a worker: use more, "
                "smaller partitions."
            ) from error
        except (CommClosedError, distributed.CancelledError) as error:
            raise _lost(error) from error


def _lost(reason: object) -> ClusterLost:
    first = (str(reason).splitlines() or [type(reason).__name__])[0]
    return ClusterLost(
        f"the connection to the Dask scheduler was lost ({first}), so there is no model. Connect "
        "a new distributed.Client and fit again."
    )


def _layer(
    blocks: list[Delayed],
    numbers: Sequence[int],
    task: Callable,
    shared: tuple,
    own: Sequence[Any] | None = None,
) -> tuple[str, dict, list[str]]:
    name = f"rankwise-{task.__qualname__}-{uuid.uuid4().hex}"
    layer: dict = {f"{name}-shared-{i}": (_Shared(value),) for i, value in enumerate(shared)}
    shared_keys = list(layer)
    results = [f"{name}-{number}" for number in numbers]
    for i, (key, number) in enumerate(zip(results, numbers)):
        given = shared_keys if own is None else [own[i], *shared_keys]
        layer[key] = (_on_one_thread, task, blocks[number].key, number, *given)
    return name, layer, results


class _Shared:
    """A value as a task of its own: sent once, fetched by every worker, computed again if lost."""

    def __init__(self, value: Any):
        self._value = value

    def __call__(self) -> Any:
        return self._value


def _on_one_thread(task: Callable, *arguments) -> Any:
    """A worker runs one task on each of its threads, so a task must not start more threads."""
    with single_thread():
        return task(*arguments)


def _large_graphs() -> AbstractContextManager:
    """Kernel maps and spectra travel inside the graph on purpose, so Dask need not warn."""
    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "10GB"})


def _merged(merge: Merge | tuple[Merge, ...], results: list) -> Any:
    if not isinstance(merge, tuple):
        return merge(results)
    return tuple(one(list(parts)) for one, parts in zip(merge, zip(*results)))


def joined(lists: list[list]) -> list:
    """The entries of all lists, in order."""
    return [entry for entries in lists for entry in entries]


def added(lists: list[list[np.ndarray] | None]) -> Any:
    """The sums of the first arrays of all lists, of the second arrays, and so on.

    None counts as nothing. The result is None if every list is, or if the shapes differ: in that
    case the partitions differ too, and Layout says which ones.
    """
    given = [arrays for arrays in lists if arrays is not None]
    if len({tuple(array.shape for array in arrays) for arrays in given}) != 1:
        return None
    total = [np.array(array) for array in given[0]]
    for arrays in given[1:]:
        for mine, other in zip(total, arrays):
            mine += other
    return total
