"""Start: what a user waits for before anything is computed. Every row is a process of its own.

    python -m benchmarks.speed.start [cold]

The unit is `import numpy` in a new interpreter. Cold fits compile into an empty cache. Beside the
seconds that pass, the seconds of processor time are printed, which other programs disturb less.
With `cold` only the first fits are measured.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.speed.harness import print_machine, record

ROUNDS = 5
COMMAND = [sys.executable, "-m", "rankwise.cli"]
FIT = (
    "import numpy as np, rankwise; "
    "rng = np.random.default_rng(0); X = rng.normal(size=(60, 4)); "
    "y = X[:, 0] + rng.normal(size=60); q = np.arange(60) // 6; "
    "edges = rng.integers(0, 60, (60, 2)); "
)


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
    preferences = "preferences=rankwise.Preferences.from_scores(y, q)"
    fits = {
        "RankRLSCV": "rankwise.RankRLSCV().fit(X, y)",
        "RankRLSCV, queries": "rankwise.RankRLSCV().fit(X, y, qid=q)",
        "RankRLSCV, unit loss": "rankwise.RankRLSCV(loss='unit').fit(X, y)",
        "RankRLSCV, censored": "rankwise.RankRLSCV().fit(X, rankwise.Censored(y > 0, np.exp(y)))",
        "RankRLS, preferences": f"rankwise.RankRLS().fit(X, {preferences})",
        "RankSVM": "rankwise.RankSVM().fit(X, y)",
        "RankSVM, queries": "rankwise.RankSVM().fit(X, y, qid=q)",
        "RankSVM, Gaussian kernel": "rankwise.RankSVM(kernel='rbf').fit(X, y, qid=q)",
        "RankSVMCV, queries": "rankwise.RankSVMCV().fit(X, y, qid=q)",
        "RankLogistic": f"rankwise.RankLogistic().fit(X, {preferences})",
        "MPRank": "rankwise.MPRank().fit(X, y)",
        "SVRank": "rankwise.SVRank().fit(X, y)",
        "ConditionalRanker, edges": "rankwise.ConditionalRanker().fit(X, y, edges=edges)",
        "GreedyRankRLS, queries": "rankwise.GreedyRankRLS(2).fit(X, y, qid=q)",
        "metrics.ndcg": "rankwise.metrics.ndcg(np.abs(np.round(y)), X[:, 0], qid=q)",
    }
    rows = {name: [sys.executable, "-c", FIT + text] for name, text in fits.items()}
    crossval = ["crossval", "queries.csv", "--target", "score", "--query", "query"]
    return rows | {"rankwise crossval, queries": [*COMMAND, *crossval]}


def seconds(command: list[str], folder: Path, **environment: str) -> tuple[float, float]:
    """Seconds that pass, and seconds of processor time, for a process of its own."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        command, cwd=folder, check=True, capture_output=True, env={**os.environ, **environment}
    )
    passed, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return passed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write_files(folder: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 5))
    lines = [",".join(f"{v:.4f}" for v in (*row, row.sum())) for row in X]
    (folder / "train.csv").write_text(
        "a,b,c,d,e,score\n" + "\n".join(lines) + "\n", encoding="utf-8"
    )
    (folder / "new.csv").write_text(
        "a,b,c,d,e,score\n" + "\n".join(lines[:10]) + "\n", encoding="utf-8"
    )
    queries = [f"{i // 6},{line}" for i, line in enumerate(lines)]
    (folder / "queries.csv").write_text(
        "query,a,b,c,d,e,score\n" + "\n".join(queries) + "\n", encoding="utf-8"
    )
    train = [*COMMAND, "train", "train.csv", "-o", "model.rw", "-q"]
    subprocess.run(train, cwd=folder, check=True, capture_output=True)


def print_medians(times: dict[str, list[tuple[float, float]]]) -> None:
    for name, values in times.items():
        passed, used = np.median(values, axis=0).tolist()
        low, high = min(values)[0], max(values)[0]
        print(f"{name:<36} {passed:6.2f} s   ({low:.2f} to {high:.2f})   processor {used:5.2f} s")
        record("Start; the ratio is in seconds", name, passed, passed)


def warm_starts(folder: Path) -> None:
    times: dict[str, list[tuple[float, float]]] = {}
    for _ in range(ROUNDS):
        for name, command in rows().items():
            times.setdefault(name, []).append(seconds(command, folder))
    print_medians(times)


def first_fits(folder: Path) -> None:
    cold: dict[str, list[tuple[float, float]]] = {}
    for name, command in cold_rows().items():
        for number in range(2):
            cache = str(folder / f"{name}{number}")
            found = seconds(command, folder, NUMBA_CACHE_DIR=cache)
            cold.setdefault(f"{name}, cold", []).append(found)
            warm = seconds(command, folder, NUMBA_CACHE_DIR=cache)
            cold.setdefault(f"{name}, cached", []).append(warm)
    print_medians(cold)


def main() -> None:
    print_machine()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_files(folder)
        if sys.argv[1:] != ["cold"]:
            warm_starts(folder)
        first_fits(folder)


if __name__ == "__main__":
    main()
