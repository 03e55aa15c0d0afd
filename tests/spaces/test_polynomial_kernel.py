"""Differences of polynomial kernel values against 60 digits, for items far from zero."""

from decimal import localcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from rankwise import InvalidKernel
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.representation import Representation, sums_beyond_rounding
from tests.reference_precise import DIGITS, exactly, kernel_in_decimals

MEANS = [50.0, 1e2, 1e4, -1e6]


def exact_differences(X, Y, gamma, degree, coef0):
    """k(x, y) − k(x, x₀) − k(x₀, y) + k(x₀, x₀), and k(y, x₀) − k(x₀, x₀), x₀ the first of Y."""
    with localcontext(prec=DIGITS):
        X, Y = exactly(X), exactly(Y)
        own = kernel_in_decimals(Y, Y, "poly", gamma, degree, coef0)
        K = kernel_in_decimals(X, Y, "poly", gamma, degree, coef0)
        differences = K - K[:, :1] - own[0] + own[0, 0]
        return differences.astype(float), (own[:, 0] - own[0, 0]).astype(float)


def far_items(rng, m, n, mean):
    return rng.normal(size=(m, n)) + mean * rng.choice([-1.0, 1.0], size=n)


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("degree", [1, 2, 3, 5])
@pytest.mark.parametrize("as_given", [np.asarray, sparse.csr_array])
def test_differences_keep_their_digits(mean, degree, as_given):
    rng = np.random.default_rng(degree)
    X, X_new = far_items(rng, 9, 4, mean), rng.normal(size=(5, 4)) + mean
    view = Kernel("poly", 0.3, degree, 1.0).from_anchor(as_given(X))
    K, offsets = exact_differences(X, X, 0.3, degree, 1.0)
    found = view.matrix(as_given(X), as_given(X))
    assert_allclose(found, K, atol=2e-14 * K.max())
    assert_allclose(view.offsets(as_given(X)), offsets, atol=2e-14 * np.abs(offsets).max())
    K_new, _ = exact_differences(X_new, X, 0.3, degree, 1.0)
    found = view.matrix(as_given(X_new), as_given(X))
    assert_allclose(found, K_new, atol=1e-13 * np.abs(K_new).max())


def test_columns_with_zeros_stay_sparse_and_new_items_may_have_zeros_anywhere():
    rng = np.random.default_rng(0)
    X = np.hstack((far_items(rng, 9, 2, 1e5), rng.poisson(0.5, size=(9, 5)).astype(float)))
    X_new = X[:4] * rng.integers(0, 2, size=(4, 7))
    view = Kernel("poly", degree=3).from_anchor(sparse.csr_array(X))
    plain = Kernel("poly", degree=3).from_anchor(X)
    for items in (X, X_new):
        expected, _ = exact_differences(items, X, 1 / 7, 3, 1.0)
        for given in (items, sparse.csr_array(items)):
            found = view.matrix(given, sparse.csr_array(X))
            assert_allclose(found, expected, atol=1e-13 * np.abs(expected).max())
            found = plain.matrix(given, X)
            assert_allclose(found, expected, atol=1e-13 * np.abs(expected).max())


@pytest.mark.parametrize("scale, coef0", [(1e-9, 1.0), (1e-20, 1.0), (1.0, 1e7)])
def test_small_features_beside_coef0(scale, coef0):
    X = scale * np.random.default_rng(0).normal(size=(8, 3))
    view = Kernel("poly", 0.5, 3, coef0).from_anchor(X)
    K, offsets = exact_differences(X, X, 0.5, 3, coef0)
    assert_allclose(view.matrix(X, X), K, atol=2e-14 * K.max())
    assert_allclose(view.offsets(X), offsets, atol=2e-14 * np.abs(offsets).max())


@pytest.mark.parametrize(
    "kernel",
    [
        Kernel("poly"),
        Kernel("poly", degree=2.5),
        Kernel("poly", coef0=-1.0),
        Kernel("rbf"),
        Kernel(lambda A, B: (A @ B.T) ** 2),
    ],
)
def test_other_kernels_are_taken_as_they_are(kernel):
    X = np.random.default_rng(0).normal(size=(6, 2))
    far = X if kernel == Kernel("poly") else X + 1e4
    assert kernel.from_anchor(far) is None
    assert kernel.from_anchor(far[:1]) is None
    assert kernel.from_anchor(np.ones((5, 2))) is None


def test_values_that_overflow_are_refused():
    X = 1e110 * (1 + 1e-3 * np.random.default_rng(0).normal(size=(6, 2)))
    kernel = Kernel("poly", degree=2)
    view = kernel.from_anchor(X)
    with pytest.raises(InvalidKernel, match="overflows"):
        kernel.gram(X, view=view)


@pytest.mark.parametrize("sums_to_zero", [True, False])
def test_scores_of_an_expansion(sums_to_zero):
    rng = np.random.default_rng(3)
    X, X_new = far_items(rng, 7, 3, 1e3), far_items(rng, 4, 3, 1e3)
    b = rng.integers(-9, 9, size=(7, 2)).astype(float)
    if sums_to_zero:
        b[-1] -= b.sum(axis=0)
    with localcontext(prec=DIGITS):
        K = kernel_in_decimals(exactly(X_new), exactly(X), "poly", 1 / 3, 2, 1.0)
        expected = (K @ exactly(b)).astype(float)
    kernel = Kernel("poly", degree=2)
    found = Representation(kernel, np.arange(7), X).scores(X_new, b)
    assert_allclose(found, expected, rtol=1e-12)
    assert_allclose(
        Representation(kernel, np.arange(7), X).scores(X_new, b[:, 0]), expected[:, 0], rtol=1e-12
    )


def test_sums_that_may_be_zero():
    b = np.array([[0.1, 0.1], [0.2, 0.2], [-0.3, -0.2999]])
    assert sums_beyond_rounding(b)[0] == 0 and sums_beyond_rounding(b)[1] > 0
