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
