"""Airola et al. 2011 (paper III), Figure 1: held-out basis items removed or not, error by lambda.

Ten folds of whole groups, two basis items a group, RLS, mean squared error of the predictions.

    python -m benchmarks.papers.nystrom_figure1 [items, default 9856] [groups, default 600]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.model_selection import GroupKFold

from benchmarks.papers import nystrom_data, table
from rankwise import RLS, KernelMap

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FIGURE = Path(__file__).resolve().parents[2] / "docs/papers/figures/nystrom_figure1.png"
ALPHAS = 10.0 ** np.arange(-9, 10)


def main(items: int = nystrom_data.ITEMS, groups: int = nystrom_data.GROUPS) -> None:
    found = nystrom_data.make(items, groups)
    chosen = nystrom_data.basis(found.qid, round(2 * groups * 1181 / 1200))
    fitted = KernelMap(**nystrom_data.KERNEL, basis=chosen).fit(found.X)
    splits = list(GroupKFold(10, shuffle=True, random_state=0).split(found.X, groups=found.qid))
    F = fitted.embedding_
    removed = errors(fitted.folds(splits), splits, found.y)
    kept = errors(((F[train], F[test]) for train, test in splits), splits, found.y)
    rows = [(f"{a:.0e}", *pair, pair[1] / pair[0]) for a, *pair in zip(ALPHAS, removed, kept)]
    header = ("lambda", "removed", "kept", "kept / removed")
    table.show(f"Mean squared error, 10 folds, |R| = {len(chosen)}", header, rows)
    draw(removed, kept)


def errors(maps, splits, y) -> np.ndarray:
    """Mean squared error for every alpha over all test items."""
    total = np.zeros(len(ALPHAS))
    for (F, G), (train, test) in zip(maps, splits):
        path = RLS().fit(F, y[train]).path(ALPHAS)
        total += ((G @ path.T - y[test, None]) ** 2).sum(axis=0)
    return total / sum(len(test) for _, test in splits)


def draw(removed, kept) -> None:
    figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
    axes.semilogx(ALPHAS, kept, "s--", color="C3", label="held-out basis items kept")
    axes.semilogx(ALPHAS, removed, "o-", color="C0", label="held-out basis items removed")
    axes.set(xlabel="regularisation parameter", ylabel="mean squared error", ylim=(0, None))
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(FIGURE, dpi=110)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
