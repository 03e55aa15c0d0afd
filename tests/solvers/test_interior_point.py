"""Preferences on a sparse graph, where the minimum of the hinge loss lies at many kinks."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from rankwise import Preferences, RankSVM
from rankwise.numerics.products import Products
from rankwise.solvers.bundle import BundleSolver
from rankwise.solvers.interior_point import InteriorPoint
from rankwise.solvers.line_search import Iterate
from rankwise.solvers.preconditioner import Preconditioning
from tests.problems import risk_of_preferences


def games(players=300, n_games=4000, seed=0):
    """Identity features and the outcomes of noisy games; nobody plays against himself."""
    rng = np.random.default_rng(seed)
    strength = rng.standard_normal(players)
    a = rng.integers(0, players, n_games)
    b = (a + rng.integers(1, players, n_games)) % players
    wins = rng.random(n_games) < 1 / (1 + np.exp(2 * (strength[b] - strength[a])))
    return Preferences(np.where(wins, a, b), np.where(wins, b, a))


@pytest.mark.parametrize("alpha", [1e-3, 1e-5, 1e-7, 1e-9])
def test_games_of_many_players_converge_for_every_alpha(alpha):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RankSVM(alpha).fit(sparse.eye_array(300, format="csr"), preferences=games())
    assert model.gap_ <= 1e-3 and model.n_iter_ <= 60


@pytest.mark.parametrize("scale", [1.0, 10.0 ** np.arange(-3, 3)])
@pytest.mark.parametrize("alpha", [1.0, 1e-3])
def test_steps_lead_to_the_minimum_of_a_linear_programme(alpha, scale):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 6)) * scale
    risk = risk_of_preferences(games(30, 200), 30, "hinge")
    method = InteriorPoint(Products(X), Preconditioning(X, risk), risk)
    start = Iterate.at(np.zeros(6), np.zeros(30), risk, alpha)
    best, bound = np.inf, -np.inf
    for number, plane in enumerate(method.planes(start, alpha, lambda: 1e-8)):
        np.testing.assert_allclose(plane.p, X @ plane.w, atol=1e-8)
        assert plane.exact == pytest.approx(risk.at(plane.p).value, abs=1e-9)
        for w in rng.standard_normal((5, 6)) / scale:
            assert risk.at(X @ w).value >= plane.offset + plane.slope @ w - 1e-9
        best = min(best, plane.exact + alpha * plane.w @ plane.w)
        bound = max(bound, plane.offset - plane.slope @ plane.slope / (4 * alpha))
        if best - bound <= 1e-8 or number == 60:
            break
    assert best - bound <= 1e-8

    def objective(u):
        return risk.at(X @ (u / scale)).value + alpha * (u / scale) @ (u / scale)

    slow = minimize(objective, np.zeros(6), method="Powell", options={"xtol": 1e-9, "ftol": 1e-12})
    assert bound - 1e-9 <= slow.fun and best <= slow.fun + 1e-8


def test_preferences_without_weight_do_not_matter():
    X, told = np.random.default_rng(2).standard_normal((30, 3)), games(30, 200)
    more = Preferences(
        np.append(told.winner, told.loser),
        np.append(told.loser, told.winner),
        weight=np.append(np.ones(200), np.zeros(200)),
    )
    found, expected = (
        BundleSolver(X, risk_of_preferences(each, 30, "hinge")).solve(1e-4, tol=1e-7)
        for each in (more, told)
    )
    assert found.status == "converged"
    assert found.objective == pytest.approx(expected.objective, abs=2e-7)
