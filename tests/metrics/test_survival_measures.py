"""Measures of censored outcomes, against plain loops and against scikit-survival."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankwise import Censored, UndefinedMetric, metrics
from tests import reference_survival

ITEM = st.tuples(st.booleans(), st.integers(0, 8), st.integers(0, 5), st.integers(0, 1))
OUTCOMES = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=14)


def draw(seed, m=40, n=60, times=30):
    rng = np.random.default_rng(seed)
    outcomes = [
        Censored(rng.random(size) < 0.6, rng.integers(0, times, size).astype(float))
        for size in (n, m)
    ]
    return *outcomes, np.round(rng.normal(size=m), rng.choice([0, 1, 6]))


@given(st.lists(ITEM, min_size=1, max_size=14))
def test_harrell_is_the_share_of_comparable_pairs(items):
    event, time, s, qid = (np.array(part) for part in zip(*items))
    y = Censored(event, time)
    for strata in (None, qid):
        if not reference_survival.comparable(event, time, strata):
            with pytest.raises(UndefinedMetric, match="no pair to order"):
                metrics.concordance(y, s, strata)
            continue
        expected = reference_survival.concordance(event, time, s, strata)
        assert metrics.concordance(y, s, strata) == pytest.approx(expected, abs=1e-12)
        assert metrics.ranking_error(np.asarray(y), s, strata) == pytest.approx(1 - expected)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tau", [None, 12.0])
def test_uno_weighs_pairs_by_inverse_probabilities(seed, tau):
    train, test, s = draw(seed)
    last = train.time.max()
    test = Censored(test.event & (test.time < last), test.time)
    weight = np.zeros(len(test))
    for i in range(len(test)):
        if test.event[i] and (tau is None or test.time[i] < tau):
            weight[i] = (
                reference_survival.still_followed(train.event, train.time, test.time[i]) ** -2
            )
    expected = reference_survival.concordance(test.event, test.time, s, weight=weight)
    assert metrics.uno_concordance(train, test, s, tau) == pytest.approx(expected, abs=1e-12)
    assert_allclose(metrics.censoring_weights(train, test, tau) ** 2, weight, rtol=1e-10)


def test_without_censoring_uno_is_harrell():
    rng = np.random.default_rng(0)
    y, s = Censored(np.ones(50, dtype=bool), rng.exponential(size=50)), rng.normal(size=50)
    assert metrics.uno_concordance(y, y, s) == pytest.approx(metrics.concordance(y.time, s))


@pytest.mark.parametrize("seed", range(6))
def test_dynamic_auc_compares_events_so_far_with_those_still_followed(seed):
    train, test, s = draw(seed)
    test = Censored(test.event & (test.time < train.time.max()), test.time)
    times = np.array([14.0, 6.0, 20.0])
    found = metrics.cumulative_dynamic_auc(train, test, s, times)
    weight = metrics.censoring_weights(train, test)
    for t, auc in zip(found.times, found.auc):
        right = counted = 0.0
        for i in np.flatnonzero(test.event & (test.time <= t)):
            for j in np.flatnonzero(test.time > t):
                counted += weight[i]
                right += weight[i] * (0.5 + 0.5 * np.sign(s[j] - s[i]))
        assert auc == pytest.approx(right / counted, abs=1e-12)
    assert found.times.tolist() == [6.0, 14.0, 20.0] and 0 <= found.mean <= 1


@pytest.mark.parametrize("seed", range(40))
def test_equal_to_scikit_survival(seed):
    theirs = pytest.importorskip("sksurv.metrics", reason="scikit-survival is not installed")
    train, test, s = draw(seed, times=[6, 30, 1000][seed % 3])
    test = Censored(test.event & (test.time < train.time.max()), test.time)
    both = np.asarray(train), np.asarray(test)
    expected = theirs.concordance_index_censored(test.event, test.time, -s)[0]
    assert metrics.concordance(both[1], s) == pytest.approx(expected, abs=1e-10)
    for tau in (None, 0.7 * test.time.max()):
        expected = theirs.concordance_index_ipcw(*both, -s, tau)[0]
        assert metrics.uno_concordance(*both, s, tau) == pytest.approx(expected, abs=1e-10)
    times = np.quantile(test.time, [0.4, 0.6, 0.8])
    times = np.minimum(times, test.time[test.time < test.time.max()].max())
    auc, mean = theirs.cumulative_dynamic_auc(*both, -s, times)
    found = metrics.cumulative_dynamic_auc(*both, s, times)
    assert_allclose(found.auc, auc, atol=1e-10)
    assert found.mean == pytest.approx(mean, abs=1e-10)


def test_what_cannot_be_weighed_is_refused():
    train = Censored([True, False], [1.0, 4.0])
    test = Censored([True, True, False], [1.0, 5.0, 6.0])
    with pytest.raises(UndefinedMetric, match=r"event of test item 1 at time 5.*give tau"):
        metrics.uno_concordance(train, test, [1, 2, 3])
    assert metrics.uno_concordance(train, test, [1, 2, 3], tau=3) == 1.0
    with pytest.raises(ValueError, match="tau must be"):
        metrics.uno_concordance(train, test, [1, 2, 3], tau=-1)
    with pytest.raises(ValueError, match="train must hold censored outcomes"):
        metrics.uno_concordance([1.0, 2.0], test, [1, 2, 3])
    with pytest.raises(ValueError, match="same length, got 3 and 2"):
        metrics.uno_concordance(train, test, [1, 2])
    with pytest.raises(UndefinedMetric, match="no pair to order"):
        metrics.uno_concordance(train, test[1:], [1, 2], tau=3)
    with pytest.raises(ValueError, match="within the follow-up"):
        metrics.cumulative_dynamic_auc(train, test, [1, 2, 3], [6.0])
    with pytest.raises(UndefinedMetric, match="no event up to time 1"):
        metrics.cumulative_dynamic_auc(train, Censored([0, 1, 0], [1, 2, 3]), [1, 2, 3], [1.0])
    with pytest.raises(ValueError, match="y holds censored outcomes"):
        metrics.ndcg(test, [1, 2, 3])


@given(OUTCOMES)
def test_curves_are_products_over_the_times(outcomes):
    event, time = (np.array(part) for part in zip(*outcomes))
    y, left = Censored(event, time), 1.0
    grid = np.arange(-1, 8)
    survival = []
    for t in grid:
        died, at_risk = (event & (time == t)).sum(), (time >= t).sum()
        left *= 1 - died / at_risk if died else 1.0
        survival.append(left)
    assert_allclose(metrics.survival_curve(y).at(grid), survival, atol=1e-12)
    followed = [reference_survival.still_followed(event, time, t) for t in grid]
    assert_allclose(metrics.censoring_curve(y).at(grid), followed, atol=1e-12)


def test_a_curve_tells_its_errors_and_its_median():
    y = Censored([1, 1, 0, 1, 0], [1, 2, 2, 4, 5])
    curve = metrics.survival_curve(y)
    assert curve.times.tolist() == [1, 2, 4] and curve.at_risk.tolist() == [5, 4, 2]
    assert_allclose(curve.survival, [0.8, 0.6, 0.3])
    greenwood = np.cumsum([1 / (5 * 4), 1 / (4 * 3), 1 / (2 * 1)])
    assert_allclose(curve.error, curve.survival * np.sqrt(greenwood))
    assert curve.median() == 4 and curve.last == 5
    assert metrics.survival_curve(Censored([0, 1, 0], [1, 1, 2])).median() is None
    assert metrics.survival_curve(Censored([1, 1], [1, 1])).error.tolist() == [0.0]
    with pytest.raises(UndefinedMetric, match="outcome is empty"):
        metrics.survival_curve(Censored([], []))


@pytest.mark.parametrize("seed", range(10))
def test_log_rank_equal_to_scikit_survival(seed):
    compare = pytest.importorskip("sksurv.compare", reason="scikit-survival is not installed")
    rng = np.random.default_rng(seed)
    m = 40
    y, group = Censored(rng.random(m) < 0.6, rng.integers(0, 12, m)), rng.integers(0, 3, m)
    expected = compare.compare_survival(np.asarray(y), group)
    found = metrics.log_rank_test([y[group == k] for k in range(3)])
    assert_allclose(found, expected, rtol=1e-8)


def test_log_rank_of_two_groups_by_hand():
    """At each event: expected deaths by share at risk, hypergeometric variance."""
    first, second = Censored([1, 1, 0], [1, 3, 4]), Censored([1, 1, 1], [2, 3, 5])
    time = np.concatenate((first.time, second.time))
    event = np.concatenate((first.event, second.event))
    observed = expected = variance = 0.0
    for t in np.unique(time[event]):
        n, n1, d = (time >= t).sum(), (first.time >= t).sum(), (event & (time == t)).sum()
        observed += (first.event & (first.time == t)).sum()
        expected += d * n1 / n
        variance += d * n1 / n * (1 - n1 / n) * (n - d) / (n - 1) if n > 1 else 0.0
    statistic, p = metrics.log_rank_test([first, second])
    assert statistic == pytest.approx((observed - expected) ** 2 / variance) and 0 < p < 1


def test_p_values_are_uniform_without_a_difference():
    rng = np.random.default_rng(0)
    p = []
    for _ in range(300):
        y = Censored(rng.random(60) < 0.7, rng.exponential(size=60))
        p.append(metrics.log_rank_test([y[:20], y[20:40], y[40:]])[1])
    assert 0.02 < np.mean(np.array(p) < 0.05) < 0.09


def test_groups_that_cannot_be_compared():
    with pytest.raises(UndefinedMetric, match="no item had the event"):
        metrics.log_rank_test([Censored([0], [1]), Censored([0], [2])])
    with pytest.raises(UndefinedMetric, match="only one group"):
        metrics.log_rank_test([Censored([0], [1]), Censored([1, 1], [2, 3])])
    alone = Censored([1, 1, 0], [1, 2, 3])
    with_absent = metrics.log_rank_test([alone, Censored([0], [0]), alone])
    assert with_absent[1] == pytest.approx(metrics.log_rank_test([alone, alone])[1])
    with pytest.raises(UndefinedMetric, match="two groups or more"):
        metrics.log_rank_test([alone])
    with pytest.raises(UndefinedMetric, match="group 1 is empty"):
        metrics.log_rank_test([alone, alone[:0]])


def test_structured_arrays_are_outcomes():
    y = Censored([1, 1, 0, 1, 0], [1, 2, 2, 4, 5])
    array = np.asarray(y)
    for curve in (metrics.survival_curve, metrics.censoring_curve):
        assert_allclose(curve(array).survival, curve(y).survival)
        with pytest.raises(ValueError, match="outcome must hold censored outcomes"):
            curve([1.0, 2.0])
    expected = metrics.log_rank_test([y[:2], y[2:]])
    assert metrics.log_rank_test([array[:2], array[2:]]) == expected
