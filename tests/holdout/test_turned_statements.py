"""Hold-outs after statements were turned round: one decomposition equals a fit of each choice."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise import Preferences, RankRLS
from tests.model_selection.test_preference_folds import statements

MODELS = [
    RankRLS(),
    RankRLS(loss="unit", query_weight="queries"),
    RankRLS(kernel="rbf", gamma=0.3),
    RankRLS(kernel="rbf", basis=[0, 2, 5, 7]),
]
ALPHAS = [0.3, 5.0]


def of(preferences, magnitude):
    return Preferences(
        *(preferences.winner, preferences.loser, magnitude, preferences.weight, 14),
        preferences.tie,
    )


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_turned_statements_equal_new_problems(model):
    X, preferences, groups = statements()
    magnitude = np.random.default_rng(1).uniform(0.5, 2, len(preferences))
    preferences = of(preferences, magnitude)
    pair_of, pairs = preferences.unordered_pairs(14)
    rng = np.random.default_rng(2)
    by_pair = rng.choice([-1.0, 1.0], (len(pairs), 3))[pair_of]
    alone = rng.choice([-1.0, 1.0], (len(preferences), 3))
    held = np.flatnonzero(groups == 0)
    turned = model.hold_outs(X, preferences=preferences).turned_statements()
    out = turned.leave_preferences_out(by_pair, ALPHAS)
    some = turned.without_statements(held, alone, ALPHAS)
    for column in range(3):
        problem = model.hold_outs(X, preferences=preferences.exchanged(by_pair[:, column] < 0))
        expected = problem.leave_preferences_out(ALPHAS)[..., 0] * by_pair[:, column]
        assert_allclose(out[..., column], expected, rtol=1e-7, atol=1e-9)
        problem = model.hold_outs(X, preferences=preferences.exchanged(alone[:, column] < 0))
        expected = problem.without_statements(held, ALPHAS)[..., 0] * alone[held, column]
        assert_allclose(some[..., column], expected, rtol=1e-7, atol=1e-9)


def test_what_has_no_closed_form_says_so():
    X, preferences, _ = statements()
    assert RankRLS(solver="cg").hold_outs(X, preferences=preferences).turned_statements() is None
    assert RankRLS().hold_outs(X, np.arange(14.0)).turned_statements() is None
    by_query = RankRLS(query_weight="queries").hold_outs(
        X, preferences=Preferences([0, 2, 8], [1, 3, 9], n_items=14), qid=np.arange(14) // 7
    )
    assert by_query.turned_statements().leave_preferences_out(np.ones((3, 1)), ALPHAS) is None
