"""The time and memory of fits with a reduced set, in units of the work that no fit can avoid.

    python -m benchmarks.speed.reduced_sets

The unit is a plain NumPy version: the kernel in blocks of rows, the symmetric product of each
block, and one solution of the normal equations, for a single query with all its pairs.
"""

from __future__ import annotations

import tracemalloc

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline

from benchmarks.speed.harness import print_machine, print_ratios
from rankwise import RankRLS

ALPHAS = 2.0 ** np.arange(-15, 16)


def ranking_data(m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, n))
    return X, X[:, 0] + rng.normal(size=m)


def blocked_limit(X: np.ndarray, y: np.ndarray, basis: np.ndarray, gamma: float, rows=4000):
    """Coefficients of RankRLS(1.0) by sums over blocks: Ridge with an intercept at alpha / m."""
    m, r = len(X), len(basis)
    products, moments, totals = np.zeros((r, r)), np.zeros(r), np.zeros(r)
    for low in range(0, m, rows):
        K = rbf_kernel(X[low : low + rows], X[basis], gamma)
        products += K.T @ K
        moments += K.T @ y[low : low + rows]
        totals += K.sum(axis=0)
    centred = products - np.outer(totals, totals) / m
    K_RR = rbf_kernel(X[basis], X[basis], gamma)
    return np.linalg.solve(centred + K_RR / m, moments - totals * y.mean())


def fits(m: int, n: int, r: int, rounds: int) -> None:
    X, y = ranking_data(m, n)
    basis = np.sort(np.random.default_rng(1).permutation(m)[:r])
    gamma, qid = 1.0 / n, np.arange(m) // 20

    def model(**options) -> RankRLS:
        return RankRLS(1.0, kernel="rbf", **({"gamma": gamma} | options), basis=basis)

    peer = make_pipeline(Nystroem(gamma=gamma, n_components=r, random_state=0), Ridge(1.0 / m))
    timed = {
        "blocked kernel, product, solve in NumPy": lambda: blocked_limit(X, y, basis, gamma),
        "RankRLS fit, one query": lambda: model().fit(X, y),
        "RankRLS fit, queries of 20 items": lambda: model().fit(X, y, qid=qid),
        "the same, smooth kernel (gamma / 1000)": lambda: model(gamma=gamma / 1e3).fit(X, y),
        "RankRLS fit and 31-value path": lambda: model().fit(X, y).path(ALPHAS),
        "scikit-learn's Nystroem and Ridge": lambda: peer.fit(X, y),
    }
    limits = {"RankRLS fit, one query": 1.4, "RankRLS fit, queries of 20 items": 1.4}
    title = f"{m:,} x {n}, rbf, {r} basis items"
    print_ratios(title, timed, limits, rounds=rounds)
    difference = model().fit(X, y).dual_coef_ - blocked_limit(X, y, basis, gamma)
    print(f"  largest difference of coefficients from NumPy's: {np.abs(difference).max():.1e}")
    memory(model(), X, y, r)


def memory(model: RankRLS, X: np.ndarray, y: np.ndarray, r: int) -> None:
    """Peak memory of a fit beside X, and what the map of all items would take."""
    tracemalloc.start()
    model.fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"  peak memory of the fit: {peak / 1e6:.0f} MB; the map: {8 * len(X) * r / 1e6:.0f} MB")


def main() -> None:
    print_machine()
    fits(20_000, 50, 500, rounds=5)
    fits(100_000, 50, 1000, rounds=3)


if __name__ == "__main__":
    main()
