"""Pahikkala et al. 2013, Figure 5: how training time grows with nodes, edges and features.

Section 6.5, on random data of the same shape, alpha = 1. Three cases: complete graphs of p nodes
(closed form, 50 iterations of conjugate gradients, RankRLS on the explicit kernel of the p² edges);
1000 nodes and q sampled edges; a complete graph of 100 nodes with n features (closed form in terms
of the features, RankRLS on the n² explicit product features). Seconds come from one run, so only
the slopes are meaningful.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from benchmarks.papers import table
from rankwise import ConditionalRanker, RankRLS
from rankwise.spaces.kernels import Kernel

FIGURE = Path(__file__).resolve().parents[2] / "docs/papers/figures/conditional_figure5.png"
NODES = (16, 32, 64, 128, 256, 512, 1024)
EDGES = (500, 1000, 2000, 4000, 16_000, 64_000, 256_000, 1_000_000)
FEATURES = (2, 4, 8, 16, 32, 64)
ITERATIONS = 50
MOST_EXPLICIT_EDGES, MOST_EXPLICIT_FEATURES = 4000, 32


def main() -> None:
    panels = {
        "nodes of a complete graph": complete_graphs(),
        "edges on 1000 nodes": sampled_edges(),
        "features of 100 nodes": low_dimensions(),
    }
    for title, (sizes, curves) in panels.items():
        rows = [(name, *(cell(t) for t in seconds)) for name, seconds in curves.items()]
        table.show(f"Figure 5, seconds over {title}", ("", *map(str, sizes)), rows)
    draw(panels)


def complete_graphs():
    curves = {"closed form": [], "conjugate gradients": [], "RankRLS on edges": []}
    for p in NODES:
        K, Y = problem(p, 20)[1:]
        edges = np.argwhere(np.ones((p, p)))
        curves["closed form"].append(seconds(ConditionalRanker(kernel="precomputed").fit, K, Y))
        curves["conjugate gradients"].append(seconds(iterate, K, Y.ravel(), edges))
        curves["RankRLS on edges"].append(explicit_kernel(K, Y.ravel(), edges))
    return NODES, curves


def sampled_edges():
    K, Y = problem(1000, 20)[1:]
    rng = np.random.default_rng(1)
    curves = {"conjugate gradients": [], "RankRLS on edges": []}
    for q in EDGES:
        edges = rng.integers(1000, size=(q, 2))
        y = Y[tuple(edges.T)]
        curves["conjugate gradients"].append(seconds(iterate, K, y, edges))
        curves["RankRLS on edges"].append(explicit_kernel(K, y, edges))
    return EDGES, curves


def low_dimensions():
    curves = {"closed form": [], "RankRLS on features": []}
    rows = np.repeat(np.arange(100), 100)
    for n in FEATURES:
        X, _, Y = problem(100, n)
        curves["closed form"].append(seconds(ConditionalRanker().fit, X, Y))
        took = np.nan
        if n <= MOST_EXPLICIT_FEATURES:
            F = np.einsum("ia,jb->ijab", X, X).reshape(len(rows), n * n)
            took = seconds(fit_rankrls, RankRLS(), F, Y.ravel(), rows)
        curves["RankRLS on features"].append(took)
    return FEATURES, curves


def problem(p: int, n: int):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(p, n))
    Y = X @ rng.normal(size=(n, n)) @ X.T / n + rng.normal(size=(p, p))
    return X, Kernel("rbf").matrix(X, X), Y


def iterate(K, y, edges) -> None:
    model = ConditionalRanker(kernel="precomputed", solver="cg", tol=0, max_iter=ITERATIONS)
    model.fit(K, y, edges=edges)


def explicit_kernel(K, y, edges) -> float:
    if len(edges) > MOST_EXPLICIT_EDGES:
        return np.nan
    R = K[np.ix_(edges[:, 0], edges[:, 0])] * K[np.ix_(edges[:, 1], edges[:, 1])]
    return seconds(fit_rankrls, RankRLS(kernel="precomputed"), R, y, edges[:, 0])


def fit_rankrls(model, X, y, qid) -> None:
    model.fit(X, y, qid=qid)


def seconds(run, *arguments) -> float:
    start = time.perf_counter()
    run(*arguments)
    return time.perf_counter() - start


def cell(took: float) -> str:
    return "-" if np.isnan(took) else f"{took:.3f}"


def draw(panels: dict) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 1, figsize=(5.5, 9), constrained_layout=True)
    for panel, (title, (sizes, curves)) in zip(axes, panels.items()):
        for (name, took), style in zip(curves.items(), ("-o", "--s", ":^")):
            panel.loglog(sizes, took, style, ms=3, base=2, label=name)
        panel.set_xlabel(title, fontsize=9)
        panel.set_ylabel("seconds", fontsize=9)
        panel.legend(fontsize=8)
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, dpi=85)
    plt.close(figure)
    print(f"figure: {FIGURE.relative_to(FIGURE.parents[3])}")


if __name__ == "__main__":
    main()
