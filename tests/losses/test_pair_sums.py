"""The compiled sums against loops over all pairs."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.losses.pair_sums import excess_sums, swapped_sums
from rankwise.supervision.queries import Queries
from tests.losses.test_pair_counts import tied_scores


@given(
    m=st.integers(1, 60),
    levels=st.sampled_from([None, 2, 5]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(deadline=None)
def test_sums_over_swapped_pairs(m, levels, seed):
    rng = np.random.default_rng(seed)
    y, s, v = (tied_scores(rng, m, levels) for _ in range(3))
    swapped = (y[:, None] < y) & (s[:, None] > s)
    gaps = (v[:, None] - v)[swapped]
    found = swapped_sums(y, s, v, Queries.from_labels(None, m))
    np.testing.assert_allclose(found, [[gaps.sum(), (gaps**2).sum()]], atol=1e-10)


@given(m=st.integers(1, 60), epsilon=st.floats(0, 3), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_sums_beyond_epsilon(m, epsilon, seed):
    e = np.random.default_rng(seed).normal(size=m)
    excess = np.maximum(np.abs(e[:, None] - e) - epsilon, 0)[np.triu_indices(m, 1)]
    found = excess_sums(e, epsilon, Queries.from_labels(None, m))
    np.testing.assert_allclose(found, [[excess.sum(), (excess**2).sum()]], atol=1e-10)


def test_sums_keep_their_digits_far_from_zero():
    """One tiny swap among large, otherwise ordered scores: nothing cancels."""
    y = np.arange(1000.0)
    s = 1e6 + y
    s[500] = s[499] - 2.0**-20
    ((total, squares),) = swapped_sums(y, s, s, Queries.from_labels(None, 1000))
    assert total == 2.0**-20
    assert squares == 2.0**-40
