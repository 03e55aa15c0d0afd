"""Pahikkala et al. 2009, Figures 1 and 2 and section 4.3: costs, irrelevant pairs, many documents.

Figure 1 draws the costs (20), (21) and (22) of a pair of magnitude 0.5 over the difference of its
predictions, beside the disagreement cost.

Figure 2: four inputs with one feature and scores 2, 1, 4, 3, the first two of one object and the
last two of another. The paper gives no coordinates; in ours each object's better input lies to the
right, and the better object to the left. RankRLS learns from the relevant pairs alone, then from
all pairs.

Section 4.3: conjugate gradients on class acq of all 12,902 Reuters documents of the ModApte split,
TF-IDF. The paper says that a couple of hundred iterations converge in a few seconds, but not at
which alpha. The exact weights are those of a tolerance of 1e-12, relative to their norm.
"""

from __future__ import annotations

import time
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.papers import data, table
from rankwise import RankRLS
from rankwise.losses.losses_by_name import quadratic_loss

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FIGURE = Path(__file__).resolve().parents[2] / "docs/papers/figures/rankrls_figures.png"
MAGNITUDE = 0.5
COSTS = {"(20) unit": "unit", "(21) magnitude": "magnitude", "(22) relative": "relative"}
X = np.array([[0.6], [0.4], [-0.4], [-0.6]])
SCORES, OBJECTS = np.array([2.0, 1.0, 4.0, 3.0]), np.array([1, 1, 2, 2])


def main() -> None:
    costs()
    irrelevant_pairs()
    reuters()
    draw()


def costs() -> None:
    at = np.array([-0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5])
    rows = [("disagreement", *(int(g <= 0) for g in at))]
    rows += [(name, *(f"{c:.2f}" for c in cost(loss, at))) for name, loss in COSTS.items()]
    header = ("difference of predictions", *(f"{g:g}" for g in at))
    table.show("Figure 1: the cost of a pair of magnitude 0.5", header, rows)


def cost(loss: str, g: np.ndarray) -> np.ndarray:
    """w² (z − g)² with the target z and the weight w of the library's own losses."""
    z, w = quadratic_loss(loss, "drop", "pairs").pairs(np.array([MAGNITUDE]))
    return w**2 * (z - g) ** 2


def irrelevant_pairs() -> None:
    rows = []
    for name, qid in (("relevant pairs", OBJECTS), ("all pairs", None)):
        weight = float(RankRLS(0.01).fit(X, SCORES, qid=qid).coef_[0])
        better, worse = X[[0, 2], 0], X[[1, 3], 0]
        right = np.count_nonzero(weight * (better - worse) > 0)
        rows.append((name, table.signed(weight), f"{right} of 2"))
    header = ("trained on", "weight", "relevant pairs in the right order")
    table.show("Figure 2: pairs of different objects turn the order round", header, rows)


def reuters() -> None:
    documents = data.reuters21578()
    F = TfidfVectorizer(dtype=np.float64).fit_transform(documents.texts)
    y = np.array(["acq" in topics for topics in documents.topics], dtype=float)
    rows = []
    for power in (0, 10, 15):
        options = {"alpha": 2.0**power, "solver": "cg", "ties": "drop"}
        exact = RankRLS(**options, tol=1e-12, max_iter=5000).fit(F, y).coef_
        for tol in (1e-3, 1e-6):
            start = time.perf_counter()
            model = RankRLS(**options, tol=tol, max_iter=5000).fit(F, y)
            took = time.perf_counter() - start
            off = np.linalg.norm(model.coef_ - exact) / np.linalg.norm(exact)
            rows.append((f"2^{power}", f"{tol:g}", model.n_iter_, f"{took:.1f}", f"{off:.0e}"))
    header = ("alpha", "tolerance", "iterations", "seconds", "distance from the exact weights")
    pairs = y.sum() * (len(y) - y.sum()) / 1e6
    size = f"{F.shape[0]:,} documents, {F.shape[1]:,} words, {pairs:.0f} million pairs"
    table.show(f"Section 4.3: conjugate gradients, {size}", header, rows)


def draw() -> None:
    g = np.linspace(-0.5, 1.5, 401)
    figure, (left, *others) = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    left.plot(g, (g <= 0).astype(float), "k-", label="disagreement")
    for (name, loss), style in zip(COSTS.items(), ("--", ":", "-.")):
        left.plot(g, cost(loss, g), style, label=name)
    left.set(ylim=(0, 4), xlabel="difference of predictions", ylabel="cost", title="Figure 1")
    left.legend(fontsize=8)
    for panel, (name, qid) in zip(others, (("relevant pairs", OBJECTS), ("all pairs", None))):
        weight = RankRLS(0.01).fit(X, SCORES, qid=qid).coef_[0]
        panel.axhline(0, color="lightgrey", zorder=0)
        panel.scatter(X[:, 0], np.zeros(4), c=OBJECTS, cmap="coolwarm", s=60)
        for i in range(4):
            panel.annotate(f"s = {SCORES[i]:g}", (X[i, 0], 0.02), ha="center")
        panel.annotate(
            "",
            (0.3 * np.sign(weight), -0.05),
            (-0.3 * np.sign(weight), -0.05),
            arrowprops={"arrowstyle": "->"},
        )
        panel.set(
            xlim=(-0.8, 0.8),
            ylim=(-0.1, 0.1),
            yticks=[],
            title=f"Figure 2: {name}",
            xlabel="feature",
        )
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, dpi=90)
    plt.close(figure)


if __name__ == "__main__":
    main()
