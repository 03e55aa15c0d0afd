"""What it takes to score one item: overhead of `predict` beside that of scikit-learn's models.

    python -m benchmarks.speed.single_rows

The unit is Ridge.predict of one row with as many features.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVR

from benchmarks.speed.harness import print_machine, print_ratios
from rankwise import RankRLS, RankSVM

CALLS = 200


def often(model, row: np.ndarray) -> Callable[[], None]:
    def run() -> None:
        for _ in range(CALLS):
            model.predict(row)

    return run


def main() -> None:
    print_machine()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 50))
    y, row = X[:, 0] + rng.normal(size=300), X[:1]
    kernel = {"kernel": "rbf", "gamma": 0.02}
    models = {
        "Ridge, scikit-learn": Ridge(),
        "LinearSVR, scikit-learn": LinearSVR(),
        "RankRLS": RankRLS(),
        "RankSVM": RankSVM(1e-3),
        "KernelRidge, scikit-learn": KernelRidge(**kernel),
        "RankRLS, Gaussian kernel": RankRLS(**kernel),
    }
    timed = {name: often(model.fit(X, y), row) for name, model in models.items()}
    limits = {"RankRLS": 1.0, "RankSVM": 1.0}
    print_ratios(f"{CALLS} calls of predict with one row of 50 features", timed, limits, rounds=7)


if __name__ == "__main__":
    main()
