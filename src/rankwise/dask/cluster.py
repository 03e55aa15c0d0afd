"""One way to send work out and get a sum back: a graph, a fixed tree of sums, one round trip."""

from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import dask
import distributed
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

from rankwise.exceptions import ClusterLost
from rankwise.numerics.threads import single_thread

FAN_IN = 8
"""So many results are added in one task."""
PATIENCE = 20.0
"""Seconds without a single worker after which a warning says so."""
watcher: ContextVar[Callable[[Any], None] | None] = ContextVar("watcher", default=None)
"""Called with the future of every round trip, for example to show its progress."""


def local_cluster(n_workers: int, **options) -> distributed.LocalCluster:
    """A LocalCluster of single-threaded processes that listens on loopback only."""
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

    def persist(self, blocks: list, task: Callable, *shared) -> list[Delayed]:
        """task(block, number, *shared) of every block, kept where it was computed."""
        name, layer, results = _layer(blocks, task, shared)
        graph = HighLevelGraph.from_collections(name, layer, dependencies=blocks)
        lazy = [Delayed(key, graph, layer=name) for key in results]
        with _large_graphs():
            if self.client is None:
                return list(dask.persist(*lazy))
            return list(self._reached(lambda client: client.persist(lazy)))

    def reduce(self, blocks: list, task: Callable, merge: Callable, *shared):
        """merge of task(block, number, *shared) over all blocks, in an order of its own.

        merge takes a list of neighbours. The tree depends on the number of blocks alone, so the
        rounding of sums does not depend on which worker was faster.
        """
        name, layer, level = _layer(blocks, task, shared)
        depth = 0
        while len(level) > 1 or not depth:
            depth += 1
            above = []
            for i in range(0, len(level), FAN_IN):
                above.append(f"{name}-sum-{depth}-{i // FAN_IN}")
                layer[above[-1]] = (_quietly, merge, level[i : i + FAN_IN])
            level = above
        graph = HighLevelGraph.from_collections(name, layer, dependencies=blocks)
        return self.compute(Delayed(level[0], graph, layer=name))

    def compute(self, lazy: Delayed):
        if self.client is None:
            return lazy.compute()
        with _large_graphs():
            future = self._reached(lambda client: client.compute(lazy))
        watch = watcher.get()
        try:
            if watch is not None:
                watch(future)
            self._wait(future)
            return self._reached(lambda client: future.result())
        except BaseException:
            future.release()
            raise

    def _wait(self, future) -> None:
        started, warned = time.monotonic(), False
        while True:
            try:
                distributed.wait(future, timeout=2.0)
                return
            except TimeoutError:
                self._refuse_if_lost()
            except (CommClosedError, distributed.CancelledError, OSError) as error:
                raise _lost(error) from error
            alone = not self.client.scheduler_info(n_workers=-1)["workers"]
            if not alone:
                started = time.monotonic()
            elif not warned and time.monotonic() - started > PATIENCE:
                warned = True
                warnings.warn(
                    "the Dask cluster has no worker: waiting for one. Start workers, or stop the "
                    "fit with Ctrl-C.",
                    UserWarning,
                    stacklevel=2,
                )

    def _refuse_if_lost(self) -> None:
        assert self.client is not None
        if self.client.status != "running":
            raise _lost(f"its client is {self.client.status}")

    def _reached(self, call: Callable):
        self._refuse_if_lost()
        try:
            return call(self.client)
        except KilledWorker as error:
            raise ClusterLost(
                f"a task ended the workers that ran it, one after the other ({error}). Most often "
                "a partition is too large for a worker's memory: use more, smaller partitions."
            ) from error
        except (CommClosedError, distributed.CancelledError) as error:
            raise _lost(error) from error


def _lost(reason) -> ClusterLost:
    first = (str(reason).splitlines() or [type(reason).__name__])[0]
    return ClusterLost(
        f"the connection to the Dask scheduler was lost ({first}); no model was "
        "made. Connect a new distributed.Client and fit again."
    )


def _layer(blocks: Sequence[Delayed], task: Callable, shared) -> tuple[str, dict, list]:
    name = f"rankwise-{task.__name__}-{uuid.uuid4().hex}"
    layer: dict = {}
    given = [f"{name}-given-{i}" for i in range(len(shared))]
    for key, value in zip(given, shared):
        layer[key] = (_Given(value),)
    results = [f"{name}-{i}" for i in range(len(blocks))]
    for i, (key, block) in enumerate(zip(results, blocks)):
        layer[key] = (_quietly, task, block.key, i, *given)
    return name, layer, results


class _Given:
    """A value as a task of its own: sent once, fetched by every worker, made again if lost."""

    def __init__(self, value):
        self._value = value

    def __call__(self):
        return self._value


def _quietly(task, *arguments):
    """On one thread: a worker has as many as it was given, and each runs a task."""
    with single_thread():
        return task(*arguments)


def _large_graphs():
    """Kernel maps and spectra travel inside the graph; that is meant, so no warning."""
    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "10GB"})
