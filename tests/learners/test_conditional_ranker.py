import warnings

import numpy as np
import pytest
from sklearn.base import clone

from rankwise import ConditionalRanker
from rankwise.metrics import conditional_error
from rankwise.spaces.kernels import Kernel
from tests import reference_conditional as reference


@pytest.mark.parametrize("graph", ["complete", "complete, cg", "multigraph", "with nan"])
@pytest.mark.parametrize("kernel, n", [("linear", 2), ("linear", 9), ("rbf", 3)])
@pytest.mark.parametrize("condition", reference.CONDITIONS)
@pytest.mark.parametrize("relation, two_domains", reference.CASES)
@pytest.mark.parametrize("objective", reference.OBJECTIVES)
def test_brute_force(objective, relation, two_domains, condition, kernel, n, graph):
    rng = np.random.default_rng(0)
    A, B, shape = reference.make_nodes(rng, two_domains, n)
    K_A, K_B = Kernel(kernel).matrix(A, A), Kernel(kernel).matrix(B, B)
    edges = reference.all_edges(*shape)
    if graph == "multigraph":
        edges = edges[rng.integers(len(edges), size=30)]
    if graph == "with nan":
        edges = edges[np.sort(rng.choice(len(edges), size=22, replace=False))]
    y = rng.normal(size=len(edges))
    parameters = {"objective": objective, "relation": relation, "condition": condition}
    solver = "cg" if graph == "complete, cg" else "auto"
    model = ConditionalRanker(0.1, kernel=kernel, solver=solver, tol=1e-9, **parameters)
    if graph == "multigraph":
        reference.fit(model, A, B, shape, y, edges=edges)
    else:
        Y = np.full(shape, np.nan)
        Y[edges[:, 0], edges[:, 1]] = y
        reference.fit(model, A, B, shape, Y)
    assert model.solver_ == ("closed" if graph == "complete" else "cg")
    pairs = reference.all_edges(len(A), len(B))
    expected = reference.scores(K_A, K_B, edges, y, 0.1, at=pairs, **parameters)
    found = model.predict(A, B)
    np.testing.assert_allclose(found.ravel(), expected, rtol=0, atol=1e-6 * abs(expected).max())
    np.testing.assert_allclose(model.predict_edges(A, B, pairs), found.ravel(), atol=1e-10)
    sign = reference.SIGNS[relation]
    if sign:
        np.testing.assert_allclose(found, sign * found.T, rtol=0, atol=1e-13 * abs(found).max())


@pytest.mark.parametrize("relation", ["general", "symmetric", "reciprocal"])
@pytest.mark.parametrize("objective", reference.OBJECTIVES)
def test_path_and_many_relations(objective, relation):
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(7, 3)), rng.normal(size=(7, 7, 2))
    alphas = [10.0, 0.01, 1.0]
    parameters = {"objective": objective, "relation": relation, "kernel": "rbf"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = ConditionalRanker(0.5, **parameters).fit(X, Y)
        path = model.path(alphas)
        for alpha, coefficients in zip(alphas, path):
            for k in range(2):
                single = ConditionalRanker(alpha, **parameters).fit(X, Y[:, :, k])
                np.testing.assert_allclose(coefficients[:, :, k], single.dual_coef_, atol=1e-9)
        assert model.predict(X[:3], X[:4]).shape == (3, 4, 2)
        assert model.leave_row_out().shape == (7, 7, 2)
        edges = reference.all_edges(7, 7)[::2]
        some = ConditionalRanker(0.5, tol=1e-10, **parameters).fit(
            X, Y.reshape(49, 2)[::2], edges=edges
        )
        one = ConditionalRanker(0.5, tol=1e-10, **parameters)
        one.fit(X, Y[:, :, 1].ravel()[::2], edges=edges)
    np.testing.assert_allclose(some.predict(X)[:, :, 1], one.predict(X), atol=1e-8)
    assert len(some.history_) == 2
    for alpha, coefficients in zip(alphas, one.path(alphas)):
        again = clone(one).set_params(alpha=alpha).fit(X, Y[:, :, 1].ravel()[::2], edges=edges)
        got = Kernel("rbf").matrix(X, X) @ coefficients @ Kernel("rbf").matrix(X, X)
        np.testing.assert_allclose(got, again.predict(X), atol=1e-6)


@pytest.mark.parametrize("condition", reference.CONDITIONS)
def test_rank(condition):
    rng = np.random.default_rng(9)
    A, B = rng.normal(size=(9, 3)), rng.normal(size=(8, 3))
    model = ConditionalRanker(condition=condition, kernel="rbf").fit(
        (A, B), rng.normal(size=(9, 8, 2))
    )
    given, others = (A, B) if condition == "row" else (B, A)
    S = model.predict(A, B) if condition == "row" else np.swapaxes(model.predict(A, B), 0, 1)
    index, scores = model.rank(given[2], others)
    for j in range(2):
        np.testing.assert_array_equal(index[:, j], np.argsort(-S[2, :, j]))
        np.testing.assert_allclose(scores[:, j], S[2, index[:, j], j])
        best, _ = model.rank(given[2:3], others, k=3)
        np.testing.assert_array_equal(best[:, j], index[:3, j])
    tied = np.repeat(others[:1], 5, axis=0)
    assert model.rank(given[0], tied, k=2)[0][:, 0].tolist() == [0, 1]
    assert len(model.rank(given[0], others, k=99)[0]) == len(others)


def test_precomputed_kernels():
    rng = np.random.default_rng(11)
    A, B, Y = rng.normal(size=(7, 2)), rng.normal(size=(6, 2)), rng.normal(size=(7, 6))
    K_A, K_B = (Kernel("rbf").matrix(X, X) for X in (A, B))
    model = ConditionalRanker(kernel="precomputed").fit((K_A, K_B), Y)
    expected = ConditionalRanker(kernel="rbf").fit((A, B), Y)
    np.testing.assert_allclose(model.predict(K_A[:3], K_B[:4]), expected.predict(A[:3], B[:4]))


def test_score_is_one_minus_the_conditional_error():
    rng = np.random.default_rng(12)
    X, Y = rng.normal(size=(8, 3)), rng.normal(size=(8, 8))
    for condition in reference.CONDITIONS:
        model = ConditionalRanker(condition=condition).fit(X, Y)
        expected = 1 - conditional_error(Y, model.predict(X), condition)
        assert model.score(X, None, Y) == expected == model.score(X, X, Y)
