"""The time of a step of SVRank and of online MPRank, in units of necessary work, in one run.

    python -m benchmarks.speed.magnitude [step] [online] [items=20000]

step: SVRank, linear, 100,000 items; the unit is one argsort and two products with X.
online: MPRank, rbf kernel; the unit is the batch solution of equation 13 by one Cholesky
factorisation, which is the cheapest way. Both times include the kernel matrix.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import scipy.linalg
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.papers.table import show
from benchmarks.speed.harness import print_machine, print_ratios
from rankwise.learners.mprank import MPRank
from rankwise.losses.epsilon_insensitive import residual_risk
from rankwise.numerics.block_cholesky import cholesky_in_place
from rankwise.numerics.threads import one_blas_thread
from rankwise.solvers.bundle import BundleSolver
from rankwise.solvers.newton import NewtonSolver
from rankwise.supervision.queries import Queries

CS = (10.0, 1000.0)
"""A small and a large C: the number of passes grows with C."""


def step(m: int = 100_000, n: int = 50) -> None:
    """One evaluation with two products, and one iteration of a whole fit, in units."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, n))
    w = rng.normal(size=n)
    y = X @ w + rng.normal(size=m)
    p, queries = X @ (0.5 * w), Queries.from_labels(None, m)

    def unit():
        np.argsort(p - y)
        return X @ w, X.T @ p

    def one_step(power):
        risk = residual_risk(y, queries, np.ones(m), 0.1, power)

        def run():
            return X.T @ risk.at(X @ w).gradient

        return run

    with one_blas_thread():
        timed = {"argsort and two products": unit}
        timed |= {f"SVRank, norm {power}: one step": one_step(power) for power in (1, 2)}
        limits = {name: 3.0 for name in list(timed)[1:]}
        title = f"SVRank, linear, {m} items, {n} features"
        seconds = print_ratios(title, timed, limits, rounds=9)
    for power, solver in ((1, BundleSolver), (2, NewtonSolver)):
        risk = residual_risk(y, queries, np.ones(m), 0.1, power)
        tol = 1e-3 * (risk.at(np.zeros(m)).value if power == 1 else 1.0)
        start = time.perf_counter()
        found = solver(X, risk).solve(1 / CS[0], tol=tol)
        ratio = (
            (time.perf_counter() - start) / found.n_iter / np.median(next(iter(seconds.values())))
        )
        print(f"  whole fit, norm {power}: {found.n_iter} iterations of {ratio:.1f} units each")


def online(m: int, C: float) -> None:
    """Time and final objective, with and without a cache of kernel rows, against batch."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, 10))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=m)
    start = time.perf_counter()
    least = batch_objective(X, y, C)
    batch = time.perf_counter() - start
    rows = [("batch, one Cholesky factorisation", batch, 1.0, 0.0, None)]
    for cache_size in (8 * m * m / 1e6 + 100, 0):
        for tol in (1e-2, 1e-4):
            start = time.perf_counter()
            model = MPRank(C, kernel="rbf", solver="online", tol=tol, cache_size=cache_size)
            model.fit(X, y)
            elapsed = time.perf_counter() - start
            name = f"online, {'rows kept' if cache_size else 'no row kept'}, tol {tol:g}"
            excess = 100 * (model.objective_ / least - 1)
            rows.append((name, elapsed, elapsed / batch, excess, model.n_iter_))
    header = ("", "seconds", "ratio to batch", "% above the least objective", "passes")
    show(f"MPRank, rbf kernel, {m} items, C = {C:g}", header, rows)


def batch_objective(X, y, C) -> float:
    """The least F: ỹᵀα with (K̃ + m/(2C)) α = ỹ; K̃ is formed and factorised in place."""
    m = len(y)
    K = rbf_kernel(X, gamma=1 / X.shape[1])
    means = K.mean(axis=0)
    K -= means
    K -= means[:, None] - means.mean()
    K.flat[:: m + 1] += m / (2 * C)
    centred = y - y.mean()
    factor = (cholesky_in_place(K), True)
    return float(centred @ scipy.linalg.cho_solve(factor, centred, check_finite=False))


def main() -> None:
    words = sys.argv[1:]
    sizes = [int(word.removeprefix("items=")) for word in words if word.startswith("items=")]
    parts = [word for word in words if "=" not in word] or ["step", "online"]
    print_machine()
    if "step" in parts:
        step()
    if "online" in parts:
        for C in CS:
            online(sizes[0] if sizes else 20_000, C)


if __name__ == "__main__":
    main()
