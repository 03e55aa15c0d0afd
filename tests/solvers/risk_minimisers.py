"""What both solvers of margin losses must do; test_bundle.py and test_newton.py run it."""

from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from rankwise.solvers.bundle import BundleSolver
from rankwise.solvers.newton import NewtonSolver
from rankwise.supervision.preferences import Preferences
from tests import reference_svm as reference
from tests.problems import risk_of_preferences, risk_of_scores


def problem(seed=0, m=40, n=5, n_queries=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    y = np.round(X @ rng.standard_normal(n) + rng.standard_normal(m), 1)
    return X, y, rng.integers(0, n_queries, m)


class Interrupting:
    """A risk during whose k-th evaluation the user presses Ctrl-C."""

    offers = frozenset({"gradient", "curvature"})
    queries = None

    def __init__(self, risk, k):
        self.risk, self.left, self.n_items = risk, k, risk.n_items

    def at(self, p):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt
        return self.risk.at(p)


class RiskMinimiserTests:
    """`tight` is the tolerance at which the objective is compared with the minimum."""

    loss: ClassVar[str]
    power: ClassVar[int]
    solver: ClassVar[type[BundleSolver] | type[NewtonSolver]]
    tight: ClassVar[float]

    def solver_for(self, X, y, qid):
        return self.solver(X, risk_of_scores(y, qid, self.loss))

    @pytest.mark.parametrize("alpha", [1.0, 1e-2, 1e-4])
    @pytest.mark.parametrize("with_queries", [False, True])
    def test_the_minimum_is_that_over_all_pairs(self, alpha, with_queries):
        X, y, qid = problem()
        qid = qid if with_queries else None
        pairs = reference.pair_list(y, qid)
        expected = reference.minimum(X, *pairs, alpha, self.power)
        found = self.solver_for(X, y, qid).solve(alpha, tol=self.tight, max_iter=3000)
        value = reference.objective(found.w, X, *pairs, alpha, self.power)
        best = reference.objective(expected, X, *pairs, alpha, self.power)
        assert found.status == "converged"
        assert found.objective == pytest.approx(value, abs=1e-10)
        assert value <= best + 1e-5
        assert found.objective - found.gap <= best + 1e-9, "the gap must certify a lower bound"

    def test_preferences_give_what_their_scores_give(self):
        X, y, qid = problem(2)
        winner, loser, weight = reference.pair_list(y, qid)
        listed = risk_of_preferences(Preferences(winner, loser, weight=weight), len(y), self.loss)
        by_list = self.solver(X, listed).solve(0.01, tol=1e-6)
        by_scores = self.solver_for(X, y, qid).solve(0.01, tol=1e-6)
        assert by_list.objective == pytest.approx(by_scores.objective, abs=2e-6)

    def test_separable_pairs_at_a_kink(self):
        """One pair: the hinge minimum w = δ/max(‖δ‖², 2 alpha)... sits on the kink exactly."""
        X, y = np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([0.0, 1.0])
        found = self.solver_for(X, y, None).solve(1e-3, tol=1e-9)
        expected = 1.0 if self.loss == "hinge" else 25 / (25 + 1e-3)
        assert found.status == "converged"
        assert X[1] @ found.w == pytest.approx(expected, abs=1e-6)

    def test_every_form_of_the_data_gives_the_same_model(self):
        X, y, qid = problem(3, m=60)
        X[np.abs(X) < 0.7] = 0.0
        expected = self.solver_for(X, y, qid).solve(0.01, tol=1e-6).w
        forms = [
            sparse.csr_matrix(X),
            sparse.csr_array(X),
            np.asfortranarray(X),
            aslinearoperator(X),
            X.astype(np.float32),
            sparse.csr_array(X, dtype=np.float32),
        ]
        for form in forms:
            found = self.solver_for(form, y, qid).solve(0.01, tol=1e-6).w
            np.testing.assert_allclose(found, expected, atol=0.02)  # 2 √(gap/alpha)

    def test_a_start_at_the_solution_converges_at_once(self):
        X, y, qid = problem(5)
        first = self.solver_for(X, y, qid).solve(0.1, tol=1e-3)
        again = self.solver_for(X, y, qid).solve(0.1, start=first.w, tol=1e-3)
        assert again.n_iter <= max(1, first.n_iter // 2)
        assert again.objective <= first.objective + 1e-12

    def test_running_out_of_iterations_is_reported(self):
        X, y, qid = problem(6)
        found = self.solver_for(X, y, qid).solve(1e-5, tol=1e-12, max_iter=3)
        assert (found.status, found.n_iter) == ("max_iter", 3)
        assert found.gap > 0 and np.isfinite(found.objective)
        assert np.all(np.diff(found.history["objective"]) <= 1e-15)

    def test_an_interrupt_returns_the_best_so_far(self):
        X, y, qid = problem(7)
        risk = risk_of_scores(y, qid, self.loss)
        evaluations = {"hinge": 10, "squared_hinge": 5}[self.loss]  # past the first line search
        found = self.solver(X, Interrupting(risk, evaluations)).solve(1e-4, tol=1e-12)
        assert found.status == "interrupted"
        pairs = reference.pair_list(y, qid)
        value = reference.objective(found.w, X, *pairs, 1e-4, self.power)
        assert found.objective == pytest.approx(value) and value < 1.0

    def test_leaving_the_floating_point_range_is_an_error(self):
        X, y, qid = problem(8)
        with pytest.raises(ValueError, match="non-finite"):
            self.solver_for(X * 1e200, y, qid).solve(1e-3)

    def test_verbose_says_where_it_is(self, capsys):
        X, y, qid = problem(9)
        self.solver_for(X, y, qid).solve(0.01, verbose=1)
        lines = capsys.readouterr().out.splitlines()
        assert all(word in lines[0] for word in ("iteration", "objective", "gap", "left"))
        self.solver_for(X, y, qid).solve(0.01)
        assert capsys.readouterr().out == ""

    def test_features_of_very_different_scales_still_converge(self):
        X, y, qid = problem(10, m=80)
        X *= 10.0 ** np.arange(-2, 3)
        assert self.solver_for(X, y, qid).solve(1e-3, max_iter=2000).status == "converged"

    @pytest.mark.parametrize("alpha", [1e-8, 1e-3, 1.0])
    def test_features_of_a_huge_scale_do_not_stall_the_line_search(self, alpha):
        """The first minimiser is off by 24 orders of magnitude, where tangents are noise."""
        X, y = np.array([[0.0], [1e8]]), np.array([0.0, 1.0])
        found = self.solver_for(X, y, None).solve(alpha, tol=1e-6)
        assert found.status == "converged" and found.objective < 1e-3

    @pytest.mark.parametrize("alpha", [3.0, 30.0, 1e3, 1e6, 1e12, 1e18, 1e100])
    @pytest.mark.parametrize("warm", [False, True])
    def test_a_large_alpha_is_solved_to_the_same_relative_accuracy(self, alpha, warm):
        """The gain J(0) − min J falls as 1/alpha, below any absolute tolerance."""
        X, y, qid = problem(11)
        pairs = reference.pair_list(y, qid)
        start = np.ones(X.shape[1]) / alpha if warm else None
        found = self.solver_for(X, y, qid).solve(alpha, start=start)
        winner, loser, weight = pairs
        tangent = self.power * weight @ (X[winner] - X[loser]) / (2 * alpha)
        assert found.status == "converged" and found.w.any()
        if alpha >= 1e6:
            np.testing.assert_allclose(found.w, tangent, rtol=1e-4)
        else:
            best = reference.objective(
                reference.minimum(X, *pairs, alpha, self.power), X, *pairs, alpha, self.power
            )
            value = reference.objective(found.w, X, *pairs, alpha, self.power)
            assert value - best <= 0.01 * (1.0 - best)

    def test_features_of_a_tiny_scale_still_learn_an_order(self):
        X, y, qid = problem(12)
        found = self.solver_for(1e-200 * X, y, qid).solve(1e-3)
        usual = self.solver_for(1e-6 * X, y, qid).solve(1e-3)
        assert found.status == "converged"
        np.testing.assert_allclose(1e200 * found.w, 1e6 * usual.w, rtol=1e-4)
