"""Values at many alphas from their values at a few of them, for any spectrum."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankwise.numerics.rational_interpolation import interpolate_alphas

GRID = 2.0 ** np.arange(-15, 16)


@settings(max_examples=60, deadline=None)
@given(
    st.floats(-12, 9),
    st.floats(0, 12),
    st.floats(-9, 6),
    st.floats(0, 12),
    st.integers(1, 40),
    st.integers(0, 10**6),
)
def test_interpolation_holds_for_any_spectrum(low, width, first, span, a, seed):
    """Every 1/(μ + λ), relative to itself, so every positive mixture of them too."""
    rng = np.random.default_rng(seed)
    alphas = rng.permutation(10.0 ** (first + span * rng.uniform(size=a)))
    nodes, T = interpolate_alphas(alphas, 10.0**low, 10.0 ** (low + width))
    eigenvalues = 10.0 ** (low + width * rng.uniform(size=(500, 1)))
    values = 1.0 / (eigenvalues + alphas)
    assert len(set(nodes.tolist())) == len(nodes)
    assert_allclose(values[:, nodes] @ T.T, values, rtol=1e-10)


def test_interpolation_of_equal_alphas_and_of_one_eigenvalue():
    nodes, T = interpolate_alphas(np.array([2.0, 0.5, 2.0, 0.5]), 1.0, 10.0)
    assert len(nodes) == 2
    assert_allclose(T[[0, 1]], T[[2, 3]])
    nodes, T = interpolate_alphas(GRID, 3.0, 3.0)
    assert len(nodes) == 1
    assert_allclose(T[:, 0], (3 + GRID[nodes]) / (3 + GRID), rtol=1e-12)
