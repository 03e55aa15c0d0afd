"""Start: what a user waits for before anything is computed. Every row is a process of its own.

The unit is `import numpy` in a new interpreter. Cold fits compile into an empty cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.speed.harness import print_machine, record

ROUNDS = 5
COMMAND = [sys.executable, "-m", "rankwise.cli"]
FIT = "import numpy as np; X = np.random.default_rng(0).normal(size=(60, 4)); "


def rows() -> dict[str, list[str]]:
    code = {
        "import numpy": "import numpy",
        "import scikit-learn": "import sklearn.base",
        "import rankwise": "import rankwise",
        "from rankwise import RankRLS": "from rankwise import RankRLS",
    }
    command = {
        "rankwise --help": ["--help"],
        "rankwise --version": ["--version"],
        "rankwise train --help": ["train", "--help"],
        "rankwise predict, linear, 10 rows": ["predict", "model.rw", "new.csv"],
    }
    plain = {name: [sys.executable, "-c", text] for name, text in code.items()}
    return plain | {name: [*COMMAND, *words] for name, words in command.items()}


def cold_rows() -> dict[str, list[str]]:
    learners = {
        "RankRLSCV().fit": "from rankwise import RankRLSCV; RankRLSCV().fit(X, X[:, 0])",
        "RankSVM().fit": "from rankwise import RankSVM; RankSVM().fit(X, X[:, 0])",
    }
    return {name: [sys.executable, "-c", FIT + text] for name, text in learners.items()}


def seconds(command: list[str], folder: Path, **environment: str) -> float:
    started = time.perf_counter()
    subprocess.run(
        command, cwd=folder, check=True, capture_output=True, env={**os.environ, **environment}
    )
    return time.perf_counter() - started


def write_files(folder: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 5))
    lines = [",".join(f"{v:.4f}" for v in (*row, row.sum())) for row in X]
    (folder / "train.csv").write_text(
        "a,b,c,d,e,score\n" + "\n".join(lines) + "\n", encoding="utf-8"
    )
    (folder / "new.csv").write_text(
        "a,b,c,d,e,score\n" + "\n".join(lines[:10]) + "\n", encoding="utf-8"
    )
    train = [*COMMAND, "train", "train.csv", "-o", "model.rw", "-q"]
    subprocess.run(train, cwd=folder, check=True, capture_output=True)


def print_medians(times: dict[str, list[float]]) -> None:
    for name, values in times.items():
        low, high = min(values), max(values)
        print(f"{name:<36} {np.median(values):6.2f} s   ({low:.2f} to {high:.2f})")
        median = float(np.median(values))
        record("Start; the ratio is in seconds", name, median, median)


def main() -> None:
    print_machine()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_files(folder)
        times: dict[str, list[float]] = {}
        for _ in range(ROUNDS):
            for name, command in rows().items():
                times.setdefault(name, []).append(seconds(command, folder))
        print_medians(times)
        cold: dict[str, list[float]] = {}
        for name, command in cold_rows().items():
            for number in range(2):
                cache = str(folder / f"{name}{number}")
                found = seconds(command, folder, NUMBA_CACHE_DIR=cache)
                cold.setdefault(f"{name}, cold", []).append(found)
                warm = seconds(command, folder, NUMBA_CACHE_DIR=cache)
                cold.setdefault(f"{name}, cached", []).append(warm)
        print_medians(cold)


if __name__ == "__main__":
    main()
