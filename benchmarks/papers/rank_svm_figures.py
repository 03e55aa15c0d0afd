"""Airola et al. 2011, Figures 1-4: RankSVM's iteration cost, training time, memory and test error.

The data are cadata (8 features, standardised, alpha 0.1, 4000 rows for testing) and synthetic
sparse data. RCV1 was not available; the synthetic data have its shape, and scores made as in the
paper: the similarity to one document (alpha 1e-5, 20000 rows for testing). "tree" is our RankSVM
(TreeRSVM), "pair" is the same solver with counts over all pairs (PairRSVM, compiled), and "squared"
is our squared hinge loss, which minimises PRSVM's objective without its matrix of pairs. Times come
from one run here and from a desktop computer of 2010 in the paper: only their growth can be
compared.

    python -m benchmarks.papers.rank_svm_figures [largest text-like size, default 128000]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import matplotlib
import numpy as np

from benchmarks.papers import data, table
from benchmarks.speed.rank_svm import Case, PairHinge, in_turns, peak_memory
from benchmarks.speed.text_like import text_like
from rankwise.metrics import misranking
from rankwise.solvers.bundle import BundleSolver
from rankwise.solvers.newton import NewtonSolver

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FIGURE = Path(__file__).resolve().parents[2] / "docs/papers/figures/rank_svm_figures.png"
PAIR_LIMIT = 16_000
"""Above this number of items all pairs take minutes; the paper needed 122 hours for 512000."""
METHODS = {"tree": "o-", "pair": "s--", "squared": "^:"}
PAPER_NOTE = {
    "cadata": "paper, Figure 4: test errors of tree and SVMrank agree; Figure 2: 1000 … 16000",
    "text": "paper, 512000 documents: 7 s per iteration (pair: 2760 s), 18 minutes total (122 h)",
}


def cadata_set():
    """Rows in random order: (X, y) to train on and (X, y) to test on."""
    found = data.cadata()
    order = np.random.default_rng(0).permutation(len(found.y))
    X, y = found.X[order], found.y[order]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return (X[4000:], y[4000:]), (X[:4000], y[:4000])


def text_set(largest: int):
    X, y = text_like(largest + 20_000)
    return (X[20_000:], y[20_000:]), (X[:20_000], y[:20_000])


def measure(name: str, train, test, sizes, alpha: float) -> list[dict]:
    """One dict per size: seconds per iteration and in total, planes, test error, by method."""
    results = []
    for m in sizes:
        X, y = train[0][:m], train[1][:m]
        row = {"m": m}
        for method in METHODS:
            if method == "pair" and m > PAIR_LIMIT:
                continue
            row[method] = _one(method, X, y, test, alpha)
        if name == "text":
            row["memory"] = {
                method: peak_memory(X, y, loss)[1] / 1e6
                for method, loss in (("tree", "hinge"), ("squared", "squared_hinge"))
            }
        results.append(row)
    return results


def _one(method: str, X, y, test, alpha: float) -> dict:
    loss = "squared_hinge" if method == "squared" else "hinge"
    solver = NewtonSolver if method == "squared" else BundleSolver
    case = Case(X, y, loss, PairHinge(y) if method == "pair" else None)
    iteration = float(np.median(in_turns([case.iteration], 3)))
    start = time.perf_counter()
    found = solver(X, case.risk).solve(alpha, tol=1e-3)
    seconds = time.perf_counter() - start
    error = misranking(test[1], test[0] @ found.w)
    return {"iteration": iteration, "seconds": seconds, "n_iter": found.n_iter, "error": error}


def show(name: str, alpha: float, results: list[dict]) -> None:
    rows = []
    for row in results:
        cells = [f"{row['m']:,}"]
        for key in ("iteration", "seconds", "error"):
            for method in METHODS:
                cells.append(row[method][key] if method in row else None)
        cells += [row["tree"]["n_iter"], row["squared"]["n_iter"]]
        cells.append(f"{row['memory']['tree']:.0f}" if "memory" in row else None)
        rows.append(cells)
    header = ["items"]
    header += [f"{what} {method}" for what in ("iter, s", "fit, s", "error") for method in METHODS]
    header += ["planes", "Newton steps", "memory, MB"]
    table.show(f"{name}, alpha {alpha:g} ({PAPER_NOTE[name]})", header, rows)


def plot(results: dict[str, list[dict]]) -> None:
    titles = {"iteration": "Figure 1: iteration, s", "seconds": "Figure 2: training, s"}
    titles |= {"error": "Figure 4: test error", "memory": "Figure 3: peak memory, MB"}
    figure, panels = plt.subplots(2, 4, figsize=(15, 7), constrained_layout=True)
    for line, (name, rows) in zip(panels, results.items()):
        for panel, (key, title) in zip(line, titles.items()):
            for method, style in METHODS.items():
                points = [
                    (row["m"], row[key][method] if key == "memory" else row[method][key])
                    for row in rows
                    if (method in row.get(key, ()) if key == "memory" else method in row)
                ]
                if points:
                    panel.plot(*zip(*points), style, label=method)
            panel.set(xscale="log", title=f"{title}, {name}", xlabel="items")
            if key != "error":
                panel.set_yscale("log")
            if panel.has_data():
                panel.legend()
            else:
                panel.set_visible(False)
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, dpi=80)
    plt.close(figure)
    print(f"figure: {FIGURE.relative_to(FIGURE.parents[3])}")


def main(largest: int = 128_000) -> None:
    results = {}
    for name, sets, first, alpha in (
        ("cadata", cadata_set(), 16_000, 0.1),
        ("text", text_set(largest), largest, 1e-5),
    ):
        sizes = [1000 * 2**k for k in range(10) if 1000 * 2**k <= first]
        results[name] = measure(name, *sets, sizes, alpha)
        show(name, alpha, results[name])
    plot(results)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
