"""The tree with wide nodes against a plain array and its cumulative sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.numerics.wide_tree import add_to_cell, sum_of_first, tree_length


@given(
    st.integers(0, 70),
    st.lists(st.tuples(st.integers(0, 70), st.integers(-9, 9)), max_size=40),
    st.sampled_from([np.int32, np.int64, np.float64]),
)
def test_sums_are_those_of_a_plain_array(n, additions, dtype):
    tree, plain = np.zeros(tree_length(n), dtype), np.zeros(n + 1, dtype)
    for cell, value in additions:
        add_to_cell(tree, n, min(cell, n), dtype(value))
        plain[min(cell, n)] += dtype(value)
        sums = [sum_of_first(tree, n, cells) for cells in range(n + 1)]
        assert sums == [0, *np.cumsum(plain[:n]).tolist()]


@pytest.mark.parametrize("n", [1, 62, 63, 64, 65, 1000, 4094, 4095, 4096, 5000, 262_143, 262_144])
def test_many_cells(n):
    """Sizes around those where the tree gets one more node or one more level."""
    rng = np.random.default_rng(n)
    tree, plain = np.zeros(tree_length(n)), np.zeros(n + 1)
    for cell, value in zip(rng.integers(0, n + 1, 3000), rng.normal(size=3000)):
        add_to_cell(tree, n, cell, value)
        plain[cell] += value
    sums = np.concatenate(([0.0], np.cumsum(plain[:n])))
    for cells in {0, 1, n, *rng.integers(0, n + 1, 2000).tolist()}:
        assert sum_of_first(tree, n, cells) == pytest.approx(sums[cells], abs=1e-10)


def test_the_last_number_of_a_tree_is_used():
    for n in (0, 63, 64, 4095, 4096):
        tree = np.zeros(tree_length(n))
        add_to_cell(tree, n, 0, 1.0)
        assert sum_of_first(tree, n, n) == (n > 0)
