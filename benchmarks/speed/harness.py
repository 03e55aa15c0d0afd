"""Ratios of timings: every round times all cases one after the other, under the same load.

Rows are printed, and also written to the file that the variable RANKWISE_BENCHMARK_ROWS names, if
it is set: `benchmarks.speed.sittings` collects them over several runs.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable

import numba
import numpy as np
import scipy
import sklearn

from rankwise.numerics.threads import n_threads


def print_machine() -> None:
    print(f"{platform.machine()}, {os.cpu_count()} processors, {n_threads()} threads")
    print(
        f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}, numba {numba.__version__}"
    )


def seconds_of(timed: dict[str, Callable], rounds: int) -> dict[str, np.ndarray]:
    """Seconds of every case in every round, after one round that compiles and warms up."""
    seconds = np.empty((rounds + 1, len(timed)))
    for row in seconds:
        for column, run in enumerate(timed.values()):
            start = time.perf_counter()
            run()
            row[column] = time.perf_counter() - start
    return dict(zip(timed, seconds[1:].T))


def spread(values: np.ndarray, digits: int) -> str:
    """Median [fastest, slowest]."""
    low, median, high = np.quantile(values, [0, 0.5, 1])
    return f"{median:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def record(table: str, row: str, ratio: float, seconds: float, limit: float | None = None) -> None:
    """Write one row of a table for `benchmarks.speed.sittings`, if it asked for rows."""
    path = os.environ.get("RANKWISE_BENCHMARK_ROWS")
    if path:
        entry = {"table": table, "row": row, "ratio": ratio, "seconds": seconds, "limit": limit}
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


def print_ratios(title: str, timed: dict[str, Callable], limits: dict[str, float], rounds=5):
    """Print a table in units of the first case, and whether the limits hold."""
    seconds = seconds_of(timed, rounds)
    unit = next(iter(timed))
    print(f"\n{title}; unit: {unit}; median of {rounds} rounds [fastest, slowest]")
    for name, times in seconds.items():
        ratio = times / seconds[unit]
        line = f"  {name:52}{spread(1e3 * times, 1):>28} ms{spread(ratio, 2):>22} units"
        if name in limits:
            holds = np.median(ratio) <= limits[name]
            line += f"   limit {limits[name]:g}: {'holds' if holds else 'EXCEEDED'}"
        print(line)
        ratios = float(np.median(ratio)), float(np.median(times))
        record(f"{title}; unit: {unit}", name, *ratios, limits.get(name))
    return seconds
