"""The exact kernel map: Z takes the place of K, and no other matrix of its size is needed."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankwise.spaces.kernels import Kernel
from rankwise.spaces.space import CholeskySpace

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
X[100:120] = X[0]


@pytest.mark.parametrize(
    "kernel", [Kernel("rbf", 0.5), Kernel("poly", 1.0, 2), Kernel("precomputed")]
)
def test_features_and_models(kernel):
    """Z Zᵀ = K, also if K is singular, and models of Z are models of kernel values."""
    items = Kernel("rbf", 0.5).gram(X) if kernel.is_precomputed else X
    before = items.copy()
    space = CholeskySpace(items, kernel)
    assert_array_equal(items, before)
    Z = space.features
    assert Z.flags.c_contiguous and Z.shape[1] < len(X)
    assert_allclose(Z @ Z.T, kernel.gram(items), atol=1e-11)
    w = RNG.normal(size=(Z.shape[1], 2))
    assert_allclose(space.represent(items) @ space.to_model(w), Z @ w, atol=1e-8)


def test_memory_is_that_of_the_kernel():
    m = 1200
    items = RNG.normal(size=(m, 30))
    kernel = Kernel("rbf", 0.1)
    CholeskySpace(items[:50], kernel)
    tracemalloc.start()
    try:
        space = CholeskySpace(items, kernel)
        space.to_model(np.ones((m, 1)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert space.features.shape == (m, m)
    assert peak < 1.7 * 8 * m * m
