"""Every solver finds the minimum of the objective that it was given, and says what it needs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from rankwise.exceptions import MissingRequirement
from rankwise.losses.epsilon_insensitive import residual_risk
from rankwise.losses.losses_by_name import hinge_risks, quadratic_loss
from rankwise.solvers.bundle import BundleSolver
from rankwise.solvers.conjugate_gradients import ConjugateGradientSolver
from rankwise.solvers.newton import NewtonSolver
from rankwise.solvers.online import FeatureRows, KernelRows, OnlineSolver
from rankwise.solvers.solver import Solution, Solver
from rankwise.solvers.spectral import SpectralSolver
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.space import Features, Gram
from tests.problems import scored

RNG = np.random.default_rng(3)
X = RNG.normal(size=(30, 4))
TOLD = scored(np.round(X @ [1.0, -1.0, 0.5, 0.0] + RNG.normal(size=30), 1), RNG.integers(0, 3, 30))
K = X @ X.T
QUADRATIC = quadratic_loss("magnitude", "keep", "pairs").quadratic(TOLD)


class QuadraticRisk:
    """fᵀLf − 2fᵀb as a function of the weights."""

    def value(self, w):
        f = X @ w
        return f @ (QUADRATIC.laplacian.apply(f) - 2 * QUADRATIC.target.b[:, 0])


def risk_value(risk):
    return lambda w: risk.at(X @ w).value


squared_hinge, hinge = (hinge_risks(loss, TOLD)[0] for loss in ("squared_hinge", "hinge"))
residuals = residual_risk(TOLD.Y[:, 0], TOLD.queries, TOLD.weight, 0.0, 2)
# name: the solver, what it minimises besides alpha‖w‖², from its w to weights, and its limits
MEMBERS = {
    "bundle": (lambda: BundleSolver(X, hinge), risk_value(hinge), None, {"tol": 1e-7}),
    "bundle, smooth": (
        lambda: BundleSolver(X, squared_hinge),
        risk_value(squared_hinge),
        None,
        {"tol": 1e-8},
    ),
    "newton": (
        lambda: NewtonSolver(X, squared_hinge),
        risk_value(squared_hinge),
        None,
        {"tol": 1e-9},
    ),
    "spectral, primal": (
        lambda: SpectralSolver(Features(X), QUADRATIC),
        QuadraticRisk().value,
        None,
        {},
    ),
    "spectral, dual": (lambda: SpectralSolver(Gram(K), QUADRATIC), QuadraticRisk().value, X.T, {}),
    "conjugate gradients": (
        lambda: ConjugateGradientSolver(Features(X), QUADRATIC, tol=1e-12, max_iter=500),
        QuadraticRisk().value,
        None,
        {},
    ),
    "online, features": (
        lambda: OnlineSolver(FeatureRows(X), TOLD),
        risk_value(residuals),
        X.T,
        {"tol": 1e-14, "max_iter": 5000},
    ),
    "online, kernel": (
        lambda: OnlineSolver(KernelRows(X, Kernel("linear"), 1e6), TOLD),
        risk_value(residuals),
        X.T,
        {"tol": 1e-14, "max_iter": 5000},
    ),
}


def weights(solution: Solution, to_weights) -> np.ndarray:
    w = solution.w.reshape(len(solution.w), -1)
    return (w if to_weights is None else to_weights @ w)[:, 0]


@pytest.mark.parametrize("alpha", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("name", MEMBERS)
class TestEverySolver:
    def test_no_point_is_better(self, name, alpha):
        make, value, to_weights, limits = MEMBERS[name]
        w = weights(make().solve(alpha, **limits), to_weights)

        def objective(v):
            return value(v) + alpha * v @ v

        found = objective(w)
        slow = minimize(
            objective,
            np.zeros(4),
            method="Nelder-Mead",
            options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 20_000, "maxfev": 20_000},
        )
        slow = minimize(objective, slow.x, method="Powell", options={"xtol": 1e-12, "ftol": 1e-15})
        assert found <= slow.fun + 1e-6 * (1 + abs(slow.fun))

    def test_solution_is_honest(self, name, alpha):
        make, value, to_weights, limits = MEMBERS[name]
        solution = make().solve(alpha, **limits)
        assert solution.status == "converged" and solution.gap >= 0 and solution.n_iter >= 0
        if solution.objective is not None:
            w = weights(solution, to_weights)
            assert solution.objective == pytest.approx(value(w) + alpha * w @ w, rel=1e-5)

    def test_one_preparation_serves_every_alpha(self, name, alpha):
        make, _, to_weights, limits = MEMBERS[name]
        solver = make()
        first = solver.solve(10 * alpha, **limits)
        start = first.w if isinstance(solver, BundleSolver | NewtonSolver) else None
        again = weights(solver.solve(alpha, start=start, **limits), to_weights)
        alone = weights(make().solve(alpha, **limits), to_weights)
        assert_allclose(again, alone, atol=2e-3 * np.abs(alone).max())


@pytest.mark.parametrize(
    ("make", "missing"),
    [
        (lambda: NewtonSolver(X, hinge), "curvature"),
        (lambda: BundleSolver(X, object()), "gradient"),
        (lambda: SpectralSolver(Features(X), hinge), "quadratic"),
        (
            lambda: ConjugateGradientSolver(Gram(K), QUADRATIC, tol=1e-6, max_iter=10),
            "features",
        ),
        (lambda: OnlineSolver(Features(X), TOLD), "rows"),
    ],
)
def test_the_error_names_what_is_missing(make, missing):
    with pytest.raises(MissingRequirement, match=f"requires {missing}"):
        make()


def test_every_solver_class_is_in_this_contract():
    tested = {type(make()) for make, *_ in MEMBERS.values()}
    assert {
        cls for cls in Solver.__subclasses__() if cls.__module__.startswith("rankwise")
    } <= tested
