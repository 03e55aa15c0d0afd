"""Which solver a quadratic problem takes, and that its answer does not depend on the choice."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from rankwise import Preferences, RankRLS
from rankwise.holdout.quadratic_problem import FEWEST, affordable_iterations
from tests.problems import compared, scored


def tournament(n_players, n_games, popularity=0.0, seed=0):
    """Games between random players; with a popularity of 1 few players have most games."""
    rng = np.random.default_rng(seed)
    share = (1.0 + np.arange(n_players)) ** -popularity
    pairs = rng.choice(n_players, (n_games, 2), p=share / share.sum())
    winner, loser = pairs[pairs[:, 0] != pairs[:, 1]].T
    return Preferences(winner, loser, n_items=n_players)


def relative_error(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


@pytest.mark.parametrize("popularity", [0.0, 1.0])
@pytest.mark.parametrize("alpha", [1e-6, 1.0, 1e4])
def test_sparse_games_are_fitted_without_a_decomposition(popularity, alpha):
    X, preferences = sparse.identity(700, format="csr"), tournament(700, 3000, popularity)
    model = RankRLS(alpha).fit(X, preferences=preferences)
    exact = RankRLS(alpha, solver="spectral").fit(X, preferences=preferences)
    assert model.n_iter_ > 1, "conjugate gradients"
    assert relative_error(model.coef_, exact.coef_) < 1e-9
    assert relative_error(model.path([alpha, 1.0])[0], exact.coef_) < 1e-9
    assert_allclose(model.holdout([3, 8]), exact.holdout([3, 8]), atol=1e-8)
    assert relative_error(model.path([alpha])[0], exact.coef_) < 1e-9, "decomposed by now"


@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e100, 1e150])
def test_the_accuracy_does_not_depend_on_the_scale(scale):
    X, preferences = sparse.identity(700, format="csr"), tournament(700, 3000)
    expected = RankRLS(1.0).fit(X, preferences=preferences).coef_
    found = RankRLS(scale**2).fit(X * scale, preferences=preferences)
    assert found.n_iter_ > 1
    assert_allclose(found.coef_ * scale, expected, rtol=1e-6)


def test_slow_convergence_ends_in_a_decomposition():
    """Columns of very different scale: conjugate gradients would need thousands of iterations."""
    rng = np.random.default_rng(0)
    X = sparse.random(900, 600, density=0.01, random_state=rng, format="csr")
    X = sparse.csr_array(X @ sparse.diags_array(10.0 ** rng.uniform(-4, 4, 600)))
    y = rng.normal(size=900)
    assert affordable_iterations(X, scored(y)) >= FEWEST
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RankRLS(1e-4).fit(X, y)
    exact = RankRLS(1e-4, solver="spectral").fit(X, y)
    assert model.n_iter_ == 1
    assert_allclose(X @ model.coef_, X @ exact.coef_, atol=1e-6)


def test_the_price_of_an_iteration_counts_features_statements_and_outputs():
    X, y = sparse.identity(1000, format="csr"), np.arange(1000.0)
    few, many = (compared(tournament(1000, n), 1000) for n in (2000, 200_000))
    assert affordable_iterations(X, few) > 2 * affordable_iterations(X, many)
    assert affordable_iterations(X.toarray(), few) == 0
    one, two = scored(y), scored(np.column_stack((y, y)))
    assert affordable_iterations(X, one) // 2 == affordable_iterations(X, two)


def test_an_output_without_preferences_is_accurate():
    X = sparse.identity(800, format="csr")
    Y = np.column_stack((np.arange(800.0), np.full(800, 2.0)))
    problem = RankRLS().hold_outs(X, np.column_stack((Y[:, 0], Y[:, 0] ** 2)))
    problem.supervision = scored(Y)
    assert not problem.path([1.0])[0, :, 1].any()
