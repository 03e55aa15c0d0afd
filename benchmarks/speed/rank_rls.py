"""The time of RankRLS in units of work that it has to do: eigh of the kernel, XᵀX, the fit itself.

    python -m benchmarks.speed.rank_rls [growth]

With the argument `growth` it measures instead how the time grows with m, n and the number of
queries, prints the exponents and draws docs/figures/growth.png.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.speed.harness import print_machine, print_ratios
from rankwise import RankRLS, RankRLSCV
from rankwise.holdout.quadratic_problem import QuadraticProblem

ALPHAS = 2.0 ** np.arange(-15, 16)
FIGURE = Path(__file__).parents[2] / "docs" / "figures" / "growth.png"


def kernel_fits(m: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, 20))
    y = X[:, 0] + rng.normal(size=m)
    K = rbf_kernel(X, gamma=0.05)
    timed = {
        "numpy.linalg.eigh(K)": lambda: np.linalg.eigh(K),
        "fit and 31-value path": lambda: RankRLS(kernel="precomputed").fit(K, y).path(ALPHAS),
        "the same, and computing a Gaussian kernel": lambda: (
            RankRLS(kernel="rbf", gamma=0.05).fit(X, y).path(ALPHAS)
        ),
    }
    limits = {"fit and 31-value path": 1.3, "the same, and computing a Gaussian kernel": 1.3}
    if m <= 2000:
        chosen = {"kernel": "rbf", "gamma": 0.05, "cv": "leave-pair-out"}
        timed["RankRLSCV, leave-pair-out, 31 alphas"] = lambda: RankRLSCV(**chosen).fit(X, y)
        limits["RankRLSCV, leave-pair-out, 31 alphas"] = 8.0
    print_ratios(f"Kernel problems, m = {m}", timed, limits, rounds=3)


def leave_query_out() -> None:
    rng = np.random.default_rng(0)
    m = 10_000
    X = rng.normal(size=(m, 100))
    y = X[:, 0] + rng.normal(size=m)
    qid = rng.permutation(np.repeat(np.arange(500), 20))
    model = RankRLS().fit(X, y, qid=qid)
    problem = model.training_problem
    queries = list(problem.supervision.queries)

    def held_out():
        drop_cached_rows(problem)
        return problem.leave_groups_out(queries, ALPHAS)

    timed = {
        "fit": lambda: RankRLS().fit(X, y, qid=qid),
        "leave-query-out predictions, 31 alphas": held_out,
        "RankRLSCV: fit, leave-query-out, scores, choice": lambda: RankRLSCV(
            cv="leave-query-out"
        ).fit(X, y, qid=qid),
    }
    limits: dict[str, float] = {}
    print_ratios("10,000 items in 500 queries, 100 features", timed, limits, rounds=15)


def drop_cached_rows(problem: QuadraticProblem) -> None:
    """Forget P and B of every spectrum, which the first hold-out computes."""
    for _, part in problem.parts:
        for name in ("P", "B"):
            vars(part.spectrum).pop(name, None)


def primal_fit() -> None:
    rng = np.random.default_rng(0)
    m = 500_000
    X = rng.normal(size=(m, 136))
    y = X[:, 0] + rng.normal(size=m)
    qid = np.repeat(np.arange(10_000), 50)
    shuffled = rng.permutation(qid)

    def centred_ridge():
        """A plain NumPy version, for sorted queries of equal size."""
        Z = X.reshape(-1, 50, 136)
        Z = (Z - Z.mean(axis=1, keepdims=True)).reshape(m, 136) * np.sqrt(50)
        t = (y.reshape(-1, 50) - y.reshape(-1, 50).mean(axis=1, keepdims=True)).ravel()
        return np.linalg.solve(Z.T @ Z + np.eye(136), Z.T @ t * np.sqrt(50))

    by_columns = np.asfortranarray(X)
    problem = RankRLS().fit(X, y, qid=qid).training_problem
    queries = list(problem.supervision.queries)
    problem.leave_groups_out(queries, [1.0])

    def held_out():
        drop_cached_rows(problem)
        return problem.leave_groups_out(queries, [1.0])

    timed = {
        "X.T @ X": lambda: X.T @ X,
        "RankRLS fit": lambda: RankRLS().fit(X, y, qid=qid),
        "RankRLS fit, rows of a query not adjacent": lambda: RankRLS().fit(X, y, qid=shuffled),
        "RankRLS fit, one query": lambda: RankRLS().fit(X, y),
        "RankRLS fit, X in Fortran order": lambda: RankRLS().fit(by_columns, y, qid=qid),
        "RankRLS leave-query-out, one alpha": held_out,
        "query-centred ridge in plain NumPy": centred_ridge,
    }
    limits = {"RankRLS fit": 2.0}
    print_ratios("500,000 x 136 dense, 10,000 queries", timed, limits, rounds=3)


def growth() -> None:
    """Exponents of the time in each size, with the other sizes fixed."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(0)

    def primal(m, n, q):
        X, y = rng.normal(size=(m, n)), rng.normal(size=m)
        qid = rng.integers(0, q, m)
        return lambda: RankRLS().fit(X, y, qid=qid)

    def dual(m, n, q):
        X, y = rng.normal(size=(m, n)), rng.normal(size=m)
        return lambda: RankRLS(kernel="rbf").fit(X, y)

    sweeps = {
        "items m (linear, n = 50)": (
            [20_000 * 2**i for i in range(5)],
            lambda m: primal(m, 50, 1000),
        ),
        "features n (linear, m = 20,000)": (
            [25 * 2**i for i in range(5)],
            lambda n: primal(20_000, n, 500),
        ),
        "queries q (linear, m = 100,000)": (
            [10 * 8**i for i in range(5)],
            lambda q: primal(100_000, 50, q),
        ),
        "items m (Gaussian kernel)": ([250 * 2**i for i in range(4)], lambda m: dual(m, 10, 1)),
    }
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.2), layout="constrained", sharey=True)
    for panel, (name, (sizes, make)) in zip(axes, sweeps.items()):
        medians = []
        for size in sizes:
            run = make(size)
            run()
            seconds = []
            for _ in range(5):
                start = time.perf_counter()
                run()
                seconds.append(time.perf_counter() - start)
            medians.append(np.median(seconds))
        exponent = np.polyfit(np.log(sizes), np.log(medians), 1)[0]
        print(f"  {name:36} exponent {exponent:.2f}   {dict(zip(sizes, np.round(medians, 4)))}")
        panel.loglog(sizes, medians, "o-")
        panel.set(title=f"{name}\nexponent {exponent:.2f}", xlabel=name.split(" (")[0])
        panel.grid(alpha=0.3)
    axes[0].set_ylabel("seconds per fit")
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, dpi=90)
    print(f"drawn to {FIGURE.name}")


def main() -> None:
    print_machine()
    if "growth" in sys.argv[1:]:
        growth()
        return
    kernel_fits(2000)
    kernel_fits(4000)
    leave_query_out()
    primal_fit()


if __name__ == "__main__":
    main()
