"""Minutes and memory of a search in the four settings, on made data of the size of KIBA.

    python -m benchmarks.speed.relation_settings [rows] [columns] [edges]

2,116 drugs, 229 targets and 118,254 edges with precomputed kernels, 5 folds, 10 alphas. The goal is
five minutes on two cores for all four settings together.
"""

from __future__ import annotations

import resource
import sys
import time
import warnings

import numpy as np

from benchmarks.speed.harness import record
from rankwise import ConditionalRanker, ConditionalRankerCV
from rankwise.kernels import Kernel

SIZE = (2116, 229, 118_254)
ALPHAS = 2.0 ** np.arange(-4, 6)
GOAL = 5.0


def main(arguments: list[str] | None = None) -> None:
    arguments = sys.argv[1:] if arguments is None else arguments
    p_a, p_b, q = (int(value) for value in arguments[:3]) if len(arguments) >= 3 else SIZE
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(p_a, 8)), rng.normal(size=(p_b, 8))
    K, G = (Kernel("rbf", 0.1).matrix(X, X) for X in (A, B))
    truth = K @ rng.normal(size=(p_a, p_b)) @ G
    pairs = rng.choice(p_a * p_b, size=q, replace=False)
    edges = np.column_stack(np.divmod(pairs, p_b))
    y = truth[tuple(edges.T)] / truth.std() + rng.normal(size=q)
    total = 0.0
    print(f"{p_a} x {p_b} nodes, {q} edges, 5 folds, {len(ALPHAS)} alphas")
    for setting in ("edges", "rows", "columns", "both"):
        search = ConditionalRankerCV(
            ConditionalRanker(kernel="precomputed", tol=1e-3),
            alphas=ALPHAS,
            setting=setting,
            cv=5,
            random_state=0,
        )
        start = time.perf_counter()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            search.fit((K, G), y, edges=edges)
        minutes = (time.perf_counter() - start) / 60
        total += minutes
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        said = ", ".join(sorted({one.category.__name__ for one in told})) or "none"
        print(
            f"{setting:<8} {minutes:6.2f} minutes, alpha {search.alpha_:g}, score "
            f"{search.best_score_:.3f}, {search.best_estimator_.n_iter_} iterations of the refit, "
            f"at most {memory:.2f} GB so far, warnings: {said}",
            flush=True,
        )
    print(f"all four {total:6.2f} minutes (goal {GOAL:g})")
    record("Relations", f"four settings, {q} edges, minutes", total, 60 * total, GOAL)


if __name__ == "__main__":
    main()
