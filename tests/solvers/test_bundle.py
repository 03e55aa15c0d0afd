import numpy as np
import pytest

from rankwise.solvers import bundle
from rankwise.solvers.bundle import BundleSolver
from rankwise.solvers.newton import NewtonSolver
from tests.problems import risk_of_scores
from tests.solvers.risk_minimisers import RiskMinimiserTests, problem


class TestBundle(RiskMinimiserTests):
    loss, power, solver, tight = "hinge", 1, BundleSolver, 1e-6

    def test_the_bundle_method_solves_smooth_risks_too(self):
        X, y, qid = problem(1)
        risk = risk_of_scores(y, qid, "squared_hinge")
        by_newton = NewtonSolver(X, risk).solve(0.01, tol=1e-8)
        by_bundle = BundleSolver(X, risk).solve(0.01, tol=1e-7)
        assert by_bundle.objective == pytest.approx(by_newton.objective, abs=1e-6)

    def test_a_path_reuses_its_planes(self):
        X, y, qid = problem(4, m=200, n=10)
        shared = self.solver_for(X, y, qid)
        alphas = 10.0 ** np.arange(0, -5, -1)
        start, along = None, 0
        for alpha in alphas:
            found = shared.solve(alpha, start=start, tol=1e-4)
            alone = self.solver_for(X, y, qid).solve(alpha, tol=1e-4)
            assert found.objective == pytest.approx(alone.objective, abs=1e-4)
            start, along = found.w, along + found.n_iter
        assert along < sum(self.solver_for(X, y, qid).solve(a, tol=1e-4).n_iter for a in alphas)

    @pytest.mark.parametrize("alpha", [1e-4, 1e-6, 1e-8])
    def test_small_alphas_need_few_planes(self, alpha):
        """Where planes alone would take hundreds, steps on a smoothed risk lead to the minimum."""
        X, y, qid = problem(11, m=600, n=40)
        found = self.solver_for(X, y, qid).solve(alpha)
        assert found.status == "converged" and found.n_iter <= 40
        tight = self.solver_for(X, y, qid).solve(alpha, tol=1e-5, max_iter=3000)
        assert found.objective - found.gap <= tight.objective <= found.objective + 1e-9
        assert tight.objective - tight.gap >= found.objective - found.gap - 1e-9

    @pytest.mark.parametrize("with_queries", [False, True])
    @pytest.mark.parametrize("alpha", [1e-1, 1e-4, 1e-6])
    def test_a_sample_of_items_spares_evaluations_and_changes_no_answer(
        self, alpha, with_queries, monkeypatch
    ):
        X, y, qid = problem(13, m=4000, n=60)
        qid = qid if with_queries else None
        certified = self.solver_for(X, y, qid).solve(alpha)
        counts = []
        for size in (10**6, 500):
            monkeypatch.setattr(bundle, "SAMPLE", size)
            solver, evaluations = self.solver_for(X, y, qid), []
            assert (solver._sample is None) == (size > 500)
            evaluate = solver._risk.at
            monkeypatch.setattr(
                solver._risk, "at", lambda p, of=evaluate, seen=evaluations: seen.append(1) or of(p)
            )
            found = solver.solve(alpha)
            assert found.status == "converged"
            assert found.objective <= certified.objective + 1e-3
            assert certified.objective <= found.objective + 1e-3
            counts.append(len(evaluations))
        assert counts[1] < 0.75 * counts[0]

    @pytest.mark.parametrize("seed", range(8))
    def test_rounding_far_from_the_minimum_certifies_nothing_false(self, seed):
        """Features of up to 1e150: offsets of planes are differences of huge numbers."""
        rng = np.random.default_rng(seed)
        X, alpha = rng.normal(size=(150, 8)), 10 ** rng.uniform(-6, 3)
        y, scale = np.round(rng.normal(size=150) + X[:, 0], 1), 10 ** rng.uniform(20, 140)
        found = self.solver_for(X * scale, y, None).solve(alpha, max_iter=100)
        least = self.solver_for(X, y, None).solve(max(alpha / scale**2, 1e-9), tol=1e-5)
        assert least.objective >= found.objective - found.gap - 1e-5

    def test_threads_do_not_change_the_steps_on_a_smoothed_risk(self, monkeypatch):
        X, y, qid = problem(12, m=600, n=40)
        models = []
        for threads in ("1", "2", "3"):
            monkeypatch.setenv("RANKWISE_THREADS", threads)
            models.append(self.solver_for(X, y, qid).solve(1e-7).w)
        np.testing.assert_array_equal(models[0], models[1])
        np.testing.assert_array_equal(models[0], models[2])

    def test_planes_that_say_nothing_new_are_the_last_ones(self):
        """One feature in a unit a million times smaller: rounding errors hide the last digits."""
        rng = np.random.default_rng(0)
        Z = rng.normal(size=(60, 3))
        y = np.round(Z[:, 0] + Z[:, 1] + 0.5 * rng.normal(size=60))
        solver, found = self.solver_for(Z * [1, 1e6, 1], y, np.arange(60) % 9), []
        for alpha in (1e-3, 1e-4, 1e-5, 1e-6):
            found.append(solver.solve(alpha, start=found[-1].w if found else None))
        assert max(solution.n_iter for solution in found) < 500
        alone = self.solver_for(Z * [1, 1e6, 1], y, np.arange(60) % 9).solve(1e-5)
        assert alone.n_iter < 500
        assert alone.objective == pytest.approx(found[2].objective, abs=2e-3)
