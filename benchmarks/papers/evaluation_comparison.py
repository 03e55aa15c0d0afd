"""How often `compare` calls two models different: equal ones (its level) and unequal ones (power).

Both models are RankRLS, each on its own half of the features. The halves are exchangeable: they
carry the same signal, or none, so a test at 5% should reject in 5% of the data sets or fewer. For
the power, one feature of the first half gets an additional weight of 1.

    python -m benchmarks.papers.evaluation_comparison [repetitions, default 500]
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

from benchmarks.papers import table
from rankwise import RankRLS
from rankwise.evaluation import compare

DESIGNS = ((5, 20), (12, 6), (40, 6), (None, 40), (None, 100))
"""Queries and items in each; None: no queries, two classes."""
SIGNALS = (0.0, 0.5, 2.0)


def main(repetitions: int = 500) -> None:
    rows = []
    for queries, items in DESIGNS:
        for n in (1, 3, 20):
            for signal in SIGNALS:
                shares = [
                    rejections(queries, items, n, signal, advantage, repetitions)
                    for advantage in (0.0, 1.0)
                ]
                data = f"{items} items" if queries is None else f"{queries} queries of {items}"
                rows.append((data, n, f"{signal:g}", *(f"{100 * share:.1f}" for share in shares)))
    header = ("data", "features", "signal", "level", "power")
    table.show("compare: % of comparisons with p ≤ 0.05", header, rows)


def rejections(
    queries: int | None, items: int, n: int, signal: float, advantage: float, repetitions: int
) -> float:
    """The share of data sets with p ≤ 0.05."""
    rng = np.random.default_rng(0)
    m = items * (queries or 1)
    qid = None if queries is None else np.repeat(np.arange(queries), items)
    models = {name: RankRLS(10.0, kernel=partial(_half, n, i)) for i, name in enumerate("ab")}
    rejected = 0
    for _ in range(repetitions):
        X = rng.normal(size=(m, 2 * n))
        w = rng.normal(size=n) * signal / np.sqrt(n)
        y = X[:, :n] @ w + X[:, n:] @ w + advantage * X[:, 0] + rng.normal(size=m)
        if queries is None:
            y = (y > np.median(y)).astype(float)
        rejected += compare(models, X, y, qid).differences[0].p_value <= 0.05
    return rejected / repetitions


def _half(n: int, number: int, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    columns = slice(number * n, (number + 1) * n)
    return X[:, columns] @ Y[:, columns].T


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
