"""Preferences: what they hold, what they refuse, and what a fit makes of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rankwise import Preferences, RankRLS
from tests.reference import enumerate_pairs

X = np.random.default_rng(2).normal(size=(6, 2))


def test_defaults_and_length():
    preferences = Preferences([0, 1, 1], [2, 0, 0])
    assert len(preferences) == 3
    assert_array_equal(preferences.magnitude, [1, 1, 1])
    assert_array_equal(preferences.weight, [1, 1, 1])
    assert preferences.n_items is None
    assert "3 preferences" in repr(preferences)


def test_takes_lists_and_whole_floats():
    preferences = Preferences([1.0, 2.0], (0, 0), magnitude=[2, 3], weight=[0, 1], n_items=3)
    assert preferences.winner.dtype.kind == "i"
    assert_array_equal(preferences.winner, [1, 2])
    assert preferences.n_items == 3


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 2)), max_size=12), st.booleans())
def test_from_scores_lists_every_pair_with_a_better_item(rows, with_queries):
    y = np.array([row[0] for row in rows], dtype=float)
    qid = np.array([f"q{row[1]}" for row in rows]) if with_queries else None
    if not rows:
        return
    preferences = Preferences.from_scores(y, qid)
    expected = {(h, j): gap for h, j, gap, _ in enumerate_pairs(y, qid, ties="drop")}
    found = zip(preferences.winner, preferences.loser, preferences.magnitude)
    assert {(h, j): gap for h, j, gap in found} == expected
    assert len(preferences) == len(expected)
    assert preferences.n_items == len(y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"winner": [0, 3], "loser": [1, 3]}, "preference 1.*over itself"),
        ({"winner": [0, 6], "loser": [1, 2], "n_items": 6}, r"winner\[1\] = 6.*0 to 5"),
        ({"winner": [0, 1], "loser": [1, -1], "n_items": 6}, "preference 1: loser is -1"),
        ({"winner": [0, 1], "loser": [1]}, "same length"),
        ({"winner": [0.5], "loser": [1]}, "winner.*row numbers"),
        ({"winner": ["a"], "loser": [1]}, "winner.*row numbers"),
        ({"winner": [np.nan], "loser": [1]}, "winner.*row numbers"),
        ({"winner": [0], "loser": [np.inf]}, "loser.*row numbers"),
        ({"winner": [[0]], "loser": [[1]]}, "one-dimensional"),
        ({"winner": [0], "loser": [1], "magnitude": [0.0]}, "preference 0.*magnitude.*swap"),
        ({"winner": [0], "loser": [1], "magnitude": [-1.0]}, "magnitude"),
        ({"winner": [0], "loser": [1], "magnitude": [np.nan]}, "magnitude must be finite"),
        ({"winner": [0], "loser": [1], "magnitude": [1, 2]}, "magnitude.*shape"),
        ({"winner": [0], "loser": [1], "weight": [-1.0]}, "weight must not be negative"),
        ({"winner": [0], "loser": [1], "weight": [np.inf]}, "weight must be finite"),
        ({"winner": [0], "loser": [1], "n_items": 2.5}, "n_items"),
        ({"winner": [0], "loser": [1], "n_items": -2}, "n_items|not a row"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(ValueError, match=message):
        Preferences(**arguments)


def test_from_scores_refusals():
    with pytest.raises(ValueError, match="row 1"):
        Preferences.from_scores([0.0, np.nan])
    with pytest.raises(ValueError, match="one-dimensional"):
        Preferences.from_scores(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="qid"):
        Preferences.from_scores([0.0, 1.0], qid=[1])


def test_fit_refuses_another_number_of_rows():
    preferences = Preferences([0], [1], n_items=6)
    RankRLS().fit(X, preferences=preferences)
    with pytest.raises(ValueError, match="6 items but X has 5 rows"):
        RankRLS().fit(X[:5], preferences=preferences)
    with pytest.raises(ValueError, match=r"loser\[0\] = 9.*0 to 5"):
        RankRLS().fit(X, preferences=Preferences([0], [9]))


def test_fit_refuses_preferences_without_substance():
    nothing = [Preferences([], []), Preferences([0], [1], weight=[0.0])]
    for preferences in nothing:
        with pytest.raises(ValueError, match="no single preference"):
            RankRLS().fit(X, preferences=preferences)
    with pytest.raises(ValueError, match="no single preference"):
        RankRLS().fit(X, preferences=Preferences([0], [1]), sample_weight=[0, 1, 1, 1, 1, 1])
    with pytest.raises(ValueError, match="different queries"):
        RankRLS().fit(X, preferences=Preferences([0], [5]), qid=[0, 0, 0, 1, 1, 1])
    with pytest.raises(ValueError, match="either y or preferences"):
        RankRLS().fit(X, np.arange(6), preferences=Preferences([0], [5]))
    with pytest.raises(ValueError, match=r"rankwise\.Preferences"):
        RankRLS().fit(X, preferences=[(0, 1)])


def test_parallel_preferences_add_up():
    twice = RankRLS().fit(X, preferences=Preferences([0, 0, 3], [1, 1, 4]))
    weighted = RankRLS().fit(X, preferences=Preferences([0, 3], [1, 4], weight=[2, 1]))
    assert_allclose(twice.coef_, weighted.coef_)
    opposed = RankRLS().fit(X, preferences=Preferences([0, 1], [1, 0]))
    assert_allclose(opposed.coef_, 0, atol=1e-12)


def test_holdouts_leave_the_touching_preferences_out():
    preferences = Preferences([0, 1, 2, 4], [1, 2, 5, 5], magnitude=[1, 2, 1, 3], n_items=6)
    for kernel in ("linear", "rbf"):
        model = RankRLS(0.5, kernel=kernel).fit(X, preferences=preferences)
        rest = Preferences([0, 3], [1, 4], magnitude=[1, 3], n_items=5)
        without = RankRLS(0.5, kernel=kernel).fit(X[[0, 1, 3, 4, 5]], preferences=rest)
        assert_allclose(model.holdout([2]), without.predict(X[[2]]), atol=1e-9)
        assert_allclose(model.leave_one_out()[2], without.predict(X[[2]])[0], atol=1e-9)
        pair = model.leave_pair_out([[2, 3]])[0]
        rest = Preferences([0, 2], [1, 3], magnitude=[1, 3], n_items=4)
        without = RankRLS(0.5, kernel=kernel).fit(X[[0, 1, 4, 5]], preferences=rest)
        assert_allclose(pair, without.predict(X[[2, 3]]), atol=1e-9)


@pytest.mark.parametrize("number", [-1, 2**60, 2**31, -1.0, 1e300])
def test_numbers_that_are_no_rows_are_refused(number):
    for name, sides in (("winner", ([0, number], [1, 2])), ("loser", ([0, 1], [1, number]))):
        with pytest.raises(ValueError, match=f"preference 1: {name} is .* no row number"):
            Preferences(*sides)
    with pytest.raises(ValueError, match="n_items must lie between 0 and"):
        Preferences([0], [1], n_items=2**60)
    with pytest.raises(ValueError, match="n_items must lie between 0 and"):
        Preferences([], [], n_items=-1)


def test_what_is_printed_costs_no_memory_for_items_never_compared():
    far = 2**31 - 1
    printed = repr(Preferences([far, 1, 1], [0, far, 5], tie=[0, 0, 1]))
    assert printed == (
        "Preferences(3 preferences about 2147483648 items, 1 tie, 1 component, "
        "2147483644 items never compared)"
    )
    assert repr(Preferences([], [])).startswith("Preferences(0 preferences about 0 items")
