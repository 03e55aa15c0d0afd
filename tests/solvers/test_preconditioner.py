"""The diagonal of the covariance within queries, or a share of it, unless 2 alpha makes it even."""

import numpy as np
import pytest
from scipy import sparse

from rankwise.losses.hinge import ScoreSquaredHinge
from rankwise.solvers.newton import NewtonSolver
from rankwise.solvers.preconditioner import (
    EVEN,
    FEW_FEATURES,
    UNEVEN,
    Preconditioning,
    unchanged,
)
from rankwise.supervision.queries import Queries


def sparse_problem(n_queries, seed=0, m=60, n=FEW_FEATURES + 100):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((m, n)) < 0.1, rng.standard_normal((m, n)), 0.0)
    X *= 10 ** rng.uniform(-2, 1, n)
    queries = Queries.from_labels(np.arange(m) % n_queries if n_queries > 1 else None, m)
    return X, ScoreSquaredHinge(rng.standard_normal(m), queries), rng


def diagonal_by_query(X, weight, queries):
    """Σ d (x − x̄)² with the weighted mean of each query, as it is written."""
    total = np.zeros(X.shape[1])
    for query in range(len(queries)):
        rows = queries.codes == query
        if weight[rows].sum() > 0:
            mean = weight[rows] @ X[rows] / weight[rows].sum()
            total += weight[rows] @ (X[rows] - mean) ** 2
    return total


@pytest.mark.parametrize("n_queries", [1, 4])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_it_is_the_diagonal_unless_that_is_even(n_queries, form):
    X, risk, rng = sparse_problem(n_queries)
    preconditioning = Preconditioning(form(X), risk)
    residual, seen = rng.standard_normal(X.shape[1]), set()
    for spread in (0.0, 0.1, 1.0, 10.0, 0.5):
        found = risk.at(spread * rng.standard_normal(len(X)))
        diagonal = diagonal_by_query(X, found.diagonal(), risk.queries)
        largest = diagonal.max()
        for alpha in (
            1e-12 * largest,
            1e-3 * largest,
            largest / (2 * EVEN),
            largest / EVEN,
            largest,
            1e3 * largest,
        ):
            apply = preconditioning.at(found, alpha)
            even = diagonal.max() + 2 * alpha <= EVEN * 2 * alpha
            assert (apply is unchanged) == even
            seen.add(even)
            if not even:
                share = min(1.0, (largest / (2 * alpha) / UNEVEN) ** (1 / 3))
                np.testing.assert_allclose(
                    apply(residual), residual / (share * diagonal + 2 * alpha), rtol=1e-9
                )
                apply = preconditioning.at(found, alpha, whole=True)
                np.testing.assert_allclose(
                    apply(residual), residual / (diagonal + 2 * alpha), rtol=1e-9
                )
    assert seen == {True, False}


@pytest.mark.parametrize("n_queries", [1, 4])
def test_an_even_diagonal_is_not_computed_again(n_queries, monkeypatch):
    X, risk, _ = sparse_problem(n_queries)
    preconditioning = Preconditioning(sparse.csr_array(X), risk)
    found = risk.at(np.zeros(len(X)))
    assert preconditioning.at(found, 1e6) is unchanged
    monkeypatch.setattr(preconditioning._groups, "squares", None)
    assert preconditioning.at(found, 1e6) is unchanged


@pytest.mark.parametrize("alpha", [1e-4, 1e-2, 1.0])
def test_alphas_in_any_order_give_the_same_minimum(alpha):
    X, risk, _ = sparse_problem(1)
    used = NewtonSolver(sparse.csr_array(X), risk)
    used.solve(10.0)
    found, fresh = (s.solve(alpha, tol=1e-8) for s in (used, NewtonSolver(X, risk)))
    certified = sum(np.sqrt(solution.gap / alpha) for solution in (found, fresh))
    assert np.linalg.norm(found.w - fresh.w) <= certified + 1e-12
    assert found.objective == pytest.approx(fresh.objective, rel=1e-9)


def products_of_a_fit(X, y, alpha, monkeypatch):
    solver = NewtonSolver(X, ScoreSquaredHinge(y, Queries.from_labels(None, len(y))))
    counted, scores = [], solver._products.scores
    monkeypatch.setattr(solver._products, "scores", lambda w: counted.append(1) or scores(w))
    assert solver.solve(alpha).status == "converged"
    return len(counted)


def words(m=3000, n=4000, seed=0):
    """Rows of 40 words of Zipf's law, of length 1, as tf-idf makes them; real scores."""
    rng = np.random.default_rng(seed)
    word = np.minimum(rng.zipf(1.3, size=(m, 40)), n) - 1
    X = sparse.coo_array(
        (np.ones(word.size), (np.repeat(np.arange(m), 40), word.ravel())), shape=(m, n)
    ).tocsr()
    X.data = np.log1p(X.data) * np.log(m / np.bincount(X.indices, minlength=n).clip(1))[X.indices]
    X = sparse.csr_array(X / np.sqrt(X.multiply(X).sum(axis=1)).clip(1e-9)[:, None])
    return X, X @ rng.standard_normal(n) + 0.3 * rng.standard_normal(m)


@pytest.mark.parametrize("alpha", [1e-5, 1e-6])
def test_it_does_no_harm_on_words_and_suffices_on_uneven_features(alpha, monkeypatch):
    X, y = words()
    uneven = sparse.csr_array(X * 10 ** np.random.default_rng(1).uniform(-3, 3, X.shape[1]))
    with_it = products_of_a_fit(X, y, alpha, monkeypatch)
    on_uneven = products_of_a_fit(uneven, y, alpha, monkeypatch)
    monkeypatch.setattr(Preconditioning, "at", lambda *_, **__: unchanged)
    without = products_of_a_fit(X, y, alpha, monkeypatch)
    assert with_it <= 1.25 * without
    assert on_uneven <= 15 * without
