"""Airola et al. 2011 (paper III), Tables 1 and 2: time to compute the maps of cross-validation.

The efficient way is `KernelMap.folds`. Two baselines compute every fold from the beginning: the
paper's (a Cholesky factor of K_LL and one triangular solve, with given kernel values), and a
KernelMap fitted to the training items. The efficient way is timed on all folds; the baselines are
timed on a sample, scaled up to all folds. Seconds are CPU and wall-clock seconds.

    python -m benchmarks.papers.nystrom_tables [brief] [|R|, default all four]

brief: only the paper's baseline, and no closed forms.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from sklearn.model_selection import GroupKFold

from benchmarks.papers import nystrom_data, table
from benchmarks.speed.harness import print_machine
from rankwise import RLS, KernelMap, RankRLS, RankRLSCV
from rankwise.spaces.kernels import Kernel

PAPER = {
    "leave-group-out": {
        598: 3639 / 532,
        1181: 16648 / 1193,
        1742: 38373 / 1864,
        2297: 73375 / 2679,
    },
    "10 folds": {598: 49 / 33, 1181: 226 / 112, 1742: 512 / 234, 2297: 937 / 408},
}
BASELINE = 5
"""Number of folds, spread evenly, on which the baselines are timed."""


def main(*words: str) -> None:
    print_machine()
    brief, sizes = "brief" in words, [int(word) for word in words if word != "brief"]
    data = nystrom_data.make()
    everything = np.arange(len(data.y))
    groups = [np.flatnonzero(data.qid == g) for g in range(nystrom_data.GROUPS)]
    left_out = [(np.setdiff1d(everything, test), test) for test in groups]
    ten = list(GroupKFold(10, shuffle=True, random_state=0).split(data.X, groups=data.qid))
    for size in sizes or nystrom_data.SIZES:
        chosen = nystrom_data.basis(data.qid, size)
        mapped = KernelMap(**nystrom_data.KERNEL, basis=chosen)
        decomposition = seconds(lambda mapped=mapped: mapped.fit(data.X))
        rows = [("initial decomposition", *decomposition, None, None, None)]
        exhaust(mapped.folds(ten[:1]))
        exhaust(mapped.folds(left_out[:2]))
        for (name, paper), splits in zip(PAPER.items(), (left_out, ten)):
            rows += compare(name, paper[size], mapped, data.X, splits, brief)
        header = ("", "CPU s", "wall s", "CPU ratio", "wall ratio", "paper")
        table.show(f"|R| = {size}, m = {len(data.y)}", header, rows)
        if not brief:
            closed_forms(size, chosen, data)
        print(flush=True)


def compare(name, paper, mapped, X, splits, brief):
    """Seconds for all folds of the efficient way and the baselines, and ratios to the first."""
    K = Kernel(**nystrom_data.KERNEL).matrix(X, X[mapped.basis_index_])
    ways: dict[str, tuple[Callable, int]] = {
        "efficient": (lambda part: exhaust(mapped.folds(part)), len(splits)),
        "Cholesky per fold": (
            lambda part: exhaust(cholesky_per_fold(K, mapped.basis_index_, part)),
            BASELINE,
        ),
        "KernelMap per fold": (lambda part: exhaust(refit(mapped, X, part)), BASELINE),
    }
    if brief:
        del ways["KernelMap per fold"]
    found = {}
    for way, (run, count) in ways.items():
        part = splits[:: len(splits) // count][:count]
        found[way] = [s * len(splits) / count for s in seconds(partial(run, part))]
    base = found["efficient"]
    for way, (cpu, wall) in found.items():
        first = way == "efficient"
        ratios = (None, None) if first else (cpu / base[0], wall / base[1])
        yield f"{name}: {way}", cpu, wall, *ratios, None if first else paper


def cholesky_per_fold(K, basis, splits):
    """The paper's baseline: C Cᵀ = K_LL, K_ML C⁻ᵀ, once per fold."""
    for train, test in splits:
        staying = np.isin(basis, train)
        C = cholesky(K[np.ix_(basis[staying], staying)], lower=True, check_finite=False)
        F = solve_triangular(C, K[:, staying].T, lower=True, check_finite=False).T
        yield F[train], F[test]


def refit(mapped, X, splits):
    for train, test in splits:
        staying = np.flatnonzero(np.isin(train, mapped.basis_index_))
        again = KernelMap(**nystrom_data.KERNEL, basis=staying).fit(X[train])
        yield again.embedding_, again.transform(X[test])


def exhaust(maps) -> None:
    for _ in maps:
        pass


def closed_forms(size, chosen, data) -> None:
    """Exact held-out predictions of learners with basis=, for one alpha and for a grid."""
    options = {**nystrom_data.KERNEL, "basis": chosen}
    alphas = 10.0 ** np.arange(-4, 5)
    rows = []
    for learner in (RLS, RankRLS):
        model = learner(1.0, **options)
        rows.append((f"{learner.__name__} fit", *fit_seconds(model, data)))
        rows.append(
            (f"{learner.__name__} leave_query_out, 1 alpha", *seconds(model.leave_query_out))
        )
    for cv in ("leave-query-out", 10):
        model = RankRLSCV(alphas, cv=cv, **options)
        rows.append((f"RankRLSCV fit, {cv}, {len(alphas)} alphas", *fit_seconds(model, data)))
    table.show(f"Closed forms, |R| = {size}", ("", "CPU s", "wall s"), rows)


def fit_seconds(model, data) -> tuple[float, float]:
    return seconds(lambda: model.fit(data.X, data.y, qid=data.qid))


def seconds(run: Callable) -> tuple[float, float]:
    """CPU and wall-clock seconds of `run`."""
    start = time.process_time(), time.perf_counter()
    run()
    return time.process_time() - start[0], time.perf_counter() - start[1]


if __name__ == "__main__":
    main(*sys.argv[1:])
