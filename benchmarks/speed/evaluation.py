"""Estimates of performance: a thousand permutations, intervals for a million scores.

python -m benchmarks.speed evaluation
"""

from __future__ import annotations

import numpy as np

from benchmarks.speed.harness import print_machine, print_ratios
from rankwise import RLS, RankRLS, RankRLSCV
from rankwise.evaluation import (
    confidence_interval,
    cross_val_auc,
    leave_pair_out_interval,
    lpo_roc,
    permutation_test,
)


def main() -> None:
    print_machine()
    for kernel in ("linear", "rbf"):
        permutations(kernel)
    intervals()


def permutations(kernel: str, m: int = 300) -> None:
    """Leave-pair-out AUC of 1,000 permutations, in units of one unpermuted RankRLSCV."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, 10))
    y = (X[:, 0] + 2 * rng.normal(size=m) > 0).astype(float)
    model = RankRLS(kernel=kernel)
    search = RankRLSCV(kernel=kernel)
    timed = {
        "RankRLSCV, leave-pair-out": lambda: search.fit(X, y),
        "1,000 permutations, RankRLS": lambda: permutation_test(model, X, y),
        "cross_val_auc, RankRLS": lambda: cross_val_auc(model, X, y),
        "leave_pair_out_interval": lambda: leave_pair_out_interval(model, X, y),
        "lpo_roc": lambda: lpo_roc(model, X, y),
        "1,000 permutations, RankRLSCV of 31 alphas": lambda: permutation_test(search, X, y),
        "1,000 permutations, RLS": lambda: permutation_test(RLS(kernel=kernel), X, y),
    }
    limits = {"1,000 permutations, RankRLS": 5.0}
    print_ratios(f"permutation test, m = {m}, {kernel} kernel", timed, limits)


def intervals(m: int = 1_000_000) -> None:
    """Intervals, in units of one argsort of the same number of scores."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, m).astype(float)
    s = y + rng.normal(size=m)
    real = s + rng.normal(size=m)
    qid = rng.integers(0, m // 20, m)
    timed = {
        "argsort": lambda: np.argsort(s),
        "stable argsort": lambda: np.argsort(s, kind="stable"),
        "DeLong": lambda: confidence_interval(y, s),
        "jackknife": lambda: confidence_interval(real, s),
        "bootstrap over 50,000 queries": lambda: confidence_interval(real, s, qid),
    }
    print_ratios(f"confidence_interval, {m:,} scores", timed, {"DeLong": 4.0})


if __name__ == "__main__":
    main()
