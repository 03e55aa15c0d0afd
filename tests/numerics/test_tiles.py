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


def test_rows_are_permuted_in_place():
    rng = np.random.default_rng(0)
    for m in (1, 2, 7, 40):
        A, order = rng.normal(size=(m, 3)), rng.permutation(m)
        expected = np.empty_like(A)
        expected[order] = A
        tiles.permute_rows(A, order)
        assert_array_equal(A, expected)
