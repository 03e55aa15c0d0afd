"""Airola et al. 2008, Figure 3: AUC as documents are added to the training set.

    python -m benchmarks.papers.graph_kernel_figure3 [corpora=LLL,AIMed] [repeats=3] [most=1500]
        [output=FILE.png] [NAME=PATH ...]

Half of the documents are for testing; the others join the training set in random order. Leaving
out one document of the training set at a time chooses alpha. Figures are means over repetitions
with different halves. most= is the largest number of training candidates.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from benchmarks.papers import table
from benchmarks.papers.graph_kernel_table1 import Study, corpora
from rankwise.applications.alpha_and_threshold import choose, default_alphas
from rankwise.applications.ppi_evaluation import cut_folds
from rankwise.metrics import auc

FIGURE = Path(__file__).resolve().parents[2] / "docs/papers/figures/graph_kernel_figure3.png"
SIZES = np.array([25, 50, 100, 200, 400, 800, 1600, 3200])


def main(**words: str) -> None:
    repeats, most = int(words.get("repeats", 3)), int(words.get("most", 10_000))
    figure, axes = plt.subplots(figsize=(6.4, 4.2))
    rows = []
    for name, corpus in corpora(words).items():
        study = Study(name, corpus, 10)
        F = study.features("max", True)
        curves = [curve(F, study.y, study.documents, seed, most) for seed in range(repeats)]
        shared = min(map(len, curves))
        sizes, values = np.mean([points[:shared] for points in curves], axis=0).T
        axes.plot(sizes, 100 * values, "o-", markersize=3.5, label=name)
        rows.append((name, "candidates", *(f"{size:.0f}" for size in sizes)))
        rows.append(("", "AUC, %", *(f"{100 * value:.1f}" for value in values)))
    axes.set(xscale="log", xlabel="training candidates", ylabel="AUC on test documents, %")
    ticks = [25, 50, 100, 200, 400, 800, 1600, 3200]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(words.get("output", FIGURE), dpi=110)
    header = ["" for _ in range(max(map(len, rows)))]
    table.show("AUC by number of training candidates", header, rows)


def curve(F, y, documents, seed: int, most: int) -> list[tuple[int, float]]:
    """(candidates, AUC) as documents are added, at the first sizes not below SIZES."""
    rng = np.random.default_rng(seed)
    halves = cut_folds(documents, 2, seed)
    test = halves[0]
    order = rng.permutation(np.unique(documents[halves[1]].astype(str)))
    rows = [np.flatnonzero(documents == name) for name in order]
    counts = np.cumsum([len(own) for own in rows])
    points = []
    for size in [*SIZES[counts[-1] > SIZES], counts[-1]]:
        n = int(np.searchsorted(counts, size)) + 1
        training = np.concatenate(rows[:n])
        if len(training) > most:
            break
        if len(np.unique(y[training])) < 2:
            continue
        within = np.split(np.arange(len(training)), counts[: n - 1])
        part = F[training]
        chosen = choose(part, y[training], within, default_alphas(part), "rls")
        scores = F[test] @ (part.T @ chosen.coefficients)
        points.append((len(training), auc(y[test], scores)))
    return points


if __name__ == "__main__":
    main(**dict(word.split("=", 1) for word in sys.argv[1:]))
