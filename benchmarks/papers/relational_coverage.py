"""relational_score: how often 95% intervals cover the expected score; the level of compare.

    python -m benchmarks.papers.relational_coverage [repetitions, default 300]

Relations are drawn again and again, nodes and all: latent features of both sides, of which the
model sees a noisy version, row and column effects, and noise of the edges. The truth of a setting
is the mean of the score over all repetitions, of which each single score is an unbiased estimate.
The tables show the share of intervals that cover it, and the share of p-values below 0.05 of
relational_compare for two models that are equally good. `relational_levels` has the levels of
relational_permutation_test.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

from benchmarks.papers import table
from rankwise import TwoStepRanker
from rankwise.evaluation import relational_compare, relational_score
from rankwise.numerics.progress import track

SETTINGS = ("edges", "rows", "columns", "both")
SIZES = ((20, 15), (40, 30), (80, 20), (60, 60))
SIGNALS = (0.0, 0.5, 2.0)


def drawn(
    size: tuple[int, int], signal: float, rng: np.random.Generator
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Features (A, B) with two halves that are equally good, and labels Y."""
    a, b = (rng.normal(size=(p, 3)) for p in size)
    Y = signal * a @ b.T / np.sqrt(3)
    Y += rng.normal(size=(size[0], 1)) + rng.normal(size=size[1]) + rng.normal(size=size)
    A, B = (np.hstack([z + 0.7 * rng.normal(size=z.shape) for _ in (0, 1)]) for z in (a, b))
    return (A, B), Y


def coverage(
    size: tuple[int, int], signal: float, setting: str, repetitions: int, rng: np.random.Generator
) -> tuple[float, float]:
    """The share of intervals that cover the mean score, and their mean length."""
    found = []
    for _ in range(repetitions):
        X, Y = drawn(size, signal, rng)
        found.append(relational_score(TwoStepRanker(3.0, fill="mean"), X, Y, setting=setting))
    truth = np.mean([one.score for one in found])
    covered = [one.interval.low <= truth <= one.interval.high for one in found]
    return float(np.mean(covered)), float(np.mean([np.diff(one.interval)[0] for one in found]))


def level_of_compare(
    size: tuple[int, int], signal: float, setting: str, repetitions: int, rng: np.random.Generator
) -> float:
    """The share of p-values below 0.05 for models of the two halves of the features."""
    low = 0
    for _ in range(repetitions):
        (A, B), Y = drawn(size, signal, rng)
        # Kernels between all nodes of all four halves; each model sees a half of both sides.
        first, second = (
            relational_halves(A[:, half], B[:, half]) for half in (slice(0, 3), slice(3, 6))
        )
        models = {"first": first, "second": second}
        numbers = (np.arange(len(A))[:, None] * 1.0, np.arange(len(B))[:, None] * 1.0)
        found = relational_compare(models, numbers, Y, setting=setting)
        low += found.differences[0].p_value < 0.05
    return low / repetitions


def relational_halves(A: np.ndarray, B: np.ndarray) -> TwoStepRanker:
    """A model whose nodes are numbers, with the kernels of some features of these nodes."""

    def kernel_of(Z: np.ndarray):
        return lambda U, V: Z[U[:, 0].astype(int)] @ Z[V[:, 0].astype(int)].T

    return TwoStepRanker(3.0, fill="mean", kernel=(kernel_of(A), kernel_of(B)))


def main(repetitions: int = 300) -> None:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    cases = [(size, signal) for size in SIZES for signal in SIGNALS]
    rows = []
    for size, signal in track(cases, len(cases), "cases", least=2):
        found = [coverage(size, signal, setting, repetitions, rng) for setting in SETTINGS]
        cells = (f"{100 * share:.0f} ({length:.2f})" for share, length in found)
        rows.append((f"{size[0]} x {size[1]} nodes, signal {signal:g}", *cells))
    table.show("% of 95% intervals that cover (mean length)", ("", *SETTINGS), rows)
    rows = []
    for size, signal in (((40, 30), 0.5), ((40, 30), 2.0)):
        shares = [level_of_compare(size, signal, s, repetitions, rng) for s in SETTINGS]
        cells = (f"{100 * share:.0f}" for share in shares)
        rows.append((f"{size[0]} x {size[1]} nodes, signal {signal:g}", *cells))
    table.show("% of p-values below 0.05, equally good models", ("", *SETTINGS), rows)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
