"""RankLogistic: how often intervals of strengths and of ranks hold true, on simulated votes.

The strengths are known, because votes are drawn from the model. For 95% intervals the tables show
the share that covers the truth: of each score on its own (score_intervals), of the score of the
best item, and of all ranks together (rank_intervals).

    python -m benchmarks.papers.votes_coverage [repetitions, default 400]
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

from benchmarks.papers import table
from rankwise import Preferences, PreferenceWarning, RankLogistic

ALPHAS = (0.001, 0.01, 0.1, 1.0, 10.0)
ITEMS = ((5, 50), (5, 500), (15, 150), (15, 1500), (40, 4000))


def main(repetitions: int = 400) -> None:
    warnings.simplefilter("ignore", PreferenceWarning)
    rng = np.random.default_rng(0)
    header = ("items, votes, range of strengths", *(f"alpha {alpha:g}" for alpha in ALPHAS))
    rows, best, ranks = [], [], []
    for m, l in ITEMS:
        for spread in (0.0, 2.0, 4.0):
            found = [_strengths(m, l, spread, alpha, repetitions, rng) for alpha in ALPHAS]
            name = f"{m}, {l}, {spread:g}"
            for part, k in ((rows, 0), (best, 1), (ranks, 2)):
                part.append((name, *(f"{100 * one[k]:.0f}" for one in found)))
    table.show("score_intervals, no features: % covered", header, rows)
    table.show("score_intervals, no features, the best item alone: % covered", header, best)
    table.show("rank_intervals, no features: % with all ranks covered", header, ranks)
    rng = np.random.default_rng(1)
    rows = [
        (f"{m} items, {n} features, {l} votes", *_features(m, n, l, repetitions // 2, rng))
        for m, n, l in ((20, 3, 100), (20, 3, 1000), (50, 10, 1000), (50, 10, 5000))
    ]
    header = (
        "",
        "linear, small alpha",
        "own strengths from the prior",
        "ranks, these",
        "newcomers",
    )
    table.show("features: % covered", header, rows)
    rng = np.random.default_rng(2)
    rows = [
        (name, *_effects(options, repetitions // 2, rng))
        for name, options in (
            ("order effect 0.5", {"order_effect": True}),
            ("Davidson's ties (1 of 4), by Davidson's model", {"ties": "davidson"}),
            ("the same ties, by halves", {"ties": "half"}),
        )
    ]
    header = ("12 items, 1200 votes, alpha 0.01", "scores", "all ranks")
    table.show("order and tie effects: % covered", header, rows)
    rng = np.random.default_rng(3)
    rows = [(J, *_judges(J, repetitions // 2, rng)) for J in (5, 10, 20, 50, 200)]
    header = (
        "judges",
        "scores, Laplace",
        "scores, by judge",
        "all ranks, Laplace",
        "all ranks, by judge",
    )
    table.show("judges who say everything five times: % covered", header, rows)


def votes(truth: np.ndarray, l: int, rng, order: float = 0.0, nu: float = 0.0) -> Preferences:
    """l votes about random pairs."""
    m = len(truth)
    a = rng.integers(0, m, l)
    b = (a + rng.integers(1, m, l)) % m
    return drawn(truth, a, b, rng, order, nu)


def drawn(truth, a, b, rng, order: float = 0.0, nu: float = 0.0) -> Preferences:
    d = truth[a] - truth[b] + order
    up, down = np.exp(d / 2), np.exp(-d / 2)
    u = rng.uniform(size=len(a)) * (up + down + nu)
    won, tie = u < up, u >= up + down
    P = Preferences(
        np.where(won | tie, a, b), np.where(won | tie, b, a), n_items=len(truth), tie=tie
    )
    P.winner_first = won | tie
    return P


def _within(intervals: np.ndarray, truth: np.ndarray) -> np.ndarray:
    return (intervals[:, 0] <= truth) & (truth <= intervals[:, 1])


def true_ranks(truth: np.ndarray) -> np.ndarray:
    """(m, 2) the ranks that an item may have: several if others are as strong."""
    above = (truth[:, None] < truth).sum(axis=1)
    as_strong = (truth[:, None] == truth).sum(axis=1)
    return np.column_stack((1 + above, above + as_strong))


def ranks_hold(model: RankLogistic, truth: np.ndarray, X=None, **options) -> bool:
    found, true = model.rank_intervals(X, **options), true_ranks(truth)
    return bool(np.all((found[:, 0] <= true[:, 0]) & (true[:, 1] <= found[:, 1])))


def _strengths(m, l, spread, alpha, repetitions, rng) -> np.ndarray:
    truth = np.linspace(-spread / 2, spread / 2, m)
    hits = np.zeros(3)
    for _ in range(repetitions):
        model = RankLogistic(alpha).fit(None, preferences=votes(truth, l, rng))
        covered = _within(model.score_intervals(), truth - truth.mean())
        hits += covered.mean(), covered[-1], ranks_hold(model, truth)
    return hits / repetitions


def _features(m, n, l, repetitions, rng) -> list[str]:
    hits = np.zeros(4)
    for _ in range(repetitions):
        X, new = rng.normal(size=(m, n)), rng.normal(size=(5, n))
        w = rng.normal(size=n) / np.sqrt(n)
        model = RankLogistic(1e-3).fit(X, preferences=votes(X @ w, l, rng))
        intervals = model.score_intervals(X)
        shift = model.predict(X).mean() - (X @ w).mean()
        hits[0] += _within(intervals, X @ w + shift).mean()
        # Strengths drawn from the prior of alpha = 1/2: weights and own strengths of variance 1.
        effects = 0.5 * rng.normal(size=m + 5)
        w = rng.normal(size=n)
        truth, coming = X @ w + effects[:m], new @ w + effects[m:]
        model = RankLogistic(0.5, item_effect=0.25).fit(X, preferences=votes(truth, l, rng))
        shift = model.predict(None).mean() - truth.mean()
        hits[1] += _within(model.score_intervals(None), truth + shift).mean()
        hits[2] += ranks_hold(model, truth)
        shift = model.predict(new).mean() - coming.mean()
        hits[3] += _within(model.score_intervals(new), coming + shift).mean()
    return [f"{100 * share:.0f}" for share in hits / repetitions]


def _effects(options, repetitions, rng) -> list[str]:
    truth = np.linspace(-1, 1, 12)
    hits = np.zeros(2)
    order = 0.5 if options.get("order_effect") else 0.0
    nu = 0.7 if "ties" in options else 0.0
    for _ in range(repetitions):
        P = votes(truth, 1200, rng, order, nu)
        model = RankLogistic(0.01, **options).fit(None, preferences=P)
        hits += _within(model.score_intervals(), truth).mean(), ranks_hold(model, truth)
    return [f"{100 * share:.0f}" for share in hits / repetitions]


def _judges(J, repetitions, rng) -> list[str]:
    """Each judge votes about 40 random pairs, and every vote is recorded five times."""
    truth = np.linspace(-1, 1, 8)
    hits = np.zeros(4)
    for _ in range(repetitions):
        once = votes(truth, 40 * J, rng)
        P = Preferences(np.tile(once.winner, 5), np.tile(once.loser, 5), n_items=8)
        judges = np.tile(np.repeat(np.arange(J), 40), 5)
        model = RankLogistic(0.01).fit(None, preferences=P, groups=judges)
        hits += (
            _within(model.score_intervals(robust=False), truth).mean(),
            _within(model.score_intervals(), truth).mean(),
            ranks_hold(model, truth, robust=False),
            ranks_hold(model, truth),
        )
    return [f"{100 * share:.0f}" for share in hits / repetitions]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
