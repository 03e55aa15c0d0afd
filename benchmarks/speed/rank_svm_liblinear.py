"""RankSVM with the squared hinge beside liblinear-ranksvm (Lee and Lin, 2014), at equal objective.

    python -m benchmarks.speed.rank_svm_liblinear FOLDER

FOLDER holds the sources of liblinear-ranksvm, which is in no package registry: linear.h, tron.cpp,
ranksvm.cpp and so on. They are compiled with g++ -O3, together with a driver that hands over
arrays. Both libraries minimise mean loss + alpha‖w‖² over all pairs: theirs is the same objective
divided by 2 alpha, with C = 1/(2 alpha N) for N pairs.

Each library runs with several tolerances. What counts is the time of the loosest tolerance that
reaches an objective within a share of the smallest one found, which our solver finds with tol 1e-7.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.papers import data
from benchmarks.papers.table import show
from benchmarks.speed.harness import print_machine, record
from benchmarks.speed.text_like import text_like
from rankwise import RankSVM
from rankwise.losses.hinge import ScoreSquaredHinge
from rankwise.supervision.queries import Queries

TOLERANCES = (0.3, 0.1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4)
SHARES = (1e-2, 1e-3, 1e-4)
ALPHAS = (1e-4, 1e-5, 1e-6)
ROUNDS = 3
DRIVER = Path(__file__).with_name("liblinear_driver.cpp")

Training = Callable[[float], tuple[float, np.ndarray]]
"""Seconds and weights, by tolerance."""


def compiled_library(folder: Path, target: Path) -> ctypes.CDLL:
    objects = []
    for source in sorted(
        [*folder.glob("*.cpp"), *folder.glob("blas*/*.c"), *folder.glob("blas.c")]
    ):
        objects.append(str(target / f"{source.stem}.o"))
        compiler = "g++" if source.suffix == ".cpp" else "gcc"
        command = [compiler, "-O3", "-fPIC", "-w", "-c", str(source), "-o", objects[-1]]
        subprocess.run(command, check=True)
    library = target / "liblinear_ranksvm.so"
    link = ["g++", "-O3", "-fPIC", "-shared", f"-I{folder}", str(DRIVER), *objects]
    subprocess.run([*link, "-o", str(library)], check=True)
    loaded = ctypes.CDLL(str(library))
    loaded.train_on_arrays.restype = ctypes.c_double
    return loaded


def theirs(library: ctypes.CDLL, X: sparse.csr_matrix, y: np.ndarray, C: float) -> Training:
    def pointer(array: np.ndarray) -> ctypes.c_void_p:
        return array.ctypes.data_as(ctypes.c_void_p)

    indptr, indices = X.indptr.astype(np.int32), X.indices.astype(np.int32)
    values, targets = X.data.astype(float), y.astype(float)

    def train(eps: float) -> tuple[float, np.ndarray]:
        w = np.empty(X.shape[1])
        arrays = [pointer(each) for each in (indptr, indices, values, targets)]
        numbers = [ctypes.c_double(C), ctypes.c_double(eps)]
        return library.train_on_arrays(*X.shape, *arrays, *numbers, pointer(w)), w

    return train


def ours(X: sparse.csr_matrix, y: np.ndarray, alpha: float) -> Training:
    def train(tol: float) -> tuple[float, np.ndarray]:
        begin = time.perf_counter()
        model = RankSVM(alpha, loss="squared_hinge", tol=tol).fit(X, y)
        return time.perf_counter() - begin, model.coef_

    return train


def compare(name: str, X: sparse.csr_matrix, y: np.ndarray, library: ctypes.CDLL) -> list[tuple]:
    risk = ScoreSquaredHinge(y, Queries.from_labels(None, len(y)))
    ties = np.unique(y, return_counts=True)[1]
    n_pairs = (len(y) ** 2 - float(ties @ ties)) / 2
    rows = []
    for alpha in ALPHAS:

        def objective(w: np.ndarray, alpha: float = alpha) -> float:
            return risk.at(X @ w).value + alpha * float(w @ w)

        sides = {
            "ours": ours(X, y, alpha),
            "theirs": theirs(library, X, y, 1 / (2 * alpha * n_pairs)),
        }
        sides["ours"](1e-2)  # compiles
        least = objective(sides["ours"](1e-7)[1])
        reached: dict[str, list[tuple[float, float]]] = {}
        for side, train in sides.items():
            for tol in TOLERANCES:
                runs = [train(tol) for _ in range(ROUNDS)]
                seconds = float(np.median([run[0] for run in runs]))
                excess = objective(runs[0][1]) / least - 1
                reached.setdefault(side, []).append((excess, seconds))
                if excess <= min(SHARES):
                    break
        for share in SHARES:
            found = [_seconds_to(reached[side], share) for side in sides]
            ratio = found[1] / found[0]
            rows.append((f"{name}, alpha {alpha:g}, within {share:g}", *found, ratio))
            record("liblinear-ranksvm, times our seconds", rows[-1][0], ratio, found[0], None)
    return rows


def _seconds_to(reached: list[tuple[float, float]], share: float) -> float:
    """The time of the loosest tolerance that came close enough; nan if none did."""
    return next((seconds for excess, seconds in reached if excess <= share), float("nan"))


def newsgroups() -> tuple[sparse.csr_matrix, np.ndarray]:
    """The training documents, scored by their similarity to the first test document."""
    read = data.newsgroups20()
    words = TfidfVectorizer(sublinear_tf=True, min_df=2).fit(read.train.texts)
    X = words.transform(read.train.texts)
    return X, (X @ words.transform(read.test.texts[:1]).T).toarray().ravel()


def main() -> None:
    if len(sys.argv) < 2 or not (Path(sys.argv[1]) / "ranksvm.cpp").exists():
        print("not run: give the folder that holds the sources of liblinear-ranksvm.")
        return
    print_machine()
    with tempfile.TemporaryDirectory() as scratch:
        library = compiled_library(Path(sys.argv[1]).resolve(), Path(scratch))
        rows = compare("text, 128,000 x 50,000", *text_like(128_000), library)
        try:
            rows = compare("20 newsgroups", *newsgroups(), library) + rows
        except data.MissingData as missing:
            print(missing)
    header = ("", "our seconds", "their seconds", "their time / ours")
    show("squared hinge beside liblinear-ranksvm, goal 3", header, rows)


if __name__ == "__main__":
    main()
