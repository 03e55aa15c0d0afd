"""How often `compare` calls two models different: equal ones (its level) and unequal ones (power).

Both models are RankRLS, each on its own half of the features. The halves are exchangeable: they
carry the same signal, or none, so a test at 5% should reject in 5% of the data sets or fewer. For
the power, one feature of the first half gets an additional weight of 1. "naive" is the same test
without the correction for queries and items that train the models that are judged on the others.

    python -m benchmarks.papers.evaluation_comparison [repetitions, default 500]
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
from scipy import stats

from benchmarks.papers import table
from rankwise import RankRLS
from rankwise.evaluation import compare
from rankwise.evaluation.intervals import TRAINING

DESIGNS = ((5, 6), (5, 20), (12, 6), (40, 6), (None, 40), (None, 100))
"""Queries and items in each; None: no queries, two classes."""


def main(repetitions: int = 500) -> None:
    rows = []
    for queries, items in DESIGNS:
        for n in (3, 20):
            for signal in (0.0, 0.5, 2.0):
                shares = [
                    share
                    for advantage in (0.0, 1.0)
                    for share in rejections(queries, items, n, signal, advantage, repetitions)
                ]
                data = f"{items} items" if queries is None else f"{queries} queries of {items}"
                rows.append((data, n, f"{signal:g}", *(f"{100 * share:.1f}" for share in shares)))
    header = ("data", "features", "signal", "level", "naive level", "power", "naive power")
    table.show("compare: % of comparisons with p ≤ 0.05", header, rows)


def rejections(
    queries: int | None, items: int, n: int, signal: float, advantage: float, repetitions: int
) -> tuple[float, float]:
    """The shares that the test and the naive test reject."""
    rng = np.random.default_rng(0)
    m = items * (queries or 1)
    qid = None if queries is None else np.repeat(np.arange(queries), items)
    models = {name: RankRLS(10.0, kernel=partial(_half, n, i)) for i, name in enumerate("ab")}
    rejected = np.zeros(2)
    for _ in range(repetitions):
        X = rng.normal(size=(m, 2 * n))
        w = rng.normal(size=n) * signal / np.sqrt(n)
        y = X[:, :n] @ w + X[:, n:] @ w + advantage * X[:, 0] + rng.normal(size=m)
        if queries is None:
            y = (y > np.median(y)).astype(float)
        p = compare(models, X, y, qid).differences[0].p_value
        rejected += (p <= 0.05, _naive(p, queries) <= 0.05)
    return tuple(rejected / repetitions)


def _naive(p: float, queries: int | None) -> float:
    """The p-value of the same difference with its variance not multiplied by TRAINING."""
    distribution = stats.norm if queries is None else stats.t(queries - 1)
    return 2 * distribution.sf(distribution.isf(p / 2) * np.sqrt(TRAINING))


def _half(n: int, number: int, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    columns = slice(number * n, (number + 1) * n)
    return X[:, columns] @ Y[:, columns].T


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
