"""evaluation.transitivity_test: how often it rejects true orders, and finds cycles.

    python -m benchmarks.papers.votes_transitivity [repetitions, default 300]

Votes are drawn from Bradley and Terry's model (there is an order), from coin tosses (nothing), from
a probit model (there is an order, and another curve), and from games of rock-paper-scissors. Each
row shows how often the p-value is at most 0.05.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from scipy.stats import norm

from benchmarks.papers import table
from benchmarks.papers.votes_coverage import votes
from rankwise import Preferences, PreferenceWarning
from rankwise.datasets import make_rock_paper_scissors
from rankwise.evaluation import judge_agreement, transitivity_test

SIZES = ((5, 50), (5, 500), (10, 100), (10, 1000), (20, 2000))
PERMUTATIONS = 199


def main(repetitions: int = 300) -> None:
    warnings.simplefilter("ignore", PreferenceWarning)
    rng = np.random.default_rng(0)
    rows = [
        (f"{m}, {l}", *(_rejected(make, m, l, repetitions, rng) for make in TRUE_ORDERS.values()))
        for m, l in SIZES
    ]
    header = ("items, votes", *TRUE_ORDERS)
    table.show("p_value at most 0.05 although there is an order, %", header, rows)
    rows = [
        (f"{m}, {l}", *(_rejected(_games(w), m, l, repetitions // 2, rng) for w in (1, 5, 20, 100)))
        for m, l in SIZES
    ]
    header = ("players, games", *(f"w = {w}" for w in (1, 5, 20, 100)))
    table.show("rock-paper-scissors: p_value at most 0.05, %", header, rows)
    rows = []
    for m, l in SIZES:
        order = _rejected(_order(0.0), m, l, repetitions, rng, "order_p_value")
        some = _rejected(_order(1.0), m, l, repetitions // 2, rng, "order_p_value")
        rows.append((f"{m}, {l}", order, some, _agreeing(m, l, repetitions // 2, rng)))
    header = ("items, votes", "coin tosses", "range 1", "judge_agreement, coin tosses")
    table.show("order_p_value at most 0.05, %", header, rows)


def _order(spread: float, nu: float = 0.0):
    return lambda m, l, rng: (votes(np.linspace(-spread / 2, spread / 2, m), l, rng, 0.0, nu), None)


def _judged(m, l, rng):
    """Twenty judges say everything twice."""
    P, _ = _order(2.0)(m, l // 2, rng)
    judges = np.tile(np.arange(len(P)) % 20, 2)
    return Preferences(np.tile(P.winner, 2), np.tile(P.loser, 2), n_items=m), judges


def _repeated(m, l, rng):
    return _judged(m, l, rng)[0], None


def _probit(m, l, rng):
    f = np.linspace(-1.2, 1.2, m)
    a = rng.integers(0, m, l)
    b = (a + rng.integers(1, m, l)) % m
    won = rng.uniform(size=l) < norm.cdf(f[a] - f[b])
    return Preferences(np.where(won, a, b), np.where(won, b, a), n_items=m), None


TRUE_ORDERS = {
    "range 2": _order(2.0),
    "range 4": _order(4.0),
    "range 2, ties": _order(2.0, 0.7),
    "probit": _probit,
    "said twice, by judge": _judged,
    "said twice, no groups": _repeated,
}


def _games(w: float):
    def make(m, l, rng):
        seed = int(rng.integers(1 << 30))
        found = make_rock_paper_scissors(w, n_players=m, n_games=l, random_state=seed)
        edges, y = found.edges[::2], found.y[::2]
        winner = np.where(y >= 0, edges[:, 0], edges[:, 1])
        return Preferences(winner, edges.sum(axis=1) - winner, n_items=m, tie=y == 0), None

    return make


def _rejected(make, m, l, repetitions, rng, which: str = "p_value") -> str:
    small = 0
    for seed in range(repetitions):
        P, groups = make(m, l, rng)
        found = transitivity_test(P, groups=groups, n_permutations=PERMUTATIONS, random_state=seed)
        small += getattr(found, which) <= 0.05
    return f"{100 * small / repetitions:.1f}"


def _agreeing(m, l, repetitions, rng) -> str:
    small = 0
    for seed in range(repetitions):
        P, _ = _order(0.0)(m, l, rng)
        judges = rng.integers(0, 10, l)
        found = judge_agreement(P, judges, n_permutations=PERMUTATIONS, random_state=seed)
        small += found.p_value <= 0.05
    return f"{100 * small / repetitions:.1f}"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
