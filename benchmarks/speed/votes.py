"""RankLogistic on votes: 25 items with a million votes, 10 million votes on 10,000 items, growth.

    python -m benchmarks.speed.votes [board] [large] [growth] [peers] [memory] [pairs]

Each figure is the ratio of two times taken next to each other. The unit is one pass that adds up
the votes by winner (np.bincount), which every method has to make at least.
"""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np

from benchmarks.speed import harness
from rankwise import Preferences, RankLogistic, RankLogisticCV

LARGE = (10_000, 10_000_000)


def votes(m: int, l: int, seed: int = 0) -> Preferences:
    rng = np.random.default_rng(seed)
    f = rng.normal(size=m)
    a = rng.integers(0, m, l)
    b = (a + rng.integers(1, m, l)) % m
    won = rng.logistic(size=l) < f[a] - f[b]
    return Preferences(np.where(won, a, b), np.where(won, b, a), n_items=m)


def one_pass(P: Preferences):
    return lambda: np.bincount(P.winner, P.weight, P.n_items)


def fit(P: Preferences, **options):
    return lambda: RankLogistic(**options).fit(None, preferences=P)


def board(rounds: int = 5) -> None:
    P = votes(25, 1_000_000)
    timed = {
        "one pass over the votes": one_pass(P),
        "Preferences(winner, loser)": lambda: Preferences(P.winner, P.loser, n_items=25),
        "fit": fit(P),
        "fit, ties by Davidson": fit(P, ties="davidson"),
        "fit, rank_intervals and next_pairs": lambda: _everything(P),
        "RankLogisticCV": lambda: RankLogisticCV().fit(None, preferences=P),
    }
    seconds = harness.print_ratios("25 items, 1 million votes", timed, {}, rounds)
    print(f"  fit below 2 s: {'holds' if np.median(seconds['fit']) < 2 else 'EXCEEDED'}")


def _everything(P: Preferences) -> None:
    model = fit(P)()
    model.rank_intervals()
    model.next_pairs()


def large(rounds: int = 3) -> None:
    P = votes(*LARGE)
    timed = {"one pass over the votes": one_pass(P), "fit": fit(P)}
    seconds = harness.print_ratios("10,000 items, 10 million votes", timed, {}, rounds)
    print(f"  fit at most 10 s: {'holds' if np.median(seconds['fit']) <= 10 else 'EXCEEDED'}")


def growth(rounds: int = 3) -> None:
    for title, sizes in (
        ("votes on 10,000 items", [(10_000, l) for l in (300_000, 1_000_000, 3_000_000)]),
        ("items with 100 votes each", [(m, 50 * m) for m in (3_000, 10_000, 30_000, 100_000)]),
    ):
        print(f"\ngrowth by {title}")
        measured = []
        for m, l in sizes:
            seconds = harness.seconds_of({"fit": fit(votes(m, l))}, rounds)["fit"]
            measured.append(np.median(seconds))
            print(f"  {m:>9,} items {l:>12,} votes {harness.spread(seconds, 3):>24} s")
        size = np.log([l for _, l in sizes])
        print(f"  time grows as votes^{np.polyfit(size, np.log(measured), 1)[0]:.2f}")


def peers(rounds: int = 3) -> None:
    """scikit-learn on one sparse row of differences for each vote, with its own tolerance."""
    from scipy import sparse
    from sklearn.linear_model import LogisticRegression

    m, l = 200, 200_000
    P = votes(m, l)
    ends = np.concatenate((P.winner, P.loser))
    rows = np.tile(np.arange(l), 2)
    D = sparse.coo_array((np.repeat([1.0, -1.0], l), (rows, ends)), shape=(l, m)).tocsr()
    y = np.random.default_rng(0).uniform(size=l) < 0.5
    D = sparse.diags_array(np.where(y, 1.0, -1.0)) @ D
    peer = LogisticRegression(C=0.5, fit_intercept=False, solver="newton-cg", max_iter=200)
    timed = {"RankLogistic": fit(P), "LogisticRegression on differences": lambda: peer.fit(D, y)}
    harness.print_ratios("200 items, 200,000 votes", timed, {}, rounds)


def pairs(rounds: int = 3) -> None:
    """A candidate of next_pairs costs O(1): all pairs against the covariance that they need."""
    for m in (200, 800):
        model = fit(votes(m, 50 * m))()
        timed = {
            "score_covariance": model.score_covariance,
            "next_pairs, 1": lambda model=model: model.next_pairs(n=1),
            "next_pairs, 50": lambda model=model: model.next_pairs(n=50),
        }
        harness.print_ratios(f"{m} items, {m * (m - 1) // 2:,} candidates", timed, {}, rounds)


def memory() -> None:
    """The largest resident memory of a new process, before and after a fit of 10 million votes."""
    code = (
        "import resource\n"
        "from benchmarks.speed.votes import LARGE, fit, votes\n"
        "def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
        "P = votes(*LARGE)\n"
        "before = peak()\n"
        "model = fit(P)()\n"
        "arrays = sum(a.nbytes for a in (P.winner, P.loser, P.magnitude, P.weight, P.tie)) / 1e6\n"
        "print(f'{before:.0f} MB before (votes are simulated), {peak():.0f} MB after; the votes "
        "themselves take {arrays:.0f} MB, {len(model._counts):,} pairs')\n"
    )
    start = time.perf_counter()
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    print(f"\nmemory: {run.stdout.strip()} ({time.perf_counter() - start:.0f} s)")


PARTS = {part.__name__: part for part in (board, large, growth, peers, pairs, memory)}


def main(*wanted: str) -> None:
    harness.print_machine()
    for name in wanted or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main(*sys.argv[1:])
