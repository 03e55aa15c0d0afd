import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsRegressor

import rankwise as rw
from rankwise import KernelFilter, NearestNodes
from rankwise.evaluation import relational_score

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(20, 2)), RNG.normal(size=(15, 2))
Y = A @ B.T
MODELS = [KernelFilter(), KernelFilter((1, 0, 0, 0), gamma=3.0), NearestNodes(3)]


def test_the_linear_filter_of_known_nodes():
    """With the identity as kernel it is the filter of Stock et al. 2017, cell by cell."""
    model = KernelFilter((0.4, 0.3, 0.2, 0.1), kernel="precomputed").fit(
        (np.eye(20), np.eye(15)), Y
    )
    rows, columns = Y.mean(axis=1, keepdims=True), Y.mean(axis=0)
    expected = 0.4 * Y + 0.3 * rows + 0.2 * columns + 0.1 * Y.mean()
    np.testing.assert_allclose(model.predict(np.eye(20), np.eye(15)), expected)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
def test_equation_40_ranks_by_the_kernel(kernel):
    K = rbf_kernel(A, A, gamma=0.5) if kernel != "linear" else A @ A.T
    X = K if kernel == "precomputed" else A
    model = KernelFilter(method="similarity", kernel=kernel).fit(X, RNG.normal(size=(20, 20)))
    np.testing.assert_allclose(model.predict(X), K, atol=1e-12)
    best, scores = model.rank(X[3], X, k=4)
    np.testing.assert_array_equal(best, np.argsort(-K[3], kind="stable")[:4])
    np.testing.assert_allclose(scores, -np.sort(-K[3])[:4], atol=1e-12)
    edges = np.array([[2, 7], [19, 0], [2, 7]])
    np.testing.assert_allclose(model.predict_edges(X, X, edges), K[tuple(edges.T)], atol=1e-12)
    if kernel == "precomputed":
        with pytest.raises(ValueError, match="two new nodes"):
            model.predict(K[:3])


def test_nearest_nodes_are_those_of_scikit_learn():
    new = RNG.normal(size=(6, 2))
    expected = KNeighborsRegressor(3).fit(A, Y).predict(new)
    for kernel in ("linear", "rbf"):
        model = NearestNodes(3, kernel=kernel).fit((A, B), Y)
        own = KNeighborsRegressor(3).fit(B, expected.T).predict(B).T
        np.testing.assert_allclose(model.predict(new, B), own, atol=1e-12)


def test_unobserved_labels_do_not_count():
    labels = Y.copy()
    labels[RNG.uniform(size=Y.shape) < 0.6] = np.nan
    edges = np.argwhere(~np.isnan(labels))
    for model in MODELS:
        one = clone(model).fit((A, B), labels)
        other = clone(model).fit((A, B), labels[tuple(edges.T)], edges=edges)
        np.testing.assert_array_equal(one.predict(A, B), other.predict(A, B))
        assert one.n_observed_ == len(edges)
    lone = np.full(Y.shape, np.nan)
    lone[0, 0], lone[1, 1] = 1.0, 3.0
    far = NearestNodes(1, kernel="rbf").fit((A, B), lone)
    assert far.predict(A[2:3], B[2:3])[0, 0] == 2.0


@pytest.mark.parametrize("relation", ["symmetric", "reciprocal"])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_mirrored_relations(model, relation):
    sign = 1 if relation == "symmetric" else -1
    labels = RNG.normal(size=(20, 20))
    labels = labels + sign * labels.T
    S = clone(model).set_params(relation=relation).fit(A, labels).predict(A)
    np.testing.assert_allclose(S, sign * S.T, atol=1e-12)


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("setting", ["edges", "rows", "columns", "both"])
def test_they_are_judged_as_other_learners(model, setting):
    assert relational_score(model, (A, B), Y, setting=setting, cv=3).score > 0.6


def test_columns_as_conditions_and_several_relations():
    both = np.stack([Y, -Y], axis=-1)
    for model in MODELS:
        fitted = clone(model).set_params(condition="column").fit((A, B), both)
        S = fitted.predict(A, B)
        np.testing.assert_allclose(S[..., 0], -S[..., 1], atol=1e-12)
        best, _ = fitted.rank(B[2], A, k=1)
        assert best[0, 0] == np.argmax(S[:, 2, 0])


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_conventions_and_files(model, tmp_path):
    fitted = clone(model).fit((A, B), Y)
    before = fitted.predict(A, B)
    assert fitted.get_params() == model.get_params()
    rw.save(fitted, tmp_path / "model.rw")
    np.testing.assert_array_equal(rw.load(tmp_path / "model.rw").predict(A, B), before)
    fitted.set_params(kernel="linear", condition="column")
    np.testing.assert_array_equal(fitted.predict(A, B), before)


@pytest.mark.parametrize(
    "model, X, message",
    [
        (KernelFilter((1, 0, 0)), (A, B), "four numbers"),
        (KernelFilter((1, 0, 0, -1)), (A, B), "not negative"),
        (KernelFilter((0, 0, 0, 0)), (A, B), "all zero"),
        (KernelFilter("wide"), (A, B), "four numbers"),
        (KernelFilter(method="median"), (A, B), "method"),
        (KernelFilter(method="similarity"), (A, B), "one domain"),
        (NearestNodes(0), (A, B), "n_neighbors"),
        (NearestNodes(2.5), (A, B), "n_neighbors"),
        (NearestNodes(kernel="unknown"), (A, B), "kernel must be"),
    ],
)
def test_bad_input(model, X, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
