"""The Fenwick tree against a plain array and its cumulative sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.numerics import fenwick


@given(
    st.integers(0, 40),
    st.lists(st.tuples(st.integers(0, 45), st.integers(-9, 9)), max_size=60),
    st.sampled_from([np.int32, np.int64, np.float64]),
)
def test_sums_are_those_of_a_plain_array(n, additions, dtype):
    """Cells beyond the last one are ignored."""
    tree, plain = np.zeros(n, dtype), np.zeros(n, dtype)
    for cell, value in additions:
        fenwick.add_to_tree(tree, cell, dtype(value))
        plain[cell : cell + 1] += dtype(value)
        sums = [fenwick.sum_before(tree, end) for end in range(n + 1)]
        assert sums == [0, *np.cumsum(plain).tolist()]


@pytest.mark.parametrize("n", [1, 1000, 4096])
def test_many_cells(n):
    rng = np.random.default_rng(n)
    tree, plain = np.zeros(n), np.zeros(n)
    for cell, value in zip(rng.integers(0, n, 3000), rng.normal(size=3000)):
        fenwick.add_to_tree(tree, cell, value)
        plain[cell] += value
    found = [fenwick.sum_before(tree, end) for end in range(n + 1)]
    np.testing.assert_allclose(found, np.concatenate(([0.0], np.cumsum(plain))), atol=1e-10)
