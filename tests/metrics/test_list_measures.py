"""NDCG and average precision against their mean over all orders of ties, and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import average_precision_score, ndcg_score

from rankwise import metrics
from rankwise.metrics import UndefinedMetric
from tests import reference_metrics as slow
from tests.metrics.drawn_rankings import check, quick, rankings


class TestLists:
    @given(
        rankings(max_items=6),
        st.sampled_from([None, 1, 3, 50]),
        st.sampled_from(["exp2", "linear"]),
    )
    @quick
    @pytest.mark.parametrize("empty", ["zero", "skip"])
    def test_ndcg_is_its_mean_over_all_orders_of_the_ties(self, empty, data, k, gain):
        def one(y, s):
            value = slow.one_ndcg(y, s, k, gain)
            return 0.0 if value is None and empty == "zero" else value

        expected = slow.mean_over_queries(one, *data)
        check(expected, metrics.ndcg, *data, k=k, gain=gain, empty=empty)

    @given(rankings(max_items=6, y_values=[0.0, 1.0]))
    @quick
    @pytest.mark.parametrize("empty", ["zero", "skip"])
    def test_average_precision_is_its_mean_over_all_orders_of_the_ties(self, empty, data):
        def one(y, s):
            value = slow.one_average_precision(y, s)
            return 0.0 if value is None and empty == "zero" else value

        check(slow.mean_over_queries(one, *data), metrics.average_precision, *data, empty=empty)

    @given(rankings(), st.sampled_from([None, 5]))
    @quick
    def test_ndcg_is_that_of_scikit_learn(self, data, k):
        y, s, _ = data
        y = np.abs(y)
        if len(y) > 1:
            assert_allclose(
                metrics.ndcg(y, s, k=k, gain="linear"), ndcg_score([y], [s], k=k), atol=1e-12
            )

    @given(st.integers(1, 60), st.integers(0, 99))
    @quick
    def test_average_precision_without_ties_is_that_of_scikit_learn(self, m, seed):
        rng = np.random.default_rng(seed)
        y, s = rng.permutation(np.arange(m) % 3 == 0), rng.permutation(m)
        assert_allclose(metrics.average_precision(y, s), average_precision_score(y, s))

    @given(st.integers(2, 300), st.integers(1, 60), st.integers(1, 20), st.integers(0, 99))
    @quick
    def test_ndcg_of_many_items_and_ties_is_that_of_scikit_learn(self, m, k, levels, seed):
        rng = np.random.default_rng(seed)
        y, s = rng.integers(5, size=(3, m)).astype(float), rng.integers(levels, size=(3, m)) / 7.0
        qid = np.repeat(["b", "a", "c"], m)
        shuffled = rng.permutation(3 * m)
        found = metrics.ndcg(
            y.ravel()[shuffled], s.ravel()[shuffled], qid[shuffled], k=k, gain="linear"
        )
        assert_allclose(found, ndcg_score(y, s, k=k), atol=1e-12)

    @given(rankings(max_items=6), st.sampled_from([None, 1, 2, 4, 50]), st.booleans())
    @quick
    def test_reciprocal_rank_is_its_mean_over_all_orders_of_the_ties(self, data, k, given_highest):
        y, s, qid = data
        y = np.abs(y)
        highest = y.max() + 1 if given_highest else y.max()

        def one(y, s):
            return slow.one_reciprocal_rank(y, s, k, highest)

        options = {"highest": highest} if given_highest else {}
        expected = slow.mean_over_queries(one, y, s, qid)
        check(expected, metrics.expected_reciprocal_rank, y, s, qid, k, **options)

    def test_reciprocal_rank_of_long_ties(self):
        """All orders of 2,000 tied items: the first relevant of three stands at a random rank."""
        y = np.zeros(2000)
        y[:3] = 60.0
        first = np.arange(1, 1999)
        share = [((2000 - r) * (1999 - r)) / 2 / (2000 * 1999 * 1998 / 6) for r in first]
        found = metrics.expected_reciprocal_rank(y, np.zeros(2000))
        assert_allclose(found, np.sum(share / first), rtol=1e-9)
        assert metrics.expected_reciprocal_rank(np.zeros(9), np.arange(9)) == 0.0
        assert metrics.expected_reciprocal_rank([1e300, 0], [1, 0]) == 1.0

    @pytest.mark.parametrize(
        ("y", "options", "message"),
        [
            ([0, -1], {}, "negative.*row 1"),
            ([0, 3], {"highest": 2}, "row 1 is greater"),
            ([0, 3], {"k": 0}, "k must be"),
        ],
    )
    def test_reciprocal_rank_refuses(self, y, options, message):
        with pytest.raises(ValueError, match=message):
            metrics.expected_reciprocal_rank(y, [1, 2], **options)

    def test_many_queries_in_threads(self):
        rng = np.random.default_rng(1)
        qid = rng.integers(3000, size=100_000)
        y, s = rng.integers(3, size=100_000).astype(float), np.round(rng.normal(size=100_000), 1)
        for measure, true in (
            (metrics.ndcg, y),
            (metrics.average_precision, y > 1),
            (metrics.expected_reciprocal_rank, y),
        ):
            order = np.argsort(qid, kind="stable")
            each = [
                measure(true[items], s[items])
                for items in np.split(order, np.cumsum(np.bincount(qid))[:-1])[:50]
            ]
            some = np.isin(qid, np.arange(50))
            assert_allclose(measure(true[some], s[some], qid[some]), np.mean(each), rtol=1e-12)

    def test_real_and_negative_gains(self):
        y, s = np.array([0.5, -1.0, 2.0]), np.array([1.0, 3.0, 2.0])
        discount = 1 / np.log2([2, 3, 4])
        expected = y[[1, 2, 0]] @ discount / (y[[2, 0, 1]] @ discount)
        assert_allclose(metrics.ndcg(y, s, gain="linear"), expected)
        assert metrics.ndcg([-3, 4], [1, 0], gain="linear") < 0
        assert metrics.ndcg([-1, -2], [1, 0], gain="linear") == 0.0

    def test_a_perfect_order_never_exceeds_one(self):
        y = np.round(np.random.default_rng(0).random(1000), 1)
        assert metrics.ndcg(y, y) <= 1.0
        assert_allclose(metrics.ndcg(y, y), 1.0)

    def test_queries_without_relevant_items(self):
        y, s, qid = [0, 1, 0, 0], [1, 2, 1, 2], [7, 7, 8, 8]
        for measure in (metrics.ndcg, metrics.average_precision):
            assert measure(y, s, qid) == 0.5
            assert measure(y, s, qid, empty="skip") == 1.0
            assert measure([0, 0], [1, 2]) == 0.0
            with pytest.raises(UndefinedMetric, match="no query has a relevant item"):
                measure([0, 0], [1, 2], empty="skip")
