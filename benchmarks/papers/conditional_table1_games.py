"""Pahikkala et al. 2013, Table 1 and Figure 2: conditional ranking of rock-paper-scissors players.

Section 6.1: 1000 games between 100 players, each game with two edges. The error is the conditional
ranking error against the true winning probabilities of 100 new players, as a mean of 100
repetitions, at alpha = 2^-30 (Table 1) and over alpha (Figure 2, 20 repetitions). RankSVM gets the
explicit product features of the edges; its alpha is on the scale of its own mean loss. Its
tolerance is 1e-3 in the table. It is 1e-9 in the figure, because with a large alpha RankSVM would
otherwise stop at zero.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.papers import table
from rankwise import ConditionalRanker, RankSVM
from rankwise.datasets.synthetic import make_rock_paper_scissors
from rankwise.metrics import conditional_error

FIGURE = Path(__file__).resolve().parents[2] / "docs/papers/figures/conditional_figure2.png"
SHARPNESS = (1, 10, 100)
RELATIONS = ("general", "reciprocal")
REPETITIONS, FIGURE_REPETITIONS = 100, 20
ALPHAS = 2.0 ** np.arange(-30, 16, 3)

PAPER = {
    ("regression", "general"): (0.4875, 0.04172, 0.001380),
    ("regression", "reciprocal"): (0.4868, 0.04145, 0.001366),
    ("ranking", "general"): (0.4876, 0.04519, 0.001424),
    ("ranking", "reciprocal"): (0.4880, 0.04291, 0.001354),
    ("RankSVM", "general"): (0.4987, 0.04535, 0.006997),
    ("RankSVM", "reciprocal"): (0.4891, 0.04116, 0.005824),
}


def main() -> None:
    rows = []
    for method, relation in PAPER:
        for w, paper in zip(SHARPNESS, PAPER[method, relation]):
            errors = np.concatenate(
                [errors_over(method, relation, w, seed, ALPHAS[:1]) for seed in range(REPETITIONS)]
            )
            deviation = f"{errors.std(ddof=1) / np.sqrt(len(errors)):.5f}"
            rows.append(
                (f"w{w} {method}, {relation}", f"{errors.mean():.5f}", deviation, f"{paper}")
            )
    header = ("", "ours", "standard error", "paper")
    table.show("Table 1, conditional ranking error, 100 repetitions", header, rows)
    draw()


def errors_over(method, relation, w: float, seed: int, alphas, svm_tol=1e-3) -> np.ndarray:
    """Test error for every alpha on one draw of the games."""
    games = make_rock_paper_scissors(w, random_state=seed)
    if method == "RankSVM":
        coefs = [svm_weights(games, relation, alpha, svm_tol) for alpha in alphas]
    else:
        model = ConditionalRanker(alphas[0], objective=method, relation=relation)
        coefs = model.fit(games.X, games.y, edges=games.edges).path(alphas)
    scores = (games.X_test @ W @ games.X_test.T for W in coefs)
    return np.array([conditional_error(games.Y_test, S) for S in scores])


def svm_weights(games, relation: str, alpha: float, tol: float) -> np.ndarray:
    first, second = games.X[games.edges[:, 0]], games.X[games.edges[:, 1]]
    F = first[:, :, None] * second[:, None, :]
    if relation == "reciprocal":
        F = (F - F.swapaxes(1, 2)) / 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = RankSVM(alpha, tol=tol).fit(F.reshape(len(F), 9), games.y, qid=games.edges[:, 0])
    return model.coef_.reshape(3, 3)


def draw() -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    methods = ("regression", "ranking", "RankSVM")
    figure, axes = plt.subplots(3, 2, figsize=(7.5, 8), sharex=True, constrained_layout=True)
    for w, row in zip(SHARPNESS, axes):
        for relation, panel in zip(RELATIONS, row):
            for method, style in zip(methods, ("-o", "--s", ":^")):
                errors = [
                    errors_over(method, relation, w, seed, ALPHAS, svm_tol=1e-9)
                    for seed in range(FIGURE_REPETITIONS)
                ]
                panel.plot(np.log2(ALPHAS), np.mean(errors, axis=0), style, ms=3, label=method)
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
    main()
