"""Estimates from votes: levels of tests and coverage of 95% intervals, on simulated votes.

compare            two models of equal worth (each sees one of two equally good features), or of no
                   worth: how often p < 0.05
permutation_test   votes without signal: how often p <= 0.05
nested_score       how often the interval covers the mean accuracy of such models
confidence_interval  of fixed scores, over pairs of items and, for judges with habits, over judges

    python -m benchmarks.papers.votes_estimates [repetitions, default 200]
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from benchmarks.papers import table
from rankwise import Preferences, RankRLS, RankRLSCV
from rankwise.evaluation import compare, confidence_interval, nested_score, permutation_test

CASES = (
    ("20 items, 60 votes", 20, 60, 1, 0),
    ("20 items, 60 pairs, 3 votes each", 20, 60, 3, 0),
    ("40 items, 200 votes", 40, 200, 1, 0),
    ("20 items, 200 votes, 12 judges with tastes", 20, 200, 1, 12),
)


def main(repetitions: int = 200) -> None:
    warnings.simplefilter("ignore")
    rows = []
    for name, m, pairs, each, judges in CASES:
        for signal in (0.0, 1.5):
            found = [_once(seed, m, pairs, each, judges, signal) for seed in range(repetitions)]
            p, intervals, truth = (np.array(part) for part in zip(*found))
            target = truth.mean()
            covered = (intervals[:, 0] <= target) & (target <= intervals[:, 1])
            rows.append((f"{name}, {_words(signal)}", _percent(p < 0.05), _percent(covered)))
    header = ("", "compare: p < 0.05", "nested_score: covers")
    table.show(f"two models of equal worth, {repetitions} repetitions", header, rows)
    rows = [
        (f"{name}", *(_permuted(case, scheme, repetitions // 2) for scheme in ("auto", 5)))
        for name, *case in CASES
    ]
    header = ("", "leave-preference-out (judges: 10 folds)", "5 folds")
    title = f"permutation_test without signal, p <= 0.05, {repetitions // 2} repetitions"
    table.show(title, header, rows)
    many = 5 * repetitions
    rows = [(name, *_fixed(judges, many)) for name, judges in (("votes", 0), ("judges", 25))]
    table.show(
        f"confidence_interval of fixed scores: covers, {many} repetitions",
        ("independent units", "over pairs", "over judges"),
        rows,
    )


def _words(signal: float) -> str:
    return "signal" if signal else "no signal"


def _percent(hits: np.ndarray) -> str:
    return f"{100 * np.mean(hits):.1f}%"


def draw(rng: np.random.Generator, m: int, pairs: int, each: int, judges: int, signal: float):
    """Features of items, their strengths, votes, and judges (None) with tastes of their own."""
    X = rng.normal(size=(m, 2))
    f = signal * X.sum(axis=1) / np.sqrt(2)
    a, b = rng.integers(0, m, (2, pairs))
    a, b = (np.repeat(side[a != b], each) for side in (a, b))
    d, judge = f[a] - f[b], None
    if judges:
        judge = rng.integers(0, judges, len(a))
        taste = rng.normal(size=(judges, m))
        d = d + taste[judge, a] - taste[judge, b]
    won = rng.random(len(a)) < 1 / (1 + np.exp(-d))
    said = Preferences(np.where(won, a, b), np.where(won, b, a), n_items=m)
    return X, f, said, judge


def _only(column: int) -> RankRLS:
    select = FunctionTransformer(lambda X: X[:, [column]])
    return make_pipeline(select, RankRLS(10.0))


def _once(seed: int, m: int, pairs: int, each: int, judges: int, signal: float):
    rng = np.random.default_rng(seed)
    X, f, said, judge = draw(rng, m, pairs, each, judges, signal)
    p = compare([_only(0), _only(1)], X, preferences=said, groups=judge).differences[0].p_value
    nested = nested_score(RankRLSCV([1.0, 10.0, 100.0]), X, preferences=said, groups=judge)
    model = RankRLSCV([1.0, 10.0, 100.0]).fit(X, preferences=said, groups=judge)
    h = model.predict(X)
    noise = rng.normal(size=(200 if judges else 1, m)) * bool(judges)
    g = f + noise
    chance = np.mean(1 / (1 + np.exp(g[:, None, :] - g[:, :, None])), axis=0)
    right = np.where(h[:, None] > h, chance, 1 - chance)[~np.eye(m, dtype=bool)]
    return p, nested.interval, right.mean()


def _permuted(case: list, scheme, repetitions: int) -> str:
    low = []
    for seed in range(repetitions):
        rng = np.random.default_rng(seed)
        X, _, said, judge = draw(rng, *case, 0.0)
        options = {"cv": scheme, "groups": judge, "n_permutations": 39, "random_state": seed}
        low.append(permutation_test(RankRLS(10.0), X, preferences=said, **options).p_value <= 0.05)
    return _percent(np.array(low))


def _fixed(judges: int, repetitions: int) -> tuple[str, str]:
    """Careful judges are right in 90%, careless ones in 50% of their 8 votes."""
    rng = np.random.default_rng(0)
    m, hits = 30, np.zeros((2, repetitions))
    f = rng.normal(size=m)
    for r in range(repetitions):
        a, b = rng.integers(0, m, (2, 200))
        a, b = a[a != b], b[a != b]
        judge = rng.integers(0, judges, len(a)) if judges else np.arange(len(a))
        careful = rng.random(judges or len(a)) < 0.5
        right = rng.random(len(a)) < np.where(careful[judge], 0.9, 0.5)
        better, worse = np.where(f[a] > f[b], (a, b), (b, a))
        winner, loser = np.where(right, (better, worse), (worse, better))
        said = Preferences(winner, loser, n_items=m)
        for way, groups in enumerate((None, judge)):
            low, high = confidence_interval(said, f, groups=groups, random_state=0)
            hits[way, r] = low <= 0.7 <= high
    return _percent(hits[0]), _percent(hits[1])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
