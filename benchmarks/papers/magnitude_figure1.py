"""Cortes, Mohri, Rastogi 2007, Figure 1: online against batch MPRank, error by round, time by size.

The paper used a Netflix rater with about 700 movies to train and 700 to test. Those data are no
longer available, so items are California houses with standardised features, and the score is the
value of a house in standard deviations. The kernel is Gaussian, gamma 1/8, C = 2000. Batch is our
closed form.

    python -m benchmarks.papers.magnitude_figure1 [largest size, default 2400]
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.papers import data, table
from rankwise.learners.mprank import MPRank
from rankwise.metrics import mean_squared_difference
from rankwise.numerics.threads import one_blas_thread

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FIGURE = Path(__file__).resolve().parents[2] / "docs/papers/figures/magnitude_figure1.png"
ROUNDS = (1, 2, 3, 5, 8, 13, 20, 32, 50, 80, 120)
SIZES = (300, 600, 900, 1200, 2400, 4800)
TRAIN, TEST = slice(0, 700), slice(700, 1400)
MODEL = {"C": 2000.0, "kernel": "rbf"}


def main(largest: int = 2400) -> None:
    X, y = houses()

    def errors(model) -> list[float]:
        parts = (TRAIN, TEST)
        return [mean_squared_difference(y[part], model.predict(X[part])) for part in parts]

    rows = [(rounds, *errors(online(X[TRAIN], y[TRAIN], rounds))) for rounds in ROUNDS]
    final = errors(MPRank(**MODEL).fit(X[TRAIN], y[TRAIN]))
    header = ("rounds", "training error", "test error")
    table.show("Mean squared difference, 700 items", header, [*rows, ("batch", *final)])
    sizes = [m for m in SIZES if m <= largest]
    times = [(m, *seconds(X[:m], y[:m])) for m in sizes]
    header = ("items", "online", "batch", "rounds of online")
    table.show("Seconds, the kernel matrix included", header, times)
    draw(np.array(rows), final, np.array(times))


def houses():
    found = data.cadata()
    order = np.random.default_rng(0).permutation(len(found.y))
    X, y = found.X[order], found.y[order]
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()


def online(X, y, rounds: int) -> MPRank:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return MPRank(**MODEL, solver="online", tol=1e-12, max_iter=rounds).fit(X, y)


def seconds(X, y) -> tuple[float, float, int]:
    """Online until a round changes the objective by 0.01%, as in the paper, and batch.

    Best of three, one thread.
    """
    found, times = [], []
    for solver in ("online", "closed") * 3:
        with one_blas_thread():
            start = time.perf_counter()
            found.append(MPRank(**MODEL, solver=solver).fit(X, y))
            times.append(time.perf_counter() - start)
    return min(times[::2]), min(times[1::2]), found[0].n_iter_


def draw(rows, final, times) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for column, name, colour in ((2, "test", "C0"), (1, "training", "C1")):
        left.semilogx(rows[:, 0], rows[:, column], "o-", color=colour, label=f"{name}, online")
        left.axhline(final[column - 1], ls="--", color=colour, label=f"{name}, batch")
    left.set(xlabel="training rounds", ylabel="mean squared difference")
    right.semilogy(times[:, 0], times[:, 1], "o-", label="online")
    right.semilogy(times[:, 0], times[:, 2], "s--", label="batch")
    right.set(xlabel="training set size", ylabel="seconds")
    for axes in (left, right):
        axes.legend()
        axes.grid(alpha=0.3)
    figure.savefig(FIGURE, dpi=110)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
