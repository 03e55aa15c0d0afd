import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from rankwise.solvers.bundle import BundleSolver
from rankwise.solvers.cutting_planes import CuttingPlanes
from rankwise.solvers.newton import NewtonSolver
from rankwise.supervision.preferences import Preferences
from tests import reference_svm as reference
from tests.problems import risk_of_preferences, risk_of_scores

SOLVERS = {"hinge": BundleSolver, "squared_hinge": NewtonSolver}
POWER = {"hinge": 1, "squared_hinge": 2}


def problem(seed=0, m=40, n=5, n_queries=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    y = np.round(X @ rng.standard_normal(n) + rng.standard_normal(m), 1)
    return X, y, rng.integers(0, n_queries, m)


def solver_for(X, y, qid, loss, solver=None):
    risk = risk_of_scores(y, qid, loss)
    return (solver or SOLVERS[loss])(X, risk)


@pytest.mark.parametrize("loss, tol", [("hinge", 1e-6), ("squared_hinge", 1e-8)])
@pytest.mark.parametrize("alpha", [1.0, 1e-2, 1e-4])
@pytest.mark.parametrize("with_queries", [False, True])
def test_the_minimum_is_that_over_all_pairs(loss, tol, alpha, with_queries):
    X, y, qid = problem()
    qid = qid if with_queries else None
    pairs = reference.pair_list(y, qid)
    expected = reference.minimum(X, *pairs, alpha, POWER[loss])
    found = solver_for(X, y, qid, loss).solve(alpha, tol=tol, max_iter=3000)
    value = reference.objective(found.w, X, *pairs, alpha, POWER[loss])
    best = reference.objective(expected, X, *pairs, alpha, POWER[loss])
    assert found.status == "converged"
    assert found.objective == pytest.approx(value, abs=1e-10)
    assert value <= best + 1e-5
    assert found.objective - found.gap <= best + 1e-9, "the gap must certify a lower bound"


def test_the_bundle_method_solves_smooth_risks_too():
    X, y, qid = problem(1)
    by_newton = solver_for(X, y, qid, "squared_hinge").solve(0.01, tol=1e-8)
    by_bundle = solver_for(X, y, qid, "squared_hinge", BundleSolver).solve(0.01, tol=1e-7)
    assert by_bundle.objective == pytest.approx(by_newton.objective, abs=1e-6)


@pytest.mark.parametrize("loss", SOLVERS)
def test_preferences_give_what_their_scores_give(loss):
    X, y, qid = problem(2)
    winner, loser, weight = reference.pair_list(y, qid)
    listed = risk_of_preferences(Preferences(winner, loser, weight=weight), len(y), loss)
    by_list = SOLVERS[loss](X, listed).solve(0.01, tol=1e-6)
    by_scores = solver_for(X, y, qid, loss).solve(0.01, tol=1e-6)
    assert by_list.objective == pytest.approx(by_scores.objective, abs=2e-6)


@pytest.mark.parametrize("loss", SOLVERS)
def test_separable_pairs_at_a_kink(loss):
    """One pair: the hinge minimum w = δ/max(‖δ‖², 2 alpha)... sits on the kink exactly."""
    X, y = np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([0.0, 1.0])
    found = solver_for(X, y, None, loss).solve(1e-3, tol=1e-9)
    expected = 1.0 if loss == "hinge" else 25 / (25 + 1e-3)
    assert found.status == "converged"
    assert X[1] @ found.w == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("loss", SOLVERS)
def test_every_form_of_the_data_gives_the_same_model(loss):
    X, y, qid = problem(3, m=60)
    X[np.abs(X) < 0.7] = 0.0
    expected = solver_for(X, y, qid, loss).solve(0.01, tol=1e-6).w
    forms = [
        sparse.csr_matrix(X),
        sparse.csr_array(X),
        np.asfortranarray(X),
        aslinearoperator(X),
        X.astype(np.float32),
        sparse.csr_array(X, dtype=np.float32),
    ]
    for form in forms:
        found = solver_for(form, y, qid, loss).solve(0.01, tol=1e-6).w
        np.testing.assert_allclose(found, expected, atol=0.02)  # 2 √(gap/alpha)


def test_planes_bound_from_below_and_idle_ones_are_dropped():
    rng = np.random.default_rng(0)
    planes = CuttingPlanes()
    bounds = []
    for i in range(80):
        slope = rng.standard_normal(4) * (1.0 if i < 40 else 1e-3)
        planes.add(slope, rng.random() - (0.0 if i < 40 else 50.0))
        bounds.append(planes.minimise(0.1)[1])
    assert np.all(np.diff(bounds) >= -1e-8), "more planes never lower the bound"
    assert len(planes) < 75


def test_a_path_reuses_its_planes():
    X, y, qid = problem(4, m=200, n=10)
    shared = solver_for(X, y, qid, "hinge")
    alphas = 10.0 ** np.arange(0, -5, -1)
    start, along = None, 0
    for alpha in alphas:
        found = shared.solve(alpha, start=start, tol=1e-4)
        alone = solver_for(X, y, qid, "hinge").solve(alpha, tol=1e-4)
        assert found.objective == pytest.approx(alone.objective, abs=1e-4)
        start, along = found.w, along + found.n_iter
    assert along < sum(solver_for(X, y, qid, "hinge").solve(a, tol=1e-4).n_iter for a in alphas)


@pytest.mark.parametrize("loss", SOLVERS)
def test_a_start_at_the_solution_converges_at_once(loss):
    X, y, qid = problem(5)
    first = solver_for(X, y, qid, loss).solve(0.1, tol=1e-3)
    again = solver_for(X, y, qid, loss).solve(0.1, start=first.w, tol=1e-3)
    assert again.n_iter <= max(1, first.n_iter // 2)
    assert again.objective <= first.objective + 1e-12


@pytest.mark.parametrize("loss", SOLVERS)
def test_running_out_of_iterations_is_reported(loss):
    X, y, qid = problem(6)
    found = solver_for(X, y, qid, loss).solve(1e-5, tol=1e-12, max_iter=3)
    assert (found.status, found.n_iter) == ("max_iter", 3)
    assert found.gap > 0 and np.isfinite(found.objective)
    assert np.all(np.diff(found.history["objective"]) <= 1e-15)


class Interrupting:
    offers = frozenset({"gradient", "curvature"})

    """A risk during whose k-th evaluation the user presses Ctrl-C."""

    def __init__(self, risk, k):
        self.risk, self.left, self.n_items = risk, k, risk.n_items

    def at(self, p):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt
        return self.risk.at(p)


@pytest.mark.parametrize("loss", SOLVERS)
def test_an_interrupt_returns_the_best_so_far(loss):
    X, y, qid = problem(7)
    risk = risk_of_scores(y, qid, loss)
    evaluations = {"hinge": 10, "squared_hinge": 5}[loss]  # past the first line search
    found = SOLVERS[loss](X, Interrupting(risk, evaluations)).solve(1e-4, tol=1e-12)
    assert found.status == "interrupted"
    pairs = reference.pair_list(y, qid)
    value = reference.objective(found.w, X, *pairs, 1e-4, POWER[loss])
    assert found.objective == pytest.approx(value) and value < 1.0


@pytest.mark.parametrize("loss", SOLVERS)
def test_leaving_the_floating_point_range_is_an_error(loss):
    X, y, qid = problem(8)
    with pytest.raises(ValueError, match="non-finite"):
        solver_for(X * 1e200, y, qid, loss).solve(1e-3)


@pytest.mark.parametrize("loss", SOLVERS)
def test_verbose_says_where_it_is(loss, capsys):
    X, y, qid = problem(9)
    solver_for(X, y, qid, loss).solve(0.01, verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert all(word in lines[0] for word in ("iteration", "objective", "gap", "left"))
    solver_for(X, y, qid, loss).solve(0.01)
    assert capsys.readouterr().out == ""


def test_features_of_very_different_scales_still_converge():
    X, y, qid = problem(10, m=80)
    X *= 10.0 ** np.arange(-2, 3)
    for loss in SOLVERS:
        assert solver_for(X, y, qid, loss).solve(1e-3, max_iter=2000).status == "converged"


@pytest.mark.parametrize("loss", SOLVERS)
@pytest.mark.parametrize("alpha", [1e-8, 1e-3, 1.0])
def test_features_of_a_huge_scale_do_not_stall_the_line_search(loss, alpha):
    """The model's first minimiser is off by 24 orders of magnitude, where tangents are noise."""
    X, y = np.array([[0.0], [1e8]]), np.array([0.0, 1.0])
    found = solver_for(X, y, None, loss).solve(alpha, tol=1e-6)
    assert found.status == "converged" and found.objective < 1e-3


def test_rounding_never_lifts_the_bound_of_planes_above_their_minimum():
    """Planes of height 1 at w = 0 whose slopes cancel: the minimum of the model is 1."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        planes = CuttingPlanes()
        a, b = 1e6 * rng.standard_normal((2, 3))
        for slope in (a, b, -0.5 * (a + b)):
            planes.add(slope, 1.0)
            assert planes.minimise(1e-8)[1] <= 1.0 + 1e-12
