"""Votes between named items, ties, and parts of preferences."""

import io

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankwise import Preferences, RankRLS, RankSVM, load, save
from rankwise.datasets import read_preferences
from tests import reference

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 3))


def as_text(preferences):
    names = np.arange(99) if preferences.items is None else preferences.items
    rows = zip(names[preferences.winner], names[preferences.loser], preferences.tie)
    return [f"{w}{'=' if tie else '>'}{l}" for w, l, tie in rows]


@pytest.mark.parametrize(
    "outcome",
    [
        [1, 0, 0.5, 1],
        ["a", "b", "tie", "a"],
        ["x", "x", "tie", "y"],
        ["1", "0", "0.5", "A"],
        np.array(["a", 0, "tie", 1], dtype=object),
    ],
)
def test_every_way_to_write_an_outcome(outcome):
    votes = Preferences.from_votes(["x", "z", "y", "y"], ["y", "x", "z", "z"], outcome)
    assert as_text(votes) == ["x>y", "x>z", "y=z", "y>z"]
    assert_array_equal(votes.items, ["x", "y", "z"])
    assert votes.n_items == 3


def test_numbers_and_mixed_names():
    votes = Preferences.from_votes([7, 9], [8, 7], [7, 7], weight=[2, 3])
    assert as_text(votes) == ["7>8", "7>9"]
    assert_array_equal(votes.weight, [2, 3])
    mixed = Preferences.from_votes(np.array([7, "u"], dtype=object), [8, 7], ["a", "b"])
    assert mixed.items.tolist() == [7, 8, "u"]


@pytest.mark.parametrize("as_given", [list, np.asarray])
def test_equal_numbers_are_one_item(as_given):
    votes = Preferences.from_votes(as_given([1.0, 2.0]), as_given([3, 1]), [1, 0.5])
    assert votes.items.tolist() == [1, 2, 3] and votes.n_items == 3
    assert as_text(votes) in (["1.0>3", "2.0=1.0"], ["1>3", "2.0=1"])


def test_a_number_and_its_text_are_two_items():
    votes = Preferences.from_votes([3, "x"], ["3", "y"], ["a", "b"])
    assert votes.items.tolist() == [3, "3", "x", "y"]
    assert_array_equal(votes.winner, [0, 3])
    for outcome, winner in ((3, 0), ("3", 1)):
        assert Preferences.from_votes([3], ["3"], [outcome]).winner[0] == winner
    assert Preferences.from_votes([3], ["x"], ["3"]).winner[0] == 0
    with pytest.raises(ValueError, match=r"a at row 0: 3 is not among items \(the number"):
        Preferences.from_votes([3], ["x"], ["a"], items=["3", "x"])


def test_large_numbers_and_other_types_stay_apart():
    big = 2**60
    votes = Preferences.from_votes([big, big + 1], [big + 1, big + 2], [1, 1])
    assert votes.items.tolist() == [big, big + 1, big + 2]
    signed, unsigned = np.array([big, -1]), np.array([big + 1, 2**64 - 1], dtype=np.uint64)
    assert Preferences.from_votes(signed, unsigned, [1, 1]).items.tolist() == [
        -1,
        big,
        big + 1,
        2**64 - 1,
    ]
    mixed = Preferences.from_votes(
        np.array([b"x", "x", 2], dtype=object), [1, "y", 2.5], list("aaa")
    )
    assert mixed.items.tolist() == [1, 2, 2.5, "x", "y", b"x"]
    days = np.array(["2020-01-02", "2020-01-01"], dtype="M8[D]")
    dated = Preferences.from_votes(days, days[::-1], [1, 0])
    assert_array_equal(dated.items, days[::-1])
    assert_array_equal(dated.winner, [1, 1])


def test_items_in_a_given_order():
    votes = Preferences.from_votes(["x", "z"], ["y", "x"], [1, 1], items=["z", "q", "y", "x"])
    assert as_text(votes) == ["x>y", "z>x"]
    assert_array_equal(votes.winner, [3, 0])
    assert_array_equal(votes.never_compared, ["q"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["x", "y"], ["y", "y"], [1, 1]), "row 1: item y is compared with itself"),
        ((["x", "y"], ["y", "x"], [1, 2]), "outcome at row 1: '2' is no outcome"),
        ((["x", "y"], ["y", "x"], ["a", "won"]), "outcome at row 1: 'won'.*'tie'"),
        ((["x", "y"], ["y", None], [1, 1]), "b is missing for row 1"),
        ((["x", "y"], ["y", "x"], [1, np.nan]), "outcome is missing for row 1"),
        ((["x", "y"], ["y"], [1, 1]), "same length"),
        ((["x", "y"], ["y", "u"], [1, 1], ["x", "y"]), "b at row 1: 'u'.*not among items"),
        ((["x"], ["y"], [1], ["x", "y", "x"]), "items contains x twice"),
        (([2, 1], [1, 0], [1, 1]), "row 0: '1' is also the name"),
        ((["b", "c"], ["a", "a"], ["a", "a"]), "row 0: 'a' is also the name"),
        ((["tie", "x"], ["x", "tie"], ["tie", "x"]), "row 0: 'tie' is also the name"),
        ((["tie", "x"], ["x", "tie"], ["tie", "tie"]), "row 0: 'tie' is also the name"),
        ((np.array([["x"]]), np.array([["y"]]), [1]), "one-dimensional"),
        (([("x", 1), "y"], ["y", "x"], [1, 1]), r"a must hold one label per row: that of row 0"),
    ],
)
def test_what_votes_refuse(arguments, message):
    with pytest.raises(ValueError, match=message):
        Preferences.from_votes(*arguments)


def test_names_that_are_outcomes_too():
    """The reading that fits every row is meant, if only one does."""
    votes = Preferences.from_votes([2, 1, 5], [1, 0, 3], [1, 1, 0])  # no item 0 in the last row
    assert as_text(votes) == ["2>1", "1>0", "3>5"]
    votes = Preferences.from_votes([2, 1, 5], [1, 0, 3], [1, 0, 5])  # 5 is no outcome
    assert as_text(votes) == ["1>2", "0>1", "5>3"]
    votes = Preferences.from_votes(["b", "c", "a"], ["a", "a", "b"], ["a", "c", "tie"])
    assert as_text(votes)[:2] == ["a>b", "c>a"] and votes.n_ties == 1
    votes = Preferences.from_votes([2, 1, 5], [1, 0, 3], [1, 0.5, 0])
    assert as_text(votes)[0] == "2>1" and votes.n_ties == 1


def test_what_is_said_about_whom():
    winner, loser = [0, 0, 1, 3, 3, 0], [1, 1, 0, 4, 4, 1]
    preferences = Preferences(winner, loser, n_items=7, tie=[0, 0, 0, 0, 1, 1])
    assert preferences.n_ties == 2
    assert preferences.n_contradictions == 1
    assert preferences.n_repetitions == 1
    assert preferences.n_components == 2
    assert_array_equal(preferences.never_compared, [2, 5, 6])
    assert repr(preferences) == (
        "Preferences(6 preferences about 7 items, 2 ties, 2 components, 1 contradicted pair, "
        "1 repetition, 3 items never compared)"
    )
    assert (
        repr(Preferences([], []))
        == "Preferences(0 preferences about 0 items, 0 ties, 0 components)"
    )


def test_parts_are_about_the_same_items():
    votes = Preferences.from_votes(
        ["x", "z", "y", "x"], ["y", "x", "z", "w"], [1, 1, 0.5, 0], weight=[1, 2, 3, 4]
    )
    for chosen in ([1, 2], slice(1, 3), np.array([False, True, True, False]), [-3, -2]):
        part = votes[chosen]
        assert as_text(part) == ["z>x", "y=z"] and part.n_items == 4
        assert_array_equal(part.weight, [2, 3])
    assert as_text(votes[-1]) == ["w>x"]
    taken = votes.take([3, 1])
    assert_array_equal(taken.items, ["z", "x"])
    assert as_text(taken) == ["z>x"] and taken.n_items == 2
    for wrong, error in (
        ([True, False], "mask must have shape"),
        ([4], "position 4"),
        ([0.5], "integers"),
    ):
        with pytest.raises((ValueError, IndexError), match=error):
            votes[wrong]
    with pytest.raises(ValueError, match="taken twice"):
        votes.take([1, 1])


def test_marks_of_ties_are_checked():
    for tie, message in (([1], "shape"), ([0, 2], "True and False")):
        with pytest.raises(ValueError, match=message):
            Preferences([0, 1], [1, 2], tie=tie)
    with pytest.raises(ValueError, match=r"preference 1.*mark a tie"):
        Preferences([0, 1], [1, 2], magnitude=[0, 0], tie=[1, 0])
    assert_array_equal(Preferences([0], [1], magnitude=[0], tie=[1]).magnitude, [1])


TIED = Preferences(
    [0, 1, 2, 3, 4], [1, 2, 3, 4, 5], [1, 2, 0.5, 1, 3], [1, 1, 2, 1, 1], 6, [0, 1, 0, 1, 0]
)


@pytest.mark.parametrize("loss", ["magnitude", "unit", "relative"])
@pytest.mark.parametrize("ties", ["keep", "drop"])
def test_a_tie_has_the_target_0_in_least_squares(loss, ties):
    pairs = []
    for h, j, y, weight, tie in zip(*(getattr(TIED, name) for name in VALUES)):
        z, w = reference.target_and_weight(loss, y)
        dropped = tie and loss == "magnitude" and ties == "drop"
        pairs.append((h, j, 0.0 if tie else z, 0.0 if dropped else weight * w**2))
    L, b = reference.laplacian_and_target(pairs, 6)
    model = RankRLS(0.5, loss=loss, ties=ties).fit(X, preferences=TIED)
    assert_allclose(model.coef_, reference.primal_solution(X, L, b, 0.5), atol=1e-10)
    rest = TIED[[0, 2, 3, 4]]
    f = RankRLS(0.5, loss=loss, ties=ties).fit(X, preferences=rest).predict(X)
    assert_allclose(model.leave_preference_out()[1], f[1] - f[2], atol=1e-10)


VALUES = ("winner", "loser", "magnitude", "weight", "tie")


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_tie_is_half_a_win_each_way_in_hinge_losses(loss):
    halves = Preferences(
        [0, 1, 2, 2, 3, 4, 4], [1, 2, 1, 3, 4, 3, 5], weight=[1, 0.5, 0.5, 2, 0.5, 0.5, 1]
    )
    options = {"loss": loss, "tol": 1e-9}
    found = RankSVM(0.01, **options).fit(X, preferences=TIED)
    expected = RankSVM(0.01, **options).fit(X, preferences=halves)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-7)


def test_a_saved_model_keeps_its_ties(tmp_path):
    model = RankRLS(0.5).fit(X, preferences=TIED)
    save(model, tmp_path / "model.rw", training_data=True)
    loaded = load(tmp_path / "model.rw")
    assert_allclose(loaded.leave_preference_out(), model.leave_preference_out())


def test_files_with_ties_and_columns_of_any_name():
    lines = "chosen,rejected,draw,n\nx,y,no,1\ny,z,yes,3\n"
    columns = {"winner": "chosen", "loser": "rejected", "tie": "draw", "weight": "n"}
    read = read_preferences(io.BytesIO(lines.encode()), items=["x", "y", "z"], columns=columns)
    assert as_text(read) == ["x>y", "y=z"]
    assert_array_equal(read.weight, [1, 3])
    by_header = read_preferences(io.BytesIO(b"winner,loser,tie\n0,1,0\n1,2,1\n"))
    assert as_text(by_header) == ["0>1", "1=2"]
    votes = "model_a,model_b,winner\nx,y,a\nz,x,tie\n"
    columns = {"a": "model_a", "b": "model_b", "outcome": "winner"}
    assert as_text(read_preferences(io.BytesIO(votes.encode()), columns=columns)) == ["x>y", "z=x"]
    for wrong, message in (
        ({"winner": "nobody"}, "no column is called 'nobody'"),
        ({"winner": "model_a", "judge": "x"}, "no role 'judge'"),
        ({"a": "model_a"}, "'b' is missing"),
    ):
        with pytest.raises(ValueError, match=message):
            read_preferences(io.BytesIO(votes.encode()), columns=wrong)


def test_judges_stay_with_their_votes():
    votes = Preferences.from_votes(
        ["x", "y", "x"], ["y", "z", "z"], ["a", "b", "tie"], judge=["ann", "bob", "ann"]
    )
    assert votes.judge.tolist() == ["ann", "bob", "ann"]
    assert "2 judges" in repr(votes)
    assert votes[[2, 1]].judge.tolist() == ["ann", "bob"]
    assert votes.take([0, 2]).judge.tolist() == ["ann"]
    assert votes.exchanged(np.array([True, False, False])).judge.tolist() == ["ann", "bob", "ann"]
    with pytest.raises(ValueError, match="judge must hold one label per row"):
        Preferences.from_votes(["x"], ["y"], [1], judge=["ann", "bob"])


def test_exchanged_statements():
    votes = Preferences.from_votes(["x", "y"], ["y", "z"], [1, 0], weight=[2, 3])
    turned = votes.exchanged(np.array([True, False]))
    assert as_text(turned) == ["y>x", "z>y"] and turned.weight.tolist() == [2, 3]


def test_votes_remember_which_item_was_shown_first():
    P = Preferences.from_votes(["x", "y", "x"], ["y", "x", "z"], ["a", "a", "tie"])
    assert P.winner_first.tolist() == [True, True, True]
    turned = P.exchanged(np.array([True, False, False]))
    assert turned.winner_first.tolist() == [False, True, True]
    assert P[[1, 0]].winner_first.tolist() == [True, True]
    assert Preferences.from_votes(["x"], ["y"], ["b"]).winner_first.tolist() == [False]
    assert Preferences([0], [1])[:].winner_first is None
