"""How often `compare` calls a model better, or worse, than an existing ranking.

The model is RankRLS with 3 or 20 features. Level: the existing scores are noise and so is y, or
they are the truth with so much noise that they order unseen items exactly as well as the model does
on average (the noise is calibrated first). A two-sided test at 5% should then say "better" and
"worse" in 2.5% of the data sets each. Power: the existing scores order worse than the model.

    python -m benchmarks.papers.evaluation_baseline [repetitions, default 500]
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.papers import table
from rankwise import RankRLS, metrics
from rankwise.evaluation import compare

DESIGNS = ((5, 20), (12, 6), (40, 6), (1, 60))
"""Queries and items in each; one query: no queries."""
SIGNALS = (0.0, 0.25, 0.5, 1.0, 3.0)
ALPHA = 10.0
WEAKER = 1.5
"""For the power, the existing scores have this much more noise."""


def main(repetitions: int = 500) -> None:
    rows = []
    for queries, items in DESIGNS:
        for n in (3, 20):
            for signal in SIGNALS:
                noise = calibrated(queries, items, n, signal) if signal else 1.0
                design = (queries, items, n, signal)
                better, worse = verdicts(*design, noise, repetitions)
                power, _ = verdicts(*design, noise + WEAKER, repetitions)
                data = f"{queries} queries of {items}" if queries > 1 else f"{items} items"
                shares = (f"{100 * share:.1f}" for share in (better, worse, power))
                rows.append((data, n, f"{signal:g}", *shares))
    header = ("data", "features", "signal", "level: better", "level: worse", "power")
    table.show("model against an existing ranking: % with p ≤ 0.05", header, rows)


def verdicts(
    queries: int, items: int, n: int, signal: float, noise: float, repetitions: int
) -> tuple[float, float]:
    """The shares of data sets in which the model is called better, and worse."""
    rng, qid = np.random.default_rng(0), np.repeat(np.arange(queries), items)
    called = {"yes": 0, "no": 0, "unproved": 0}
    for _ in range(repetitions):
        X, truth, y = _drawn(rng, queries * items, n, signal)
        old = truth + noise * rng.normal(size=len(y))
        models = {"old": old, "new": RankRLS(ALPHA)}
        found = compare(models, X, y, qid if queries > 1 else None)
        called[found.against().better] += 1
    return called["yes"] / repetitions, called["no"] / repetitions


def calibrated(queries: int, items: int, n: int, signal: float) -> float:
    """The noise with which the truth orders new items as well as the model does on average."""
    rng, qid = np.random.default_rng(1), np.repeat(np.arange(queries), items)
    reached = []
    for _ in range(200):
        w = _weights(rng, n, signal)
        X, _, y = _drawn(rng, queries * items, n, signal, w)
        model = RankRLS(ALPHA).fit(X, y, qid=qid)
        new, _, labels = _drawn(rng, 4000, n, signal, w)
        reached.append(metrics.concordance(labels, model.predict(new)))
    g, e, noise = rng.normal(size=(3, 40000))
    low, high = 0.0, 50.0
    for _ in range(40):
        middle = (low + high) / 2
        above = metrics.concordance(signal * g + e, signal * g + middle * noise) > np.mean(reached)
        low, high = (middle, high) if above else (low, middle)
    return low


def _weights(rng: np.random.Generator, n: int, signal: float) -> np.ndarray:
    w = rng.normal(size=n)
    return w * signal / np.linalg.norm(w)


def _drawn(
    rng: np.random.Generator, m: int, n: int, signal: float, w: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, what they say about y, and y with noise of variance 1."""
    X = rng.normal(size=(m, n))
    truth = X @ (_weights(rng, n, signal) if w is None else w)
    return X, truth, truth + rng.normal(size=m)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
