"""The time of explicit preferences: sparse fits, leave-preference-out, leave-item-out, and growth.

    python -m benchmarks.speed.preferences [growth]

With the argument `growth` it measures how the time grows with the number of items instead.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy import sparse

from benchmarks.speed.harness import print_machine, print_ratios, seconds_of
from rankwise import Preferences, RankRLS, RankRLSCV
from rankwise.holdout.quadratic_problem import QuadraticProblem

ALPHAS = 2.0 ** np.arange(-15, 16)


def tournament(n_players: int, n_games: int, seed: int = 0) -> Preferences:
    """Games between random players, won with the probability of the Bradley–Terry model."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(size=n_players)
    pairs = rng.integers(0, n_players, (n_games, 2))
    a, b = pairs[pairs[:, 0] != pairs[:, 1]].T
    a_wins = rng.random(len(a)) < 1 / (1 + np.exp(strength[b] - strength[a]))
    return Preferences(np.where(a_wins, a, b), np.where(a_wins, b, a), n_items=n_players)


def sparse_fits() -> None:
    """3,000 players without features; the limit is what a dense solution of the system takes."""
    m, l = 3000, 40_000
    preferences, X = tournament(m, l), sparse.identity(m, format="csr")
    problem = RankRLS().hold_outs(X, preferences=preferences)
    quadratic = problem.loss.quadratic(problem.supervision)

    def dense_solution():
        A = quadratic.laplacian.L.toarray()
        A.flat[:: m + 1] += 1.0
        np.linalg.solve(A, quadratic.target.b)

    timed = {
        "dense system by numpy.linalg.solve": dense_solution,
        'solver="auto"': lambda: RankRLS().fit(X, preferences=preferences),
        'solver="cg"': lambda: RankRLS(solver="cg").fit(X, preferences=preferences),
    }
    print_ratios(f"{m} players, {l} games, identity features", timed, {'solver="auto"': 0.2}, 3)


def decomposed(kernel: str, m: int, l: int, n: int = 50) -> tuple[dict, QuadraticProblem]:
    """A problem on m items with its decomposition, whose price the hold-outs are compared with."""
    X = np.random.default_rng(1).normal(size=(m, n))
    preferences = tournament(m, l)
    options = {"kernel": kernel, "solver": "spectral"}
    problem = RankRLS(**options).hold_outs(X, preferences=preferences)
    problem.leave_preferences_out([1.0])
    return {"X": X, "preferences": preferences, "options": options}, problem


def forget_rows(problem: QuadraticProblem) -> None:
    """Hold-outs compute the rows of the ridge problem again, but not the decomposition."""
    for _, part in problem.parts:
        vars(part).pop("_statements", None)
        vars(part.spectrum).pop("P", None)


def hold_outs(kernel: str, m: int, l: int) -> None:
    told, problem = decomposed(kernel, m, l)

    def fit():
        RankRLS(**told["options"]).fit(told["X"], preferences=told["preferences"])

    def after_fit(method, alphas):
        forget_rows(problem)
        return getattr(problem, method)(alphas)

    def search():
        search = RankRLSCV(ALPHAS, **told["options"])
        search.fit(told["X"], preferences=told["preferences"])

    timed = {
        "fit": fit,
        "leave-preference-out, after the fit": lambda: after_fit("leave_preferences_out", [1.0]),
        "leave-preference-out, 31 alphas, after the fit": lambda: after_fit(
            "leave_preferences_out", ALPHAS
        ),
        "leave-item-out, after the fit": lambda: after_fit("leave_each_out", [1.0]),
        "RankRLSCV, leave-preference-out, 31 alphas": search,
    }
    limits = {"leave-preference-out, after the fit": 0.5}
    print_ratios(f"{kernel}, {m} items, {l} statements", timed, limits, rounds=3)


def growing(m: int) -> dict[str, float]:
    """Median seconds with m items and 10 statements for each item."""
    told, problem = decomposed("rbf", m, 10 * m)
    X, games = sparse.identity(10 * m, format="csr"), tournament(10 * m, 100 * m)
    model = RankRLS(**told["options"])
    timed = {
        "rbf fit": lambda: model.fit(told["X"], preferences=told["preferences"]),
        "leave-preference-out": lambda: problem.leave_preferences_out([1.0]),
        "leave-item-out": lambda: problem.leave_each_out([1.0]),
        "sparse fit of 10 m players": lambda: RankRLS().fit(X, preferences=games),
    }
    return {name: float(np.median(times)) for name, times in seconds_of(timed, 3).items()}


def growth() -> None:
    sizes = (250, 500, 1000)
    rows = [growing(m) for m in sizes]
    print(f"\nSeconds for m = {sizes}, and the exponent from the first to the last")
    for name in rows[0]:
        times = [row[name] for row in rows]
        exponent = np.log(times[-1] / times[0]) / np.log(sizes[-1] / sizes[0])
        print(f"  {name:45}" + "".join(f"{t:10.4f}" for t in times) + f"   m^{exponent:.2f}")


def main() -> None:
    print_machine()
    if sys.argv[1:] == ["growth"]:
        growth()
        return
    sparse_fits()
    hold_outs("linear", 3000, 40_000)
    hold_outs("rbf", 1000, 10_000)


if __name__ == "__main__":
    main()
