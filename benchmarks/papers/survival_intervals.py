"""Coverage of 95% intervals for concordance with censored outcomes, simulated.

    python -m benchmarks.papers.survival_intervals [repetitions, default 1000]

Exponential times, longer for greater scores, and independent exponential censoring of about a
third or two thirds of the items. The truth is the measure of 200,000 items. Uno's concordance and
the AUC take the censoring curve from the same items that they judge, as the command does.
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.papers.table import show
from rankwise import Censored, metrics
from rankwise.evaluation import confidence_interval, dynamic_auc_intervals, uno_interval

CENSORING = {"a third": 0.45, "two thirds": 2.2}
SIZES = (25, 50, 100, 400)
EFFECTS = (0.0, 1.0)
TIME = 0.5
"""tau of Uno's concordance, and the time of the AUC."""
LARGE = 200_000


def simulate(
    rng: np.random.Generator, m: int, effect: float, censoring: float
) -> tuple[Censored, np.ndarray]:
    s = rng.normal(size=m)
    time, lost = rng.exponential(size=m) * np.exp(effect * s), rng.exponential(size=m) / censoring
    return Censored(time <= lost, np.minimum(time, lost)), s


def measures(y: Censored, s: np.ndarray) -> tuple[float, float, float]:
    return (
        metrics.concordance(y, s),
        metrics.uno_concordance(y, y, s, TIME),
        metrics.cumulative_dynamic_auc(y, y, s, [TIME]).mean,
    )


def intervals(y: Censored, s: np.ndarray) -> list[tuple[float, float]]:
    return [
        confidence_interval(y, s),
        uno_interval(y, y, s, TIME),
        tuple(dynamic_auc_intervals(y, y, s, [TIME])[0]),
    ]


def main(repetitions: int = 1000) -> None:
    rng, rows = np.random.default_rng(0), []
    for words, censoring in CENSORING.items():
        for effect in EFFECTS:
            truth = measures(*simulate(rng, LARGE, effect, censoring))
            for m in SIZES:
                covered, judged = np.zeros(3), 0
                while judged < repetitions:
                    y, s = simulate(rng, m, effect, censoring)
                    try:
                        found = intervals(y, s)
                    except ValueError:  # no item is followed beyond TIME, or no pair
                        continue
                    covered += [low <= value <= high for (low, high), value in zip(found, truth)]
                    judged += 1
                shares = [f"{share:.3f}" for share in covered / judged]
                rows.append([words, f"{truth[0]:.2f}", str(m), *shares])
    header = ("censored", "true concordance", "items", "Harrell's", "Uno's", f"AUC at {TIME:g}")
    show("share of 95% intervals that cover the true value", header, rows)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
