"""Intervals of concordance with censored outcomes: the jackknife written out, and coverage."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise import Censored, UndefinedMetric, metrics
from rankwise.evaluation import confidence_interval, dynamic_auc_intervals, uno_interval
from rankwise.evaluation.intervals import score_interval


def simulate(rng, m, effect=1.0, censoring=1.0):
    """Exponential times, longer for greater scores; independent exponential censoring."""
    s = rng.normal(size=m)
    time = rng.exponential(size=m) * np.exp(effect * s)
    lost = rng.exponential(size=m) / max(censoring, 1e-9)
    return Censored(time <= lost, np.minimum(time, lost)), s


def slow_jackknife(measure, m):
    values = np.array([measure(np.delete(np.arange(m), i)) for i in range(m)])
    return (m - 1) / m * ((values - values.mean()) ** 2).sum()


def test_jackknife_is_that_of_leaving_items_out():
    rng = np.random.default_rng(0)
    y, s = simulate(rng, 40)
    train, _ = simulate(rng, 60)
    variance = slow_jackknife(lambda rest: metrics.concordance(y[rest], s[rest]), 40)
    events = int(y.event.sum())
    limits = {"disjoint": min(events, 20), "freedom": events - 1}
    expected = score_interval(metrics.concordance(y, s), variance, 0.9, **limits)
    assert_allclose(confidence_interval(y, s, level=0.9), expected, rtol=1e-10)
    tau = np.quantile(y.time, 0.8)
    uno = lambda rest: metrics.uno_concordance(train, y[rest], s[rest], tau)  # noqa: E731
    used = int((y.event & (y.time < tau)).sum())
    expected = score_interval(
        metrics.uno_concordance(train, y, s, tau),
        slow_jackknife(uno, 40),
        0.9,
        disjoint=min(used, 20),
        freedom=used - 1,
    )
    assert_allclose(uno_interval(train, y, s, tau, level=0.9), expected, rtol=1e-10)


def test_jackknife_of_dynamic_auc_is_that_of_leaving_items_out():
    rng = np.random.default_rng(2)
    y, s = simulate(rng, 40)
    train, _ = simulate(rng, 200)
    y, s = Censored(y.event & (y.time < train.time.max()), y.time), np.round(s, 1)
    times = np.quantile(y.time, [0.3, 0.6])
    found = dynamic_auc_intervals(train, y, s, times)
    for row, t in enumerate(times):
        auc = lambda rest, t=t: metrics.cumulative_dynamic_auc(train, y[rest], s[rest], t).mean  # noqa: E731
        cases, controls = int((y.event & (y.time <= t)).sum()), int((y.time > t).sum())
        fewer = min(cases, controls)
        limits = {"disjoint": fewer, "freedom": fewer - 1}
        expected = score_interval(auc(np.arange(40)), slow_jackknife(auc, 40), 0.95, **limits)
        assert_allclose(found[row], expected, rtol=1e-9)


def test_strata_are_resampled():
    rng = np.random.default_rng(1)
    y, s = simulate(rng, 200)
    low, high = confidence_interval(y, s, np.arange(200) % 20, random_state=0)
    assert low < metrics.concordance(y, s, np.arange(200) % 20) < high


@pytest.mark.parametrize("m", [25, 100])
def test_intervals_cover_the_truth(m):
    """A small version of benchmarks/papers/survival_intervals.py."""
    rng = np.random.default_rng(m)
    truth = metrics.concordance(*simulate(rng, 100_000))
    wide, _ = simulate(rng, 100_000)
    tau = 1.0
    far, s = simulate(rng, 100_000)
    truth_uno = metrics.uno_concordance(wide, far, s, tau)
    harrell = uno = 0
    for _ in range(300):
        y, s = simulate(rng, m)
        low, high = confidence_interval(y, s)
        harrell += low <= truth <= high
        low, high = uno_interval(y, y, s, tau)
        uno += low <= truth_uno <= high
    assert 0.92 < harrell / 300 < 0.99
    assert uno / 300 > 0.92  # too wide for few items, because the censoring curve is estimated too


def test_what_has_no_interval():
    y = Censored([1, 0, 1], [1, 2, 3])
    with pytest.raises(UndefinedMetric, match="constant"):
        confidence_interval(y, [1, 1, 1])
    with pytest.raises(UndefinedMetric, match="constant"):
        uno_interval(y, y, [1, 1, 1])
    with pytest.raises(UndefinedMetric, match="no pair to order"):
        confidence_interval(Censored([0, 0], [1, 2]), [1, 2])
    with pytest.raises(ValueError, match="delong"):
        confidence_interval(y, [1, 2, 3], method="delong")
    with pytest.raises(ValueError, match="level"):
        uno_interval(y, y, [1, 2, 3], level=2)
