import warnings

import numpy as np
import pytest
from sklearn.base import clone

from rankwise.kernels import kernel_matrix
from rankwise.learners.conditional import ConditionalRanker
from rankwise.solvers.edges import DualModel
from rankwise.spaces import kronecker
from tests import reference_conditional as reference

OBJECTIVES = ("ranking", "regression")
CASES = [("general", False), ("general", True), ("symmetric", False), ("reciprocal", False)]
CONDITIONS = ("row", "column")


def make_nodes(rng, two_domains, n, p=6, new=2):
    """Row and column nodes, training ones first, and how many of those there are."""
    A = rng.normal(size=(p + new, n))
    B = rng.normal(size=(p - 1 + new, n)) if two_domains else A
    return A, B, (len(A) - new, len(B) - new)


def fit(model, A, B, shape, *labels, **options):
    X = A[: shape[0]] if B is A else (A[: shape[0]], B[: shape[1]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(X, *labels, **options)


@pytest.mark.parametrize("graph", ["complete", "complete, cg", "multigraph", "with nan"])
@pytest.mark.parametrize("kernel, n", [("linear", 2), ("linear", 9), ("rbf", 3)])
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("relation, two_domains", CASES)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_brute_force(objective, relation, two_domains, condition, kernel, n, graph):
    rng = np.random.default_rng(0)
    A, B, shape = make_nodes(rng, two_domains, n)
    K_A, K_B = kernel_matrix(A, A, kernel), kernel_matrix(B, B, kernel)
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
        fit(model, A, B, shape, y, edges=edges)
    else:
        Y = np.full(shape, np.nan)
        Y[edges[:, 0], edges[:, 1]] = y
        fit(model, A, B, shape, Y)
    assert model.solver_ == ("closed" if graph == "complete" else "cg")
    pairs = reference.all_edges(len(A), len(B))
    expected = reference.scores(K_A, K_B, edges, y, 0.1, at=pairs, **parameters)
    found = model.predict(A, B)
    np.testing.assert_allclose(found.ravel(), expected, rtol=0, atol=1e-6 * abs(expected).max())
    np.testing.assert_allclose(model.predict_edges(A, B, pairs), found.ravel(), atol=1e-10)
    sign = reference.SIGNS[relation]
    if sign:
        np.testing.assert_allclose(found, sign * found.T, rtol=0, atol=1e-13 * abs(found).max())


@pytest.mark.parametrize("relation, two_domains", CASES)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_sparse_route_equals_dense_route(objective, relation, two_domains, monkeypatch):
    rng = np.random.default_rng(1)
    A, B, shape = make_nodes(rng, two_domains, 4, p=12)
    edges = rng.integers(min(shape), size=(60, 2))
    y = rng.normal(size=60)
    for kernel in ("linear", "rbf"):
        found = []
        for cost in (0.0, np.inf):
            monkeypatch.setattr(kronecker, "SPARSE_COST", cost)
            model = ConditionalRanker(
                0.1, objective=objective, relation=relation, kernel=kernel, tol=0, max_iter=10
            )
            found.append(fit(model, A, B, shape, y, edges=edges).predict(A, B))
            is_dual = isinstance(model._problems[0].model, DualModel)
            assert is_dual == (kernel == "rbf")
        np.testing.assert_allclose(found[0], found[1], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("relation, two_domains", CASES)
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("kernel, n", [("linear", 2), ("rbf", 3)])
def test_holdouts_equal_refitting(objective, relation, two_domains, condition, kernel, n):
    rng = np.random.default_rng(2)
    A, B, shape = make_nodes(rng, two_domains, n, p=5, new=0)
    K_A, K_B = kernel_matrix(A, A, kernel), kernel_matrix(B, B, kernel)
    edges = reference.all_edges(*shape)
    y = rng.normal(size=len(edges))
    parameters = {"objective": objective, "relation": relation, "condition": condition}
    model = ConditionalRanker(0.1, kernel=kernel, **parameters)
    fit(model, A, B, shape, y.reshape(shape))

    def refit(held_out, u, v):
        if relation == "general":
            at_row, at_column = edges[:, 0] == u, edges[:, 1] == v
            rule = {"row": at_row, "column": at_column, "both": at_row | at_column}
            dropped = rule.get(held_out, at_row & at_column)
        else:
            nodes = {"row": [u], "column": [v], "both": [u, v]}[held_out]
            dropped = np.isin(edges, nodes).any(axis=1)
        kept, at = ~dropped, np.array([[u, v]])
        return reference.scores(K_A, K_B, edges[kept], y[kept], 0.1, at=at, **parameters)[0]

    kinds = ("row", "column", "both") + (("edge",) if relation == "general" else ())
    for held_out in kinds:
        found = getattr(model, f"leave_{held_out}_out")()
        expected = np.reshape([refit(held_out, u, v) for u, v in edges], shape)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * abs(expected).max())


@pytest.mark.parametrize("relation", ["general", "symmetric", "reciprocal"])
@pytest.mark.parametrize("objective", OBJECTIVES)
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
        got = kernel_matrix(X, X, "rbf") @ coefficients @ kernel_matrix(X, X, "rbf")
        np.testing.assert_allclose(got, again.predict(X), atol=1e-6)
