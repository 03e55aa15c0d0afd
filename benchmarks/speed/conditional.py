"""The time of ConditionalRanker in units of the linear algebra that it has to do, in one run.

    python -m benchmarks.speed.conditional [largest p of a complete graph] [rounds]

For complete graphs the unit of a fit is two eigh and four products of that size; the limit is 1.2.
For sampled edges the unit of an iteration is the cheaper of two ways to compute its product: K V K
and then its values at the edges, or a sparse-dense product and a sampled one, both compiled; the
limit is 1.5. For a path of 20 alphas on 100,000 edges the unit is one fit, at the smallest alpha;
the limit is 3. For the best 10 of 100,000 candidates of a new row the unit is one product of a
prepared matrix with a vector. In each round the compared cases are timed one after the other.
Figures are medians and ranges over rounds.
"""

from __future__ import annotations

import os
import platform
import sys
import time

import numba
import numpy as np
import scipy
import scipy.linalg
from threadpoolctl import threadpool_info

from benchmarks.speed.harness import record
from rankwise import ConditionalRanker
from rankwise.spaces.edges import Edges

LIMIT = 1.5
COMPLETE_LIMIT = 1.2
PATH_LIMIT = 3.0
ITERATIONS = 10


def main(arguments: list[str] | None = None) -> None:
    arguments = sys.argv[1:] if arguments is None else arguments
    largest = int(arguments[0]) if arguments else 2000
    rounds = int(arguments[1]) if len(arguments) > 1 else 3
    blas = sorted({(i["internal_api"], i["num_threads"]) for i in threadpool_info()})
    print(
        f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}, "
        f"NumPy {np.__version__}, SciPy {scipy.__version__}, numba {numba.__version__}, {blas}"
    )
    complete_graphs([p for p in (1000, 2000, 4000, 5000) if p <= largest], rounds)
    sampled_edges(rounds)
    path_of_alphas(rounds, *(int(value) for value in arguments[2:4]))
    pairwise_kernels(rounds)
    ranking_many_candidates(rounds)
    cold_start(rounds)


def complete_graphs(sizes: list[int], rounds: int) -> None:
    print("\ncomplete graph, closed form        fit s   2 eigh + 4 products s   ratio (range)")
    for p in sizes:
        K, Y = node_kernel(p), np.random.default_rng(1).normal(size=(p, p))
        for objective in ("ranking", "regression"):
            fitted, unit = [], []
            for _ in range(rounds):
                model = ConditionalRanker(kernel="precomputed", objective=objective)
                fitted.append(seconds(model.fit, K, Y))
                unit.append(2 * seconds(scipy.linalg.eigh, K) + 4 * seconds(np.matmul, K, Y))
            report(f"p = {p}, {objective}", fitted, unit, COMPLETE_LIMIT)


def sampled_edges(rounds: int) -> None:
    print("\nsampled edges, one iteration            s       cheaper way s   ratio (range)")
    cases = [(500, 50_000), (1000, 50_000), (2000, 50_000), (4000, 50_000)]
    cases += [(2000, q) for q in (12_500, 200_000, 800_000)]
    for p, q in cases:
        K = node_kernel(p)
        rng = np.random.default_rng(2)
        edges, y = rng.integers(p, size=(q, 2)), rng.normal(size=q)
        pairs = Edges(edges[:, 0], edges[:, 1], (p, p))
        chosen = "dense" if pairs.dense else "sparse"
        ways: dict[str, list[float]] = {"dense": [], "sparse": []}
        iteration = []
        for _ in range(rounds):
            one, many = (seconds(iterate, K, y, edges, n) for n in (1, 1 + ITERATIONS))
            iteration.append((many - one) / ITERATIONS)
            for way, times in ways.items():
                times.append(seconds(edge_product, K, pairs, y, way == "dense"))
        cheaper = min(ways, key=lambda way: np.median(ways[way]))
        report(f"p = {p}, q = {q} ({chosen}; {cheaper} is cheaper)", iteration, ways[cheaper])


def iterate(K, y, edges, n: int, pairwise: str = "kronecker") -> None:
    model = ConditionalRanker(0, kernel="precomputed", tol=0, max_iter=n, pairwise=pairwise)
    model.fit(K, y, edges=edges)


def edge_product(K, pairs: Edges, v, dense: bool) -> np.ndarray:
    """K V K at the edges, by dense products or by sparse ones."""
    pairs.dense = dense
    return pairs.sampled(K, pairs.times(v, K).T)


def path_of_alphas(rounds: int, p: int = 1500, q: int = 100_000) -> None:
    print("\n20 alphas on sampled edges           path s            one fit s   ratio (range)")
    K, rng = node_kernel(p), np.random.default_rng(4)
    edges = rng.integers(p, size=(q, 2))
    y = rng.normal(size=q)
    alphas = np.geomspace(1.0, 1000.0, 20)
    path, unit = [], []
    for _ in range(rounds):
        model = ConditionalRanker(alphas[0], kernel="precomputed", max_iter=2000)
        unit.append(seconds(fit_edges, model, K, y, edges))
        path.append(seconds(model.path, alphas))
    report(f"p = {p}, q = {q}", path, unit, PATH_LIMIT)


def fit_edges(model, K, y, edges) -> None:
    model.fit(K, y, edges=edges)


def pairwise_kernels(rounds: int, p: int = 1000, q: int = 50_000) -> None:
    print("\none iteration of pairwise kernels        s   Kronecker s   ratio (range)")
    K, rng = node_kernel(p), np.random.default_rng(5)
    edges, y = rng.integers(p, size=(q, 2)), rng.normal(size=q)
    for pairwise in ("cartesian", "linear", "polynomial", "ranking", "mlpk"):
        measured, unit = [], []
        for _ in range(rounds):
            for name, times in ((pairwise, measured), ("kronecker", unit)):
                one, many = (seconds(iterate, K, y, edges, n, name) for n in (1, 1 + ITERATIONS))
                times.append((many - one) / ITERATIONS)
        report(f"pairwise={pairwise!r}", measured, unit, limit=None)


def cold_start(rounds: int, n: int = 100_000, p: int = 400) -> None:
    rng = np.random.default_rng(6)
    A, B, V = rng.normal(size=(68, 20)), rng.normal(size=(p, 20)), rng.normal(size=(n, 20))
    model = ConditionalRanker(kernel="rbf").fit((A, B), rng.normal(size=(68, p)))
    library = model.catalogue(V)
    W, w = rng.normal(size=(n, 68)), rng.normal(size=68)
    top, many, unit = [], [], []
    model.rank(A[0] + 1, library, 10)
    for _ in range(rounds):
        top.append(np.median([seconds(model.rank, A[0] + 1, library, 10) for _ in range(9)]))
        unit.append(np.median([seconds(np.matmul, W, w) for _ in range(9)]))
        many.append(seconds(model.rank, A + 1, library, 10) / len(A))
    print("\nthe best 10 of 100,000 columns for a new row     s   one product s   ratio (range)")
    report("rank(u, catalogue, k=10), 68 x 400 nodes, rbf", top, unit, limit=None)
    report("the same for 68 rows at once, per row", many, unit, limit=None)


def ranking_many_candidates(rounds: int, n: int = 1_000_000) -> None:
    rng = np.random.default_rng(3)
    X, V = rng.normal(size=(200, 20)), rng.normal(size=(n, 20))
    model = ConditionalRanker().fit(X, rng.normal(size=(200, 200)))
    top, unit = [], []
    for _ in range(rounds):
        top.append(seconds(model.rank, X[0], V, 10))
        unit.append(seconds(argsort_all, V, X[0]))
    print("\nthe best 10 of a million candidates     s   scores and argsort s   ratio (range)")
    report("rank(u, V, k=10)", top, unit, limit=None)


def node_kernel(p: int) -> np.ndarray:
    X = np.random.default_rng(0).normal(size=(p, 10))
    squares = (X**2).sum(axis=1)
    return np.exp(-0.05 * (squares[:, None] + squares - 2 * X @ X.T).clip(0))


def argsort_all(V, w) -> np.ndarray:
    return np.argsort(V @ w)


def seconds(run, *arguments) -> float:
    start = time.perf_counter()
    run(*arguments)
    return time.perf_counter() - start


def report(name: str, measured, unit, limit: float | None = LIMIT) -> None:
    ratios = np.divide(measured, unit)
    middle = float(np.median(ratios))
    verdict = "" if limit is None else f"  limit {limit}: {'kept' if middle <= limit else 'MISSED'}"
    print(
        f"{name:<46} {np.median(measured):8.3f} {np.median(unit):8.3f}   {middle:5.2f} "
        f"({ratios.min():.2f}-{ratios.max():.2f}){verdict}",
        flush=True,
    )
    record("Conditional ranking", name, middle, float(np.median(measured)), limit)


if __name__ == "__main__":
    main()
