"""Pahikkala et al. 2013, Table 1 and Figure 2: conditional ranking of rock-paper-scissors players.

Section 6.1: 1000 games between 100 players, each game with two edges. The error is the conditional
ranking error against the true winning probabilities of 100 new players, as a mean of 100
repetitions, at alpha = 2^-30 (Table 1) and over alpha (Figure 2), from the same repetitions.
RankSVM gets the explicit product features of the edges; its alpha is on the scale of its own mean
loss.

    python -m benchmarks.papers.conditional_table1_games [repetitions, default 100]
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

from benchmarks.papers import table
from rankwise import ConditionalRanker, RankSVM
from rankwise.datasets.synthetic import make_rock_paper_scissors
from rankwise.metrics import conditional_error

FIGURE = Path(__file__).resolve().parents[2] / "docs/papers/figures/conditional_figure2.png"
SHARPNESS = (1, 10, 100)
DIGITS = {1: 3, 10: 4, 100: 5}
RELATIONS = ("general", "reciprocal")
ALPHAS = 2.0 ** np.arange(-30, 16, 3)
SHOWN = (-30, -24, -18, -12, -6, 0, 6, 12, 15)
"""Exponents of the alphas of Figure 2 that are printed."""

PAPER = {
    ("regression", "general"): (0.4875, 0.04172, 0.001380),
    ("regression", "reciprocal"): (0.4868, 0.04145, 0.001366),
    ("ranking", "general"): (0.4876, 0.04519, 0.001424),
    ("ranking", "reciprocal"): (0.4880, 0.04291, 0.001354),
    ("RankSVM", "general"): (0.4987, 0.04535, 0.006997),
    ("RankSVM", "reciprocal"): (0.4891, 0.04116, 0.005824),
}


def main(repetitions: int = 100) -> None:
    cases = [(method, relation, w) for method, relation in PAPER for w in SHARPNESS]
    curves = Parallel(n_jobs=2)(
        delayed(errors_over)(*case, seed) for case in cases for seed in range(repetitions)
    )
    found = dict(zip(cases, np.array(curves).reshape(len(cases), repetitions, len(ALPHAS))))
    rows = []
    for (method, relation), paper in PAPER.items():
        cells = []
        for w, figure in zip(SHARPNESS, paper):
            errors = found[method, relation, w][:, 0]
            se, digits = errors.std(ddof=1) / np.sqrt(len(errors)), DIGITS[w]
            cells += [f"{errors.mean():.{digits}f} ± {se:.{digits}f}", f"{figure:.{digits}f}"]
        rows.append((f"{method}, {relation}", *cells))
    header = ["", *(f"w{w} {what}" for w in SHARPNESS for what in ("ours", "paper"))]
    title = f"Table 1, conditional ranking error, {repetitions} repetitions ± standard error"
    table.show(title, header, rows)
    shown = [int(np.flatnonzero(np.log2(ALPHAS) == power)[0]) for power in SHOWN]
    rows = [
        (f"w{w} {method}, {relation}", *(f"{e:.{DIGITS[w]}f}" for e in errors.mean(axis=0)[shown]))
        for (method, relation, w), errors in found.items()
    ]
    header = ("log2 alpha", *map(str, SHOWN))
    table.show(f"Figure 2, the same error, {repetitions} repetitions", header, rows)
    draw(found)


def errors_over(method, relation, w: float, seed: int) -> np.ndarray:
    """Test error for every alpha on one draw of the games."""
    games = make_rock_paper_scissors(w, random_state=seed)
    if method == "RankSVM":
        coefs = [svm_weights(games, relation, alpha) for alpha in ALPHAS]
    else:
        model = ConditionalRanker(ALPHAS[0], objective=method, relation=relation)
        coefs = model.fit(games.X, games.y, edges=games.edges).path(ALPHAS)
    scores = (games.X_test @ W @ games.X_test.T for W in coefs)
    return np.array([conditional_error(games.Y_test, S) for S in scores])


def svm_weights(games, relation: str, alpha: float) -> np.ndarray:
    first, second = games.X[games.edges[:, 0]], games.X[games.edges[:, 1]]
    F = first[:, :, None] * second[:, None, :]
    if relation == "reciprocal":
        F = (F - F.swapaxes(1, 2)) / 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = RankSVM(alpha).fit(F.reshape(len(F), 9), games.y, qid=games.edges[:, 0])
    return model.coef_.reshape(3, 3)


def draw(found: dict) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    methods = ("regression", "ranking", "RankSVM")
    figure, axes = plt.subplots(3, 2, figsize=(7.5, 8), sharex=True, constrained_layout=True)
    for w, row in zip(SHARPNESS, axes):
        for relation, panel in zip(RELATIONS, row):
            for method, style in zip(methods, ("-o", "--s", ":^")):
                errors = found[method, relation, w].mean(axis=0)
                panel.plot(np.log2(ALPHAS), errors, style, ms=3, label=method)
            panel.set_yscale("log" if w == 100 else "linear")
            panel.set_title(f"w{w}, {relation} kernel", fontsize=9)
            panel.set_ylabel("conditional ranking error", fontsize=8)
    for panel in axes[-1]:
        panel.set_xlabel("log2 alpha", fontsize=8)
    axes[0, 0].legend(fontsize=8)
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, dpi=90)
    plt.close(figure)
    print(f"figure: {FIGURE.relative_to(FIGURE.parents[3])}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
