"""How the time of fits and hold-outs of every loss grows with the number of items.

    python -m benchmarks.speed.growth [seconds=8] [items=250,500,1000,2000,4000]

A row goes on to the next size as long as one call is expected to take at most `seconds`, so the
whole takes about 25 times `seconds`, three to four minutes by default; seconds=90 with
items=250,500,1000,2000,4000,8000 takes about half an hour. The exponents are those between
neighbouring sizes: 3 is a factorisation, 2 a matrix, 1 a pass over the items. Five score levels,
a Gaussian kernel with 10 features unless another is named.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from benchmarks.speed.harness import print_machine, record
from rankwise import RLS, Censored, MPRank, Preferences, RankLogistic, RankRLS, RankRLSCV, RankSVM

SIZES = (250, 500, 1000, 2000, 4000)
REFITTED = {
    "leave-one-out, relative": (60, 120, 250, 500, 1000),
    "leave-pair-out of all pairs, relative": (12, 25, 50, 100),
}
"""Rows that refit without each item or pair, and where they start."""
WORST = 4.0
"""The exponent that is feared when the time of the next size is estimated."""
KERNEL = {"kernel": "rbf", "gamma": 0.1}
LOSSES: dict[str, dict] = {
    "magnitude": {},
    "magnitude, ties dropped": {"ties": "drop"},
    "unit": {"loss": "unit"},
    "relative": {"loss": "relative"},
}


class Data:
    """The same items told as scores, as statements and as censored outcomes."""

    def __init__(self, m: int):
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(m, 10))
        worth = np.sin(self.X[:, 0]) + self.X[:, 1] * self.X[:, 2] + 0.3 * rng.normal(size=m)
        self.y = np.digitize(worth, np.quantile(worth, [0.2, 0.4, 0.6, 0.8])).astype(float)
        a, b = rng.integers(0, m, (2, 10 * m))
        a, b = a[a != b], b[a != b]
        wins = worth[a] + rng.normal(size=len(a)) > worth[b]
        self.preferences = Preferences(np.where(wins, a, b), np.where(wins, b, a), n_items=m)
        self.censored = Censored(rng.random(m) < 0.7, np.exp(worth))


def fits() -> dict[str, Callable[[Data], object]]:
    rows: dict[str, Callable[[Data], object]] = {
        f"RankRLS, {name}": lambda d, o=options: RankRLS(**KERNEL, **o).fit(d.X, d.y)
        for name, options in LOSSES.items()
    }
    return rows | {
        "RankRLS, preferences": lambda d: RankRLS(**KERNEL).fit(d.X, preferences=d.preferences),
        "RankRLS, censored": lambda d: RankRLS(**KERNEL).fit(d.X, d.censored),
        "RLS": lambda d: RLS(**KERNEL).fit(d.X, d.y),
        "MPRank": lambda d: MPRank(solver="closed", **KERNEL).fit(d.X, d.y),
        "RankSVM hinge, linear": lambda d: RankSVM(1e-3).fit(d.X, d.y),
        "RankSVM squared hinge, linear": lambda d: RankSVM(1e-3, loss="squared_hinge").fit(
            d.X, d.y
        ),
        "RankLogistic, linear": lambda d: RankLogistic().fit(d.X, preferences=d.preferences),
    }


def hold_outs() -> dict[str, Callable[[Data], object]]:
    """Each with its decomposition."""
    rows: dict[str, Callable[[Data], object]] = {}
    for name, options in LOSSES.items():
        rows[f"leave-one-out, {name}"] = lambda d, o=options: (
            RankRLS(**KERNEL, **o).hold_outs(d.X, d.y).leave_each_out([1.0])
        )
        rows[f"leave-pair-out of all pairs, {name}"] = lambda d, o=options: RankRLSCV(
            [1.0], cv="leave-pair-out", **KERNEL, **o
        ).fit(d.X, d.y)
    rows["leave-preference-out"] = lambda d: (
        RankRLS(**KERNEL).hold_outs(d.X, preferences=d.preferences).leave_preferences_out([1.0])
    )
    rows["leave-item-out, preferences"] = lambda d: (
        RankRLS(**KERNEL).hold_outs(d.X, preferences=d.preferences).leave_each_out([1.0])
    )
    rows["leave-one-out, censored, linear"] = lambda d: (
        RankRLS().hold_outs(d.X, d.censored).leave_each_out([1.0])
    )
    rows["leave-one-out over pairs, MPRank"] = lambda d: (
        MPRank(solver="closed", **KERNEL).fit(d.X, d.y).pairwise_loo()
    )
    return rows


def measured(run: Callable[[Data], object], sizes: tuple[int, ...], most: float) -> list[float]:
    """Seconds for each size, until the next would take more than `most`."""
    run(Data(12))
    seconds: list[float] = []
    for m in sizes:
        step = m / sizes[len(seconds) - 1] if seconds else 1.0
        if seconds and seconds[-1] * step**WORST > most:
            break
        data, rounds = Data(m), []
        while len(rounds) < 3 and sum(rounds) < most:
            start = time.perf_counter()
            run(data)
            rounds.append(time.perf_counter() - start)
        seconds.append(float(np.median(rounds)))
        if seconds[-1] > most:
            break
    return seconds


def main() -> None:
    print_machine()
    given = dict(word.split("=") for word in sys.argv[1:] if "=" in word)
    most = float(given.get("seconds", 8))
    sizes = tuple(int(m) for m in given["items"].split(",")) if "items" in given else SIZES
    for title, rows in (("fits", fits()), ("hold-outs", hold_outs())):
        print(f"\n{title}: exponents from {' to '.join(map(str, sizes))} items", flush=True)
        for name, run in rows.items():
            tried = REFITTED.get(name, sizes)
            seconds = measured(run, tried, most)
            used = np.array(tried[: len(seconds)])
            exponents = np.diff(np.log(seconds)) / np.diff(np.log(used))
            shown = "  ".join(f"{value:.2f}" for value in exponents)
            print(f"  {name:46}{shown:32}{used[-1]} items: {seconds[-1]:.3g} s", flush=True)
            if len(exponents):
                table = f"growth of {title}; the ratio is the last exponent"
                record(table, f"{name}, to {used[-1]} items", float(exponents[-1]), seconds[-1])


if __name__ == "__main__":
    main()
