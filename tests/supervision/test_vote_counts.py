"""Statements counted by pair, against a plain dictionary."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankwise import Preferences
from rankwise.supervision.vote_counts import VoteCounts


def counted(preferences, by_order):
    cells = defaultdict(lambda: np.zeros(3))
    for s in range(len(preferences)):
        winner, loser = int(preferences.winner[s]), int(preferences.loser[s])
        first = min(winner, loser)
        if by_order:
            first = winner if preferences.winner_first[s] else loser
        outcome = 2 if preferences.tie[s] else int(first != winner)
        cells[first, winner + loser - first][outcome] += preferences.weight[s]
    return {pair: value for pair, value in sorted(cells.items()) if value.any()}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_counts(data):
    m = data.draw(st.integers(2, 9))
    drawn = st.tuples(
        st.integers(0, m - 1),
        st.integers(1, m - 1),
        st.booleans(),
        st.booleans(),
        st.sampled_from([0.0, 0.5, 3.0]),
    )
    rows = data.draw(st.lists(drawn, min_size=1, max_size=40))
    winner, shift, tie, first, weight = (np.array(column) for column in zip(*rows))
    P = Preferences(winner, (winner + shift) % m, weight=weight, tie=tie, n_items=m)
    P.winner_first = first
    for by_order in (False, True):
        counts = VoteCounts.gather(P, m, by_order=by_order)
        expected = counted(P, by_order)
        assert list(zip(counts.first.tolist(), counts.second.tolist())) == list(expected)
        found = np.column_stack((counts.won, counts.lost, counts.tied))
        assert_allclose(found, np.array(list(expected.values())).reshape(-1, 3))
        assert counts.total.sum() == pytest.approx(weight.sum())
        again = VoteCounts.gather(counts.statements(), m, by_order=by_order)
        assert_allclose(np.column_stack((again.won, again.lost, again.tied)), found)
        W = counts.wins().toarray()
        assert W.sum() == pytest.approx(weight.sum())


def test_components():
    counts = VoteCounts.gather(Preferences([5, 2, 3], [4, 3, 1]), 7)
    assert counts.components().tolist() == [-1, 0, 0, 0, 1, 1, -1]


def test_order_must_be_known():
    P = Preferences([0], [1])
    with pytest.raises(ValueError, match="from_votes"):
        VoteCounts.gather(P, 2, by_order=True)
    P.winner_first = np.array([True, False])
    with pytest.raises(ValueError, match="winner_first must have shape"):
        VoteCounts.gather(P, 2, by_order=True)
