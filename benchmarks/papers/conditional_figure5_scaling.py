"""Pahikkala et al. 2013, Figure 5: how training time grows with nodes, edges and features.

Section 6.5, alpha = 1 and 200 iterations of conjugate gradients. Three cases: complete graphs of p
newsgroup documents (closed form, conjugate gradients, RankRLS and RankSVM on the explicit kernel of
the p² edges); 1000 documents and q sampled edges; a complete graph of 100 nodes with n features
(closed form in terms of the features, RankRLS and RankSVM on the n² explicit product features). The
kernel is linear on TF-IDF. For the last case the paper used the digits of USPS; here they are those
of scikit-learn.

The slope is that of log seconds on log size over the sizes from the middle one on. It is an
exponent of growth, and only it can be compared with the paper, which draws curves without figures.

    python -m benchmarks.papers.conditional_figure5_scaling [largest number of nodes, default 1024]
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.papers import table
from benchmarks.papers.conditional_table2_newsgroups import GROUPS, documents, similarity
from rankwise import ConditionalRanker, RankRLS, RankSVM
from rankwise.numerics.threads import one_blas_thread

FIGURE = Path(__file__).resolve().parents[2] / "docs/papers/figures/conditional_figure5.png"
NODES = (16, 32, 64, 128, 256, 512, 1024)
EDGES = (500, 1000, 2000, 4000, 16_000, 64_000, 256_000, 1_000_000)
FEATURES = (4, 8, 16, 32, 64)
ITERATIONS = 200
MOST_EXPLICIT_EDGES, MOST_EXPLICIT_FEATURES = 4100, 32
ON_EDGES = {"RankRLS on edges": RankRLS, "RankSVM on edges": RankSVM}


def main(largest: int = max(NODES)) -> None:
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        panels = {
            "nodes of a complete graph": complete_graphs([p for p in NODES if p <= largest]),
            "edges on 1000 nodes": sampled_edges(min(1000, largest)),
            "features of 100 nodes": low_dimensions(),
        }
    for title, (sizes, curves) in panels.items():
        rows = [
            (name, *(None if np.isnan(t) else f"{t:.3f}" for t in took), slope(sizes, took))
            for name, took in curves.items()
        ]
        header = ("", *(f"{size:,}" for size in sizes), "slope")
        table.show(f"Figure 5, seconds by {title}, one thread", header, rows)
    draw(panels)


def slope(sizes, took) -> str | None:
    """The exponent of growth over the measured sizes from the middle one on."""
    known = [(np.log(size), np.log(t)) for size, t in zip(sizes, took) if not np.isnan(t)]
    known = known[len(known) // 2 :] if len(known) > 3 else known
    return None if len(known) < 2 else f"{np.polyfit(*zip(*known), 1)[0]:.1f}"


def problem(p: int):
    """The kernel matrix and the labels of p documents of four newsgroups."""
    texts, groups = documents()
    rng = np.random.default_rng(0)
    sample = rng.permutation(np.flatnonzero(np.isin(groups, GROUPS[1])))[:p]
    X = TfidfVectorizer(dtype=np.float64).fit_transform([texts[i] for i in sample])
    return (X @ X.T).toarray(), similarity(groups[sample])


def complete_graphs(nodes):
    curves = {name: [] for name in ("closed form", "conjugate gradients", *ON_EDGES)}
    K_all, Y_all = problem(max(nodes))
    warm_up(K_all[:8, :8], Y_all[:8, :8])
    for p in nodes:
        K, Y = K_all[:p, :p], Y_all[:p, :p]
        edges = np.argwhere(np.ones((p, p)))
        curves["closed form"].append(seconds(ConditionalRanker(kernel="precomputed").fit, K, Y))
        curves["conjugate gradients"].append(seconds(iterate, K, Y.ravel(), edges))
        explicit_kernel(curves, K, Y.ravel(), edges)
    return nodes, curves


def sampled_edges(p: int):
    K, Y = problem(p)
    rng = np.random.default_rng(1)
    sizes = [q for q in EDGES if q <= p * p]
    curves = {name: [] for name in ("conjugate gradients", *ON_EDGES)}
    for q in sizes:
        edges = rng.integers(p, size=(q, 2))
        y = Y[tuple(edges.T)]
        curves["conjugate gradients"].append(seconds(iterate, K, y, edges))
        explicit_kernel(curves, K, y, edges)
    return sizes, curves


def low_dimensions():
    names = {"RankRLS on features": RankRLS, "RankSVM on features": RankSVM}
    curves = {name: [] for name in ("closed form", *names)}
    rows = np.repeat(np.arange(100), 100)
    digits = load_digits()
    rng = np.random.default_rng(0)
    sample = rng.permutation(len(digits.data))[:100]
    varied = rng.permutation(np.flatnonzero(digits.data[sample].std(axis=0) > 0))
    Y = (digits.target[sample][:, None] == digits.target[sample]).astype(float)
    sizes = [n for n in FEATURES if n <= len(varied)]
    for n in sizes:
        X = digits.data[sample][:, varied[:n]] / 16
        curves["closed form"].append(seconds(ConditionalRanker().fit, X, Y))
        for name, learner in names.items():
            took = np.nan
            if n <= MOST_EXPLICIT_FEATURES:
                F = np.einsum("ia,jb->ijab", X, X).reshape(len(rows), n * n)
                took = seconds(fit_on_edges, learner(), F, Y.ravel(), rows)
            curves[name].append(took)
    return sizes, curves


def warm_up(K, Y) -> None:
    """Compiled code is loaded before anything is timed."""
    edges = np.argwhere(np.ones(Y.shape))
    ConditionalRanker(kernel="precomputed").fit(K, Y)
    iterate(K, Y.ravel(), edges)
    explicit_kernel({name: [] for name in ON_EDGES}, K, Y.ravel(), edges)


def iterate(K, y, edges) -> None:
    model = ConditionalRanker(kernel="precomputed", solver="cg", tol=0, max_iter=ITERATIONS)
    model.fit(K, y, edges=edges)


def explicit_kernel(curves, K, y, edges) -> None:
    """Both learners on the kernel matrix of the edges, which is given to them."""
    R = None
    if len(edges) <= MOST_EXPLICIT_EDGES:
        R = K[np.ix_(edges[:, 0], edges[:, 0])] * K[np.ix_(edges[:, 1], edges[:, 1])]
    for name, learner in ON_EDGES.items():
        model, qid = learner(kernel="precomputed"), edges[:, 0]
        curves[name].append(np.nan if R is None else seconds(fit_on_edges, model, R, y, qid))


def fit_on_edges(model, X, y, qid) -> None:
    model.fit(X, y, qid=qid)


def seconds(run, *arguments) -> float:
    start = time.perf_counter()
    run(*arguments)
    return time.perf_counter() - start


def draw(panels: dict) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 1, figsize=(5.5, 9), constrained_layout=True)
    for panel, (title, (sizes, curves)) in zip(axes, panels.items()):
        for (name, took), style in zip(curves.items(), ("-o", "--s", ":^", "-.D")):
            panel.loglog(sizes, took, style, ms=3, base=2, label=name)
        panel.set_xlabel(title, fontsize=9)
        panel.set_ylabel("seconds", fontsize=9)
        panel.legend(fontsize=8)
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, dpi=85)
    plt.close(figure)
    print(f"figure: {FIGURE.relative_to(FIGURE.parents[3])}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
