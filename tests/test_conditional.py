import warnings
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from rankwise.learners.conditional_ranker import ConditionalRanker
from rankwise.metrics import conditional_error, ranking_error
from rankwise.solvers.incomplete_graph import DualModel
from rankwise.spaces import nodes_and_edges as kronecker
from rankwise.spaces.kernels import kernel_matrix
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


def test_features_route_is_sound_for_tiny_alpha():
    """Three features as in rock-paper-scissors: against least squares on explicit edge features."""
    rng = np.random.default_rng(4)
    X = np.exp(0.1 * rng.normal(size=(40, 3)))
    X /= X.sum(axis=1, keepdims=True)
    edges = rng.integers(40, size=(300, 2))
    y = rng.choice([-1.0, 0.0, 1.0], size=300)
    F = (X[edges[:, 0], :, None] * X[edges[:, 1], None, :]).reshape(300, 9)
    L = reference.loss_matrix(edges, "ranking", "row")
    expected = np.linalg.lstsq(L @ F, L @ y, rcond=1e-10)[0].reshape(3, 3)
    for alpha in (0.0, 2.0**-30):
        model = ConditionalRanker(alpha).fit(X, y, edges=edges)
        np.testing.assert_allclose(model.coef_, expected, rtol=0, atol=1e-5 * abs(expected).max())
    Y = rng.normal(size=(40, 40))
    F = np.einsum("ia,jb->ijab", X, X).reshape(1600, 9)
    expected = np.linalg.lstsq(F, Y.ravel(), rcond=None)[0].reshape(3, 3)
    model = ConditionalRanker(2.0**-40, objective="regression").fit(X, Y)
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-7)


@pytest.mark.parametrize("relation, sign", [("symmetric", 1), ("reciprocal", -1)])
def test_mirrored_ranking_for_tiny_alpha(relation, sign):
    """Differences within a row keep all digits, although the features span the constant."""
    rng = np.random.default_rng(5)
    X = rng.dirichlet([5, 5, 5], size=20)
    Y = rng.normal(size=(20, 20))
    F = np.einsum("ia,jb->ijab", X, X)
    F = (F + sign * F.swapaxes(2, 3)) / 2
    centred = (F - F.mean(axis=1, keepdims=True)).reshape(400, 9)
    target = (Y - Y.mean(axis=1, keepdims=True)).ravel()
    W = np.linalg.lstsq(centred, target, rcond=1e-10)[0]
    with pytest.warns(UserWarning, match=f"not {relation}"):
        found = ConditionalRanker(2.0**-40, relation=relation).fit(X, Y).predict(X)
    found -= found.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(found.ravel(), centred @ W, rtol=0, atol=1e-7)


def test_singular_kernels_and_constant_relations():
    rng = np.random.default_rng(6)
    X = np.repeat(rng.normal(size=(4, 2)), 2, axis=0)
    for kernel, objective in product(("rbf", "linear"), OBJECTIVES):
        model = ConditionalRanker(1e-3, kernel=kernel, objective=objective)
        assert np.isfinite(model.fit(X, rng.normal(size=(8, 8))).predict(X)).all()
        constant = model.fit(X, np.ones((8, 8))).predict(X)
        if objective == "ranking":
            np.testing.assert_allclose(constant, 0, atol=1e-12)
        zero = model.fit(np.zeros((8, 2)), np.ones((8, 8))).predict(X)
        assert np.isfinite(zero).all()


def test_edges_of_a_complete_subgraph_are_solved_in_closed_form():
    rng = np.random.default_rng(7)
    A, B = rng.normal(size=(8, 3)), rng.normal(size=(7, 3))
    edges = np.array([(u, v) for u in (1, 4, 5, 6) for v in (0, 2, 3, 6)])[rng.permutation(16)]
    y = rng.normal(size=16)
    for kernel in ("linear", "rbf"):
        model = ConditionalRanker(0.1, kernel=kernel).fit((A, B), y, edges=edges)
        assert model.solver_ == "closed"
        other = ConditionalRanker(0.1, kernel=kernel, solver="cg", tol=1e-10)
        expected = other.fit((A, B), y, edges=edges).predict(A, B)
        np.testing.assert_allclose(model.predict(A, B), expected, atol=1e-8)


def rank_data():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(60, 5))
    edges = rng.integers(60, size=(500, 2))
    truth = X @ rng.normal(size=(5, 5)) @ X.T
    return X, edges, truth[edges[:, 0], edges[:, 1]] + rng.normal(size=500), truth


def test_early_stopping_keeps_the_best_iterate():
    X, edges, y, truth = rank_data()
    held = np.arange(500) % 4 == 0
    stop_on = (edges[held], y[held])
    for kernel, objective in product(("linear", "rbf"), OBJECTIVES):
        model = ConditionalRanker(0, kernel=kernel, objective=objective, early_stopping=stop_on)
        model.fit(X, y[~held], edges=edges[~held])
        errors = model.history_["validation_error"]
        assert model.n_iter_ == len(errors) == len(model.history_["train_error"])
        scores = model.predict_edges(X, X, edges[held])
        assert ranking_error(y[held], scores, edges[held, 0]) == pytest.approx(min(errors))
        assert np.all(np.diff(model.history_["objective"]) <= 1e-9)
    fraction = ConditionalRanker(0, early_stopping=0.2, random_state=0).fit(X, y, edges=edges)
    assert fraction.score(X, None, truth) > 0.8
    complete = ConditionalRanker(0, early_stopping=0.2, random_state=0).fit(X, truth)
    assert complete.solver_ == "cg" and complete.score(X, X, truth) > 0.95


def test_tol_zero_runs_max_iter_and_more_iterations_are_warned_for(capsys):
    X, edges, y, _ = rank_data()
    model = ConditionalRanker(0, kernel="rbf", tol=0, max_iter=7, verbose=1)
    assert model.fit(X, y, edges=edges).n_iter_ == 7
    assert capsys.readouterr().out.count("iteration") == 7
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        ConditionalRanker(1e-9, kernel="rbf", max_iter=2).fit(X, y, edges=edges)


@pytest.mark.parametrize("condition", CONDITIONS)
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


def test_blocks_and_sparse_nodes(monkeypatch):
    rng = np.random.default_rng(10)
    X = sparse.random(30, 12, density=0.4, random_state=0, format="csr")
    Y = rng.normal(size=(30, 30))
    for kernel in ("linear", "rbf"):
        model = ConditionalRanker(kernel=kernel).fit(X, Y)
        expected = ConditionalRanker(kernel=kernel).fit(X.toarray(), Y).predict(X.toarray())
        monkeypatch.setattr("rankwise.learners.conditional_prediction.BLOCK", 7)
        np.testing.assert_allclose(model.predict(X), expected, atol=1e-12)
        np.testing.assert_array_equal(model.rank(X[3], X)[0], np.argsort(-expected[3]))


def test_precomputed_kernels():
    rng = np.random.default_rng(11)
    A, B, Y = rng.normal(size=(7, 2)), rng.normal(size=(6, 2)), rng.normal(size=(7, 6))
    K_A, K_B = (kernel_matrix(X, X, "rbf") for X in (A, B))
    model = ConditionalRanker(kernel="precomputed").fit((K_A, K_B), Y)
    expected = ConditionalRanker(kernel="rbf").fit((A, B), Y)
    np.testing.assert_allclose(model.predict(K_A[:3], K_B[:4]), expected.predict(A[:3], B[:4]))


def test_score_is_one_minus_the_conditional_error():
    rng = np.random.default_rng(12)
    X, Y = rng.normal(size=(8, 3)), rng.normal(size=(8, 8))
    for condition in CONDITIONS:
        model = ConditionalRanker(condition=condition).fit(X, Y)
        expected = 1 - conditional_error(Y, model.predict(X), condition)
        assert model.score(X, None, Y) == expected == model.score(X, X, Y)
