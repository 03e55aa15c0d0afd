"""From votes to a leaderboard: what it says, and what it says about what it cannot know."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise import Preferences, RankLogistic
from rankwise.workflow.board_building import build_board
from rankwise.workflow.ranking_data import Items
from rankwise.workflow.standings import BoardOptions

NAMES = np.array(["ann", "bob", "cat", "dan", "eve", "fay"])


def cast(seed=0, l=300, judges=12, first=0.0, names=NAMES):
    rng = np.random.default_rng(seed)
    m = len(names)
    strength = np.linspace(1, -1, m)
    a, b = rng.integers(0, m, (2, l))
    a, b = a[a != b], b[a != b]
    p = 1 / (1 + np.exp(strength[b] - strength[a] - first))
    outcome = np.where(rng.random(len(a)) < p, 1.0, 0.0)
    outcome[rng.random(len(a)) < 0.1] = 0.5
    judge = rng.integers(0, judges, len(a)) if judges else None
    return Preferences.from_votes(names[a], names[b], outcome, judge=judge)


def test_strengths_are_those_of_the_model():
    votes = cast()
    board = build_board(votes)
    model = RankLogistic(0.01).fit(None, preferences=votes, groups=votes.judge)
    expected = dict(zip(votes.items, model.strengths_ - model.strengths_.mean()))
    for place, one in enumerate(board.standings, 1):
        assert_allclose(one.strength, expected[one.name])
        assert one.rank == place and one.first_rank <= place <= one.last_rank
        assert one.low < one.strength < one.high and one.wins <= one.votes
    assert sum(one.votes for one in board.standings) == 2 * len(votes)
    assert sum(one.wins for one in board.standings) == len(votes)
    assert_allclose(board.probabilities + board.probabilities.T, 1.0)
    assert np.all(np.diff(board.probabilities[0, 1:]) >= 0)
    assert board.counts == {
        "votes": len(votes),
        "items": 6,
        "ties": votes.n_ties,
        "judges": 12,
        "without_votes": 0,
    }


def test_the_record_is_plain_and_the_same_each_time():
    first, second = (json.dumps(build_board(cast()).record()) for _ in range(2))
    assert first == second
    assert {"board", "next", "notes", "categories", "covariates"} <= json.loads(first).keys()


def test_questions_count_the_votes_about_a_pair():
    votes = cast()
    for one in build_board(votes, BoardOptions(n_next=4)).questions:
        a, b = np.searchsorted(votes.items, [one.a, one.b])
        about = (np.minimum(votes.winner, votes.loser) == min(a, b)) & (
            np.maximum(votes.winner, votes.loser) == max(a, b)
        )
        assert one.votes == about.sum() and 0 < one.probability < 1
    assert build_board(votes, BoardOptions(n_next=0)).questions == []


def test_components_and_constant_winners_are_told():
    a, b = ["x", "y", "x", "p", "q"], ["y", "z", "z", "q", "p"]
    board = build_board(Preferences.from_votes(a, b, [1, 1, 1, 1, 1]))
    said = " ".join(board.notes)
    assert "2 components that no vote connects" in said and "p, q were never compared" in said
    assert "x won every vote: how far it is above" in said and "z lost every vote" in said
    assert all(np.isfinite([one.strength, one.low, one.high]).all() for one in board.standings)
    assert "Votes count as independent" in said


def test_few_judges_and_the_order_are_told():
    said = " ".join(build_board(cast(judges=3, first=1.0)).notes)
    assert "3 judges only" in said and "the order may matter" in said
    with_order = build_board(cast(first=1.0), BoardOptions(order_effect=True))
    assert "shown first wins" in " ".join(with_order.notes)
    assert with_order.model["order_effect_"] > 0.5


def test_files_of_winners_first_say_nothing_about_order():
    votes = cast()
    names = votes.items
    again = Preferences.from_votes(names[votes.winner], names[votes.loser], np.ones(len(votes)))
    assert "order" not in " ".join(build_board(again).notes)


def test_ties_of_their_own():
    board = build_board(cast(), BoardOptions(ties="davidson"))
    assert board.model["tie_effect_"] > 0
    assert_allclose(board.probabilities + board.probabilities.T, 1.0)


def test_categories_have_boards_of_their_own():
    votes = cast(l=400)
    rng = np.random.default_rng(0)
    category = rng.choice(["code", "prose", "rare"], len(votes), p=[0.6, 0.39, 0.01])
    board = build_board(votes, category=category)
    assert list(board.categories) == ["code", "prose"]
    expected = build_board(votes[category == "code"]).standings
    assert board.categories["code"] == expected


def test_newcomers_and_features():
    rng = np.random.default_rng(0)
    names = np.array([f"s{i:02d}" for i in range(24)])
    X = rng.normal(size=(24, 2)) * [10.0, 1.0]
    strength = 0.15 * X[:, 0] + 0.2 * rng.normal(size=24)
    a, b = rng.integers(0, 20, (2, 1500))
    a, b = a[a != b], b[a != b]
    outcome = rng.random(len(a)) < 1 / (1 + np.exp(strength[b] - strength[a]))
    votes = Preferences.from_votes(names[a], names[b], outcome.astype(float), items=names)
    X[[3, 22], 1] = np.nan
    items = Items(X, names=names, features=["size", "noise"])
    board = build_board(votes, items=items)
    assert board.notes[-1].endswith("the median of the items that have votes: 2 of 'noise'.")
    size, noise = board.covariates
    assert size.name == "size" and size.low < 0.15 * size.deviation < size.high
    assert noise.low < 0 < noise.high and size.chance > 0.6
    assert_allclose(size.per_unit * size.deviation, size.worth)
    assert len(board.newcomers) == 4 and board.counts["without_votes"] == 4
    truth = dict(zip(names, strength - strength[:20].mean()))
    inside = [one.low < truth[one.name] < one.high for one in board.newcomers]
    assert sum(inside) >= 3
    for one in board.newcomers:
        assert 1 <= one.first_rank <= one.last_rank <= 21
        assert one.high - one.low >= 2 * 1.95 * board.model["own_strength_sd"]


def test_features_join_components():
    a, b = ["x", "y", "p", "q"] * 20, ["y", "x", "q", "p"] * 20
    outcome = [1, 0, 1, 0] * 15 + [0, 1, 0, 1] * 5
    votes = Preferences.from_votes(a, b, outcome)
    features = Items(np.array([[5.0], [4.0], [2.0], [1.0]]), names=votes.items, features=["f"])
    said = " ".join(build_board(votes, items=features).notes)
    assert "compared by their features and the prior alone" in said and "median" not in said


def test_too_many_items_are_refused():
    names = np.array([f"s{i}" for i in range(10_002)])
    votes = Preferences.from_votes(names[:-1], names[1:], np.ones(10_001))
    with pytest.raises(ValueError, match=r"at most 10,000 items.*10,002"):
        build_board(votes)


def test_the_board_says_whether_there_is_an_order():
    board = build_board(cast(l=600, seed=1))
    assert board.transitivity.p_value > 0.05 and board.transitivity.units == "groups"
    assert board.notes[0].startswith("One list of strengths explains the votes")
    assert board.record()["transitivity"]["cyclic_share"] == board.transitivity.cyclic_share
    a, b = (
        np.repeat(["rock", "paper", "scissors"], 40),
        np.repeat(["scissors", "rock", "paper"], 40),
    )
    circle = build_board(Preferences.from_votes(a, b, np.ones(120)))
    assert circle.transitivity.p_value < 0.01
    assert "does not explain the votes" in circle.notes[0] and "in a circle" in circle.notes[0]
    rng = np.random.default_rng(0)
    a, b = NAMES[[0, 1, 2, 0, 1] * 30], NAMES[[1, 2, 3, 3, 3] * 30]
    tossed = build_board(Preferences.from_votes(a, b, rng.integers(0, 2, 150)))
    assert "do not show an order" in tossed.notes[0]
    chain = build_board(Preferences.from_votes(["x", "y"] * 9, ["y", "z"] * 9, [1] * 18))
    assert chain.transitivity is None  # votes without a cycle have an order
    few = build_board(cast(judges=3))
    assert few.transitivity is None  # three judges say too little about other judges


def test_large_boards_show_the_strongest_items(monkeypatch):
    from rankwise.workflow import board_building

    monkeypatch.setattr(board_building, "STRONGEST", 4)
    votes = cast()
    board = build_board(votes, BoardOptions(n_next=3))
    whole = RankLogistic(0.01).fit(None, preferences=votes, groups=votes.judge)
    assert board.probabilities.shape == (4, 4) and len(board.standings) == 6
    strongest = {one.name for one in board.standings[:4]}
    assert {name for one in board.questions for name in (one.a, one.b)} <= strongest
    assert "about the 4 strongest items" in board.notes[-1]
    expected = whole.preference_proba(
        None, [np.searchsorted(votes.items, [board.standings[0].name, board.standings[3].name])]
    )
    assert_allclose(board.probabilities[0, 3], expected[0])
    monkeypatch.setattr(board_building, "MOST_ITEMS", 5)
    with pytest.raises(ValueError, match="at most 5 items, because its intervals need"):
        build_board(votes)
