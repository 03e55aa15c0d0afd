"""Cholesky factorisation by blocks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise.numerics.block_cholesky import cholesky_in_place, largest_eigenvalue


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("block", [1, 3, 7, 20, 64, None])
def test_equals_one_factorisation(block, order):
    F = np.random.default_rng(0).normal(size=(20, 25))
    A = np.array(F @ F.T, order=order)
    found = cholesky_in_place(A.copy(order=order), block)
    assert_allclose(np.tril(found), np.linalg.cholesky(A), atol=1e-12)
    np.testing.assert_array_equal(np.triu(found, 1), np.triu(A, 1))


def test_blocks_are_the_way_of_large_matrices(monkeypatch):
    monkeypatch.setattr("rankwise.numerics.block_cholesky.WHOLE", 10)
    monkeypatch.setattr("rankwise.numerics.block_cholesky.BLOCK", 6)
    test_equals_one_factorisation(None, "C")


@pytest.mark.parametrize("block", [3, 20])
def test_refuses_what_is_not_definite(block):
    A = np.diag(np.r_[np.ones(19), -1.0])
    with pytest.raises(np.linalg.LinAlgError):
        cholesky_in_place(A, block)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1.0, 1e300])
def test_close_to_the_largest_and_never_above(scale):
    rng = np.random.default_rng(0)
    for decay in (0.0, 0.5, 2.0):
        F = rng.normal(size=(40, 40)) * np.arange(1.0, 41) ** -decay
        A = F @ F.T
        A *= scale / A.max()
        largest = np.linalg.eigvalsh(A)[-1]
        assert 0.5 * largest < largest_eigenvalue(A) <= largest * (1 + 1e-12)


def test_zero_and_empty_matrices():
    assert largest_eigenvalue(np.zeros((3, 3))) == 0.0
    assert largest_eigenvalue(np.zeros((0, 0))) == 0.0


def test_what_is_not_finite_is_not_hidden():
    assert not np.isfinite(largest_eigenvalue(np.full((2, 2), np.inf)))
