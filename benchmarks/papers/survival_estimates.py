"""Estimates from censored outcomes: levels of compare and of permutations, shuffled outcomes.

    python -m benchmarks.papers.survival_estimates [repetitions, default 400] [of tests, 150]

Times are exponential, with or without a signal, and about a third or two thirds of the items are
censored. Both models of `compare` are RankRLS, each on its own half of the features; the halves are
exchangeable, so that a test at 5% should reject in 5% of the data sets or fewer. Shuffled outcomes
should score ½, also if every patient has two rows and `groups` says so.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline

from benchmarks.papers.table import show
from rankwise import Censored, RankRLS, RankRLSCV
from rankwise.evaluation import compare, nested_score, permutation_test
from rankwise.exceptions import DependenceWarning, EstimateWarning

CENSORING = {"a third": 0.45, "two thirds": 2.2}
DESIGNS = {"40 items": (40, None), "120 items": (120, None), "8 strata of 15": (120, 15)}
SIGNALS = (0.0, 1.0)
FEATURES = 4


def outcomes(rng: np.random.Generator, log_time: np.ndarray, censoring: float) -> Censored:
    time = rng.exponential(size=len(log_time)) * np.exp(log_time)
    lost = rng.exponential(size=len(log_time)) / censoring
    return Censored(time <= lost, np.minimum(time, lost))


def half(number: int) -> Pipeline:
    columns = list(range(number * FEATURES, (number + 1) * FEATURES))
    chosen = ColumnTransformer([("half", "passthrough", columns)])
    return make_pipeline(chosen, RankRLS(10.0, loss="unit"))


def levels(repetitions: int) -> None:
    models = {name: half(i) for i, name in enumerate("ab")}
    rows = []
    for words, censoring in CENSORING.items():
        for design, (m, size) in DESIGNS.items():
            qid = None if size is None else np.arange(m) // size
            for signal in SIGNALS:
                rng = np.random.default_rng(0)
                small = np.zeros(2)
                for seed in range(repetitions):
                    X = rng.normal(size=(m, 2 * FEATURES))
                    w = signal * rng.normal(size=FEATURES) / np.sqrt(FEATURES)
                    y = outcomes(rng, (X[:, :FEATURES] + X[:, FEATURES:]) @ w, censoring)
                    found = compare(models, X, y, qid, random_state=seed)
                    small[0] += found.differences[0].p_value <= 0.05
                    linear = RankRLS(10.0, loss="unit")
                    options = {"n_permutations": 39, "random_state": seed, "cv": 5}
                    small[1] += permutation_test(linear, X, y, qid=qid, **options).p_value <= 0.05
                shares = [f"{100 * share:.1f}" for share in small / repetitions]
                rows.append((words, design, f"{signal:g}", *shares))
    header = ("censored", "data", "signal", "compare", "permutations")
    show(f"% of p-values of at most 0.05, {repetitions} repetitions", header, rows)


def shuffled(repetitions: int) -> None:
    rows = []
    for words, censoring in CENSORING.items():
        scores: dict[str, list[float]] = {}
        covered: dict[str, int] = {}
        for seed in range(repetitions):
            rng = np.random.default_rng(seed)
            X, patients = rng.normal(size=(60, FEATURES)), np.repeat(np.arange(30), 2)
            y = outcomes(rng, np.zeros(60), censoring)
            visits = X[patients] + 0.01 * rng.normal(size=X.shape)
            search = RankRLSCV([1.0, 100.0], loss="unit", cv=3)
            cases = {
                "items": (X, y, None, None),
                "strata": (X, y, np.arange(60) % 4, None),
                "two visits, groups": (visits, y[patients], None, patients),
                "two visits, no groups": (visits, y[patients], None, None),
            }
            for name, (features, told, qid, groups) in cases.items():
                found = nested_score(search, features, told, qid, cv=4, groups=groups)
                low, high = found.interval
                scores.setdefault(name, []).append(found.score)
                covered[name] = covered.get(name, 0) + (low <= 0.5 <= high)
        for name, values in scores.items():
            error = np.std(values) / np.sqrt(len(values))
            share = f"{100 * covered[name] / len(values):.1f}"
            rows.append((words, name, f"{np.mean(values):.3f} ± {error:.3f}", share))
    header = ("censored", "held out", "nested score", "intervals that cover ½, %")
    show(f"Shuffled outcomes, {repetitions} repetitions", header, rows)


def main(repetitions: int = 400, of_tests: int = 150) -> None:
    warnings.simplefilter("ignore", EstimateWarning)
    warnings.simplefilter("ignore", DependenceWarning)
    shuffled(repetitions)
    levels(of_tests)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
