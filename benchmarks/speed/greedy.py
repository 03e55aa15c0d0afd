"""The time of greedy feature selection: against loops of refits, against scikit-learn, and alone.

    python -m benchmarks.speed.greedy [large]

With the argument `large` it selects 50 of 20,000 sparse features for 2,000 items, once.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from scipy import sparse
from sklearn.feature_selection import RFE, SequentialFeatureSelector
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneGroupOut

from benchmarks.speed.harness import print_machine, print_ratios
from rankwise import GreedyRankRLS, RankRLS


def problem(m: int, n: int, q: int, density: float = 1.0):
    """Items with 10 useful features among n, in q queries."""
    rng = np.random.default_rng(0)
    if density < 1:
        X = sparse.random(m, n, density, format="csr", random_state=0, data_rvs=rng.standard_normal)
    else:
        X = rng.normal(size=(m, n))
    y = np.asarray(X[:, :10] @ rng.normal(size=10)).ravel() + 0.3 * rng.normal(size=m)
    return X, y, np.arange(m) % q


def by_leave_query_out(X, y, qid, k: int) -> list[int]:
    """The loop that a user would write: the closed leave-query-out of RankRLS per candidate."""
    chosen: list[int] = []
    for _ in range(k):
        errors = {}
        for j in set(range(X.shape[1])) - set(chosen):
            f = RankRLS().fit(X[:, [*chosen, j]], y, qid=qid).leave_query_out()
            e = y - f
            errors[j] = sum(len(g) * np.var(g) * len(g) for g in (e[qid == c] for c in set(qid)))
        chosen.append(min(errors, key=errors.__getitem__))
    return chosen


def small() -> None:
    k, (X, y, qid) = 5, problem(200, 60, 20)
    folds = list(LeaveOneGroupOut().split(X, y, qid))
    found = GreedyRankRLS(k).fit(X, y, qid=qid).selected_.tolist()
    assert found == by_leave_query_out(X, y, qid, k)
    timed = {
        "GreedyRankRLS": lambda: GreedyRankRLS(k).fit(X, y, qid=qid),
        "loop over RankRLS.leave_query_out": lambda: by_leave_query_out(X, y, qid, k),
        "SequentialFeatureSelector(Ridge)": lambda: SequentialFeatureSelector(
            Ridge(), n_features_to_select=k, cv=folds, scoring="neg_mean_squared_error"
        ).fit(X, y),
        "RFE(Ridge), without cross-validation": lambda: RFE(Ridge(), n_features_to_select=k).fit(
            X, y
        ),
    }
    print_ratios(f"{k} of 60 features, 200 items in 20 queries", timed, {}, 3)


def growth() -> None:
    """Twice the items, the features, or the selected features should take about twice as long."""
    sizes = {"m = 500, n = 1000, k = 10": (500, 1000, 10)}
    sizes |= {"m = 1000": (1000, 1000, 10), "n = 2000": (500, 2000, 10)}
    sizes |= {"k = 20": (500, 1000, 20)}
    timed = {}
    for name, (m, n, k) in sizes.items():
        X, y, qid = problem(m, n, 25)
        timed[name] = lambda X=X, y=y, qid=qid, k=k: GreedyRankRLS(k).fit(X, y, qid=qid)
    print_ratios("leave-query-out", timed, {}, 3)
    timed = {}
    for m in (200, 400):
        X, y, _ = problem(m, 500, 1)
        timed[f"m = {m}, n = 500, k = 5"] = lambda X=X, y=y: GreedyRankRLS(5).fit(X, y)
    print_ratios("leave-pair-out: twice the items, four times the work", timed, {}, 3)


def large() -> None:
    for density in (0.02, 0.1):
        X, y, qid = problem(2000, 20_000, 100, density)
        GreedyRankRLS(2).fit(X[:200, :50], y[:200], qid=qid[:200] % 7)
        start = time.perf_counter()
        GreedyRankRLS(50).fit(X, y, qid=qid)
        seconds = time.perf_counter() - start
        print(f"50 of 20,000 features ({density:.0%} filled), 2,000 items: {seconds:.1f} s")


def main() -> None:
    print_machine()
    if sys.argv[1:] == ["large"]:
        large()
        return
    small()
    growth()


if __name__ == "__main__":
    main()
