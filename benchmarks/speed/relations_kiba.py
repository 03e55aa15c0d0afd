"""Made data of the size of KIBA in the four settings: minutes and memory of searches.

    python -m benchmarks.speed.relations_kiba [alphas, default 10] [share of the size, default 1.0]

2,116 drugs and 229 targets with features of their own, 118,254 observed edges. A search is one
call of fit: ConditionalRankerCV chooses among 10 alphas by 5 folds on the edges (conjugate
gradients); TwoStepRankerCV fills the rest of the matrix with the mean and chooses among the 10 × 10
pairs of alphas by its closed forms. A nested search is `relational_score`, which holds 5 such
searches, one for each outer fold. The goal is five minutes on two cores for the searches of one
learner in all four settings.
"""

from __future__ import annotations

import resource
import sys
import time
import warnings

import numpy as np
from sklearn.base import clone

from benchmarks.speed.harness import print_machine, record
from rankwise import ConditionalRanker, ConditionalRankerCV, TwoStepRankerCV
from rankwise.evaluation import relational_score

DRUGS, TARGETS, EDGES = 2116, 229, 118_254
GOAL = 300.0
SETTINGS = ("edges", "rows", "columns", "both")


def made_data(share: float, rng: np.random.Generator):
    """Features of both sides, edges, and values with effects of rows, columns and pairs."""
    p, q, n = (round(size * share) for size in (DRUGS, TARGETS, EDGES))
    n = round(n * share)
    drugs, targets = rng.normal(size=(p, 60)), rng.normal(size=(q, 40))
    Y = (drugs @ rng.normal(size=(60, 5))) @ (targets @ rng.normal(size=(40, 5))).T / 40
    Y += 0.5 * drugs[:, :1] + 0.5 * targets[:, 0] + rng.normal(size=Y.shape)
    cells = rng.choice(p * q, size=n, replace=False)
    edges = np.column_stack(np.divmod(cells, q))
    return (drugs, targets), edges, Y[tuple(edges.T)]


def main(arguments: list[str] | None = None) -> None:
    arguments = sys.argv[1:] if arguments is None else arguments
    n_alphas = int(arguments[0]) if arguments else 10
    share = float(arguments[1]) if len(arguments) > 1 else 1.0
    print_machine()
    warnings.simplefilter("ignore")
    X, edges, y = made_data(share, np.random.default_rng(0))
    print(f"{len(X[0])} x {len(X[1])} nodes, {len(edges)} edges, {n_alphas} alphas, 5 folds")
    alphas = 2.0 ** np.linspace(-4, 14, n_alphas)
    rbf = {"kernel": "rbf"}
    models = {
        "TwoStepRankerCV": TwoStepRankerCV(alphas, fill="mean", **rbf),
        "ConditionalRankerCV": ConditionalRankerCV(ConditionalRanker(**rbf), alphas=alphas, cv=5),
    }
    print(f"{'learner':26} {'setting':8} minutes  score  peak memory")
    for name, model in models.items():
        total = 0.0
        for setting in SETTINGS:
            start = time.perf_counter()
            found = clone(model).set_params(setting=setting).fit(X, y, edges=edges)
            total += report(name, setting, time.perf_counter() - start, found.best_score_)
        print(f"{name}: {total / 60:.2f} minutes in all; goal {GOAL / 60:.0f}", flush=True)
    for name, model in models.items():
        for setting in SETTINGS:
            start = time.perf_counter()
            score, _ = relational_score(model, X, y, edges, setting=setting)
            report(f"nested {name}", setting, time.perf_counter() - start, score)


def report(name: str, setting: str, seconds: float, score: float) -> float:
    """Print and record one line; the seconds."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{name:26} {setting:8} {seconds / 60:7.2f}  {score:.3f}  {peak:.2f} GiB", flush=True)
    record("relations of the size of KIBA", f"{name}, {setting}", seconds / GOAL, seconds)
    return seconds


if __name__ == "__main__":
    main()
