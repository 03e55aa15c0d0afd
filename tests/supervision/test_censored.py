"""Censored: what is accepted, what is refused and how, and which pairs it holds."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise import RLS, Censored, KernelMap, MPRank, RankBoost, RankRLS, RankSVM, SVRank
from rankwise.supervision.censored import read_censored
from tests import reference_survival
from tests.problems import censored

OUTCOMES = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=12)


@given(OUTCOMES)
def test_levels_say_which_pairs_are_comparable(outcomes):
    event, time = np.array([e for e, _ in outcomes]), np.array([t for _, t in outcomes], float)
    for equal_times in (True, False):
        level = Censored(event, time).levels(equal_times=equal_times)
        found = [
            (h, j)
            for j in range(len(time))
            for h in range(len(time))
            if event[j] and level[h] > level[j]
        ]
        assert found == reference_survival.comparable(event, time, None, equal_times)


def test_behaves_like_an_array_of_outcomes():
    y = Censored([True, False, 1, 0], [3, 1.5, 2, 2])
    assert len(y) == 4 and y.shape == (4,) and y.event.tolist() == [True, False, True, False]
    assert y[[2, 0]] == Censored([True, True], [2, 3]) and y[1:] == y[np.array([0, 1, 1, 1]) > 0]
    assert repr(y) == "Censored(4 items, 2 events, times 1.5 to 3)"
    assert pickle.loads(pickle.dumps(y)) == y and y != Censored(~y.event, y.time) and y != 3
    array = np.asarray(y)
    assert array["event"].dtype == bool and array["time"].tolist() == [3, 1.5, 2, 2]
    assert read_censored(array) == y and read_censored(array[:, None]) == y
    with pytest.raises(ValueError, match="read-only"):
        y.time[0] = 1


@pytest.mark.parametrize("names", [("dead", "days"), ("days", "dead")])
def test_structured_arrays_in_any_order_of_fields(names):
    kinds = {"dead": bool, "days": np.float32}
    array = np.zeros(3, dtype=[(name, kinds[name]) for name in names])
    array["dead"], array["days"] = [True, False, True], [1, 2, 3]
    assert read_censored(array) == Censored([True, False, True], [1, 2, 3])


@pytest.mark.parametrize(
    ("event", "time", "words"),
    [
        ([True, False], [1.0], "same length, got 2 and 1"),
        ([True, False], [1.0, -2.0], r"time is negative at row 1 \(-2\).*log1p"),
        ([True, False], [np.nan, 2.0], "time contains NaN .the first at row 0"),
        ([True, False], [np.inf, 2.0], "time contains infinity"),
        ([0.5, 1], [1.0, 2.0], "row 0 is 0.5.*takes the event first"),
        ([0, 1, 2], [1.0, 2.0, 3.0], "row 2 is 2.*interval-censored and left-censored"),
        (["dead", "alive"], [1.0, 2.0], "row 0 is dead"),
        ([None, True], [1.0, 2.0], "row 0 is None"),
        ([3.5, 2.0], [True, False], "takes the event first"),
        ([True, False], [True, False], "time holds True and False"),
        ([[True, False]], [1.0], "event must be one-dimensional"),
        ([True, False], ["1", "later"], "time must hold numbers"),
        (np.ma.array([True, False], mask=[0, 1]), [1.0, 2.0], "masked"),
        ([True, False], np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]"), "dates"),
    ],
)
def test_what_is_no_outcome_is_refused(event, time, words):
    with pytest.raises(ValueError, match=words):
        Censored(event, time)


@pytest.mark.parametrize(
    "kinds",
    [
        [("lower", float), ("upper", float)],
        [("event", bool), ("lower", float), ("upper", float)],
        [("a", bool), ("b", bool)],
        [("event", bool), ("name", "U3")],
    ],
)
def test_other_structured_arrays_are_refused_by_kind(kinds):
    with pytest.raises(ValueError, match="interval-censored and left-censored outcomes are not"):
        RankRLS().fit(np.eye(3), np.zeros(3, dtype=kinds))


def test_a_frame_of_events_and_times_is_not_taken_for_two_outputs():
    frame = pd.DataFrame({"died": [True, True, False], "days": [1.0, 2.0, 3.0]})
    for columns in (["died", "days"], ["days", "died"]):
        with pytest.raises(ValueError, match=r"give Censored\(y\['died'\], y\['days'\]\)"):
            RankRLS().fit(np.eye(3), frame[columns])
    assert RankRLS().fit(np.eye(3), frame.astype(float)).coef_.shape == (2, 3)


@pytest.mark.parametrize("make", [RLS, MPRank, SVRank, RankBoost])
def test_other_learners_refuse_and_name_the_way_out(make):
    y = Censored([True, True, False], [1, 2, 3])
    for told in (y, np.asarray(y)):
        with pytest.raises(ValueError, match=r"RankRLS, RankRLSCV, RankSVM.*learn from censored"):
            make().fit(np.eye(3), told)


def test_transformers_do_not_look_at_outcomes():
    y = Censored([True, True, False], [1, 2, 3])
    assert KernelMap().fit(np.eye(3), y).transform(np.eye(3)).shape[0] == 3


@pytest.mark.parametrize("make", [RankRLS, RankSVM])
@pytest.mark.parametrize(
    ("event", "time", "options", "words"),
    [
        ([False] * 3, [1, 2, 3], {}, "no single preference: every time is censored"),
        ([False, False, True], [1, 2, 3], {}, "every event is after the last look"),
        ([True] * 3, [2, 2, 2], {}, "every event is after the last look"),
        ([True] * 3, [1, 2, 3], {"qid": list("abc")}, "3 queries"),
        ([True, False, False], [1, 2, 3], {"sample_weight": [0, 1, 1]}, "no item with weight"),
        ([True, False], [1, 2], {}, "as many rows: X has 3, y has 2"),
    ],
)
def test_nothing_to_learn_from_is_refused(make, event, time, options, words):
    with pytest.raises(ValueError, match=words):
        make().fit(np.eye(3), Censored(event, time), **options)


@given(OUTCOMES, st.integers(1, 3))
def test_differences_are_the_comparable_pairs(outcomes, strata):
    event, time = np.array([e for e, _ in outcomes]), np.array([t for _, t in outcomes], float)
    qid = np.arange(len(time)) % strata
    pairs, gaps = censored(event, time, qid).judged_pairs()
    found = {(i, j) if gap > 0 else (j, i) for (i, j), gap in zip(pairs.tolist(), gaps) if gap != 0}
    assert found == set(reference_survival.comparable(event, time, qid))
