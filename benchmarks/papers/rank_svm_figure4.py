"""Airola et al. 2011, Figure 4: test errors of the objectives of TreeRSVM, SVMrank and PRSVM.

Cadata has 8 features, standardised by the training rows; 4000 rows test. The paper uses lambda =
0.1 in J(w) = mean hinge loss + lambda ‖w‖² (TreeRSVM), and C = 1/(lambda N) for the other programs.
SVMrank minimises ½‖w‖² + C Σ hinge and PRSVM ½‖w‖² + C Σ hinge². With this C their objectives are
(mean loss + lambda/2 ‖w‖²)/lambda, so ours have alpha = lambda/2 here.

"tuned" chooses alpha from 10^1 .. 10^-7, for each loss by itself, on a fifth of the training rows,
and trains again on all of them. The synthetic data with the shape of RCV1 have 20,000 rows to test.
± is the standard deviation of the test error over ten parts of the test rows, divided by √10.

    python -m benchmarks.papers.rank_svm_figure4 [largest size, default 16000]
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.papers import data, table
from benchmarks.speed.rank_svm import risk_of
from benchmarks.speed.text_like import text_like
from rankwise.metrics import misranking
from rankwise.solvers.bundle import BundleSolver
from rankwise.solvers.newton import NewtonSolver

ALPHAS = 10.0 ** np.arange(1, -8, -1)
SOLVERS = {"hinge": BundleSolver, "squared_hinge": NewtonSolver}
OBJECTIVES = {
    "TreeRSVM": ("hinge", 1.0),
    "SVMrank": ("hinge", 0.5),
    "PRSVM": ("squared_hinge", 0.5),
}
"""Loss, and alpha in units of the paper's lambda."""


def main(largest: int = 16_000) -> None:
    for name, (train, test), paper in (
        ("cadata", cadata_sets(), 0.1),
        ("text-like", text_sets(largest), 1e-5),
    ):
        rows = []
        for m in (size for size in (1000, 4000, 16_000) if size <= largest):
            X, y = train[0][:m], train[1][:m]
            if name == "cadata":
                mean, deviation = X.mean(axis=0), X.std(axis=0)
                X, X_test = (X - mean) / deviation, (test[0] - mean) / deviation
            else:
                X_test = test[0]
            cells = []
            for loss, share in OBJECTIVES.values():
                w = solved(X, y, loss, [paper * share])[0]
                cells.append(error(test[1], X_test @ w))
            for loss in SOLVERS:
                alpha = tuned(X, y, loss)
                w = solved(X, y, loss, [alpha])[0]
                cells.append(f"{error(test[1], X_test @ w)} ({alpha:.0e})")
            rows.append((f"{m:,}", *cells))
        header = ("items", *OBJECTIVES, "hinge, tuned (alpha)", "squared hinge, tuned (alpha)")
        table.show(
            f"Figure 4, {name}, lambda {paper:g}: share of misranked test pairs", header, rows
        )


def cadata_sets():
    """Rows in random order: (X, y) to train on and (X, y) to test on, not standardised."""
    found = data.cadata()
    order = np.random.default_rng(0).permutation(len(found.y))
    X, y = found.X[order], found.y[order]
    return (X[4000:], y[4000:]), (X[:4000], y[:4000])


def text_sets(largest: int):
    X, y = text_like(largest + 20_000)
    return (X[20_000:], y[20_000:]), (X[:20_000], y[:20_000])


def solved(X, y, loss: str, alphas) -> list[np.ndarray]:
    """Weights for descending alphas, each from the solution before."""
    solver, start, found = SOLVERS[loss](X, risk_of(y, loss)), None, []
    for alpha in alphas:
        start = solver.solve(alpha, start=start, tol=1e-3).w
        found.append(start)
    return found


def tuned(X, y, loss: str) -> float:
    """The alpha with the least error on every fifth row, trained on the others."""
    held_out = np.arange(len(y)) % 5 == 0
    path = solved(X[~held_out], y[~held_out], loss, ALPHAS)
    return float(ALPHAS[int(np.argmin([misranking(y[held_out], X[held_out] @ w) for w in path]))])


def error(y, scores) -> str:
    parts = [misranking(y[k::10], scores[k::10]) for k in range(10)]
    return f"{misranking(y, scores):.3f} ± {np.std(parts, ddof=1) / np.sqrt(10):.3f}"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
