"""The time of every measure on a million items, in units of one stable argsort, in one run.

    python -m benchmarks.speed.measures [items] [rounds]

Each round times all cases one after the other, so the two timings of a ratio are close together.
Only `concordance` has a limit: 2.5 units.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.stats import kendalltau
from sklearn.metrics import ndcg_score, roc_auc_score

from benchmarks.speed.harness import print_machine, record, seconds_of, spread
from rankwise import metrics
from rankwise.losses.pair_counts import concordant_pairs
from rankwise.supervision.preferences import Preferences
from rankwise.supervision.queries import Queries

UNIT = "numpy.argsort(kind='stable')"
LIMIT = 2.5


def cases(m: int) -> dict:
    """The functions to time, by name; the first is the unit of the others."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=m)
    s = y + rng.normal(size=m)
    grades = np.digitize(y, [0.0, 0.7, 1.4, 2.0]).astype(float)
    positive = y > 1
    qid = rng.permutation(np.arange(m) // 100)
    winner = rng.integers(m, size=m)
    preferences = Preferences(winner, (winner + rng.integers(1, m, size=m)) % m)

    cv_queries = Queries.from_labels(np.repeat(np.arange(500), 20), 10_000)
    cv_y, cv_S = rng.normal(size=10_000), rng.normal(size=(10_000, 31))
    rows, row_qid = (s[: m // 100 * 100].reshape(-1, 100), np.arange(m // 100 * 100) // 100)
    row_grades = grades[: rows.size].reshape(rows.shape)
    flat = (row_grades.ravel(), rows.ravel(), row_qid)
    relevant = (flat[0] > 1, *flat[1:])
    return {
        UNIT: lambda: np.argsort(s, kind="stable"),
        "numpy.argsort()": lambda: np.argsort(s),
        "concordance": lambda: metrics.concordance(y, s),
        "concordance, rounded s": lambda: metrics.concordance(y, np.round(s, 1)),
        "concordance, 5 grades": lambda: metrics.concordance(grades, s),
        "concordance, 100 items per query": lambda: metrics.concordance(y, s, qid),
        "auc": lambda: metrics.auc(positive, s),
        "auc, scikit-learn": lambda: roc_auc_score(positive, s),
        "kendall_tau_b": lambda: metrics.kendall_tau_b(y, s),
        "kendall_tau_b, SciPy": lambda: kendalltau(y, s),
        "kendall_tau_b, 5 grades": lambda: metrics.kendall_tau_b(grades, s),
        "kendall_tau_b, 5 grades, SciPy": lambda: kendalltau(grades, s),
        "misranking": lambda: metrics.misranking(y, s),
        "mean_squared_difference": lambda: metrics.mean_squared_difference(y, s),
        "mean_absolute_difference": lambda: metrics.mean_absolute_difference(y, s),
        "pair_cost HR": lambda: metrics.pair_cost(y, s, "HR"),
        "pair_cost HMP, power 2": lambda: metrics.pair_cost(y, s, "HMP", power=2),
        "pair_cost SVR": lambda: metrics.pair_cost(y, s, "SVR", epsilon=0.1),
        "preference_error, as many pairs": lambda: metrics.preference_error(preferences, s),
        "ndcg": lambda: metrics.ndcg(grades, s),
        "ndcg, scikit-learn": lambda: ndcg_score([grades], [s]),
        "ndcg, 100 items per query": lambda: metrics.ndcg(grades, s, qid),
        "rows of 100: numpy.argsort": lambda: np.argsort(rows, axis=1),
        "rows of 100: ndcg@10": lambda: metrics.ndcg(*flat, k=10),
        "rows of 100: ndcg@10, scikit-learn": lambda: _row_ndcg(row_grades, rows, k=10),
        "rows of 100: ndcg": lambda: metrics.ndcg(*flat),
        "rows of 100: ndcg, scikit-learn": lambda: _row_ndcg(row_grades, rows),
        "rows of 100: reciprocal rank@10": lambda: metrics.expected_reciprocal_rank(*flat, k=10),
        "rows of 100: average_precision": lambda: metrics.average_precision(*relevant),
        "average_precision": lambda: metrics.average_precision(positive, s),
        "500 queries x 20 items x 31 columns": lambda: concordant_pairs(cv_y, cv_S, cv_queries),
    }


def _row_ndcg(grades: np.ndarray, scores: np.ndarray, k: int | None = None) -> float:
    """scikit-learn's fastest way, which assumes that no scores are equal."""
    return ndcg_score(2**grades - 1, scores, k=k, ignore_ties=True)


def main() -> None:
    m = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    print_machine()
    print(f"{m:,} items; median of {rounds} rounds [fastest, slowest]; unit: {UNIT}\n")
    print(f"{'':36}{'milliseconds':>26}{'units':>24}")
    seconds = seconds_of(cases(m), rounds)
    for name, times in seconds.items():
        units = spread(times / seconds[UNIT], 2)
        print(f"{name:36}{spread(1e3 * times, 1):>28}{units:>24}")
        ratio = float(np.median(times / seconds[UNIT]))
        limit = LIMIT if name == "concordance" else None
        record(f"{m:,} items; unit: {UNIT}", name, ratio, float(np.median(times)), limit)
    ratio = np.median(seconds["concordance"] / seconds[UNIT])
    verdict = "within" if ratio <= LIMIT else "BEYOND"
    print(f"\nconcordance: {ratio:.2f} units, {verdict} the limit of {LIMIT}")


if __name__ == "__main__":
    main()
