"""Every kind of supervision keeps its promises when items or outputs are taken from it."""

import numpy as np
import pytest

from rankwise import Preferences
from rankwise.supervision.supervision import Supervision
from tests.problems import censored, compared, scored

RNG = np.random.default_rng(0)
M = 14
QID = np.array(list("abbacabcababcc"))
Y = RNG.integers(0, 4, (M, 3)).astype(float)
WEIGHT = RNG.uniform(0.5, 2.0, M)
MEMBERS = {
    "scores": scored(Y, QID, WEIGHT),
    "one query": scored(Y[:, 0]),
    "censored": censored(RNG.random(M) < 0.7, RNG.integers(0, 6, M), QID, WEIGHT),
    "preferences": compared(Preferences.from_scores(Y[:, 0], QID), M, QID, WEIGHT),
}


def pairs_and_gaps(supervision: Supervision) -> dict:
    """Every judged pair with a difference, the better item first."""
    found = {}
    for (i, j), gap in zip(*supervision.judged_pairs()):
        for output, value in enumerate(gap):
            if value != 0:
                found[(i, j, output) if value > 0 else (j, i, output)] = abs(value)
    return found


@pytest.mark.parametrize("name", MEMBERS)
class TestEverySupervision:
    def test_taking_items_renumbers_what_is_said_about_them(self, name):
        whole = MEMBERS[name]
        items = np.array([9, 2, 5, 0, 1, 12])
        part = whole.take(items)
        assert part.n_items == len(items) and part.n_outputs == whole.n_outputs
        np.testing.assert_array_equal(part.weight, whole.weight[items])
        same = part.queries.codes[:, None] == part.queries.codes
        expected = whole.queries.codes[items][:, None] == whole.queries.codes[items]
        np.testing.assert_array_equal(same, expected)
        inside = {
            (np.flatnonzero(items == i)[0], np.flatnonzero(items == j)[0], output): gap
            for (i, j, output), gap in pairs_and_gaps(whole).items()
            if i in items and j in items
        }
        assert pairs_and_gaps(part) == inside

    def test_outputs_are_taken_alone(self, name):
        whole = MEMBERS[name]
        for output in range(whole.n_outputs):
            part = whole.select_outputs(np.array([output]))
            assert part.n_items == whole.n_items and part.n_outputs == 1
            expected = {
                (i, j, 0): gap for (i, j, k), gap in pairs_and_gaps(whole).items() if k == output
            }
            assert pairs_and_gaps(part) == expected

    def test_pairs_stay_within_queries(self, name):
        codes = MEMBERS[name].queries.codes
        pairs, _ = MEMBERS[name].judged_pairs()
        assert (codes[pairs[:, 0]] == codes[pairs[:, 1]]).all()

    def test_nothing_to_learn_from_is_refused(self, name):
        MEMBERS[name].check()
        with pytest.raises(ValueError, match="no single preference"):
            MEMBERS[name].take(np.array([0])).check()
