"""Kernel fits for one alpha against one Cholesky factorisation, in one run.

    python -m benchmarks.speed.kernel_fits [fits] [memory] [loo] [items=1000,2000,4000]

fits: RankRLS, RLS and MPRank with a Gaussian kernel; the unit is the kernel, its Cholesky factor
and one solution in scikit-learn and SciPy. scikit-learn's KernelRidge stands beside them.
memory: the largest memory of a fit in a process of its own, in kernel matrices.
loo: MPRank's leave-one-out error over all pairs, in units of one eigendecomposition.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import scipy.linalg
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.speed.harness import print_machine, print_ratios
from rankwise import RLS, MPRank, RankRLS

N_FEATURES, GAMMA = 10, 0.1
LEARNERS: dict[str, Callable] = {
    "RankRLS": lambda: RankRLS(kernel="rbf", gamma=GAMMA),
    "RankRLS, 50 queries": lambda: RankRLS(kernel="rbf", gamma=GAMMA),
    "RankRLS, unit loss, 5 levels": lambda: RankRLS(kernel="rbf", gamma=GAMMA, loss="unit"),
    "RLS": lambda: RLS(kernel="rbf", gamma=GAMMA),
    "MPRank": lambda: MPRank(kernel="rbf", gamma=GAMMA, solver="closed"),
    "KernelRidge": lambda: KernelRidge(kernel="rbf", gamma=GAMMA),
}
PEAK = """
import resource, sys
import numpy as np
from benchmarks.speed.kernel_fits import LEARNERS, fit, problem
name, m = sys.argv[1], int(sys.argv[2])
X, y = problem(m)
if name != "nothing":
    fit(name, X[:40], y[:40])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
if name != "nothing":
    fit(name, X, y)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / (8 * m * m))
"""


def problem(m: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, N_FEATURES))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=m)


def fit(name: str, X: np.ndarray, y: np.ndarray) -> object:
    if "queries" in name:
        return LEARNERS[name]().fit(X, y, qid=np.arange(len(y)) % 50)
    if "levels" in name:
        y = np.digitize(y, np.quantile(y, [0.2, 0.4, 0.6, 0.8])).astype(float)
    return LEARNERS[name]().fit(X, y)


def necessary(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The kernel matrix, its factor in place, one solution."""
    K = rbf_kernel(X, gamma=GAMMA)
    K.flat[:: len(K) + 1] += 1.0
    factor = scipy.linalg.cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
    return scipy.linalg.cho_solve(factor, y, check_finite=False)


def fits(m: int) -> None:
    X, y = problem(m)
    timed: dict[str, Callable] = {"kernel + Cholesky + solve": lambda: necessary(X, y)}
    timed |= {name: lambda name=name: fit(name, X, y) for name in LEARNERS}
    limits = {name: 1.3 for name in LEARNERS if name != "KernelRidge"}
    print_ratios(f"fits, rbf, {m} items", timed, limits, rounds=9 if m <= 2000 else 3)


def memory(m: int) -> None:
    print(f"\nlargest memory of a fit beyond X and y, {m} items, in kernel matrices; limit 2.2")
    for name in LEARNERS:
        command = [sys.executable, "-c", PEAK, name, str(m)]
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        print(f"  {name:52}{float(found):.2f}")


def loo(m: int) -> None:
    X, y = problem(m)
    K = rbf_kernel(X, gamma=GAMMA)
    timed = {
        "one eigendecomposition": lambda: np.linalg.eigh(K),
        "fit and pairwise_loo": lambda: fit("MPRank", X, y).pairwise_loo(),
    }
    print_ratios(f"MPRank, leave-one-out over pairs, rbf, {m} items", timed, {}, rounds=3)


def main() -> None:
    print_machine()
    sizes = [word.removeprefix("items=") for word in sys.argv[1:] if word.startswith("items=")]
    items = [int(m) for m in sizes[0].split(",")] if sizes else [1000, 2000, 4000, 8000]
    parts = [word for word in sys.argv[1:] if not word.startswith("items=")]
    for m in items if not parts or "fits" in parts else []:
        fits(m)
    if not parts or "memory" in parts:
        memory(items[-1])
    if not parts or "loo" in parts:
        loo(2000)


if __name__ == "__main__":
    main()
