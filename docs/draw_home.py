"""Draws docs/figures/home.png, the picture of the home page: one panel for each of four tasks.

python docs/draw_home.py
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from rankwise import ConditionalRanker, RankLogistic, RankRLSCV, metrics
from rankwise.datasets import make_rock_paper_scissors, read_preferences

ROOT = Path(__file__).resolve().parents[1]
BLUE, ORANGE, GREY = "#2f6fb0", "#d9822b", "#8a8f98"


def draw_documents(axes) -> None:
    """The level of a query misleads a learner that does not know the queries."""
    rng = np.random.default_rng(0)
    levels, told, blind = np.linspace(0, 10, 11), [], []
    for level in levels:
        qid = np.repeat(np.arange(60), 20)
        shift, quality = rng.normal(size=60)[qid], rng.normal(size=len(qid))
        X = np.column_stack([quality + level * shift, shift + 0.1 * rng.normal(size=len(qid))])
        X = np.hstack([X, rng.normal(size=(len(qid), 8))])
        y = quality - level * shift + 0.5 * rng.normal(size=len(qid))
        train, test = qid < 30, qid >= 30
        for scores, labels in ((told, qid[train]), (blind, None)):
            model = RankRLSCV(cv=10 if labels is None else "auto").fit(
                X[train], y[train], qid=labels
            )
            scores.append(metrics.concordance(y[test], model.predict(X[test]), qid[test]))
    axes.plot(levels, told, "o-", ms=4, color=BLUE, label="fit(X, y, qid=qid)")
    axes.plot(levels, blind, "s--", ms=4, color=ORANGE, label="fit(X, y)")
    axes.set(xlabel="how much queries differ in level", ylabel="pairs of new queries in order")
    axes.set_title("Documents for a query")
    axes.legend(frameon=False)


def draw_small_samples(axes) -> None:
    """Exact leave-pair-out of a whole path, with the error of a U-statistic."""
    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    for name, color, options in (
        ("linear", BLUE, {}),
        ("Gaussian kernel", ORANGE, {"kernel": "rbf", "gamma": 0.02}),
    ):
        grid = RankRLSCV(cv="leave-pair-out", **options).fit(X, y).cv_results_
        axes.semilogx(grid["alpha"], grid["score"], color=color, label=name)
        low, high = grid["score"] - grid["score_se"], grid["score"] + grid["score_se"]
        axes.fill_between(grid["alpha"], low, high, color=color, alpha=0.15, lw=0)
    axes.set(xlabel="alpha", ylabel="unseen pairs in order", title="Small samples")
    axes.legend(frameon=False, loc="lower center")


def draw_votes(axes) -> None:
    """Strengths with the intervals that the votes of 40 judges allow."""
    columns = {"a": "left", "b": "right", "outcome": "won", "judge": "judge"}
    votes = read_preferences(ROOT / "examples" / "votes.csv", columns=columns)
    model = RankLogistic(alpha=0.01).fit(None, preferences=votes, groups=votes.judge)
    strength, limits = model.predict(None), model.score_intervals()
    order = np.argsort(strength)
    reach = np.abs(limits[order] - strength[order, None]).T
    rows = np.arange(len(order))
    axes.errorbar(strength[order], rows, xerr=reach, fmt="o", ms=4, color=BLUE, ecolor=GREY)
    axes.set_yticks(rows, votes.items[order], fontsize=8)
    axes.set(xlabel="strength, in log-odds", title="Votes")


def draw_relations(axes) -> None:
    """Who beats whom among new players of rock, paper, scissors."""
    games = make_rock_paper_scissors(w=100, random_state=0)
    model = ConditionalRanker(alpha=1.0, relation="reciprocal", kernel="rbf", gamma=1.0)
    S = model.fit(games.X, games.y, edges=games.edges).predict(games.X_test)
    order = np.lexsort((games.X_test.max(axis=1), games.X_test.argmax(axis=1)))
    axes.imshow(S[np.ix_(order, order)], cmap="RdBu_r", aspect="auto")
    axes.set(
        xlabel="opponent",
        ylabel="new player",
        title="Relations: who beats whom (red wins)",
        xticks=[],
        yticks=[],
    )


def main() -> None:
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, panels = plt.subplots(2, 2, figsize=(9.6, 6.4), layout="constrained")
    for draw, axes in zip(
        (draw_documents, draw_small_samples, draw_votes, draw_relations), panels.ravel()
    ):
        draw(axes)
        if draw is not draw_relations:
            axes.grid(alpha=0.25)
    figure.savefig(ROOT / "docs" / "figures" / "home.png", dpi=130)


if __name__ == "__main__":
    main()
