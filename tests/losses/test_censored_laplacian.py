"""The Laplacian of comparable pairs, in closed form, against the graph written out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from rankwise.losses.losses_by_name import quadratic_loss
from rankwise.numerics.arrays import LazyRows
from tests import reference
from tests.problems import censored
from tests.reference_survival import enumerate_comparable

ITEM = st.tuples(st.booleans(), st.integers(0, 5), st.integers(0, 2), st.sampled_from([0, 1, 2.5]))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(ITEM, min_size=1, max_size=12),
    st.sampled_from(["unit", "magnitude"]),
    st.sampled_from(["keep", "drop"]),
    st.sampled_from(["pairs", "size", "queries"]),
)
def test_everything_is_that_of_the_pairs(items, loss, ties, query_weight):
    event, time, qid, weight = (np.array(part) for part in zip(*items))
    m = len(items)
    pairs = enumerate_comparable(event, time, qid, weight, loss, ties, query_weight)
    L, b = reference.laplacian_and_target(pairs, m)
    told = censored(event, time.astype(float), qid, weight)
    quadratic = quadratic_loss(loss, ties, query_weight).quadratic(told)
    laplacian = quadratic.laplacian
    X = np.random.default_rng(0).normal(size=(m, 3)) + 4
    R = laplacian.factor(np.eye(m))
    assert_allclose(laplacian.factor_t(np.eye(m)), R.T, atol=1e-12)
    assert_allclose(R @ R.T, L, atol=1e-10)
    assert_allclose(laplacian.apply(X), L @ X, atol=1e-9)
    assert_allclose(quadratic.target.b[:, 0], b, atol=1e-10)
    assert_allclose(R @ quadratic.target.beta[:, 0], b, atol=1e-10)
    assert_allclose(laplacian.sandwich(X @ X.T), R.T @ X @ X.T @ R, atol=1e-9)
    G, moments = laplacian.gram(X, quadratic.target)
    assert_allclose(G, X.T @ L @ X, atol=1e-9)
    assert_allclose(moments[:, 0], X.T @ b, atol=1e-9)


class Lazy(LazyRows):
    def __init__(self, X):
        self.X, self.shape = X, X.shape

    def rows(self, items):
        return self.X[items].copy()


@pytest.mark.parametrize("loss", ["unit", "magnitude"])
def test_sums_over_blocks_of_rows(loss, monkeypatch):
    """Levels that several blocks share, one level that fills blocks, and strata of all sizes."""
    monkeypatch.setattr("rankwise.losses.censored_laplacian.SHORTEST", 16)
    monkeypatch.setattr("rankwise.losses.censored_laplacian.BLOCK_BYTES", 1)
    rng = np.random.default_rng(3)
    m = 300
    time = rng.integers(0, 12, m).astype(float)
    time[:90] = 4
    told = censored(rng.random(m) < 0.6, time, rng.integers(0, 3, m), rng.uniform(0.5, 2, m))
    quadratic = quadratic_loss(loss, "keep", "size").quadratic(told)
    X = rng.normal(size=(m, 4))
    L, b = quadratic.laplacian.apply(np.eye(m)), quadratic.target.b
    for F in (X, np.asfortranarray(X), sparse.csr_array(X), Lazy(X)):
        G, moments = quadratic.laplacian.gram(F, quadratic.target)
        assert_allclose(G, X.T @ L @ X, rtol=1e-9, atol=1e-9)
        assert_allclose(moments, X.T @ b, rtol=1e-9, atol=1e-8)


def test_offsets_and_heavy_items_keep_their_digits():
    rng = np.random.default_rng(4)
    m = 60
    event, time, X = rng.random(m) < 0.7, rng.exponential(size=m), rng.normal(size=(m, 2))
    X = np.round(X * 2**20) / 2**20  # so that an offset of 2**30 is exact
    weight = np.where(rng.random(m) < 0.2, 1e12, 1.0)
    quadratic = quadratic_loss("unit", "keep", "pairs").quadratic(
        censored(event, time, None, weight)
    )
    near, _ = quadratic.laplacian.gram(X, quadratic.target)
    far, _ = quadratic.laplacian.gram(X + 2.0**30, quadratic.target)
    assert_allclose(far, near, rtol=1e-6)
    light = np.flatnonzero(weight == 1.0)
    pairs = enumerate_comparable(event, time, None, weight, "unit")
    L, _ = reference.laplacian_and_target(pairs, m)
    assert_allclose(quadratic.laplacian.apply(np.eye(m))[light], L[light], rtol=1e-3, atol=1e-3)
