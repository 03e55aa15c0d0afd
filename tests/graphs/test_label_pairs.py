"""The distinct label pairs of many graphs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rankwise.graphs.label_pairs import ranked


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=40))
def test_ranks_are_those_of_unique(pairs):
    keys = np.array([7 * a + b for a, b in pairs], dtype=np.int64)
    for found, expected in zip(ranked(keys, 7), np.unique(keys, return_inverse=True)):
        assert found.tolist() == expected.tolist()
