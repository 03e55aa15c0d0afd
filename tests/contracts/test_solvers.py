"""Every solver finds the minimum of the objective that it was given, and says what it needs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from rankwise import Preferences
from rankwise.exceptions import MissingRequirement
from rankwise.losses.epsilon_insensitive import residual_risk
from rankwise.losses.logistic import logistic_risk
from rankwise.losses.losses_by_name import hinge_risks, quadratic_loss
from rankwise.solvers.bundle import BundleSolver
from rankwise.solvers.cholesky import CholeskySolver
from rankwise.solvers.closed_pairs import ClosedPairsSolver
from rankwise.solvers.complete_graph import CompleteGraphSolver, mirror
from rankwise.solvers.conjugate_gradients import ConjugateGradientSolver
from rankwise.solvers.exact_newton import ExactNewtonSolver
from rankwise.solvers.incomplete_graph import EdgeSolver, Limits
from rankwise.solvers.newton import NewtonSolver
from rankwise.solvers.online import FeatureRows, KernelRows, OnlineSolver
from rankwise.solvers.solver import Solution, Solver
from rankwise.solvers.spectral import SpectralSolver
from rankwise.solvers.unpenalised_effects import EffectKind
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.nodes import Nodes
from rankwise.spaces.pairwise_kernels import PAIRWISE
from rankwise.spaces.space import Features, Gram
from rankwise.supervision.relation import RelationTask, check_labels
from tests import reference_conditional
from tests.problems import compared, scored

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


def same(solver: Solver, w: np.ndarray) -> np.ndarray:
    """The coefficients of a solver that works with the four features are the weights."""
    return w


def from_items(solver: Solver, w: np.ndarray) -> np.ndarray:
    """The weights of a solver that gives coefficients of the training items."""
    return X.T @ w


class RelationCase:
    """h(u, v) = uᵀ W v between nodes with two features each: W has four free values.

    `q` edges are drawn; None is the complete graph. If `through_features` is False, the solver gets
    the kernels of the nodes.
    """

    def __init__(self, task: RelationTask, q: int | None, through_features: bool):
        rng = np.random.default_rng(5)
        A = rng.normal(size=(15, 2))
        B = A if task.sign else rng.normal(size=(14, 2))
        shape = len(A), len(B)
        self.task, self.features = task, (A, B)
        if q is None:
            self.edges = reference_conditional.all_edges(*shape)
        else:  # four rows, so that a row has several edges
            self.edges = np.column_stack((rng.integers(0, 4, q), rng.integers(0, shape[1], q)))
        self.y = rng.normal(size=len(self.edges))
        self.L = reference_conditional.loss_matrix(self.edges, task.objective, task.condition)
        kernel = Kernel("linear" if through_features else "precomputed")
        rows = self._nodes(A, kernel)
        self.nodes = rows, rows if B is A else self._nodes(B, kernel)
        (self.labels,), _ = check_labels(self.y, self.edges, shape)

    @staticmethod
    def _nodes(Z: np.ndarray, kernel: Kernel) -> Nodes:
        return Nodes.build(Z @ Z.T if kernel.is_precomputed else Z, kernel, "the nodes")

    def complete(self) -> CompleteGraphSolver:
        Y = self.y.reshape(self.labels.shape)
        return CompleteGraphSolver(self.nodes, [(Y, None, None)], self.task)

    def with_row_effects(self) -> ClosedPairsSolver:
        """Regression whose unpenalised row effects make its loss that of the ranking objective."""
        Y = self.y.reshape(self.labels.shape)
        task, effects = RelationTask("regression"), EffectKind(True, True, False)
        kernel = PAIRWISE["kronecker"]
        return ClosedPairsSolver(self.nodes, [(Y, None, None)], task, kernel, effects)

    def at_edges(self) -> EdgeSolver:
        return EdgeSolver(self.nodes, self.labels, None, self.task, Limits(1e-12, 500))

    def value(self, w: np.ndarray) -> float:
        W = mirror(w.reshape(2, 2), self.task.sign)
        A, B = self.features
        residual = self.y - np.einsum("ea,ab,eb->e", A[self.edges[:, 0]], W, B[self.edges[:, 1]])
        return residual @ self.L @ residual

    def weights(self, solver: CompleteGraphSolver | EdgeSolver, w: np.ndarray) -> np.ndarray:
        C = solver.coefficients(w)[:, :, 0]
        if not self.nodes[0].through_features:
            C = self.features[0].T @ C @ self.features[1]
        return C.reshape(4, 1)


def relation_members() -> dict[str, tuple]:
    members = {}
    for relation in ("general", "symmetric", "reciprocal"):
        for objective in ("ranking", "regression"):
            task = RelationTask(objective, relation)
            for through_features in (True, False):
                kind = f"{relation} {objective}, {'features' if through_features else 'kernel'}"
                full = RelationCase(task, None, through_features)
                some = RelationCase(task, 20, through_features)
                members[f"complete graph, {kind}"] = full.complete, full.value, full.weights, {}
                if task.ranking and not task.sign:
                    made = full.with_row_effects
                    members[f"row effects, {kind}"] = made, full.value, full.weights, {}
                members[f"edges, {kind}"] = some.at_edges, some.value, some.weights, {}
    return members


squared_hinge, hinge = (hinge_risks(loss, TOLD)[0] for loss in ("squared_hinge", "hinge"))
residuals = residual_risk(TOLD.Y[:, 0], TOLD.queries, TOLD.weight, 0.0, 2)
PAIRS = Preferences(*RNG.permuted(np.tile(np.arange(30), (40, 1)), axis=1)[:, :2].T, n_items=30)
logistic = logistic_risk(compared(PAIRS, 30))
# name: the solver, what it minimises besides alpha‖w‖², from its w to weights, and its limits
MEMBERS = {
    "bundle": (lambda: BundleSolver(X, hinge), risk_value(hinge), same, {"tol": 1e-7}),
    "bundle, smooth": (
        lambda: BundleSolver(X, squared_hinge),
        risk_value(squared_hinge),
        same,
        {"tol": 1e-8},
    ),
    "newton": (
        lambda: NewtonSolver(X, squared_hinge),
        risk_value(squared_hinge),
        same,
        {"tol": 1e-9},
    ),
    "exact newton": (
        lambda: ExactNewtonSolver(X, logistic),
        risk_value(logistic),
        same,
        {"tol": 1e-9},
    ),
    "spectral, primal": (
        lambda: SpectralSolver(Features(X), QUADRATIC),
        QuadraticRisk().value,
        same,
        {},
    ),
    "spectral, dual": (
        lambda: SpectralSolver(Gram(K), QUADRATIC),
        QuadraticRisk().value,
        from_items,
        {},
    ),
    "cholesky, features": (
        lambda: CholeskySolver(Features(X), QUADRATIC),
        QuadraticRisk().value,
        same,
        {},
    ),
    "cholesky, kernel": (
        lambda: CholeskySolver(Gram(K), QUADRATIC),
        QuadraticRisk().value,
        from_items,
        {},
    ),
    "conjugate gradients": (
        lambda: ConjugateGradientSolver(Features(X), QUADRATIC, tol=1e-12, max_iter=500),
        QuadraticRisk().value,
        same,
        {},
    ),
    "online, features": (
        lambda: OnlineSolver(FeatureRows(X), TOLD),
        risk_value(residuals),
        from_items,
        {"tol": 1e-14, "max_iter": 5000},
    ),
    "online, kernel": (
        lambda: OnlineSolver(KernelRows(X, Kernel("linear"), 1e6), TOLD),
        risk_value(residuals),
        from_items,
        {"tol": 1e-14, "max_iter": 5000},
    ),
    **relation_members(),
}


def weights(solver: Solver, solution: Solution, to_weights) -> np.ndarray:
    w = to_weights(solver, solution.w)
    return w.reshape(len(w), -1)[:, 0]


@pytest.mark.parametrize("alpha", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("name", MEMBERS)
class TestEverySolver:
    def test_no_point_is_better(self, name, alpha):
        make, value, to_weights, limits = MEMBERS[name]
        solver = make()
        w = weights(solver, solver.solve(alpha, **limits), to_weights)

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
        solver = make()
        solution = solver.solve(alpha, **limits)
        assert solution.status == "converged" and solution.gap >= 0 and solution.n_iter >= 0
        if solution.objective is not None:
            w = weights(solver, solution, to_weights)
            assert solution.objective == pytest.approx(value(w) + alpha * w @ w, rel=1e-5)

    def test_one_preparation_serves_every_alpha(self, name, alpha):
        make, _, to_weights, limits = MEMBERS[name]
        solver = make()
        first = solver.solve(10 * alpha, **limits)
        iterates = isinstance(solver, BundleSolver | NewtonSolver | ExactNewtonSolver | EdgeSolver)
        start = first.w if iterates else None
        again = weights(solver, solver.solve(alpha, start=start, **limits), to_weights)
        new = make()
        alone = weights(new, new.solve(alpha, **limits), to_weights)
        assert_allclose(again, alone, atol=2e-3 * np.abs(alone).max())


# CompleteGraphSolver and EdgeSolver require nothing: every Nodes and every Labels will do.
@pytest.mark.parametrize(
    ("make", "missing"),
    [
        (lambda: NewtonSolver(X, hinge), "curvature"),
        (lambda: ExactNewtonSolver(X, hinge), "curvature matrix"),
        (lambda: BundleSolver(X, object()), "gradient"),
        (lambda: SpectralSolver(Features(X), hinge), "quadratic"),
        (lambda: CholeskySolver(Features(X), hinge), "quadratic"),
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
