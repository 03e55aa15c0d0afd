"""Airola et al. 2011, Figures 1-3: RankSVM's iteration cost, training time and memory.

The data are cadata (8 features, alpha 0.1) and synthetic sparse data. RCV1 was not available; the
synthetic data have its shape, and scores made as in the paper: the similarity to one document
(alpha 1e-5). "tree" is our RankSVM (TreeRSVM), "pair" is the same solver with counts over all pairs
(PairRSVM, compiled), and "squared" is our squared hinge loss, which minimises PRSVM's objective
without its matrix of pairs. Times come from one run here and from a desktop computer of 2010 in the
paper. Figure 4 has its own script, rank_svm_figure4.

    python -m benchmarks.papers.rank_svm_figures [largest text-like size, default 512000]
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
from rankwise.solvers.bundle import BundleSolver
from rankwise.solvers.newton import NewtonSolver

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FIGURE = Path(__file__).resolve().parents[2] / "docs/papers/figures/rank_svm_figures.png"
PAIR_LIMIT = 16_000
"""Above this number of items all pairs take minutes; the paper needed 122 hours for 512,000."""
METHODS = {"tree": "o-", "pair": "s--", "squared": "^:"}
PAPER = {
    "tree": ("7 s", "18 min"),
    "pair": ("2760 s", "122 h"),
    "SVMrank": (None, "83 h"),
    "PRSVM": (None, "out of memory above 8000"),
}
"""Seconds per iteration and time to train on 512,000 documents of Reuters, from the text."""


def cadata_set():
    """Training rows in random order, standardised by their own means and deviations."""
    found = data.cadata()
    order = np.random.default_rng(0).permutation(len(found.y))[4000:]
    X, y = found.X[order], found.y[order]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def measure(name: str, train, sizes, alpha: float) -> list[dict]:
    """One dict per size: seconds per iteration and in total, and planes, by method."""
    results = []
    for m in sizes:
        X, y = train[0][:m], train[1][:m]
        row = {"m": m}
        for method in METHODS:
            if method == "pair" and m > PAIR_LIMIT:
                continue
            row[method] = _one(method, X, y, alpha)
        if name == "text":
            row["memory"] = {
                method: peak_memory(X, y, loss)[1] / 1e6
                for method, loss in (("tree", "hinge"), ("squared", "squared_hinge"))
            }
        results.append(row)
    return results


def _one(method: str, X, y, alpha: float) -> dict:
    loss = "squared_hinge" if method == "squared" else "hinge"
    solver = NewtonSolver if method == "squared" else BundleSolver
    case = Case(X, y, loss, PairHinge(y) if method == "pair" else None)
    iteration = float(np.median(in_turns([case.iteration], 3)))
    start = time.perf_counter()
    found = solver(X, case.risk).solve(alpha, tol=1e-3)
    seconds = time.perf_counter() - start
    return {"iteration": iteration, "seconds": seconds, "n_iter": found.n_iter}


def show(name: str, alpha: float, results: list[dict]) -> None:
    rows = []
    for row in results:
        cells = [f"{row['m']:,}"]
        for key in ("iteration", "seconds"):
            cells += [f"{row[m][key]:.3g}" if m in row else None for m in METHODS]
        cells += [row["tree"]["n_iter"], row["squared"]["n_iter"]]
        if "memory" in row:
            cells.append(f"{row['memory']['tree']:.0f}")
        rows.append(cells)
    header = ["items"]
    header += [f"{what} {m}" for what in ("iteration, s", "training, s") for m in METHODS]
    header += ["planes", "Newton steps", *(["memory, MB"] if name == "text" else [])]
    table.show(f"Figures 1 to 3, {name}, alpha {alpha:g}", header, rows)


def show_largest(row: dict) -> None:
    """The largest size beside what the paper says about 512,000 documents."""
    rows = []
    for method, (iteration, training) in PAPER.items():
        ours = row.get({"PRSVM": "squared"}.get(method, method))
        cells = (f"{ours['iteration']:.2f} s", f"{ours['seconds']:.1f} s") if ours else (None, None)
        rows.append((method, cells[0], iteration, cells[1], training))
    header = ("", "iteration, ours", "paper", "training, ours", "paper")
    table.show(f"{row['m']:,} documents, ours beside the paper's 512,000", header, rows)


def plot(results: dict[str, list[dict]]) -> None:
    titles = {"iteration": "Figure 1: iteration, s", "seconds": "Figure 2: training, s"}
    titles |= {"memory": "Figure 3: peak memory, MB"}
    figure, panels = plt.subplots(2, 3, figsize=(11, 7), constrained_layout=True)
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
            panel.set(xscale="log", yscale="log", title=f"{title}, {name}", xlabel="items")
            if panel.has_data():
                panel.legend()
            else:
                panel.set_visible(False)
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, dpi=80)
    plt.close(figure)
    print(f"figure: {FIGURE.relative_to(FIGURE.parents[3])}")


def main(largest: int = 512_000) -> None:
    results = {}
    for name, train, first, alpha in (
        ("cadata", cadata_set(), min(16_000, largest), 0.1),
        ("text", text_like(largest), largest, 1e-5),
    ):
        sizes = [1000 * 2**k for k in range(10) if 1000 * 2**k <= first]
        results[name] = measure(name, train, sizes, alpha)
        show(name, alpha, results[name])
    show_largest(results["text"][-1])
    plot(results)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
