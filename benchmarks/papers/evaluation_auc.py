"""Airola 2011, paper IV: bias and variance of pooled, averaged and leave-pair-out AUC, simulated.

There are two normal classes in ten features, of which the first is shifted by `signal` standard
deviations. The learners are regularised least squares with a constant feature, RankRLS and RankSVM.
The truth is the AUC on new data of the model trained on all data, known in closed form. The
deviation is the estimate minus this truth; the unconditional deviation is the estimate minus the
mean truth over all training sets of that size.

The first tables vary one setting at a time with a constant of 10 and alpha 100, where the bias of
pooling is plain. The table of settings shows where it is and where it is not: every constant and
alpha of a grid, none of them chosen.

    python -m benchmarks.papers.evaluation_auc [repetitions, default 200]
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import matplotlib
import numpy as np
from scipy.stats import norm

from benchmarks.papers import table
from rankwise import RLS, EstimateWarning, RankRLS, RankSVM
from rankwise.evaluation import cross_val_auc

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FIGURE = Path(__file__).resolve().parents[2] / "docs/papers/figures/evaluation_auc.png"
FEATURES, CONSTANT, ALPHA = 10, 10.0, 100.0
CONSTANTS, ALPHAS = (0.0, 1.0, 3.0, 10.0, 30.0), (0.1, 1.0, 10.0, 100.0, 1000.0)
LEARNERS = {
    "RLS, constant 0": (RLS(10.0), 0.0),
    "RLS, constant 1": (RLS(10.0), 1.0),
    "RLS, constant 10": (RLS(10.0), 10.0),
    "RankRLS": (RankRLS(100.0), 0.0),
    "RankSVM": (RankSVM(0.01), 0.0),
}
ESTIMATES = {
    "pooled, leave-one-out": lambda m: {"method": "pooled", "folds": m},
    "pooled, 10 folds": lambda m: {"method": "pooled", "folds": 10},
    "averaged, 10 folds": lambda m: {"method": "averaged", "folds": 10},
    "averaged, 5 folds": lambda m: {"method": "averaged", "folds": 5},
    "leave-pair-out": lambda m: {"method": "leave-pair-out"},
}
PANELS = {
    "items, no signal": [(m, 0.5, 0.0) for m in (20, 30, 50, 100, 200)],
    "items, signal 1": [(m, 0.5, 1.0) for m in (20, 30, 50, 100, 200)],
    "share of positives, 60 items, no signal": [(60, p, 0.0) for p in (0.1, 0.2, 0.3, 0.4, 0.5)],
    "signal, 40 items": [(40, 0.5, d) for d in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)],
}
X_OF = (0, 0, 1, 2)


def main(repetitions: int = 200) -> None:
    rng = np.random.default_rng(0)
    found = {}
    for (name, settings), column in zip(PANELS.items(), X_OF):
        rows = [deviations(*setting, ALPHA, repetitions, rng) for setting in settings]
        found[name] = np.array([setting[column] for setting in settings]), np.array(rows)
        lines = [
            (f"{x:g}", *(f"{table.signed(mean)} ± {sd:.3f}" for mean, sd in zip(*moments(row))))
            for x, row in zip(*found[name])
        ]
        table.show(f"Deviation, mean ± standard deviation, by {name}", ("", *ESTIMATES), lines)
    parker(repetitions, rng)
    over_settings(repetitions, rng)
    over_learners(repetitions, rng)
    draw(found)


def data(m, share, signal, rng, constant=CONSTANT):
    y = np.where(np.arange(m) < round(share * m), 1.0, -1.0)
    X = rng.normal(size=(m, FEATURES + 1))
    X[:, 0] += signal * (y == 1)
    X[:, -1] = constant
    return X, y


def deviations(m, share, signal, alpha, repetitions, rng) -> np.ndarray:
    """(repetitions, estimates): estimate minus truth."""
    found, truth = simulated(RLS(alpha), m, share, signal, repetitions, rng)
    return found - truth[:, None]


def simulated(model, m, share, signal, repetitions, rng, constant=CONSTANT, chosen=None):
    """(repetitions, estimates) and (repetitions,) true values of the models on all data."""
    chosen = list(ESTIMATES) if chosen is None else chosen
    out, truth = np.empty((repetitions, len(chosen))), np.empty(repetitions)
    for k in range(repetitions):
        X, y = data(m, share, signal, rng, constant)
        w = model.fit(X, y).coef_[:FEATURES]
        size = np.sqrt(2 * w @ w)
        truth[k] = norm.cdf(signal * w[0] / size) if size else 0.5
        out[k] = estimates(model, X, y, rng, chosen)
    return out, truth


def over_settings(repetitions, rng) -> None:
    """The bias over a grid of constants and alphas: 40 items, no signal, half of them positive."""
    names = ("pooled, leave-one-out", "pooled, 10 folds", "leave-pair-out")
    rows = []
    for constant in CONSTANTS:
        for alpha in ALPHAS:
            found, truth = simulated(
                RLS(alpha), 40, 0.5, 0.0, repetitions, rng, constant, list(names)
            )
            bias = (found - truth[:, None]).mean(axis=0)
            rows.append((f"{constant:g}", f"{alpha:g}", *(table.signed(b) for b in bias)))
    error = 0.14 / np.sqrt(repetitions)
    table.show(
        "Bias over settings: RLS, 40 items, half of them positive, no signal",
        ("constant", "alpha", *names),
        rows,
    )
    table.note(f"The standard error of an entry is about {error:.3f}.")


def over_learners(repetitions, rng) -> None:
    """Conditional and unconditional deviation of three learners, 40 items, signal 1."""
    names = ("pooled, 10 folds", "averaged, 5 folds", "leave-pair-out")
    rows = []
    for title, (model, constant) in LEARNERS.items():
        count = max(2, repetitions // 8) if title == "RankSVM" else repetitions
        for share in (0.5, 0.2):
            found, truth = simulated(model, 40, share, 1.0, count, rng, constant, list(names))
            cells = []
            for column in found.T:
                given_data, over_all = column - truth, column - truth.mean()
                cells.append(
                    f"{table.signed(given_data.mean())} ± {given_data.std():.3f}; "
                    f"± {over_all.std():.3f}"
                )
            rows.append((title, f"{share:.0%}", *cells, count))
    table.show(
        "Learners, 40 items, signal 1: bias ± deviation from the model's own AUC; ± deviation "
        "from the mean AUC of such models",
        ("", "positive", *names, "repetitions"),
        rows,
    )


def estimates(model, X, y, rng, chosen) -> np.ndarray:
    found, seed = [], int(rng.integers(2**31))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EstimateWarning)
        for name in chosen:
            options = ESTIMATES[name](len(y))
            found.append(cross_val_auc(model, X, y, random_state=seed, **options))
    return np.array(found)


def moments(row: np.ndarray):
    return row.mean(axis=0), row.std(axis=0)


def parker(repetitions, rng) -> None:
    """Parker et al. 2007: without signal, pooled estimates are far below one half."""
    rows = []
    for m, share in ((20, 0.5), (40, 0.5), (100, 0.5), (40, 0.2)):
        for alpha in (1.0, 1000.0, 100_000.0):
            mean = 0.5 + deviations(m, share, 0.0, alpha, repetitions, rng).mean(axis=0)
            rows.append((f"{m} items, {share:.0%} positive, alpha {alpha:g}", *map(float, mean)))
    table.show("Mean estimate without signal; the true AUC is 0.5", ("", *ESTIMATES), rows)


def draw(found) -> None:
    figure, axes = plt.subplots(2, 4, figsize=(15, 6.2), layout="constrained", sharey="row")
    for column, (name, (x, rows)) in enumerate(found.items()):
        for row, values in enumerate((rows.mean(axis=1), rows.std(axis=1))):
            for series, label, mark in zip(values.T, ESTIMATES, "sD^vo"):
                axes[row, column].plot(x, series, marker=mark, ms=4, label=label)
            axes[row, column].grid(alpha=0.3)
            if name.startswith("items"):
                axes[row, column].set_xscale("log")
                axes[row, column].set_xticks(x, [f"{value:g}" for value in x])
                axes[row, column].minorticks_off()
        axes[0, column].axhline(0.0, color="black", lw=0.8)
        axes[0, column].set_title(name, fontsize=10)
        axes[1, column].set_xlabel(name.split(",")[0])
    axes[0, 0].set_ylabel("bias: mean deviation")
    axes[1, 0].set_ylabel("standard deviation of the deviation")
    axes[0, -1].legend(fontsize=8, frameon=False)
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, dpi=100)
    plt.close(figure)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
