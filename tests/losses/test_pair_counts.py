"""The compiled counting against loops over all pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.losses import pair_counts as order
from rankwise.losses import pair_counts as swaps
from rankwise.supervision.queries import Queries
from tests import reference_metrics as slow


def tied_scores(rng, shape, levels):
    """Real scores, or few distinct ones so that most pairs tie."""
    return rng.normal(size=shape) if levels is None else rng.integers(levels, size=shape) / 3.0


@given(
    m=st.integers(1, 150),
    q=st.integers(1, 6),
    y_levels=st.sampled_from([None, 1, 2, 5]),
    s_levels=st.sampled_from([None, 1, 2, 7]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(deadline=None)
def test_counts_equal_loops(m, q, y_levels, s_levels, seed):
    rng = np.random.default_rng(seed)
    y, S = tied_scores(rng, m, y_levels), tied_scores(rng, (m, 2), s_levels)
    queries = Queries.from_labels(rng.integers(q, size=m), m)
    counts = order.pair_counts(y, S, queries)
    pairs, concordant = order.concordant_pairs(y, S, queries)
    for query, items in enumerate(queries):
        for column in range(2):
            tied_y, tied_s, tied_both, swapped = expected = slow.pair_counts(
                y[items], S[items, column]
            )
            np.testing.assert_array_equal(counts[query, column], expected)
            assert pairs[query] == len(items) * (len(items) - 1) // 2 - tied_y
            right = pairs[query] - swapped - 0.5 * (tied_s - tied_both)
            assert concordant[query, column] == right


@given(
    m=st.integers(1, 100),
    y_levels=st.sampled_from([None, 1, 2, 5]),
    s_levels=st.sampled_from([None, 1, 2, 7]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(deadline=None)
def test_sorting_counts_as_comparing_all_does(m, y_levels, s_levels, seed):
    rng = np.random.default_rng(seed)
    y, s = np.sort(tied_scores(rng, m, y_levels)), tied_scores(rng, m, s_levels)
    compared, sorted_ = np.empty((2, 4), dtype=np.int64)
    swaps._compare_all(y, s, compared)
    ascending = np.sort(s)
    swaps._sort_and_count(y, s, np.empty(m), sorted_)
    np.testing.assert_array_equal(sorted_, compared)
    np.testing.assert_array_equal(s, ascending)


@pytest.mark.parametrize(("q", "k"), [(1, 1), (1, 40), (3, 40), (5000, 3)])
def test_blocks_cover_every_query_and_column_once(q, k):
    rng = np.random.default_rng(q)
    sizes = rng.integers(1, 60, size=q) + (np.arange(q) == 0) * 30_000
    starts = np.concatenate(([0], np.cumsum(sizes)))
    covered = np.zeros((q, k), dtype=int)
    for first, last, left, right in swaps._blocks(starts, k):
        covered[first:last, left:right] += 1
    assert (covered == 1).all()


def test_many_blocks_count_as_columns_one_by_one():
    rng = np.random.default_rng(0)
    m, k = 20_000, 12
    y, S = tied_scores(rng, m, 5), tied_scores(rng, (m, k), None)
    queries = Queries.from_labels(rng.integers(300, size=m), m)
    together = order.pair_counts(y, S, queries)
    apart = [order.pair_counts(y, S[:, [column]], queries)[:, 0] for column in range(k)]
    np.testing.assert_array_equal(together, np.stack(apart, axis=1))


def test_half_a_million_items_do_not_overflow():
    m = 500_000
    y = np.arange(m, dtype=float)
    pairs, concordant = order.concordant_pairs(
        y, np.stack([y, -y, 0 * y], axis=1), Queries.from_labels(None, m)
    )
    assert pairs[0] == m * (m - 1) // 2
    np.testing.assert_array_equal(concordant[0], [pairs[0], 0, pairs[0] / 2])


def test_sorted_within_is_by_query_then_value():
    rng = np.random.default_rng(0)
    values, qid = rng.normal(size=200), rng.integers(7, size=200)
    queries = Queries.from_labels(qid, 200)
    np.testing.assert_array_equal(order.sorted_within(values, queries), np.lexsort((values, qid)))


@given(q=st.integers(1, 40), sizes=st.sampled_from([1, 2, 9]), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_descending_within_is_by_query_then_from_the_greatest_down(q, sizes, seed):
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.repeat(np.arange(q), rng.integers(1, sizes + 1, size=q)))
    values = rng.integers(4, size=len(qid)).astype(float)
    found = order.descending_within(values, Queries.from_labels(qid, len(qid)))
    assert sorted(found) == list(range(len(qid)))
    np.testing.assert_array_equal(qid[found], np.sort(qid))
    expected = values[np.lexsort((-values, qid))]
    np.testing.assert_array_equal(values[found], expected)
