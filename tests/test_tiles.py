"""Square matrices by tiles."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rankwise import InvalidKernel
from rankwise.numerics import tiles
from rankwise.spaces.kernels import check_gram


@pytest.mark.parametrize("n", [0, 1, 7, 8, 30])
def test_transposing_and_mirroring(monkeypatch, n):
    monkeypatch.setattr(tiles, "TILE", 8)
    A = np.random.default_rng(0).normal(size=(n, n))
    turned, mirrored = A.copy(), A.copy()
    tiles.transpose_in_place(turned)
    assert_array_equal(turned, A.T)
    tiles.mirror_upper(mirrored)
    assert_array_equal(mirrored, np.triu(A) + np.triu(A, 1).T)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_kernel_checked_in_place_is_what_it_was(order):
    Z = np.random.default_rng(0).normal(size=(300, 5))
    K = np.asarray(Z @ Z.T, order=order)
    before = K.copy()
    assert check_gram(K, own=True) is K
    assert_array_equal(K, before)
    K[7, 7] -= 100.0
    before = K.copy()
    with pytest.raises(InvalidKernel, match="indefinite"):
        check_gram(K, own=True)
    assert_array_equal(K, before)
