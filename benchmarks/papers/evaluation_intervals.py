"""Airola 2011, chapter 5.4: how often intervals of AUC, concordance and leave-pair-out hold true.

Scores and data are simulated, so the true value is known, in closed form or from a large sample.
For 95% intervals, the tables show the share that covers the true value, and the mean width.

    python -m benchmarks.papers.evaluation_intervals [repetitions, default 1000]
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.stats import norm

from benchmarks.papers import table
from rankwise import RankRLS, UndefinedMetric
from rankwise.evaluation import confidence_interval, leave_pair_out_interval
from rankwise.metrics import auc

CLASSES = ((3, 50), (5, 5), (5, 100), (10, 10), (10, 200), (30, 30), (100, 100))
AREAS = (0.5, 0.7, 0.9, 0.98)


def main(repetitions: int = 1000) -> None:
    rng = np.random.default_rng(0)
    auc_rows = [
        (
            f"{n_high} + {n_low}",
            f"{spread:g}",
            *_auc_coverage(n_high, n_low, spread, repetitions, rng),
        )
        for n_high, n_low in CLASSES
        for spread in (1.0, 3.0)
    ]
    header = ("positive + negative", "spread", *(f"AUC {area:g}" for area in AREAS))
    table.show("confidence_interval, AUC: % covered (width)", header, auc_rows)
    rows = [
        (m, *(_real_coverage(m, noise, repetitions, rng) for noise in (0.3, 1.0, 10.0)))
        for m in (8, 15, 30, 100)
    ]
    header = ("items", "concordance 0.91", "0.75", "0.53")
    table.show("confidence_interval, real scores: % covered (width)", header, rows)
    rows = [
        (q, *(_query_coverage(q, noise, repetitions, rng) for noise in (0.3, 1.0, 10.0)))
        for q in (4, 8, 20, 100)
    ]
    header = ("queries of 8", "concordance 0.91", "0.75", "0.53")
    table.show("confidence_interval, over queries: % covered (width)", header, rows)
    rows = [
        (f"{n_high} + {n_low}", n, *_pair_coverage(n_high, n_low, n, repetitions // 2, rng))
        for n_high, n_low in ((5, 15), (10, 10), (10, 40), (25, 25), (50, 50))
        for n in (2, 10, 50)
    ]
    header = ("positive + negative", "features", *(f"signal {d:g}" for d in SIGNALS))
    table.show("leave_pair_out_interval, RankRLS: % covered (width)", header, rows)
    rng = np.random.default_rng(1)
    rows = [
        (f"{n[0]} + {n[1]}", *(_elsewhere(way, *n, repetitions // 5, rng) for way in ELSEWHERE))
        for n in ((5, 15), (10, 40), (25, 25), (50, 50))
    ]
    table.show("leave_pair_out_interval, other data", ("positive + negative", *ELSEWHERE), rows)


def covered(hits, widths) -> str:
    return f"{100 * np.mean(hits):.0f} ({np.mean(widths):.2f})"


def _auc_coverage(n_high, n_low, spread, repetitions, rng) -> list[str]:
    y = np.repeat([1.0, 0.0], [n_high, n_low])
    out = []
    for area in AREAS:
        shift = norm.ppf(area) * np.sqrt(1 + spread**2)
        hits, widths = [], []
        for _ in range(repetitions):
            s = np.concatenate((shift + spread * rng.normal(size=n_high), rng.normal(size=n_low)))
            low, high = confidence_interval(y, s)
            hits.append(low <= area <= high)
            widths.append(high - low)
        out.append(covered(hits, widths))
    return out


def _true_concordance(noise: float) -> float:
    """½ + arcsin(ρ)/π for a pair of normal scores with correlation ρ."""
    return 0.5 + np.arcsin(1 / np.sqrt(1 + noise**2)) / np.pi


def _real_coverage(m, noise, repetitions, rng) -> str:
    truth, hits, widths = _true_concordance(noise), [], []
    for _ in range(repetitions):
        y = rng.normal(size=m)
        low, high = confidence_interval(y, y + noise * rng.normal(size=m))
        hits.append(low <= truth <= high)
        widths.append(high - low)
    return covered(hits, widths)


def _query_coverage(q, noise, repetitions, rng) -> str:
    truth, hits, widths = _true_concordance(noise), [], []
    qid = np.repeat(np.arange(q), 8)
    for seed in range(repetitions):
        y = rng.normal(size=8 * q)
        s = y + noise * rng.normal(size=8 * q) + 5 * qid
        low, high = confidence_interval(y, s, qid, random_state=seed)
        hits.append(low <= truth <= high)
        widths.append(high - low)
    return covered(hits, widths)


SIGNALS = (0.0, 1.0, 2.0, 3.0)


def _pair_coverage(n_high, n_low, n, repetitions, rng) -> list[str]:
    """The truth is the AUC on new data of the model trained on all data."""
    y = np.repeat([1.0, 0.0], [n_high, n_low])
    out = []
    for signal in SIGNALS:
        hits, widths = [], []
        for _ in range(repetitions):
            X = rng.normal(size=(len(y), n))
            X[:, 0] += signal * y
            model = RankRLS(10.0)
            w = model.fit(X, y).coef_
            truth = norm.cdf(signal * w[0] / np.sqrt(2 * w @ w))
            try:
                low, high = leave_pair_out_interval(model, X, y)
            except UndefinedMetric:
                continue
            hits.append(low <= truth <= high)
            widths.append(high - low)
        out.append(covered(hits, widths))
    return out


def _heavy_tails(y, rng):
    """Student's t with 3 degrees of freedom in 20 features, each with a little signal."""
    return rng.standard_t(3, size=(len(y), 20)) + 0.4 * y[:, None]


def _rings(y, rng):
    """A disc within a ring, with noise: no line separates them."""
    angle, radius = rng.uniform(0, 2 * np.pi, len(y)), 1.0 + y + 0.5 * rng.normal(size=len(y))
    return np.column_stack((radius * np.cos(angle), radius * np.sin(angle)))


def _rare_words(y, rng):
    """Counts of 100 words, ten of which are more frequent among the positives."""
    rate = np.where(np.arange(100) < 10, 0.1 + 0.15 * y[:, None], 0.1)
    return rng.poisson(rate).astype(float)


ELSEWHERE = {
    "heavy tails, linear": (_heavy_tails, RankRLS(0.1)),
    "rings, Gaussian kernel": (_rings, RankRLS(1.0, kernel="rbf", gamma=1.0)),
    "rare words, linear": (_rare_words, RankRLS(1.0)),
    "rare words, strong alpha": (_rare_words, RankRLS(1000.0)),
}


def _elsewhere(way, n_high, n_low, repetitions, rng) -> str:
    """Data that were not used to choose the width of intervals; truth from 4,000 new items."""
    draw, model = ELSEWHERE[way]
    y, new = np.repeat([1.0, 0.0], [n_high, n_low]), np.repeat([1.0, 0.0], 2000)
    hits, widths = [], []
    for _ in range(repetitions):
        X = draw(y, rng)
        truth = auc(new, model.fit(X, y).predict(draw(new, rng)))
        low, high = leave_pair_out_interval(model, X, y)
        hits.append(low <= truth <= high)
        widths.append(high - low)
    return covered(hits, widths)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
