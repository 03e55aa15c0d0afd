"""Leave-pair-out of every quadratic loss against that of the magnitude loss, on the same data.

The goal is 6 times the magnitude loss for `RankRLSCV.fit` with a Gaussian kernel and 31 alphas,
for real scores, 2, 5 and 200 levels. Refits are counted: ordinary data should need none. Growth
exponents follow from the medians at successive sizes; O(m³) is 3.

    python -m benchmarks.speed pair_holdouts            m = 250 … 2000
    python -m benchmarks.speed.pair_holdouts 200 500    other sizes
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn.datasets import load_diabetes

from benchmarks.speed.harness import print_machine, print_ratios
from rankwise import RankRLSCV
from rankwise.holdout.quadratic_holdouts import QuadraticHoldouts

SIZES = (250, 500, 1000, 2000)
LEVELS = {"real scores": None, "2 levels": 2, "5 levels": 5, "200 levels": 200}
LOSSES: dict[str, dict] = {
    "magnitude": {},
    "magnitude, ties dropped": {"ties": "drop"},
    "unit": {"loss": "unit"},
}
ALPHAS = 2.0 ** np.arange(-15, 16)
LIMIT = 6.0


def data(m: int, levels: int | None) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, 8))
    y = X[:, 0] + np.sin(X[:, 1]) + rng.normal(size=m)
    if levels is None:
        return X, y
    cuts = np.quantile(y, np.linspace(0, 1, levels + 1)[1:-1])
    return X, np.digitize(y, cuts).astype(float)


def search(options: dict, X: np.ndarray, y: np.ndarray) -> RankRLSCV:
    return RankRLSCV(ALPHAS, kernel="rbf", gamma=0.1, cv="leave-pair-out", **options).fit(X, y)


def count_refits(run: Callable[[], object]) -> int:
    """How often `run` trains again without some items."""
    counted, refit = [0], QuadraticHoldouts._refit

    def counting(self, *args):
        counted[0] += 1
        return refit(self, *args)

    QuadraticHoldouts._refit = counting
    try:
        run()
    finally:
        QuadraticHoldouts._refit = refit
    return counted[0]


def main(sizes: tuple[int, ...] = SIZES) -> None:
    print_machine()
    medians: dict[tuple[str, str], list[float]] = {}
    for name, levels in LEVELS.items():
        for m in sizes:
            X, y = data(m, levels)
            timed = {loss: partial(search, options, X, y) for loss, options in LOSSES.items()}
            limits = {loss: LIMIT for loss in LOSSES if loss != "magnitude"}
            rounds = 5 if m <= 500 else 3
            seconds = print_ratios(f"{name}, m = {m}", timed, limits, rounds)
            refits = {loss: count_refits(run) for loss, run in timed.items()}
            print("  refits: " + ", ".join(f"{loss} {count}" for loss, count in refits.items()))
            for loss, times in seconds.items():
                medians.setdefault((name, loss), []).append(float(np.median(times)))
    if len(sizes) > 1:
        print("\ngrowth exponents between successive sizes")
        for (name, loss), times in medians.items():
            growth = np.diff(np.log(times)) / np.diff(np.log(sizes))
            print(f"  {name}, {loss}: " + ", ".join(f"{value:.1f}" for value in growth))
    others()


def others() -> None:
    """Real data, and the relative loss, which refits without each pair."""
    X, y = load_diabetes(return_X_y=True)
    timed = {loss: partial(search, options, X, y) for loss, options in LOSSES.items()}
    limits = {loss: LIMIT for loss in LOSSES if loss != "magnitude"}
    print_ratios("diabetes, 442 items, 214 levels", timed, limits, 3)
    X, y = data(25, None)
    timed = {
        "magnitude": partial(search, {}, X, y),
        "relative, 300 refits for 31 alphas": partial(search, {"loss": "relative"}, X, y),
    }
    print_ratios("25 items", timed, {}, 3)


if __name__ == "__main__":
    main(tuple(int(size) for size in sys.argv[1:]) or SIZES)
