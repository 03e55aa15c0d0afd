"""How many round trips a fit of rankwise.dask.RankSVM takes, and how many it saves if it starts
from the model of one partition. Counts do not depend on the load of the machine.

python -m benchmarks.speed.dask_round_trips [rows of each of eight partitions]
"""

from __future__ import annotations

import sys
from unittest import mock

import dask
from dask import delayed

from benchmarks.speed import dask_scaling
from rankwise.dask import RankSVM
from rankwise.dask.cluster import Cluster

PARTITIONS = 8


def counted_fit(model: RankSVM, *data: list) -> int:
    """The number of round trips of one fit."""
    trips = 0
    original = Cluster.reduce

    def reduce(self, *arguments, **options):
        nonlocal trips
        trips += 1
        return original(self, *arguments, **options)

    with mock.patch.object(Cluster, "reduce", reduce):
        model.fit(data[0], data[1], qid=data[2])
    return trips


def main(rows: int = 10_000) -> None:
    with mock.patch.object(dask_scaling, "ROWS", rows):
        parts = [dask_scaling.partition(number) for number in range(PARTITIONS)]
    data = [[delayed(part[k], pure=False) for part in parts] for k in range(3)]
    print(f"{PARTITIONS * rows:,} rows; round trips from zero, and from the model of one partition")
    for loss in ("hinge", "squared_hinge"):
        for alpha in (1e-2, 1e-4):
            cold = counted_fit(RankSVM(alpha, loss=loss), *data)
            model = RankSVM(alpha, loss=loss, warm_start=True)
            counted_fit(model, *(column[:1] for column in data))
            print(f"{loss:14} alpha {alpha:g}: {cold:3} {counted_fit(model, *data):3}")


if __name__ == "__main__":
    with dask.config.set(scheduler="synchronous"):
        main(*(int(word) for word in sys.argv[1:]))
