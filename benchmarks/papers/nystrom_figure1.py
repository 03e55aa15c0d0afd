"""Airola et al. 2011 (paper III), Figure 1: held-out basis items removed or not, error by lambda.

The learner is RLS with two basis items per group. Figures are mean squared errors of predictions
in ten folds of whole groups, for three widths of the kernel.

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
GAMMAS = (0.01, 0.03, 0.1)


def main(items: int = nystrom_data.ITEMS, groups: int = nystrom_data.GROUPS) -> None:
    found = nystrom_data.make(items, groups)
    chosen = nystrom_data.basis(found.qid, round(2 * groups * 1181 / 1200))
    splits = list(GroupKFold(10, shuffle=True, random_state=0).split(found.X, groups=found.qid))
    curves = {}
    for gamma in GAMMAS:
        fitted = KernelMap("rbf", gamma=gamma, basis=chosen).fit(found.X)
        F = fitted.embedding_
        removed = errors(fitted.folds(splits), splits, found.y)
        kept = errors(((F[train], F[test]) for train, test in splits), splits, found.y)
        curves[gamma] = removed, kept
        rows = [(f"{a:.0e}", *pair, pair[1] / pair[0]) for a, *pair in zip(ALPHAS, removed, kept)]
        header = ("lambda", "removed", "kept", "kept / removed")
        similar = "similarity {:.2f} within, {:.2f} between groups".format(
            *nystrom_data.similarities(found, gamma)
        )
        table.show(
            f"Mean squared error, |R| = {len(chosen)}, gamma {gamma}: {similar}", header, rows
        )
    draw(curves)


def errors(maps, splits, y) -> np.ndarray:
    """Mean squared error for every alpha over all test items."""
    total = np.zeros(len(ALPHAS))
    for (F, G), (train, test) in zip(maps, splits):
        path = RLS().fit(F, y[train]).path(ALPHAS)
        total += ((G @ path.T - y[test, None]) ** 2).sum(axis=0)
    return total / sum(len(test) for _, test in splits)


def draw(curves) -> None:
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True, layout="constrained")
    for axes, (gamma, (removed, kept)) in zip(panels, curves.items()):
        axes.loglog(ALPHAS, kept, "s--", color="C3", label="held-out basis items kept")
        axes.loglog(ALPHAS, removed, "o-", color="C0", label="removed")
        axes.set(title=f"gamma {gamma}", xlabel="regularisation parameter")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("mean squared error")
    panels[0].legend()
    figure.savefig(FIGURE, dpi=110)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
