"""What must not change any learner: order of rows, names of queries, levels of their scores.

One table of learners, one test a property. A learner's traits say which properties it promises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankwise import (
    RLS,
    ConditionalRanker,
    KernelMap,
    MPRank,
    MPRankCV,
    RankBoost,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
    SVRank,
)

EXACT, ITERATIVE, BUNDLE = 1e-7, 1e-4, 3e-3
"""Relative to the largest prediction: closed forms, smooth solvers, the gap of a kinked loss."""


@dataclass
class Case:
    """`traits`: pairwise (levels of a query's scores do not matter), order (nor do their gaps),
    scales (predictions are proportional to y), lonely (a query of one item says nothing),
    weights (weight 2 is the item twice)."""

    make: Callable
    traits: str
    tolerance: float = EXACT


RBF = {"kernel": "rbf", "gamma": 0.3}
CASES = {
    "RankRLS": Case(RankRLS, "pairwise scales lonely weights"),
    "RankRLS rbf": Case(lambda: RankRLS(**RBF), "pairwise scales lonely weights"),
    "RankRLS unit": Case(lambda: RankRLS(loss="unit"), "pairwise order lonely weights"),
    "RankRLS queries": Case(
        lambda: RankRLS(query_weight="queries", ties="drop"), "pairwise scales lonely weights"
    ),
    "RankRLS cg": Case(
        lambda: RankRLS(solver="cg", tol=1e-10), "pairwise scales lonely weights", ITERATIVE
    ),
    "RLS": Case(RLS, "scales weights"),
    "RLS rbf": Case(lambda: RLS(**RBF), "scales weights"),
    "RankRLSCV": Case(lambda: RankRLSCV([0.1, 1.0, 10.0]), "pairwise lonely"),
    "RankSVM": Case(lambda: RankSVM(0.1, tol=1e-8), "pairwise order lonely", BUNDLE),
    "RankSVM squared": Case(
        lambda: RankSVM(0.1, loss="squared_hinge", tol=1e-9), "pairwise order lonely", ITERATIVE
    ),
    "RankSVM squared rbf": Case(
        lambda: RankSVM(0.1, loss="squared_hinge", tol=1e-9, **RBF),
        "pairwise order lonely",
        ITERATIVE,
    ),
    "RankSVMCV": Case(
        lambda: RankSVMCV([0.1], cv=2, loss="squared_hinge", tol=1e-9), "pairwise order", ITERATIVE
    ),
    "MPRank": Case(MPRank, "pairwise scales"),
    "MPRank rbf": Case(lambda: MPRank(**RBF), "pairwise scales"),
    "MPRank online": Case(
        lambda: MPRank(solver="online", tol=1e-11, max_iter=20000), "pairwise scales", ITERATIVE
    ),
    "MPRank norm 1": Case(lambda: MPRank(10.0, norm=1, tol=1e-8), "pairwise", BUNDLE),
    "MPRankCV": Case(lambda: MPRankCV([0.1, 1.0, 10.0]), "pairwise"),
    "SVRank": Case(lambda: SVRank(10.0, tol=1e-8), "pairwise", BUNDLE),
    "SVRank squared": Case(lambda: SVRank(norm=2, tol=1e-10), "pairwise", ITERATIVE),
    "RankBoost": Case(lambda: RankBoost(8), "pairwise order lonely"),
}


def having(trait: str):
    names = [name for name, case in CASES.items() if trait in case.traits.split()]
    return pytest.mark.parametrize("name", names)


def problem(seed: int):
    """Items in three queries of five or more, real scores far enough apart to stay in order."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(15, 25))
    qid = rng.permutation(np.arange(m) % 3)
    X = rng.normal(size=(m, 3))
    y = np.round(X @ [1.0, -1.0, 0.5] + rng.normal(size=m), 2)
    return rng, X, y, qid


def assert_same(name, found, expected):
    size = max(float(np.abs(expected).max()), 1e-3)
    assert_allclose(found, expected, rtol=0, atol=CASES[name].tolerance * size, err_msg=name)


def predictions(name, X, y, qid, new, **extra):
    return CASES[name].make().fit(X, y, qid=qid, **extra).predict(new)


few = settings(max_examples=4)
seeds = given(st.integers(0, 2**32 - 1))


@pytest.mark.parametrize("name", CASES)
@few
@seeds
def test_order_of_rows_and_names_of_queries(name, seed):
    """Rows of a query may lie apart, and its label be of any type."""
    rng, X, y, qid = problem(seed)
    turn = rng.permutation(len(y))
    labels = np.array(["", "b c", "ä"], dtype=object)[qid]
    if name == "RankSVMCV":
        labels = qid
    expected = predictions(name, X, y, qid, X)
    assert_same(name, predictions(name, X[turn], y[turn], labels[turn], X), expected)


@having("pairwise")
@few
@seeds
def test_levels_of_queries(name, seed):
    rng, X, y, qid = problem(seed)
    shift = rng.integers(-8, 8, 3).astype(float)[qid]
    assert_same(name, predictions(name, X, y + shift, qid, X), predictions(name, X, y, qid, X))


@having("order")
@few
@seeds
def test_any_increasing_change_of_scores(name, seed):
    _, X, y, qid = problem(seed)
    assert_same(name, predictions(name, X, y**3 + y, qid, X), predictions(name, X, y, qid, X))


@having("scales")
@few
@seeds
def test_units_of_scores(name, seed):
    _, X, y, qid = problem(seed)
    for unit in (1e-4, -3.0, 1e5):
        found = predictions(name, X, unit * y, qid, X) / unit
        assert_same(name, found, predictions(name, X, y, qid, X))


@few
@seeds
@pytest.mark.parametrize("norm", [1, 2])
def test_units_of_scores_and_epsilon(norm, seed):
    """SVRank: ‖h‖² + C Σ max(0, |·| − ε)^p, so y, ε and h in units u take C to C u^(2 − p)."""
    _, X, y, qid = problem(seed)
    plain = SVRank(5.0, 0.2, norm=norm, tol=1e-8).fit(X, y, qid=qid).predict(X)
    unit = 7.0
    C = 5.0 * unit ** (2 - norm)
    found = SVRank(C, 0.2 * unit, norm=norm, tol=1e-8).fit(X, unit * y, qid=qid).predict(X)
    assert_same("SVRank", found / unit, plain)


@having("lonely")
@few
@seeds
def test_a_query_of_one_item_says_nothing(name, seed):
    rng, X, y, qid = problem(seed)
    more = np.vstack((X, 5 * rng.normal(size=(1, 3))))
    found = predictions(name, more, np.append(y, 99.0), np.append(qid, 7), X)
    assert_same(name, found, predictions(name, X, y, qid, X))


@having("weights")
@few
@seeds
def test_weight_two_is_the_item_twice(name, seed):
    rng, X, y, qid = problem(seed)
    if name == "RankRLS queries":
        y = y + np.arange(len(y)) * 1e-3
    times = rng.integers(1, 4, len(y))
    again = np.repeat(np.arange(len(y)), times)
    expected = predictions(name, X, y, qid, X, sample_weight=times.astype(float))
    assert_same(name, predictions(name, X[again], y[again], qid[again], X), expected)


@pytest.mark.parametrize("name", [name for name in CASES if "rbf" not in name])
@few
@seeds
def test_turned_features(name, seed):
    """A rotation of linear features changes no prediction; thresholds are another matter."""
    rng, X, y, qid = problem(seed)
    if name == "RankBoost":
        turned = X * [1e-3, 7.0, 1e4]
    else:
        turned = X @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    expected = predictions(name, X, y, qid, X)
    assert_same(name, predictions(name, turned, y, qid, turned), expected)


@few
@seeds
def test_order_of_nodes(seed):
    rng = np.random.default_rng(seed)
    X, new = rng.normal(size=(8, 3)), rng.normal(size=(4, 3))
    turn = rng.permutation(8)
    relations = {"general": 0, "symmetric": 1, "reciprocal": -1}
    for relation, sign in relations.items():
        Y = rng.normal(size=(8, 8))
        Y = Y + sign * Y.T
        for objective in ("ranking", "regression"):
            options = {"relation": relation, "objective": objective, "tol": 1e-11, "max_iter": 500}
            expected = ConditionalRanker(**options).fit(X, Y).predict(new)
            found = ConditionalRanker(**options).fit(X[turn], Y[np.ix_(turn, turn)]).predict(new)
            assert_allclose(found, expected, atol=1e-6)


@few
@seeds
def test_order_of_edges_and_sides(seed):
    """Edges in any order; rows and columns exchanged with condition; levels of a condition."""
    rng = np.random.default_rng(seed)
    A, B, Y = rng.normal(size=(5, 2)), rng.normal(size=(7, 3)), rng.normal(size=(5, 7))
    rows, columns = np.nonzero(rng.random((5, 7)) < 0.8)
    edges, y = np.column_stack((rows, columns)), Y[rows, columns]
    options = {"solver": "cg", "tol": 1e-12, "max_iter": 1000}
    expected = ConditionalRanker(**options).fit((A, B), y, edges=edges).predict(A, B)
    turn = rng.permutation(len(y))
    found = ConditionalRanker(**options).fit((A, B), y[turn], edges=edges[turn]).predict(A, B)
    assert_allclose(found, expected, atol=1e-6)
    shifted = y + rng.normal(size=5)[edges[:, 0]]
    found = ConditionalRanker(**options).fit((A, B), shifted, edges=edges).predict(A, B)
    assert_allclose(found, expected, atol=1e-6)
    other = ConditionalRanker(condition="column", **options)
    found = other.fit((B, A), y, edges=edges[:, ::-1]).predict(B, A)
    assert_allclose(found.T, expected, atol=1e-6)


@few
@seeds
def test_order_of_the_basis(seed):
    rng, X, y, qid = problem(seed)
    basis = rng.permutation(len(y))[:6]
    F, G = (KernelMap(basis=b).fit(X).embedding_ for b in (basis, np.sort(basis)))
    assert_allclose(F @ F.T, G @ G.T, atol=1e-8)
    for name, make in {"RankRLS": RankRLS, "RLS": RLS, "RankSVM": svm, "MPRank": MPRank}.items():
        first, second = (
            make(kernel="rbf", basis=b).fit(X, y, qid=qid).predict(X) for b in (basis, basis[::-1])
        )
        assert_same(name, first, second)


def svm(**options):
    return RankSVM(0.1, tol=1e-8, **options)
