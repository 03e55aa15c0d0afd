"""Wrong labels on purpose: how many of the first suspects are wrong, and how many are flagged.

A twentieth of the scores is exchanged for those of other items of the same query (grades for
another grade, two classes for the other class), or a twentieth of statements is turned round. The
precision is the share of wrong labels among as many first suspects; by chance it would be 0.05.
`flagged` are the suspects whose p-values pass Benjamini and Hochberg's procedure at 5%; `false` is
the share of right labels among them. "uniform" is the share of right labels with p ≤ 0.05, if no
label is changed.

    python -m benchmarks.papers.label_audit [repetitions, default 20]
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.preprocessing import scale

from benchmarks.papers import data, table
from rankwise import Preferences, RankRLS, RankRLSCV
from rankwise.evaluation import Suspects, suspects
from rankwise.exceptions import EstimateWarning

WRONG = 0.05


class Labelled(NamedTuple):
    """Items with scores, by queries or not, or statements about them."""

    name: str
    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray | None = None
    statements: int = 0


def main(repetitions: int = 20) -> None:
    rows = []
    for make in (_made, _diabetes, _cancer, _houses, _ohsumed):
        try:
            for labelled in make():
                rows.append((labelled.name, *_figures(labelled, repetitions)))
        except data.MissingData as reason:
            print(f"skipped: {reason}")
    header = ("labels", "wrong", "precision", "flagged", "false", "uniform: p ≤ 0.05")
    table.show("suspects: a twentieth of the labels is wrong", header, rows)


def _figures(labelled: Labelled, repetitions: int) -> tuple:
    rng = np.random.default_rng(0)
    audit: Callable = _audit_statements if labelled.statements else _audit_items
    right, precision, flagged, false, wrong = [], [], [], [], 0
    for _ in range(repetitions):
        found, _ = audit(labelled, rng, 0.0)
        right.append(np.mean(found.p_value <= 0.05))
        found, bad = audit(labelled, rng, WRONG)
        wrong = len(bad)
        precision.append(np.isin(found.index[:wrong], bad).mean())
        called = found.flagged()
        flagged.append(len(called))
        false.append(np.isin(called, bad, invert=True).sum())
    share = np.sum(false) / max(np.sum(flagged), 1)
    return wrong, np.mean(precision), f"{np.mean(flagged):.1f}", share, np.mean(right)


def _audit_items(
    labelled: Labelled, rng: np.random.Generator, share: float
) -> tuple[Suspects, np.ndarray]:
    _, X, y, qid, _ = labelled
    bad = rng.choice(len(y), round(share * len(y)), replace=False)
    changed = y.copy()
    for i in bad:
        others = y if qid is None else y[qid == qid[i]]
        others = others[others != y[i]]
        changed[i] = rng.choice(others) if len(others) else y[i]
    bad = bad[changed[bad] != y[bad]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EstimateWarning)
        return suspects(RankRLSCV(), X, changed, qid), bad


def _audit_statements(
    labelled: Labelled, rng: np.random.Generator, share: float
) -> tuple[Suspects, np.ndarray]:
    _, X, y, _, number = labelled
    a, b = rng.integers(0, len(y), (2, 2 * number))
    differ = np.flatnonzero(y[a] != y[b])[:number]
    a, b = a[differ], b[differ]
    a, b = np.where(y[a] > y[b], a, b), np.where(y[a] > y[b], b, a)
    bad = rng.choice(len(a), round(share * len(a)), replace=False)
    a[bad], b[bad] = b[bad].copy(), a[bad].copy()
    told = Preferences(a, b, n_items=len(y))
    alpha = RankRLSCV().fit(X, preferences=told).alpha_
    return suspects(RankRLS(alpha), X, preferences=told), bad


def _made() -> Iterator[Labelled]:
    rng = np.random.default_rng(1)
    for noise in (0.2, 1.0):
        X = rng.normal(size=(300, 5))
        y = X @ [1.0, 1.0, 0.5, 0.0, 0.0] + noise * rng.normal(size=300)
        yield Labelled(f"made, noise {noise:g}", X, y)
        yield Labelled(f"made, noise {noise:g}, 1000 statements", X, y, statements=1000)


def _diabetes() -> Iterator[Labelled]:
    X, y = load_diabetes(return_X_y=True)
    yield Labelled("diabetes", scale(X), y)
    yield Labelled("diabetes, 1000 statements", scale(X), y, statements=1000)


def _cancer() -> Iterator[Labelled]:
    X, y = load_breast_cancer(return_X_y=True)
    yield Labelled("breast cancer, two classes", scale(X), y.astype(float))


def _houses() -> Iterator[Labelled]:
    houses = data.cadata()
    rows = np.random.default_rng(0).choice(len(houses.y), 600, replace=False)
    yield Labelled("California houses, 600", scale(houses.X[rows]), houses.y[rows])


def _ohsumed() -> Iterator[Labelled]:
    found = data.ohsumed()
    rows = np.flatnonzero(np.isin(found.qid, np.unique(found.qid)[:15]))
    kept = scale(found.X[rows]), found.y[rows], found.qid[rows]
    yield Labelled("OHSUMED, 15 queries, 3 grades", *kept)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
