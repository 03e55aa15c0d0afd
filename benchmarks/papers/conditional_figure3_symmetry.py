"""Pahikkala et al. 2013, Figure 3: symmetric against general kernel over 200 iterations.

Section 6.2: 1000 training and 500 test documents are sampled from four newsgroups. The training
graph is complete, and conjugate gradients run without regularisation. The test documents are nodes
without training edges; their error is recorded after each iteration.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.papers import table
from benchmarks.papers.conditional_table2_newsgroups import GROUPS, documents, similarity
from rankwise import ConditionalRanker

FIGURE = Path(__file__).resolve().parents[2] / "docs/papers/figures/conditional_figure3.png"
TRAIN, TEST, ITERATIONS = 1000, 500, 200
METHODS = [(o, r) for o in ("regression", "ranking") for r in ("general", "symmetric")]


def main() -> None:
    texts, groups = documents()
    rng = np.random.default_rng(0)
    sample = rng.permutation(np.flatnonzero(np.isin(groups, GROUPS[1])))[: TRAIN + TEST]
    counts = CountVectorizer(dtype=np.float64).fit([texts[i] for i in sample[:TRAIN]])
    X, Y = counts.transform([texts[i] for i in sample]), similarity(groups[sample])
    edges = np.argwhere(np.ones((TRAIN, TRAIN)))
    new = TRAIN + np.argwhere(np.ones((TEST, TEST)))
    curves = {}
    for objective, relation in METHODS:
        model = ConditionalRanker(
            0,
            objective=objective,
            relation=relation,
            tol=0,
            max_iter=ITERATIONS,
            early_stopping=(new, Y[tuple(new.T)]),
        )
        model.fit(X, Y[tuple(edges.T)], edges=edges)
        curves[f"{objective}, {relation}"] = model.history_["validation_error"]
    rows = [(name, curve[9], curve[49], curve[-1]) for name, curve in curves.items()]
    header = ("error on new nodes after", "10", "50", f"{ITERATIONS} iterations")
    table.show(f"Figure 3, conditional ranking error on {TEST} new nodes", header, rows)
    draw(curves)


def draw(curves: dict[str, list[float]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panel = plt.subplots(figsize=(6, 4), constrained_layout=True)
    for (name, curve), style in zip(curves.items(), ("C0-", "C0--", "C1-", "C1--")):
        panel.plot(np.arange(1, len(curve) + 1), curve, style, lw=1.2, label=name)
    panel.set_xlabel("iteration")
    panel.set_ylabel("conditional ranking error on new nodes")
    panel.legend(fontsize=8)
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, dpi=90)
    plt.close(figure)
    print(f"figure: {FIGURE.relative_to(FIGURE.parents[3])}")


if __name__ == "__main__":
    main()
