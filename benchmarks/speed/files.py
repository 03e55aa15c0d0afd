"""read_letor against scikit-learn's load_svmlight_file on the same files, plain and gzip.

    python -m benchmarks.speed.files [items] [rounds]

Both read the scores, the queries and the features; ours also reads the comments. The limit is a
third of scikit-learn's time. The results are compared bit by bit before anything is timed.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from benchmarks.speed.harness import print_machine, print_ratios
from rankwise.datasets import make_ranking, read_letor, write_letor

LIMIT = 1 / 3


def files(folder: Path, m: int) -> dict[str, Path]:
    """Files like LETOR (46 dense features, 6 decimals), of full precision, sparse, and gzipped."""
    comments = [f"docid = GX{i:08d}" for i in range(m)]
    dense = make_ranking(m // 50, 50, 46, grades=3, random_state=0)
    made = {
        "46 features, 6 decimals": np.round(np.abs(dense.X), 6),
        "46 features, 17 digits": dense.X,
        "sparse, 50 of 10,000 features": sparse.random(
            m, 10_000, 0.005, "csr", random_state=np.random.default_rng(0)
        ),
    }
    paths = {}
    for number, (name, X) in enumerate(made.items()):
        paths[name] = folder / f"{number}.txt"
        write_letor(paths[name], X, dense.y, dense.qid, comments)
    first = paths["46 features, 6 decimals"]
    paths["46 features, 6 decimals, gzip"] = folder / "0.gz"
    (folder / "0.gz").write_bytes(gzip.compress(first.read_bytes(), 6))
    return paths


def check_equal(path: Path) -> None:
    ours, (X, y, qid) = read_letor(path, dense=False), load_svmlight_file(str(path), query_id=True)
    same = [
        np.array_equal(a.view(np.uint64), b.view(np.uint64))
        for a, b in ((ours.X.data, X.data), (ours.y, y))
    ]
    assert all(same), path
    assert np.array_equal(ours.X.indices, X.indices), path
    assert np.array_equal(ours.qid, qid), path


def main() -> None:
    m = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    print_machine()
    with tempfile.TemporaryDirectory() as folder:
        for name, path in files(Path(folder), m).items():
            check_equal(path)
            print_ratios(
                f"{m:,} items, {name}, {path.stat().st_size / 1e6:.0f} MB",
                {
                    "load_svmlight_file": partial(load_svmlight_file, str(path), query_id=True),
                    "read_letor": partial(read_letor, path),
                },
                {"read_letor": LIMIT},
                rounds,
            )


if __name__ == "__main__":
    main()
