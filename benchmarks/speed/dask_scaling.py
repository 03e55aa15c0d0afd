"""rankwise.dask on 1, 2 and 4 local workers, with 1 to 20 million rows × 50 features made lazily.

python -m benchmarks.speed.dask_scaling [million rows ...]

For RankRLS (one pass) and RankSVM (a few planes, data kept in memory) it prints seconds, bytes sent
between all processes per round trip, the peak memory of the largest worker, and the share of the
workers' time in which no task ran. Then it measures round trips whose tasks do nothing.
"""

from __future__ import annotations

import resource
import sys
import time
import warnings

import numpy as np
from dask import delayed
from distributed import Client, get_task_stream
from distributed.comm.tcp import TCP

import rankwise
from benchmarks.speed.harness import print_machine
from rankwise.dask import RankRLS, RankSVM, local_cluster
from rankwise.dask.cluster import Cluster, added

N_FEATURES = 50
ROWS = 250_000
PER_QUERY = 100
PLANES = 3


def partition(number: int):
    """X float32 (ROWS, 50), y with five grades, and qid with 100 rows per query."""
    rng = np.random.default_rng(number)
    X = rng.standard_normal((ROWS, N_FEATURES), dtype=np.float32)
    hidden = np.random.default_rng(12345).standard_normal(N_FEATURES, dtype=np.float32)
    y = X @ (hidden / np.linalg.norm(hidden)) + rng.standard_normal(ROWS, dtype=np.float32)
    qid = number * (ROWS // PER_QUERY) + np.arange(ROWS) // PER_QUERY
    return X, np.digitize(y, [-1.5, -0.5, 0.5, 1.5]).astype(float), qid


def lazy_rows(millions: int):
    made = [delayed(partition, nout=3, pure=False)(i) for i in range(int(millions * 1e6) // ROWS)]
    return [part[0] for part in made], [part[1] for part in made], [part[2] for part in made]


def count_bytes() -> None:
    """Count the bytes of every message that this process sends."""
    if hasattr(TCP, "sent"):
        return
    original, TCP.sent = TCP.write, 0

    async def write(self, *arguments, **options):
        size = await original(self, *arguments, **options)
        TCP.sent += size or 0
        return size

    TCP.write = write


def sent() -> int:
    return TCP.sent


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def measure(name: str, model, millions: int, workers: int) -> dict:
    trips = []
    original = Cluster.reduce

    def reduce(self, *arguments, **options):
        trips.append(1)
        return original(self, *arguments, **options)

    with local_cluster(workers, silence_logs=50) as cluster, Client(cluster) as client:
        count_bytes()
        client.run(count_bytes)
        client.run(load_compiled)
        before = sum(client.run(sent).values()) + sent()
        idle = max(client.run(peak).values())
        X, y, qid = lazy_rows(millions)
        Cluster.reduce = reduce
        try:
            with get_task_stream(client) as stream:
                start = time.perf_counter()
                model.fit(X, y, qid=qid)
                seconds = time.perf_counter() - start
        finally:
            Cluster.reduce = original
        moved = sum(client.run(sent).values()) + sent() - before
        busy = sum(
            span["stop"] - span["start"]
            for task in stream.data
            for span in task["startstops"]
            if span["action"] == "compute"
        )
        return {
            "name": name,
            "millions": millions,
            "workers": workers,
            "seconds": seconds,
            "trips": len(trips),
            "bytes": moved / len(trips),
            "peak": max(client.run(peak).values()),
            "idle": idle,
            "lost": 1 - busy / (workers * seconds),
        }


def load_compiled() -> None:
    warnings.simplefilter("ignore")
    X, y, qid = partition(0)
    rankwise.RankRLS().fit(X[:2000], y[:2000], qid=qid[:2000])
    rankwise.RankSVM(max_iter=2).fit(X[:2000], y[:2000], qid=qid[:2000])


def nothing(_block, _number) -> list[np.ndarray]:
    return [np.zeros(N_FEATURES + 1)]


def print_overhead(workers: int) -> None:
    print("\nround trips whose tasks do nothing, seconds [fastest of 5]:")
    with local_cluster(workers, silence_logs=50) as cluster, Client(cluster):
        for count in (10, 100, 1000):
            here = Cluster()
            blocks = [delayed(int, pure=False)(i) for i in range(count)]
            parts = here.persist(blocks, nothing)
            here.reduce(parts, nothing, added)
            times = []
            for _ in range(5):
                start = time.perf_counter()
                here.reduce(parts, nothing, added)
                times.append(time.perf_counter() - start)
            each = 1e3 * min(times) / count
            print(f"  {count:5d} partitions {min(times):8.3f}   {each:.2f} ms each")


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or [1, 5, 20]
    warnings.simplefilter("ignore")
    print_machine()
    print(f"partitions of {ROWS} x {N_FEATURES} float32, {PER_QUERY} rows per query; new workers")
    print("  model      10⁶ rows  workers   seconds  of one   trips  bytes/trip  peak GB  lost")
    for millions in sizes:
        for name, model in (("RankRLS", RankRLS()), ("RankSVM", RankSVM(max_iter=PLANES))):
            one = None
            for workers in (1, 2, 4):
                row = measure(name, model, millions, workers)
                one = one or row["seconds"]
                print(
                    f"  {name:10} {millions:8d} {workers:8d} {row['seconds']:9.1f} "
                    f"{row['seconds'] / one:7.2f} {row['trips']:7d} {row['bytes']:11.0f} "
                    f"{row['peak']:5.2f} (idle {row['idle']:.2f}) {row['lost']:5.2f}",
                    flush=True,
                )
    print_overhead(2)


if __name__ == "__main__":
    main()
