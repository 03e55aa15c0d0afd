"""Power iterations against the spectrum."""

import numpy as np
import pytest

from rankwise.numerics.largest_eigenvalue import largest_eigenvalue


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
