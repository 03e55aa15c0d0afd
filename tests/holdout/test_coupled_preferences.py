"""Hold-outs of explicit preferences, where a query may fall into several groups of compared items.

With query_weight "size" and "queries" the weights of a query's pairs depend on all of the query, so
that an item which leaves changes the weights of pairs that nothing connects to it.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankwise import Preferences, RankRLS
from tests import reference

ALPHA = 0.5
SPACES = {
    "linear": {},
    "rbf": {"kernel": "rbf", "gamma": 0.4},
    "reduced": {"kernel": "rbf", "gamma": 0.4, "basis": [0, 2, 3, 5]},
}


def without(K, basis, told, held, loss, query_weight):
    """Predictions of `held` by brute force: the statements among the items that stay."""
    winner, loser, magnitude, weight, qid, v = told
    m = len(qid)
    staying = np.setdiff1d(np.arange(m), held)
    kept = np.isin(winner, staying) & np.isin(loser, staying)
    u = weight * v[winner] * v[loser]
    pairs = []
    for h, j, y, pair_weight in zip(winner[kept], loser[kept], magnitude[kept], u[kept]):
        same = staying[qid[staying] == qid[h]]
        total_pairs = u[kept & (qid[winner] == qid[h])].sum()
        c = reference.query_scale(query_weight, v[same].sum(), total_pairs)
        z, w = reference.target_and_weight(loss, y)
        pairs.append((h, j, z, c * pair_weight * w**2))
    L, b = reference.laplacian_and_target(pairs, m)
    basis = np.setdiff1d(np.arange(m) if basis is None else basis, held)
    if not len(basis):
        return np.zeros(len(held))
    return K[np.ix_(held, basis)] @ reference.reduced_solution(K, basis, L, b, ALPHA)


def random_statements(rng, m):
    """A sparse graph inside queries, so that queries fall into several components."""
    qid = rng.permutation(np.arange(m) % 2)
    winner, loser = rng.integers(0, m, (2, 2 * m))
    kept = (winner != loser) & (qid[winner] == qid[loser])
    kept[np.flatnonzero(kept)[int(rng.integers(2, 6)) :]] = False
    winner, loser = winner[kept], loser[kept]
    magnitude, weight = rng.uniform(0.3, 2.0, (2, len(winner)))
    return winner, loser, magnitude, weight, qid, rng.choice([1.0, 0.5, 2.0, 0.0], m)


@pytest.mark.parametrize("query_weight", ["pairs", "size", "queries"])
@pytest.mark.parametrize("loss", ["magnitude", "unit", "relative"])
@pytest.mark.parametrize("space", SPACES)
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_hold_outs_equal_brute_force(space, loss, query_weight, seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(6, 10))
    X, told = rng.normal(size=(m, 3)), random_statements(rng, m)
    winner, loser, magnitude, weight, qid, v = told
    if not (weight * v[winner] * v[loser]).any():
        return
    options = dict(SPACES[space])
    K = X @ X.T
    if options:
        K = np.exp(-0.4 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    model = RankRLS(ALPHA, loss=loss, query_weight=query_weight, **options)
    statements = Preferences(winner, loser, magnitude, weight, n_items=m)
    model.fit(X, preferences=statements, qid=qid, sample_weight=v)

    def expected(held):
        held = np.asarray(held)
        return without(K, options.get("basis"), told, held, loss, query_weight)

    each = np.concatenate([expected([i]) for i in range(m)])
    assert_allclose(model.leave_one_out(), each, atol=1e-7)
    for held in ([0], [1, 4], [0, 2, 5]):
        assert_allclose(model.holdout(held), expected(held), atol=1e-7)
    found = model.leave_query_out()
    for label in np.unique(qid):
        held = np.flatnonzero(qid == label)
        assert_allclose(found[held], expected(held), atol=1e-7)
    pairs = np.array([[i, j] for i in range(m) for j in range(i) if qid[i] == qid[j]])[:6]
    if len(pairs):
        found = model.leave_pair_out(pairs)
        assert_allclose(found, np.array([expected(pair) for pair in pairs]), atol=1e-7)


def test_an_uncompared_item_counts_in_the_size_of_its_query():
    X = np.array([[0.0], [1.0], [3.0], [7.0]])
    one_over_two = Preferences([1], [0], n_items=4)
    for held, size in (([3], 3), ([2, 3], 2)):
        model = RankRLS(ALPHA, query_weight="size").fit(X, preferences=one_over_two)
        weight = (1 / size) / (1 / size + ALPHA)
        assert_allclose(model.holdout(held), weight * X[held, 0], atol=1e-12)


class NearPairs:
    """A loss that ignores pairs whose scores differ by 2 or more: a query may fall apart."""

    def pairs(self, difference):
        return difference, (difference < 2).astype(float)


@pytest.mark.parametrize("query_weight", ["pairs", "size", "queries"])
def test_scored_queries_that_a_loss_of_ones_own_takes_apart(query_weight):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(9, 3)), np.array([0.0, 1, 5, 6, 6.5, 0, 1, 9, 10])
    qid = np.repeat([0, 1], [5, 4])
    model = RankRLS(ALPHA, loss=NearPairs(), query_weight=query_weight).fit(X, y, qid=qid)
    for held in ([0], [2], [7], [1, 3]):
        rest = np.setdiff1d(np.arange(9), held)
        pairs = reference.enumerate_pairs(
            y[rest], qid[rest], loss=NearPairs(), query_weight=query_weight
        )
        L, b = reference.laplacian_and_target(pairs, len(rest))
        w = reference.primal_solution(X[rest], L, b, ALPHA)
        assert_allclose(model.holdout(held), X[held] @ w, atol=1e-9)
