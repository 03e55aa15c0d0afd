"""Square matrices, tile by tile."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rankwise.numerics import tiles


@pytest.mark.parametrize("n", [0, 1, 7, 8, 30])
def test_transposing_and_mirroring(monkeypatch, n):
    monkeypatch.setattr(tiles, "TILE", 8)
    A = np.random.default_rng(0).normal(size=(n, n))
    turned, mirrored = A.copy(), A.copy()
    tiles.transpose_in_place(turned)
    assert_array_equal(turned, A.T)
    tiles.mirror_upper(mirrored)
    assert_array_equal(mirrored, np.triu(A) + np.triu(A, 1).T)
