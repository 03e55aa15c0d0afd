"""Large CSV and Parquet files: read_table against its plain reader, and against pyarrow alone.

    python -m benchmarks.speed.tables [megabytes]

The table has an id, a query, 20 numbers of 17 digits and a score. Both readers must return the same
bits. `python -m benchmarks.speed.tables 1000` is the size of one gigabyte; the plain reader keeps
every cell as text of Python, and needs many times the size of the file in memory. The limit is a
fifth of its time. The same table as Parquet is compared, by processor time on one core, with
pyarrow's own reading of the file, below which no reader can go.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from rankwise.datasets import read_table
from rankwise.io import arrow_tables

COLUMNS = {"target": "score", "query": "query", "comments": "id"}
WIDTH, ROWS_AT_ONCE, ROW_BYTES = 20, 20_000, 415
LIMIT = 1 / 5


def write(path: Path, megabytes: int) -> None:
    rng = np.random.default_rng(0)
    with open(path, "w", encoding="utf-8") as file:
        names = ",".join(f"f{j}" for j in range(WIDTH))
        file.write(f"id,query,{names},score\n")
        for start in range(0, megabytes * 1_000_000 // ROW_BYTES, ROWS_AT_ONCE):
            for i, row in enumerate(rng.normal(size=(ROWS_AT_ONCE, WIDTH)).tolist(), start):
                file.write(f"d{i},q{i // 30},{','.join(map(repr, row))},{i % 4}\n")


def timed(path: Path, smallest: int):
    """Seconds and table; files from `smallest` bytes on go through pyarrow."""
    before, arrow_tables.FAST_FROM = arrow_tables.FAST_FROM, smallest
    try:
        start = time.perf_counter()
        table = read_table(path, **COLUMNS)
        return time.perf_counter() - start, table
    finally:
        arrow_tables.FAST_FROM = before


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.csv"
        write(path, megabytes)
        timed(path, 0)  # compiles
        fast, ours = timed(path, 0)
        slow, plain = timed(path, sys.maxsize)
        for name in ("X", "y", "qid", "comments"):
            assert np.array_equal(ours[name], plain[name]), name
        size = path.stat().st_size / 1e6
        print(f"{size:.0f} MB: pyarrow {fast:.2f} s, plain reader {slow:.2f} s")
        print(f"ratio {fast / slow:.3f} (limit {LIMIT:.2f}), {slow / fast:.1f} times as fast")
        compare_parquet(path, Path(folder) / "large.parquet", ours)


def compare_parquet(source: Path, path: Path, expected) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.csv.read_csv(source), path)
    own, plain = [], []
    for _ in range(3):
        start = time.process_time()
        pyarrow.parquet.read_table(path, use_threads=False)
        middle = time.process_time()
        table = read_table(path, **COLUMNS)
        own.append(time.process_time() - middle)
        plain.append(middle - start)
    assert np.array_equal(table.X, expected.X) and np.array_equal(table.qid, expected.qid)
    ratio = sorted(own)[1] / sorted(plain)[1]
    print(
        f"Parquet, {path.stat().st_size / 1e6:.0f} MB: {sorted(own)[1]:.2f} s of processor time, "
        f"{ratio:.1f} times pyarrow alone"
    )


if __name__ == "__main__":
    main()
