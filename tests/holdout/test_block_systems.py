"""Leave-query-out for whole grids of alphas at once, and for one alpha."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise import RLS, RankRLS

GRID = 2.0 ** np.arange(-15, 16)


def refitted(make, X, y, qid, weight, held, alpha):
    rest = make(alpha).fit(X[~held], y[~held], qid=qid[~held], sample_weight=weight[~held])
    return rest.predict(X[held])


MAKES = {
    "magnitude": RankRLS,
    "ties dropped": lambda alpha: RankRLS(alpha, ties="drop"),
    "unit by query": lambda alpha: RankRLS(alpha, loss="unit", query_weight="queries"),
    "pointwise": RLS,
}
SPECTRA = {
    "round": lambda X: X,
    "stretched": lambda X: X * np.geomspace(1, 1e4, X.shape[1]),
    "outlying query": lambda X: np.where(np.arange(len(X))[:, None] < 9, 50 * X, X),
    "collinear": lambda X: np.hstack((X, X[:, :2] + X[:, 1:3])),
}


def leave_queries_out(model, alphas):
    problem = model.training_problem
    return problem.leave_groups_out(list(problem.supervision.queries), alphas)


@pytest.mark.parametrize("cost", MAKES)
@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("n", [5, 30])
def test_whole_grids_equal_refitting(cost, spectrum, n):
    """Queries smaller and larger than the number of features, weights, two outputs, 31 alphas."""
    rng = np.random.default_rng(n)
    make = MAKES[cost]
    qid = np.repeat(np.arange(40), 9)
    shuffled = rng.permutation(len(qid))
    X = SPECTRA[spectrum](rng.normal(size=(len(qid), n)))[shuffled]
    y = rng.integers(0, 5, size=(len(qid), 2)).astype(float)
    qid, weight = qid[shuffled], rng.uniform(0.2, 2, len(qid))
    model = make(1.0).fit(X, y, qid=qid, sample_weight=weight)
    found = leave_queries_out(model, GRID)
    for i in (0, 7, 15, 22, 30):
        for query in (0, 1, 33):
            held = qid == query
            expected = refitted(make, X, y, qid, weight, held, GRID[i])
            scale = np.abs(expected).max()
            assert_allclose(found[i][held], expected, atol=1e-7 * scale)


@pytest.mark.parametrize("n", [7, 30])
def test_all_alphas_at_once_equal_one_by_one(n):
    """Queries smaller and larger than the number of features, one of them with much leverage."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(200, n)), rng.normal(size=200)
    qid = np.repeat(np.arange(20), 10)
    X[qid == 4] *= 30
    for given in (X, np.asfortranarray(X)):
        model = RankRLS().fit(given, y, qid=qid)
        one_by_one = np.concatenate([leave_queries_out(model, [alpha]) for alpha in GRID])
        assert_allclose(leave_queries_out(model, GRID), one_by_one, rtol=1e-8, atol=1e-10)


def test_nothing_to_learn_from():
    qid = np.repeat(np.arange(3), 4)
    X, y = np.ones((12, 2)), np.arange(12.0)
    model = RankRLS().fit(X, y, qid=qid)
    assert_allclose(leave_queries_out(model, GRID), 0.0)


@pytest.mark.parametrize("span", [20, 160, 300])
def test_alphas_that_lie_far_apart(span):
    rng = np.random.default_rng(5)
    X, y, qid = rng.normal(size=(80, 6)), rng.normal(size=80), np.repeat(np.arange(20), 4)
    alphas = np.append(np.logspace(-span, span, 11), [1.0] * 20)
    model = RankRLS().fit(X, y, qid=qid)
    found = leave_queries_out(model, alphas)
    for alpha, values in zip(alphas, found[..., 0]):
        if alpha < 1e200:
            assert_allclose(values, RankRLS(alpha).fit(X, y, qid=qid).leave_query_out(), rtol=1e-6)
