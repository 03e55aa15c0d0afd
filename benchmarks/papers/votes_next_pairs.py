"""RankLogistic.next_pairs: how many votes it saves against random pairs and against close pairs.

Items have normal strengths, and alpha is that of this prior. Votes are drawn from the model, in
batches of 10 after one round in which each item meets its neighbour in a random circle. Before each
batch the model is refitted. The last column says how many votes reach the value of random pairs
after 400 votes.

    python -m benchmarks.papers.votes_next_pairs [repetitions, default 60] [figure.png]
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

from benchmarks.papers import table
from benchmarks.papers.votes_coverage import drawn
from rankwise import Preferences, PreferenceWarning, RankLogistic

FIGURE = Path(__file__).resolve().parents[2] / "docs/papers/figures/votes_next_pairs.png"
ITEMS, BATCH, LAST, TOP = 20, 10, 400, 3
SHOWN = (50, 100, 200, 300, 400)


def random_pairs(model, rng) -> np.ndarray:
    a = rng.integers(0, ITEMS, BATCH)
    return np.column_stack((a, (a + rng.integers(1, ITEMS, BATCH)) % ITEMS))


def in_turn(model, rng) -> np.ndarray:
    """Pairs that have been asked least."""
    counts = np.zeros((ITEMS, ITEMS))
    P = model.votes
    np.add.at(counts, (np.minimum(P.winner, P.loser), np.maximum(P.winner, P.loser)), 1)
    i, j = np.triu_indices(ITEMS, 1)
    order = np.argsort(counts[i, j] + 1e-3 * rng.uniform(size=len(i)))[:BATCH]
    return np.column_stack((i[order], j[order]))


def close_pairs(model, rng) -> np.ndarray:
    """Pairs with the smallest difference of scores."""
    f = model.predict(None)
    i, j = np.triu_indices(ITEMS, 1)
    order = np.argsort(np.abs(f[i] - f[j]))[:BATCH]
    return np.column_stack((i[order], j[order]))


def informative(model, rng) -> np.ndarray:
    return model.next_pairs(n=BATCH)


def informative_top(model, rng) -> np.ndarray:
    return model.next_pairs(n=BATCH, top=TOP)


OTHER_ALPHAS = (0.1, 0.3, 0.5, 1.0, 2.0)
MEASURES = (
    "root mean squared error of differences",
    "root mean squared error of differences with the top 3",
    "share of pairs in the right order",
)
WAYS = {
    "random pairs": random_pairs,
    "every pair in turn": in_turn,
    "close pairs": close_pairs,
    "next_pairs": informative,
    f"next_pairs, top {TOP}": informative_top,
}


def run(choose, spread: float, rng, alpha: float | None = None) -> np.ndarray:
    """(batches, 3) after each batch: error of differences, of those of the top, share in order."""
    alpha = 1 / (2 * spread**2) if alpha is None else alpha
    truth = spread * rng.normal(size=ITEMS)
    truth -= truth.mean()
    circle = rng.permutation(ITEMS)
    a, b = circle, np.roll(circle, 1)
    top = np.argsort(-truth)[:TOP]
    i, j = np.triu_indices(ITEMS, 1)
    rows = []
    winner, loser = np.zeros(0, dtype=int), np.zeros(0, dtype=int)
    while True:
        said = drawn(truth, a, b, rng)
        winner, loser = np.append(winner, said.winner), np.append(loser, said.loser)
        P = Preferences(winner, loser, n_items=ITEMS)
        model = RankLogistic(alpha).fit(None, preferences=P)
        model.votes = P
        f = model.predict(None)
        error = (f[i] - f[j]) - (truth[i] - truth[j])
        of_top = np.isin(i, top) | np.isin(j, top)
        right = (f[i] > f[j]) == (truth[i] > truth[j])
        rows.append((np.mean(error**2), np.mean(error[of_top] ** 2), right.mean()))
        if len(winner) >= LAST:
            return np.array(rows)
        a, b = choose(model, rng).T


def main(repetitions: int = 60, figure: str | Path = FIGURE) -> None:
    warnings.simplefilter("ignore", PreferenceWarning)
    votes = ITEMS + BATCH * np.arange((LAST - ITEMS) // BATCH + 1)
    curves = {}
    for spread in (1.0, 2.0):
        for name, choose in WAYS.items():
            rng = np.random.default_rng(0)
            found = [run(choose, spread, rng) for _ in range(repetitions)]
            curves[spread, name] = np.mean(found, axis=0)
        for column, what in enumerate(MEASURES):
            rows = []
            sign = 1 if column < 2 else -1
            of = {name: curves[spread, name][:, column] for name in WAYS}
            of = {name: np.sqrt(curve) if column < 2 else curve for name, curve in of.items()}
            target = of["random pairs"][-1]
            for name, curve in of.items():
                reached = np.flatnonzero(sign * curve <= sign * target)
                needed = str(votes[reached[0]]) if len(reached) else f"> {LAST}"
                values = [f"{np.interp(v, votes, curve):.3f}" for v in SHOWN]
                rows.append((name, *values, needed))
            header = ("", *(f"{v} votes" for v in SHOWN), f"votes for {target:.3f}")
            table.show(f"{what}, strengths of deviation {spread:g}", header, rows)
    rows = []
    for alpha in OTHER_ALPHAS:
        for name in ("random pairs", "next_pairs"):
            rng = np.random.default_rng(0)
            found = [run(WAYS[name], 1.0, rng, alpha) for _ in range(repetitions)]
            curve = np.sqrt(np.mean(found, axis=0)[:, 0])
            values = [f"{np.interp(v, votes, curve):.3f}" for v in SHOWN]
            rows.append((f"alpha {alpha:g}, {name}", *values))
    header = ("", *(f"{v} votes" for v in SHOWN))
    table.show(f"other alphas: {MEASURES[0]}, strengths of deviation 1", header, rows)
    draw(figure, votes, curves)


def draw(path: str | Path, votes: np.ndarray, curves: dict) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True)
    for axis, spread in zip(axes, (1.0, 2.0)):
        for name in WAYS:
            axis.plot(votes, np.sqrt(curves[spread, name][:, 0]), label=name)
        axis.set_title(f"strengths of standard deviation {spread:g}", fontsize=10)
        axis.set_xlabel("votes")
        axis.set_yscale("log")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("error of differences (root mean square)")
    axes[1].legend(fontsize=8)
    fig.tight_layout()
    fig.savefig(path, dpi=110)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(*(int(value) for value in arguments[:1]), *arguments[1:2])
