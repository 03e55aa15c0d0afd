"""Newton's method with factorised Hessians and with conjugate gradients find the same minimum."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from rankwise import Preferences
from rankwise.losses.logistic import logistic_risk
from rankwise.solvers import exact_newton
from rankwise.solvers.exact_newton import ExactNewtonSolver, HessianFactor
from rankwise.solvers.logistic_path import logistic_path
from tests.problems import compared

RNG = np.random.default_rng(4)
M = 40
ENDS = np.array([RNG.choice(M, 2, replace=False) for _ in range(300)])
RISK = logistic_risk(compared(Preferences(*ENDS.T, n_items=M), M))
PHI = RNG.normal(size=(M, 6)) * [1e-3, 1, 1, 1, 50, 1e4]


@pytest.mark.parametrize("alpha", [1e-12, 1e-3, 10.0])
@pytest.mark.parametrize("phi", [PHI, sparse.csr_array(PHI), sparse.eye_array(M, format="csr")])
def test_conjugate_gradients_equal_the_factor(alpha, phi, monkeypatch):
    direct = ExactNewtonSolver(phi, RISK).solve(alpha)
    monkeypatch.setattr(exact_newton, "FEW", 1)
    iterated = ExactNewtonSolver(phi, RISK).solve(alpha)
    assert direct.status == iterated.status == "converged"
    assert_allclose(phi @ iterated.w, phi @ direct.w, rtol=1e-6, atol=1e-7)
    assert direct.gap <= 1e-9 and direct.n_iter <= 12
    assert len(direct.history["objective"]) >= 2


def test_the_factor_inverts_the_hessian():
    evaluation = RISK.at(RNG.normal(size=M))
    factor = HessianFactor(PHI, evaluation, 0.3)
    L, _ = evaluation.matrix()
    H = PHI.T @ (L @ PHI) + 0.6 * np.eye(6)
    b = RNG.normal(size=6)
    assert_allclose(H @ factor.solve(b), b, atol=1e-7)
    assert_allclose(factor.solve_rows(H), np.eye(6), atol=1e-6)
    white = factor.whiten(H)
    assert_allclose(white.T @ white, H, rtol=1e-7)


def test_a_path_equals_single_solutions():
    alphas = [0.1, 10.0, 1.0]
    for found, alpha in zip(logistic_path(PHI, RISK, alphas), alphas):
        (alone,) = logistic_path(PHI, RISK, [alpha])
        assert_allclose(PHI @ found.w, PHI @ alone.w, rtol=1e-7, atol=1e-9)
        assert_allclose(found.objective, alone.objective)


def test_interruption_keeps_the_best_point(monkeypatch):
    calls = []

    def interrupt(self, *arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(self, *arguments)

    original = ExactNewtonSolver._direction
    monkeypatch.setattr(ExactNewtonSolver, "_direction", interrupt)
    found = ExactNewtonSolver(PHI, RISK).solve(1e-6)
    assert found.status == "interrupted" and np.isfinite(found.w).all()
