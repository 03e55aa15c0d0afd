import tracemalloc
import warnings
from itertools import islice

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from rankwise import RankRLS
from rankwise.solvers.conjugate_gradients import (
    ConjugateGradientSolver,
    NormalEquations,
    conjugate_steps,
)
from rankwise.spaces.space import Features
from tests.problems import quadratic_of, scored


class DenseSystem:
    """H x = b with a diagonal preconditioner; the residual is computed at every step."""

    noise = 1e-28

    def __init__(self, H, b, scale):
        self.H, self.b, self.scale, self.x = H, b, scale, np.zeros_like(b)

    def descent(self):
        residual = self.b - self.H @ self.x
        z = residual / self.scale
        return (z, self.H @ z), float(residual @ z)

    def curvature(self, direction):
        d, image = direction
        assert_allclose(image, self.H @ d, rtol=1e-8, atol=1e-10)
        return float(d @ image)

    def advance(self, size, direction):
        self.x += size * direction[0]


@pytest.mark.parametrize("rank", [8, 5])
@pytest.mark.parametrize("preconditioned", [False, True])
def test_the_loop_ends_at_the_solution(rank, preconditioned):
    """Singular systems too; the gains are the decreases of the energy norm of the error."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(8, rank))
    H, solution = Z @ Z.T, rng.normal(size=8)
    scale = np.diagonal(H) if preconditioned else np.ones(8)
    system = DenseSystem(H, H @ solution, scale)
    gains = [step.gain for step in islice(conjugate_steps(system), 50)]
    assert rank <= len(gains) < 50
    assert_allclose(H @ system.x, H @ solution, atol=1e-8)
    assert sum(gains) == pytest.approx(solution @ H @ solution)


def test_images_add_up_to_the_image_of_the_point():
    rng = np.random.default_rng(1)
    F, weight, right = rng.normal(size=(30, 6)), rng.uniform(size=30), rng.normal(size=6)
    start = rng.normal(size=6)
    H = F.T @ (weight[:, None] * F) + 0.1 * np.eye(6)
    system = NormalEquations(
        lambda w: F @ w, lambda w, p: F.T @ (weight * p) + 0.1 * w, right, start
    )
    image = F @ start
    for step in islice(conjugate_steps(system), 6):
        image += step.size * system.image
    assert_allclose(image, F @ system.x, rtol=1e-10)
    assert_allclose(system.x, np.linalg.solve(H, right), rtol=1e-8)
    assert system.squared_norm == pytest.approx(np.sum((right - H @ system.x) ** 2), abs=1e-20)


def quadratic_problem(Y=None, m=40, n=7):
    """All pairs of m items: F, the loss, and the normal equations without alpha."""
    rng = np.random.default_rng(2)
    F, Y = rng.normal(size=(m, n)), rng.normal(size=(m, 3)) if Y is None else Y
    L = m * np.eye(m) - 1
    quadratic = quadratic_of(scored(Y))
    return F, quadratic, F.T @ L @ F, F.T @ L @ Y


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_solver_of_quadratic_losses(form):
    F, quadratic, H, right = quadratic_problem()
    solver = ConjugateGradientSolver(Features(form(F)), quadratic, tol=1e-12)
    start = None
    for alpha in (100.0, 1.0):
        solution = solver.solve(alpha, start=start)
        start = solution.w
        expected = np.linalg.solve(H + alpha * np.eye(7), right)
        assert solution.status == "converged" and 1 < solution.n_iter < 20
        assert_allclose(solution.w, expected, rtol=1e-9)
    again = solver.solve(1.0, start=start)
    assert again.n_iter <= 1
    assert solver.requires == {"features", "quadratic"}


def test_running_out_of_iterations_is_reported():
    F, quadratic, H, right = quadratic_problem()
    solver = ConjugateGradientSolver(Features(F), quadratic, tol=1e-12, max_iter=2)
    with pytest.warns(ConvergenceWarning, match=r"after 2 iterations .* above tol=1e-12"):
        solution = solver.solve(1.0)
    assert (solution.status, solution.n_iter) == ("max_iter", 2)
    w, best = solution.w, np.linalg.solve(H + np.eye(7), right)
    excess = np.sum((w - best) * ((H + np.eye(7)) @ (w - best)))
    assert 0 < excess <= solution.gap, "the gap bounds how far the objective is from its minimum"


def test_an_output_without_preferences_is_zero():
    F, quadratic, _, _ = quadratic_problem(np.column_stack([np.zeros(40), np.arange(40.0)]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        w = ConjugateGradientSolver(Features(F), quadratic).solve(1.0, start=np.ones((7, 2))).w
    assert not w[:, 0].any() and w[:, 1].any()


def test_conjugate_gradients_on_large_text_never_densify():
    """12,000 × 12,000, two score levels: 23 million preferences, megabytes of memory."""
    rng = np.random.default_rng(0)
    m = n = 12_000
    words = np.minimum(rng.zipf(1.3, 60 * m) - 1, n - 1)
    text = sparse.csr_array((np.ones(60 * m), (np.repeat(np.arange(m), 60), words)), shape=(m, n))
    text.data = np.log1p(text.data)
    y = (np.arange(m) % 5 == 0) * 1.0
    tracemalloc.start()
    model = RankRLS(1e4, loss="unit").fit(text, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6
    assert 1 < model.n_iter_ < 1000  # BLAS libraries differ
    f = text @ model.coef_
    high, low = y == 1, y == 0
    Lf = np.where(high, low.sum() * f - f[low].sum(), high.sum() * f - f[high].sum())
    b = np.where(high, low.sum(), -high.sum())
    residual = text.T @ (Lf - b) + 1e4 * model.coef_
    assert np.linalg.norm(residual) < 1e-5 * np.linalg.norm(text.T @ b)
