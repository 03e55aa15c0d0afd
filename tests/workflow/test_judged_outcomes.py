"""Judging scores by censored outcomes: measures, nested folds, terciles, calibration of order."""

import numpy as np
import pytest

from rankwise import Censored, UndefinedMetric, metrics
from rankwise.evaluation import confidence_interval
from rankwise.workflow.judged_outcomes import (
    calibration_of_order,
    judge_outcomes,
    judge_recipes_on_outcomes,
    terciles,
)
from rankwise.workflow.ranking_data import Items
from rankwise.workflow.recipe import Recipe


def patients(m=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    time, lost = rng.exponential(size=m) * np.exp(X[:, 0]), 2 * rng.exponential(size=m)
    y = Censored(time <= lost, np.minimum(time, lost))
    return Items(X, y, names=np.array([f"p{i}" for i in range(m)]), source="patients")


def test_measures_with_intervals():
    items = patients()
    found = judge_outcomes(items.y, items.X[:, 0])
    harrell, uno, auc = found.measures
    assert harrell.value == metrics.concordance(items.y, items.X[:, 0])
    assert (harrell.low, harrell.high) == confidence_interval(items.y, items.X[:, 0])
    for measure in (harrell, uno, auc):
        assert 0 <= measure.low < measure.value < measure.high <= 1
    assert found.record()["events"] == items.y.event.sum()
    assert found.by_query["ranking_error"][0] == pytest.approx(1 - harrell.value)


def test_strata_have_a_mean_and_no_other_measure():
    items = patients()
    found = judge_outcomes(items.y, items.X[:, 0], np.arange(120) % 6)
    assert [measure.key for measure in found.measures] == ["concordance"]
    expected = metrics.concordance(items.y, items.X[:, 0], np.arange(120) % 6)
    assert found.measures[0].value == pytest.approx(expected)
    assert np.nanmean(found.by_query["concordance"]) == pytest.approx(expected)


def test_nothing_to_judge():
    with pytest.raises(UndefinedMetric):
        judge_outcomes(Censored([0, 0], [1, 2]), np.array([1.0, 2.0]))
    constant = judge_outcomes(Censored([1, 0, 1], [1, 2, 3]), np.zeros(3))
    assert constant.measures[0].low is None and "constant" in constant.measures[0].reason


@pytest.mark.parametrize("strata", [None, 6])
def test_nested_folds_judge_what_they_did_not_see(strata):
    items = patients()
    items.qid = None if strata is None else np.arange(120) % strata
    found = judge_recipes_on_outcomes([Recipe(alpha=1.0)], items, 4).judgement.measures[0]
    assert 0.6 < found.value < 0.85 and found.low < found.value < found.high
    noise = patients(seed=1)
    noise.X = np.random.default_rng(5).normal(size=(120, 3))
    found = judge_recipes_on_outcomes([Recipe(alpha=1.0)], noise, 4).judgement.measures[0]
    assert found.low < 0.5 < found.high


def test_terciles_hold_a_third_each_and_differ():
    items = patients()
    s = items.X[:, 0]
    found = terciles(items.y, s)
    assert [len(group.outcome) for group in found.groups] == [40, 40, 40]
    assert found.p_value < 0.001
    first = found.groups[0]
    assert first.at_risk(np.array([0.0, 1e9])).tolist() == [40, 0]
    assert first.curve.at(np.array([1.0]))[0] < found.groups[2].curve.at(np.array([1.0]))[0]
    assert len(terciles(items.y, np.zeros(120)).groups) == 1
    assert terciles(items.y, np.zeros(120)).p_value is None
    assert len(terciles(items.y, (s > 0).astype(float)).groups) == 2


def test_calibration_rises_with_a_good_order():
    items = patients(m=600)
    found = calibration_of_order(items.y, items.X[:, 0])
    assert len(found.score) == 10 and np.all(np.diff(found.score) > 0)
    assert np.corrcoef(found.score, found.survived)[0, 1] > 0.9
    assert np.all(found.low <= found.survived) and np.all(found.survived <= found.high)
    assert np.all(found.high - found.low > 0.01)  # also where nobody or everybody survived
    assert len(calibration_of_order(patients(m=15).y, np.arange(15.0)).score) == 1
