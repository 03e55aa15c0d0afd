"""How often rows are said to belong together: real features, made ones, and samples of patients.

Real features must not be called names; neither must rounded, counted, graded, binary and random
integers that depend on each other and decide about y. A column of patients with one to six samples
each must be found, whatever the noise. Without that column the samples show as tight groups, if the
noise is small beside the differences between patients.

    python -m benchmarks.papers.dependent_rows [made data sets, default 2000]
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn import datasets

from benchmarks.papers import data, table
from rankwise.model_selection.dependent_rows import (
    name_like,
    nearly_repeated_rows,
    repeated_rows,
)


def main(repetitions: int = 2000) -> None:
    rows = []
    for name, X, y in _real():
        rows.append(
            (name, f"{X.shape[0]} × {X.shape[1]}", _found(X, y), repeated_rows(X), _tight(X, y))
        )
    header = ("data", "size", "like a name", "repeated rows", "tight groups")
    table.show("real features", header, rows)
    rng = np.random.default_rng(0)
    alarms = sum(name_like(*_features(rng)) is not None for _ in range(repetitions))
    print(f"\n{alarms} of {repetitions} made data sets without names raise an alarm")
    for noise in (0.02, 0.1, 0.3, 5.0):
        found = sum(name_like(*_patients(rng, noise)) is not None for _ in range(repetitions // 10))
        print(f"noise {noise:g}: names of patients are found in {found} of {repetitions // 10}")
    tight = sum(nearly_repeated_rows(*_features(rng)) for _ in range(repetitions))
    print(f"\n{tight} of {repetitions} made data sets without groups are said to have tight groups")
    rows = []
    for n in (3, 5, 10, 30):
        shares = [_share_found(rng, n, noise, repetitions // 20) for noise in NOISES]
        rows.append((str(n), *(f"{share:.2f}" for share in shares)))
    header = ("features", *(f"noise {noise:g}" for noise in NOISES))
    table.show("40 patients with 2, 3 or 6 samples each: share found as tight groups", header, rows)


NOISES = (0.01, 0.05, 0.1, 0.2, 0.3)


def _tight(X: np.ndarray, y: np.ndarray) -> str:
    return "yes" if nearly_repeated_rows(X, y) else "–"


def _share_found(rng: np.random.Generator, n: int, noise: float, repetitions: int) -> float:
    found = 0
    for repetition in range(repetitions):
        who = np.repeat(np.arange(40), rng.choice([2, 3, 6]))
        X = rng.normal(size=(40, n))[who] + noise * rng.normal(size=(len(who), n))
        y = rng.normal(size=40)[who] + 0.2 * rng.normal(size=len(who))
        if repetition % 2:
            y = rng.permutation(np.arange(40) % 2)[who].astype(float)
        found += nearly_repeated_rows(X, y)
    return found / max(repetitions, 1)


def _found(X: np.ndarray, y: np.ndarray) -> str:
    found = name_like(X, y)
    return "–" if found is None else found.column


def _real():
    for name in ("iris", "wine", "breast_cancer", "diabetes", "digits"):
        loaded = getattr(datasets, f"load_{name}")()
        yield name, loaded.data, loaded.target
    try:
        houses = data.cadata()
        yield "California houses", houses.X, houses.y
        found = data.ohsumed()
        yield "OHSUMED without its queries", found.X, found.y
        for query in np.unique(found.qid)[:3]:
            rows = found.qid == query
            yield f"OHSUMED, query {query}", found.X[rows], found.y[rows]
        train = data.lambdarank().train
        yield "lambdarank", train.X.toarray(), train.y
    except data.MissingData as reason:
        print(f"skipped: {reason}")


def _features(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    m, n = int(rng.integers(20, 300)), int(rng.integers(2, 8))
    X = rng.normal(size=(m, n))
    for j in range(n):
        z = X[:, j] + (2 * X[:, 0] if rng.random() < 0.4 else 0.0)
        kinds = (
            np.round(z * rng.choice([1, 3, 10])),
            z > 0,
            rng.poisson(np.exp(np.clip(z, -2, 2))),
            np.digitize(z, [-1, 0, 1]),
            rng.integers(0, rng.integers(2, max(3, m // 2)), m),
            z,
        )
        X[:, j] = kinds[rng.integers(0, len(kinds))]
    y = X @ rng.normal(size=n) * rng.choice([0, 1]) + rng.choice([0.1, 1.0]) * rng.normal(size=m)
    return X, y if rng.random() < 0.5 else (y > np.median(y)).astype(float)


def _patients(rng: np.random.Generator, noise: float) -> tuple[np.ndarray, np.ndarray]:
    g = int(rng.integers(8, 40))
    who = np.repeat(np.arange(g), rng.integers(1, 7, g))
    X = rng.normal(size=(g, 5))[who] + noise * rng.normal(size=(len(who), 5))
    y = rng.permutation(np.arange(g) % 2)[who].astype(float)
    order = rng.permutation(len(who))
    return np.column_stack([X, rng.permutation(1000)[:g][who]])[order], y[order]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
