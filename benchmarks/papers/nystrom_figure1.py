"""Airola et al. 2011 (paper III), Figure 1: held-out basis items removed or not, error by lambda.

The learner is RLS with two basis items per group. Figures are mean squared errors of predictions
in ten folds of whole groups: on made data, for three widths of the kernel, and on real text. There
the items are the candidate pairs of AIMed, the groups its sentences, the labels ±1, and the kernel
is the all-paths graph kernel (max, normalised), so that candidates of the same sentence are much
more similar than others, like the paper's parses.

    python -m benchmarks.papers.nystrom_figure1 [items, default 9856] [groups, default 600]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.model_selection import GroupKFold

from benchmarks.papers import data, nystrom_data, table
from rankwise import RLS, KernelMap
from rankwise.applications.alpha_and_threshold import inner_products
from rankwise.applications.candidate_pairs import graphs_of, labelled_pairs, labels_of
from rankwise.datasets import read_ppi_corpus
from rankwise.graphs import AllPathsVectorizer

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FIGURE = Path(__file__).resolve().parents[2] / "docs/papers/figures/nystrom_figure1.png"
ALPHAS = 10.0 ** np.arange(-9, 10, 2)
GAMMAS = (0.01, 0.03, 0.1)


def main(items: int = nystrom_data.ITEMS, groups: int = nystrom_data.GROUPS) -> None:
    found = nystrom_data.make(items, groups)
    chosen = nystrom_data.basis(found.qid, round(2 * groups * 1181 / 1200))
    curves = {}
    for gamma in GAMMAS:
        mapped, title = KernelMap("rbf", gamma=gamma, basis=chosen), f"made data, gamma {gamma}"
        curves[title] = both_ways(mapped, found.X, found.y, found.qid)
        show(title, len(chosen), nystrom_data.similarities(found, gamma), *curves[title])
    try:
        F, y, sentences = text()
    except data.MissingData as missing:
        print(f"skipped real text: {missing}")
    else:
        chosen = nystrom_data.basis(sentences, 2 * len(np.unique(sentences)))
        chosen = chosen[: len(y)]
        curves["AIMed"] = both_ways(KernelMap(inner_products, basis=chosen), F, y, sentences)
        show("AIMed, real text", len(chosen), similarities(F, sentences), *curves["AIMed"])
    draw(curves)


def text():
    """Features, labels and the number of the sentence of every candidate of AIMed."""
    path = data.folder("ppi") / "AIMed.xml.xz"
    if not path.is_file():
        raise data.MissingData("ppi: no file AIMed.xml.xz in the folder.")
    pairs = labelled_pairs(read_ppi_corpus(path))
    F = AllPathsVectorizer("max", normalize=True).fit_transform(graphs_of(pairs))
    names = [pair.sentence.id for pair in pairs]
    return F, labels_of(pairs), np.unique(names, return_inverse=True)[1]


def similarities(F, groups) -> tuple[float, float]:
    """Mean kernel values within and between groups, over the first 2000 items."""
    K = (F[:2000] @ F[:2000].T).toarray()
    same = groups[:2000, None] == groups[None, :2000]
    np.fill_diagonal(same, False)
    return float(K[same].mean()), float(K[~same].mean())


def both_ways(mapped, X, y, groups) -> tuple[np.ndarray, np.ndarray]:
    """Errors for every alpha with held-out basis items removed, and kept."""
    splits = list(GroupKFold(10, shuffle=True, random_state=0).split(y, groups=groups))
    fitted = mapped.fit(X)
    F = fitted.embedding_
    removed = errors(fitted.folds(splits), splits, y)
    return removed, errors(((F[train], F[test]) for train, test in splits), splits, y)


def show(title: str, size: int, similar, removed, kept) -> None:
    rows = [
        (f"{alpha:.0e}", *pair, pair[1] / pair[0])
        for alpha, *pair in zip(ALPHAS, map(float, removed), map(float, kept))
    ]
    alike = "similarity {:.2f} within, {:.2f} between groups".format(*similar)
    header = ("lambda", "removed", "kept", "kept / removed")
    table.show(f"Mean squared error, {title}, {size} basis items: {alike}", header, rows)


def errors(maps, splits, y) -> np.ndarray:
    """Mean squared error for every alpha over all test items."""
    total = np.zeros(len(ALPHAS))
    for (F, G), (train, test) in zip(maps, splits):
        path = RLS().fit(F, y[train]).path(ALPHAS)
        total += ((G @ path.T - y[test, None]) ** 2).sum(axis=0)
    return total / sum(len(test) for _, test in splits)


def draw(curves) -> None:
    size = (3.6 * len(curves), 3.4)
    figure, panels = plt.subplots(1, len(curves), figsize=size, layout="constrained")
    for axes, (title, (removed, kept)) in zip(panels, curves.items()):
        axes.loglog(ALPHAS, kept, "s--", color="C3", label="held-out basis items kept")
        axes.loglog(ALPHAS, removed, "o-", color="C0", label="removed")
        axes.set(title=title, xlabel="regularisation parameter")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("mean squared error")
    panels[0].legend()
    figure.savefig(FIGURE, dpi=110)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
