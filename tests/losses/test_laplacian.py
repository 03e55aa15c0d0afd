"""Operators of preference graphs against graphs enumerated pair by pair."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from rankwise.losses import gram_sums
from rankwise.losses.quadratic_loss import PointwiseLoss
from rankwise.numerics.arrays import LazyRows
from rankwise.supervision.preferences import Preferences
from tests import reference
from tests.problems import compared, quadratic_of, scored

COSTS = [(loss, ties) for loss in ("magnitude", "unit", "relative") for ties in ("keep", "drop")]

problems = st.integers(0, 10**6).map(np.random.default_rng)


def assert_same(quadratic, L, b, rng):
    m = len(L)
    laplacian = quadratic.laplacian
    R = laplacian.factor(np.eye(laplacian.rank))
    np.testing.assert_allclose(laplacian.apply(np.eye(m)), L, atol=1e-10)
    np.testing.assert_allclose(R @ R.T, L, atol=1e-10)
    np.testing.assert_allclose(laplacian.factor_t(np.eye(m)), R.T, atol=1e-10)
    np.testing.assert_allclose(quadratic.target.b[:, 0], b, atol=1e-10)
    np.testing.assert_allclose((R @ quadratic.target.beta)[:, 0], b, atol=1e-10)
    F = rng.normal(size=(m, 3))
    features = (F, np.asfortranarray(F), np.hstack((F, F))[:, :3], sparse.csr_array(F), Lazy(F))
    for smallest in (gram_sums.SHORTEST, 3):  # blocks of whole queries, and queries in pieces
        with patch.object(gram_sums, "SHORTEST", smallest):
            for given_as in features:
                gram, moments = laplacian.gram(given_as, quadratic.target)
                np.testing.assert_allclose(gram, F.T @ L @ F, atol=1e-9)
                np.testing.assert_allclose(moments[:, 0], F.T @ b, atol=1e-9)


class Lazy(LazyRows):
    """F, told as rows of F / 2."""

    def __init__(self, F):
        self.F, self.shape = F, F.shape

    def rows(self, items):
        return self.F[items] / 2

    def finish(self, G, moments):
        return 4 * G, 2 * moments


@pytest.mark.parametrize("query_weight", ["pairs", "size", "queries"])
@pytest.mark.parametrize(("loss", "ties"), COSTS)
@settings(max_examples=25, deadline=None)
@given(rng=problems)
def test_scores_equal_enumerated_pairs(loss, ties, query_weight, rng):
    m = int(rng.integers(2, 15))
    y = rng.integers(0, 4, m).astype(float)
    qid = rng.integers(0, 3, m)
    weight = rng.choice([0.0, 1.0, 2.0, 0.3], m)
    pairs = reference.enumerate_pairs(y, qid, weight, loss, ties, query_weight)
    L, b = reference.laplacian_and_target(pairs, m)
    assert_same(quadratic_of(scored(y, qid, weight), loss, ties, query_weight), L, b, rng)


@pytest.mark.parametrize("loss", ["magnitude", "unit", "relative"])
@settings(max_examples=25, deadline=None)
@given(rng=problems)
def test_preferences_equal_their_incidence_matrix(loss, rng):
    m, l = int(rng.integers(2, 10)), int(rng.integers(1, 20))
    winner = rng.integers(0, m, l)
    loser = (winner + rng.integers(1, m, l)) % m
    y, w = rng.uniform(0.1, 2, l), rng.choice([0.0, 1.0, 2.5], l)
    z = np.ones(l) if loss == "unit" else y
    squared = w / y**2 if loss == "relative" else w
    L, b = reference.laplacian_and_target(zip(winner, loser, z, squared), m)
    given_pairs = Preferences(winner, loser, y, w)
    assert_same(quadratic_of(compared(given_pairs, m), loss), L, b, rng)


def test_pointwise_is_diagonal(rng=None):
    rng = np.random.default_rng(0)
    y, weight = rng.normal(size=6), rng.uniform(0, 2, 6)
    quadratic = PointwiseLoss().quadratic(scored(y, None, weight))
    assert_same(quadratic, np.diag(weight), weight * y, rng)


def test_large_gram_in_chunks_and_threads():
    rng = np.random.default_rng(1)
    m, n = 20_000, 30
    X, y, qid = rng.normal(size=(m, n)), rng.normal(size=m), rng.integers(0, 700, m)
    quadratic = quadratic_of(scored(y, qid))
    gram, _ = quadratic.laplacian.gram(X, quadratic.target)
    expected = np.zeros((n, n))
    for query in range(700):
        rows = X[qid == query]
        if len(rows):
            centred = rows - rows.mean(axis=0)
            expected += len(rows) * centred.T @ centred
    np.testing.assert_allclose(gram, expected, rtol=1e-10)


@pytest.mark.parametrize(("loss", "ties"), [cost for cost in COSTS if cost[0] != "relative"])
@settings(max_examples=25, deadline=None)
@given(rng=problems)
def test_whole_queries_taken_alone(loss, ties, rng):
    m = int(rng.integers(2, 20))
    y, weight = rng.integers(0, 3, m).astype(float), rng.uniform(0.1, 2, m)
    qid = rng.integers(0, 4, m)
    laplacian = quadratic_of(scored(y, qid, weight), loss, ties, "queries").laplacian
    items = rng.permutation(np.flatnonzero(np.isin(qid, [qid[0], 2])))
    R = laplacian.factor(np.eye(m))[np.ix_(items, items)]
    np.testing.assert_allclose(laplacian.take(items).factor(np.eye(len(items))), R, atol=1e-12)
