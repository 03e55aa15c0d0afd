"""Cortes, Mohri, Rastogi 2007, Figure 1: online against batch MPRank, error by round, time by size.

The paper used a Netflix rater with about 700 movies to train and 700 to test. Those data are no
longer available, so items are California houses with standardised features, and the score is the
value of a house in standard deviations. The kernel is Gaussian, gamma 1/8, C = 2000.

Times are those of training alone, with the kernel matrix given, as in the paper. Batch is the
solution of the system (2 K̃ + m/C) a = 2 ỹ of the centred kernel matrix, by an inverse as in the
paper's equation 13, or by one Cholesky factorisation. MPRank(solver="closed") is a Cholesky
factorisation too, with checks of the matrix; it decomposes the matrix, once for every C and all
hold-outs, only when they are asked for.

    python -m benchmarks.papers.magnitude_figure1 [largest size, default 4800]
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import matplotlib
import numpy as np
from scipy.linalg import solve
from sklearn.exceptions import ConvergenceWarning

from benchmarks.papers import data, table
from rankwise.learners.mprank import MPRank
from rankwise.metrics import mean_squared_difference
from rankwise.numerics.threads import one_blas_thread
from rankwise.spaces.kernels import Kernel

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FIGURE = Path(__file__).resolve().parents[2] / "docs/papers/figures/magnitude_figure1.png"
ROUNDS = (1, 2, 3, 5, 8, 13, 20, 32, 50, 80, 120)
SIZES = (300, 600, 900, 1200, 2400, 4800)
TRAIN, TEST = slice(0, 700), slice(700, 1400)
MODEL = {"C": 2000.0, "kernel": "rbf"}


def main(largest: int = 4800) -> None:
    X, y = houses()

    def errors(model) -> list[float]:
        parts = (TRAIN, TEST)
        return [mean_squared_difference(y[part], model.predict(X[part])) for part in parts]

    rows = [(rounds, *errors(online(X[TRAIN], y[TRAIN], rounds))) for rounds in ROUNDS]
    final = errors(MPRank(**MODEL).fit(X[TRAIN], y[TRAIN]))
    header = ("rounds", "training error", "test error")
    table.show("Mean squared difference, 700 items", header, [*rows, ("batch", *final)])
    sizes = [m for m in SIZES if m <= largest]
    times = [seconds(X[:m], y[:m]) for m in sizes]
    lines = [(m, *(f"{t:.3f}" for t in row[:4]), row[4]) for m, row in zip(sizes, times)]
    header = ("items", *WAYS, "rounds of online")
    table.show("Seconds to train, given the kernel matrix, one thread", header, lines)
    draw(np.array(rows), final, sizes, np.array(times))


def houses():
    found = data.cadata()
    order = np.random.default_rng(0).permutation(len(found.y))
    X, y = found.X[order], found.y[order]
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()


def online(X, y, rounds: int) -> MPRank:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return MPRank(**MODEL, solver="online", tol=1e-12, max_iter=rounds).fit(X, y)


def by_inverse(K, y):
    """The dual coefficients by the inverse of the centred system."""
    return np.linalg.inv(centred_system(K)) @ (2 * (y - y.mean()))


def by_cholesky(K, y):
    return solve(centred_system(K), 2 * (y - y.mean()), assume_a="pos", overwrite_a=True)


def centred_system(K):
    """2 K̃ + m/C, K̃ the kernel matrix of features less their mean."""
    means = K.mean(axis=0)
    system = 2 * (K - means - means[:, None] + means.mean())
    system.flat[:: len(K) + 1] += len(K) / MODEL["C"]
    return system


def by_mprank(solver: str):
    return lambda K, y: MPRank(MODEL["C"], kernel="precomputed", solver=solver).fit(K, y)


WAYS = {
    "online": by_mprank("online"),
    "batch, inverse": by_inverse,
    "batch, Cholesky": by_cholesky,
    "batch, closed form for all C": by_mprank("closed"),
}


def seconds(X, y) -> tuple[float, ...]:
    """Best of three for every way, and the rounds of online.

    Online ends when a round changes the objective by 0.01%, as in the paper.
    """
    K, times, found = Kernel("rbf").matrix(X, X), {way: [] for way in WAYS}, {}
    for _ in range(3):
        for way, train in WAYS.items():
            with one_blas_thread():
                start = time.perf_counter()
                found[way] = train(K, y)
                times[way].append(time.perf_counter() - start)
    _same_model(K, found)
    return *(min(taken) for taken in times.values()), found["online"].n_iter_


def _same_model(K, found) -> None:
    """All batch ways have the same differences of scores."""
    scores = found["batch, closed form for all C"].predict(K)
    for way in ("batch, inverse", "batch, Cholesky"):
        coefficients = found[way] - found[way].mean()
        other = K @ coefficients
        np.testing.assert_allclose(other - other.mean(), scores - scores.mean(), atol=1e-6)


def draw(rows, final, sizes, times) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for column, name, colour in ((2, "test", "C0"), (1, "training", "C1")):
        left.semilogx(rows[:, 0], rows[:, column], "o-", color=colour, label=f"{name}, online")
        left.axhline(final[column - 1], ls="--", color=colour, label=f"{name}, batch")
    left.set(xlabel="training rounds", ylabel="mean squared difference")
    for way, taken, style in zip(WAYS, times.T, ("o-", "s--", "D--", "^:")):
        right.semilogy(sizes, taken, style, ms=4, label=way)
    right.set(xlabel="training set size", ylabel="seconds")
    for axes in (left, right):
        axes.legend(fontsize=8)
        axes.grid(alpha=0.3)
    figure.savefig(FIGURE, dpi=110)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
