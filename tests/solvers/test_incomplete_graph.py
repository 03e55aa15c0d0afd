"""Any multiset of edges, also with many minimisers or with none but zero."""

import warnings
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from rankwise import ConditionalRanker, ConditionalRankerCV
from rankwise.datasets import make_rock_paper_scissors
from rankwise.exceptions import InvalidKernel
from rankwise.metrics import ranking_error
from rankwise.solvers.incomplete_graph import DualSystem
from rankwise.spaces import edges as edge_products
from tests import reference_conditional as reference


@pytest.mark.parametrize("relation, two_domains", reference.CASES)
@pytest.mark.parametrize("objective", reference.OBJECTIVES)
def test_sparse_route_equals_dense_route(objective, relation, two_domains, monkeypatch):
    rng = np.random.default_rng(1)
    A, B, shape = reference.make_nodes(rng, two_domains, 4, p=12)
    edges = rng.integers(min(shape), size=(60, 2))
    y = rng.normal(size=60)
    for kernel in ("linear", "rbf"):
        found = []
        for cost in (0.0, np.inf):
            monkeypatch.setattr(edge_products, "SPARSE_COST", cost)
            model = ConditionalRanker(
                0.1, objective=objective, relation=relation, kernel=kernel, tol=0, max_iter=10
            )
            found.append(reference.fit(model, A, B, shape, y, edges=edges).predict(A, B))
            is_dual = isinstance(model._problem.solvers[0].system, DualSystem)
            assert is_dual == (kernel == "rbf")
        np.testing.assert_allclose(found[0], found[1], rtol=1e-6, atol=1e-8)


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
    for kernel, objective in product(("linear", "rbf"), reference.OBJECTIVES):
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


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("objective", ["ranking", "regression"])
@pytest.mark.parametrize("relation, sign", [("general", 0), ("symmetric", 1)])
@pytest.mark.parametrize("tol", [1e-10, 0])
def test_without_a_regulariser_the_least_norm_is_found_and_kept(
    kernel, objective, relation, sign, tol
):
    """Fewer edges than unknowns: of all minimisers the one of least norm, however long it runs."""
    rng = np.random.default_rng(21)
    X = rng.normal(size=(8, 3))
    edges = np.column_stack([np.repeat([0, 1], 4), rng.permutation(8)])
    y = rng.normal(size=8)
    Z = X if kernel == "linear" else np.linalg.cholesky(rbf_kernel(X))
    F = np.einsum("ei,ej->eij", Z[edges[:, 0]], Z[edges[:, 1]])
    F = F if sign == 0 else (F + F.transpose(0, 2, 1)) / 2
    L = np.eye(8)
    if objective == "ranking":
        L -= np.kron(np.eye(2), np.full((4, 4), 1 / 4))
    W = np.linalg.lstsq(L @ F.reshape(8, -1), L @ y, rcond=1e-10)[0].reshape(F.shape[1:])
    model = ConditionalRanker(
        0, kernel=kernel, objective=objective, relation=relation, tol=tol, max_iter=150
    ).fit(X, y, edges=edges)
    np.testing.assert_allclose(model.predict(X), Z @ W @ Z.T, atol=1e-8)
    if tol == 0:
        assert model.n_iter_ == len(model.history_["objective"]) == 150


def test_labels_that_the_relation_cannot_fit_give_zero():
    games = make_rock_paper_scissors(10, n_players=30, n_games=100, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ConditionalRanker(2.0**-30, relation="symmetric", objective="regression")
        with pytest.warns(UserWarning, match="Y is not symmetric"):
            model.fit(games.X, games.y, edges=games.edges)
    np.testing.assert_allclose(model.predict(games.X), 0, atol=1e-8)


def test_every_relation_stops_on_its_own_labels():
    rng = np.random.default_rng(22)
    X, Y = rng.normal(size=(8, 3)), rng.normal(size=(8, 8, 2))
    edges = np.argwhere(rng.random((8, 8)) < 0.5)
    y = rng.normal(size=(len(edges), 2))
    both = ConditionalRanker(0, kernel="rbf", early_stopping=(edges, y)).fit(X, Y)
    for k in range(2):
        one = ConditionalRanker(0, kernel="rbf", early_stopping=(edges, y[:, k])).fit(X, Y[:, :, k])
        np.testing.assert_array_equal(both.dual_coef_[:, :, k], one.dual_coef_)
        assert both.history_[k] == one.history_
    search = ConditionalRankerCV(both, alphas=[0.1, 1.0], setting="rows", cv=2, random_state=0)
    np.testing.assert_array_equal(search.fit(X, Y).best_estimator_.predict(X).shape, (8, 8, 2))


def test_sparse_similarities():
    rng = np.random.default_rng(23)
    K, Y = rbf_kernel(rng.normal(size=(6, 2))), rng.normal(size=(6, 6))
    model = ConditionalRanker(kernel="precomputed").fit(sparse.csr_matrix(K), Y)
    dense = ConditionalRanker(kernel="precomputed").fit(K, Y)
    np.testing.assert_allclose(model.predict(sparse.csr_matrix(K)), dense.predict(K))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("n", [3, 20])
@pytest.mark.parametrize(
    "parameters",
    [{"solver": "cg"}, {"solver": "cg", "tol": 0}, {"relation": "symmetric"}],
)
def test_kernels_whose_square_overflows_are_refused(n, parameters):
    rng = np.random.default_rng(24)
    S = rng.normal(size=(8, 8))
    with pytest.raises(InvalidKernel, match="overflows: scale"):
        ConditionalRanker(**parameters).fit(1e90 * rng.normal(size=(8, n)), S + S.T)


@pytest.mark.parametrize("relation", ["general", "symmetric"])
@pytest.mark.parametrize("edge", [(1, 0), (0, 1)])
def test_a_condition_with_one_edge_repeated_has_nothing_to_learn(relation, edge):
    """What is left of the gradient after centring are rounding errors, which grow by 1/alpha."""
    X = np.array([[1.05, 0.13, -0.47, -1.46], [-0.3, -0.48, 0.57, 0.75]])
    y = np.array([-1.5e-5, 1.8e-6, -8.4e-6, 3.7e-6])
    model = ConditionalRanker(1e-17, relation=relation, tol=1e-10)
    model.fit(X, y, edges=np.tile(edge, (4, 1)))
    assert np.abs(model.predict(X)).max() <= 1e-12 * np.abs(y).max()
