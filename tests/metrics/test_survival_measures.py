"""Measures of censored outcomes, against plain loops and against scikit-survival."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankwise import Censored, UndefinedMetric, metrics
from tests import reference_survival

ITEM = st.tuples(st.booleans(), st.integers(0, 8), st.integers(0, 5), st.integers(0, 1))


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
