"""The logistic risk with order and tie effects, against the probabilities written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from rankwise import Preferences
from rankwise.losses.logistic import logistic_risk, outcome_probabilities
from rankwise.losses.risk import NoPreference
from tests.problems import compared
from tests.reference_logistic import loss

RNG = np.random.default_rng(0)
M, L = 6, 30
A = RNG.integers(0, M, L)
B = (A + RNG.integers(1, M, L)) % M
OUTCOME = RNG.choice([1.0, 0.0, 0.5], L)
SAID = np.where(OUTCOME == 1, "a", np.where(OUTCOME == 0, "b", "tie"))
NAMES = [f"n{i}" for i in range(M)]
VOTES = Preferences.from_votes([f"n{i}" for i in A], [f"n{i}" for i in B], SAID, NAMES)


@pytest.mark.parametrize("order", [False, True])
@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_value_is_the_least_over_the_effects(ties, order):
    risk = logistic_risk(compared(VOTES, M), ties, order)
    davidson = ties == "davidson"
    for size in (0.1, 1.0, 5.0):
        p = size * RNG.normal(size=M)

        def mean(effects, p=p):
            eta, theta = effects[0] * order, effects[1] if davidson else None
            terms = [loss(p[i] - p[j] + eta, o, theta) for i, j, o in zip(A, B, OUTCOME.tolist())]
            return np.mean(terms)

        slow = minimize(mean, np.zeros(2), method="Nelder-Mead", options={"fatol": 1e-14})
        assert_allclose(risk.at(p).value, slow.fun, rtol=1e-7)
        eta, nu = risk.effects(p)
        assert_allclose(eta, slow.x[0] * order, atol=1e-3)
        assert_allclose(nu, np.exp(slow.x[1]) if davidson else 0.0, rtol=1e-3)


def test_large_differences_do_not_overflow():
    risk = logistic_risk(compared(VOTES, M), "davidson", True)
    found = risk.at(1e5 * np.arange(M, dtype=float))
    assert np.isfinite(found.value) and np.isfinite(found.gradient).all()
    first, second, tie = outcome_probabilities(np.array([-2000.0, 0.0, 2000.0]), 1.5)
    assert_allclose(first + second + tie, 1.0)
    assert_allclose(first, [0.0, 1 / 3.5, 1.0])


def test_statements_without_weight():
    nothing = Preferences([0], [1], weight=[0.0])
    with pytest.raises(NoPreference, match="positive weight"):
        logistic_risk(compared(nothing, 2))


def test_slopes_of_statements_add_up_to_the_gradient():
    risk = logistic_risk(compared(VOTES, M), "davidson", True)
    p = RNG.normal(size=M)
    eta, nu = risk.effects(p)
    outcome = np.where(OUTCOME == 1, 0, np.where(OUTCOME == 0, 1, 2))
    by_d, by_theta = risk.statement_slopes(p[A] - p[B] + eta, outcome, nu)
    gradient = np.bincount(A, by_d, minlength=M) - np.bincount(B, by_d, minlength=M)
    assert_allclose(gradient / L, risk.at(p).gradient, atol=1e-12)
    assert_allclose([by_d.sum(), by_theta.sum()], 0.0, atol=1e-9)
