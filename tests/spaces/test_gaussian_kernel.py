"""The Gaussian kernel against differences taken pair by pair."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from rankwise import RLS, ConditionalRanker, RankRLS
from rankwise.exceptions import InvalidKernel
from rankwise.spaces.gaussian_kernel import gaussian_kernel
from rankwise.spaces.kernels import Kernel

RNG = np.random.default_rng(4)


def by_differences(X, Z, gamma):
    return np.exp(-gamma * ((X[:, None] - Z[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("as_items", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9, -1e12])
def test_offsets(offset, as_items):
    X, Z = RNG.normal(size=(300, 3)) + offset, RNG.normal(size=(40, 3)) + offset
    items = as_items(X)
    assert_allclose(gaussian_kernel(items, items, 0.5), by_differences(X, X, 0.5), atol=1e-12)
    assert_allclose(gaussian_kernel(items, as_items(Z), 0.5), by_differences(X, Z, 0.5), atol=1e-12)


@given(seed=st.integers(0, 2**20), n=st.integers(1, 30), log_gamma=st.floats(-6, 6))
def test_any_items(seed, n, log_gamma):
    """Outliers, clusters far apart, constant columns and equal rows, dense and sparse."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, n)) * 10.0 ** rng.integers(-3, 4, n)
    X[rng.integers(0, 20, 3)] *= 10.0 ** rng.integers(0, 10)
    X[:10, 0] += 10.0 ** rng.integers(0, 10)
    X[rng.random(X.shape) < 0.3] = 0.0
    X[4] = X[3]
    gamma = 10.0**log_gamma
    expected = by_differences(X, X, gamma)
    for items in (X, sparse.csr_array(X)):
        assert_allclose(gaussian_kernel(items, items, gamma), expected, atol=1e-11)
        for new in (X[5:], sparse.csr_array(X[5:])):
            assert_allclose(gaussian_kernel(new, items, gamma), expected[5:], atol=1e-11)


def test_more_items_than_a_tile():
    X = RNG.normal(size=(1500, 2))
    assert_allclose(gaussian_kernel(X, X, 0.3), rbf_kernel(X, X, 0.3), atol=1e-13)
    assert_allclose(gaussian_kernel(X[:700], X, 0.3), rbf_kernel(X[:700], X, 0.3), atol=1e-13)


def test_unsorted_and_repeated_entries():
    X = sparse.csr_array(
        (np.array([1.0, 2.0, 3.0, 4.0]), np.array([2, 0, 0, 1]), np.array([0, 3, 4]))
    )
    far = sparse.csr_array(X)
    far.data = 1e6 * far.data
    plain = far.toarray()
    assert_allclose(gaussian_kernel(far, far, 1e-3), by_differences(plain, plain, 1e-3))
    assert far.indices.tolist() == [2, 0, 0, 1]


def test_single_precision_is_computed_in_double():
    X = RNG.normal(size=(30, 4)).astype(np.float32) + np.float32(1000)
    double = X.astype(np.float64)
    assert_allclose(gaussian_kernel(X, X, 0.5), by_differences(double, double, 0.5), atol=1e-13)


def test_overflow_is_refused():
    with pytest.raises(InvalidKernel, match="scale its features down"):
        Kernel("rbf", 1.0).matrix(np.array([[1e200], [0.0]]), np.array([[1.0]]))


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("offset", [1e6, 1e9])
def test_learners_ignore_an_offset_of_the_features(kernel, offset):
    """Timestamps: the features are multiples of 2⁻¹⁰, so that the offset itself loses nothing."""
    X = np.round(1024 * RNG.normal(size=(60, 3))) / 1024
    y, new = RNG.normal(size=60), np.round(1024 * RNG.normal(size=(9, 3))) / 1024
    for learner in (RankRLS(0.1, kernel=kernel), RLS(0.1, kernel=kernel, basis=20)):
        at_zero = learner.set_params(random_state=0).fit(X, y).predict(new)
        for as_items in (np.asarray, sparse.csr_array):
            model = learner.fit(as_items(X + offset), y)
            assert_allclose(model.predict(as_items(new + offset)), at_zero, atol=1e-9)
    nodes = ConditionalRanker(kernel=kernel).fit(X[:12], RNG.normal(size=(12, 12)))
    shifted = ConditionalRanker(kernel=kernel).fit(X[:12] + offset, nodes.predict(X[:12]))
    at_zero = ConditionalRanker(kernel=kernel).fit(X[:12], nodes.predict(X[:12]))
    assert_allclose(shifted.predict(new + offset), at_zero.predict(new), atol=1e-9)
