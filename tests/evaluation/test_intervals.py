"""Intervals: their variances against plain loops, their ends inside [0, 1], rough coverage."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy.stats import norm

from rankwise import UndefinedMetric, metrics
from rankwise.evaluation import confidence_interval
from rankwise.evaluation.intervals import delong
from rankwise.losses.item_concordance import item_concordance
from rankwise.supervision.queries import Queries
from tests import reference_evaluation as reference

few = st.integers(2, 12).flatmap(
    lambda m: st.tuples(*[arrays(float, m, elements=st.sampled_from([0.0, 0.5, 1, 2]))] * 2)
)


@given(data=few, qid=st.lists(st.integers(0, 2), min_size=12, max_size=12))
def test_item_concordance_against_a_loop(data, qid):
    y, s = data
    qid = np.array(qid[: len(y)])
    counted, right = item_concordance(y, s, Queries.from_labels(qid, len(y)))
    for i in range(len(y)):
        others = [j for j in range(len(y)) if qid[j] == qid[i] and y[j] != y[i]]
        assert counted[i] == len(others)
        up = [reference.heaviside(s[i], s[j], 0.0) for j in others]
        expected = sum(h if y[i] > y[j] else 1 - h for h, j in zip(up, others))
        assert right[i] == expected


@given(few)
def test_delong_against_a_loop(data):
    y, s = data
    y = np.where(y > 0.5, 3.0, -1.0)
    assume(2 <= (y == 3).sum() <= len(y) - 2)
    assume(np.ptp(s) > 0)
    area, variance = reference.delong(y, s)
    found = delong(s[y == -1], s[y == 3])
    assert_allclose(found[:2], (area, variance), atol=1e-12)
    low, high = confidence_interval(y, s, method="delong", level=0.9)
    reach = norm.ppf(0.95) * np.sqrt(variance)
    assert_allclose((low, high), (max(area - reach, 0), min(area + reach, 1)), atol=1e-12)


@given(few, st.sampled_from([0.5, 0.95, 0.999]), st.booleans())
def test_always_inside_zero_and_one(data, level, queries):
    y, s = data
    qid = np.arange(len(y)) % 3 if queries else None
    try:
        low, high = confidence_interval(y, s, qid, level=level, random_state=0)
    except UndefinedMetric:
        return
    assert 0 <= low <= high <= 1
    assert low <= metrics.concordance(y, s, qid) <= high


def test_auto_is_delong_where_there_is_enough():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200).astype(float)
    s = y + 1.5 * rng.normal(size=200)
    area, variance = reference.delong(y, s)
    reach = norm.ppf(0.975) * np.sqrt(variance)
    assert_allclose(confidence_interval(y, s), (area - reach, area + reach), rtol=1e-10)
    assert_allclose(confidence_interval(y, s), confidence_interval(y, s, method="delong"))


def test_jackknife_against_leaving_items_out():
    rng = np.random.default_rng(1)
    y = rng.normal(size=60).round(1)
    s = y + rng.normal(size=60)
    left = [reference.concordance(np.delete(y, i), np.delete(s, i)) for i in range(60)]
    variance = 59 / 60 * np.sum((np.array(left) - np.mean(left)) ** 2)
    reach = norm.ppf(0.975) * np.sqrt(variance)
    c = reference.concordance(y, s)
    assert_allclose(confidence_interval(y, s), (c - reach, c + reach), rtol=1e-9)


def test_queries_are_resampled_whole():
    rng = np.random.default_rng(2)
    qid = np.repeat(np.arange(25), 6)
    y = rng.normal(size=150)
    s = y + rng.normal(size=150) + 100 * qid
    values = [metrics.concordance(y[qid == q], s[qid == q]) for q in range(25)]
    low, high = confidence_interval(y, s, qid, random_state=0)
    reach = norm.ppf(0.975) * np.std(values, ddof=1) / 5
    assert_allclose((low, high), (np.mean(values) - reach, np.mean(values) + reach), atol=0.015)
    shuffled = rng.permutation(150)
    again = confidence_interval(y[shuffled], s[shuffled], qid[shuffled], random_state=1)
    assert_allclose(again, (low, high), atol=0.01)


def test_perfect_orders_leave_doubt():
    assert confidence_interval([0] * 20 + [1] * 20, np.arange(40))[0] < 0.95
    assert confidence_interval(np.arange(20), np.arange(20))[0] < 0.95
    qid = np.repeat(np.arange(12), 2)
    y = np.tile([0.0, 1.0], 12)
    assert confidence_interval(y, y, qid)[0] < 0.9
    low, high = confidence_interval([0, 0, 0, 1], [1, 2, 3, 2.5])
    assert low < 0.3 and high > 0.9


@pytest.mark.parametrize(("n_high", "n_low", "area"), [(5, 60, 0.8), (25, 25, 0.9), (60, 60, 0.7)])
def test_coverage_is_about_right(n_high, n_low, area):
    rng = np.random.default_rng(4)
    y = np.repeat([1.0, 0.0], [n_high, n_low])
    shift = norm.ppf(area) * np.sqrt(2)
    intervals = [confidence_interval(y, shift * y + rng.normal(size=len(y))) for _ in range(300)]
    low, high = np.transpose(intervals)
    assert np.mean((low <= area) & (area <= high)) > 0.91


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1, 1, 1], [1, 2, 3]), {}, "only one value"),
        (([0, 1, 2], [5, 5, 5]), {}, "s is constant"),
        (([0, 1, 0, 1], [1, 1, 2, 2], [0, 0, 1, 1]), {}, "constant within every query"),
        (([0, 1, 0, 0], [1, 2, 2, 1], [0, 0, 1, 1]), {}, "only one query has a pair"),
        (([0, 0, 1, 1], [1, 2, 2, 1], [0, 0, 1, 1]), {}, "no query holds two values"),
        (([0, 1, 2], [1, 2, 3]), {"method": "delong"}, "two values of y"),
        (([0, 1, 2], [1, 2, 3]), {"method": "exact"}, "method must be one of"),
        (([0, 1, 2], [1, 2, 3]), {"method": "bootstrap"}, "needs two"),
        (([0, 1, 0, 1], [1, 2, 2, 1], [0, 0, 1, 1]), {"method": "jackknife"}, "single query"),
        (([0, 1, 2], [1, 2, np.nan]), {}, "row 2"),
        (([0, 1, 2], [1, 2]), {}, "same length"),
        (([0, 1, 2], [1, 2, 3]), {"level": 95}, "between 0 and 1"),
        (([0, 0, 1], [1, 2, 3]), {"method": "delong"}, "two items of each class"),
    ],
)
def test_bad_input(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        confidence_interval(*arguments, **options)
