import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks

from rankwise import ConditionalRanker, ConditionalRankerCV
from rankwise.exceptions import InvalidKernel


def test_lone_edges_are_skipped_and_counted():
    rng = np.random.default_rng(13)
    X = rng.normal(size=(6, 2))
    edges = np.array([(0, 1), (0, 2), (0, 3), (1, 4), (2, 5), (3, 0), (3, 1)])
    y = rng.normal(size=7)
    model = ConditionalRanker(tol=1e-10).fit(X, y, edges=edges)
    assert model.n_skipped_conditions_ == 2
    kept = np.isin(edges[:, 0], [0, 3])
    other = ConditionalRanker(tol=1e-10).fit(X, y[kept], edges=edges[kept])
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-12)
    with pytest.raises(ValueError, match="no preference to learn from"):
        ConditionalRanker().fit(X, y[3:5], edges=edges[3:5])


def test_clone_keeps_parameters_and_fit_changes_none():
    rng = np.random.default_rng(14)
    model = ConditionalRanker(2.0, relation="symmetric", kernel="rbf", gamma=0.3, max_iter=9)
    before = model.get_params()
    S = rng.normal(size=(6, 6))
    model.fit(rng.normal(size=(6, 3)), S + S.T)
    assert model.get_params() == before == clone(model).get_params()
    assert model.n_features_in_ == 3
    assert not hasattr(clone(model), "dual_coef_")


@pytest.mark.parametrize("Estimator", [ConditionalRanker, ConditionalRankerCV])
def test_scikit_learn_conventions(Estimator):
    """The checks that do not call fit(X, y) with one row per item."""
    name = Estimator.__name__
    for check in (
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
    ):
        check(name, Estimator())
    X = np.eye(3)
    for use in ("predict", "rank", "score", "predict_edges"):
        arguments = {"predict": (X,), "rank": (X[0], X)}.get(use, (X, X, X))
        with pytest.raises(NotFittedError):
            getattr(Estimator(), use)(*arguments)
    if Estimator is ConditionalRanker:
        for use, arguments in (("path", ([1.0],)), ("leave_row_out", ()), ("leave_both_out", ())):
            with pytest.raises(NotFittedError):
                getattr(Estimator(), use)(*arguments)


def test_fitted_models_pickle():
    rng = np.random.default_rng(15)
    X, Y = rng.normal(size=(6, 2)), rng.normal(size=(6, 6))
    edges, y = np.argwhere(Y > -0.5), Y[Y > -0.5]
    for parameters in ({}, {"kernel": "rbf"}, {"early_stopping": 0.4}, {"objective": "regression"}):
        model = ConditionalRanker(random_state=0, **parameters)
        for fitted in (clone(model).fit(X, Y), clone(model).fit(X, y, edges=edges)):
            again = pickle.loads(pickle.dumps(fitted))
            np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
            np.testing.assert_array_equal(again.path([2.0]), fitted.path([2.0]))


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.random.default_rng(0).normal(size=(6, 2)), columns=["a", "b"])
    Y = np.random.default_rng(1).normal(size=(6, 6))
    model = ConditionalRanker().fit(frame, Y)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    plain = ConditionalRanker().fit(frame.values, Y)
    np.testing.assert_allclose(model.predict(frame), plain.predict(frame.values))
    np.testing.assert_allclose(model.predict(frame[["b", "a"]]), model.predict(frame))
    with pytest.raises(ValueError, match="b"):
        model.predict(frame[["a"]])


X_BAD, Y_BAD = np.arange(12.0).reshape(4, 3), np.arange(16.0).reshape(4, 4)
BAD_INPUT = [
    ({"alpha": -1}, (X_BAD, Y_BAD), {}, "alpha must be"),
    ({"alpha": 0, "solver": "closed"}, (X_BAD, Y_BAD), {}, 'alpha = 0 needs solver="cg"'),
    ({"objective": "rank"}, (X_BAD, Y_BAD), {}, "objective must be one of"),
    ({"relation": "antisymmetric"}, (X_BAD, Y_BAD), {}, "relation must be one of"),
    ({"kernel": "gauss"}, (X_BAD, Y_BAD), {}, "kernel must be one of"),
    ({"kernel": "rbf", "gamma": -1.0}, (X_BAD, Y_BAD), {}, "gamma must be"),
    ({"kernel": "poly", "degree": -1}, (X_BAD, Y_BAD), {}, "degree must be"),
    ({"kernel": "sigmoid", "coef0": -2.0}, (X_BAD, Y_BAD), {}, "indefinite"),
    ({"max_iter": 0}, (X_BAD, Y_BAD), {}, "max_iter must be"),
    ({"early_stopping": 2}, (X_BAD, Y_BAD), {}, "early_stopping as a fraction"),
    ({"early_stopping": "yes"}, (X_BAD, Y_BAD), {}, "early_stopping must be None"),
    ({"early_stopping": 0.1, "solver": "closed"}, (X_BAD, Y_BAD), {}, "never iterates"),
    ({"early_stopping": ([[0, 1]], [1.0])}, (X_BAD, Y_BAD), {}, "no condition has two validation"),
    ({"early_stopping": 0.99}, (X_BAD, Y_BAD), {}, "leaves too few of 16 edges"),
    (
        {"early_stopping": ([[0, 1], [0, 2]], np.eye(2))},
        (X_BAD, Y_BAD),
        {},
        "labels of 2 relations, but there are 1",
    ),
    ({}, (X_BAD, Y_BAD[:, :3]), {}, "must be square"),
    ({}, (X_BAD, np.zeros((4, 4, 0))), {}, "no relation"),
    ({}, (X_BAD, Y_BAD * 1e200), {}, "squares overflow"),
    ({}, ((X_BAD, X_BAD), Y_BAD[:, :3]), {}, r"shape \(4, 4\)"),
    ({}, ((X_BAD, X_BAD, X_BAD), Y_BAD), {}, "tuple of 3"),
    ({}, (X_BAD, None), {}, "Y is None"),
    ({}, (X_BAD, Y_BAD.astype(str)), {}, "real numbers"),
    ({}, (X_BAD, np.full((4, 4), np.inf)), {}, "infinity"),
    ({}, (X_BAD, np.full((4, 4), np.nan)), {}, "no preference"),
    (
        {"objective": "regression"},
        (X_BAD, np.full((4, 4), np.nan)),
        {},
        "all of its labels are nan",
    ),
    ({}, (X_BAD[:, :1] * np.nan, Y_BAD), {}, "NaN"),
    ({"relation": "symmetric"}, ((X_BAD, X_BAD), Y_BAD), {}, "one domain"),
    ({}, (X_BAD, [1.0]), {"edges": [(0, 4)]}, "edges.0. names the column node 4, out of range"),
    ({}, (X_BAD, [1.0]), {"edges": [(-1, 0)]}, "row node -1"),
    ({}, (X_BAD, [1.0, 2.0]), {"edges": [(0, 1)]}, "one value per edge"),
    ({}, (X_BAD, [1.0]), {"edges": [0, 1]}, r"shape \(q, 2\)"),
    ({}, (X_BAD, [1.0]), {"edges": [(0.5, 1)]}, "integers"),
    ({}, (X_BAD, []), {"edges": np.zeros((0, 2), int)}, "empty"),
    ({"solver": "closed"}, (X_BAD, [1.0, 2.0]), {"edges": [(0, 1), (0, 0)]}, "closed"),
]


@pytest.mark.parametrize("parameters, arguments, options, message", BAD_INPUT)
def test_bad_input(parameters, arguments, options, message):
    if message == "closed":
        options = {"edges": [(0, 1), (0, 0), (1, 1), (1, 2)]}
        arguments = (X_BAD, [1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ValueError, match=message):
        ConditionalRanker(**parameters).fit(*arguments, **options)


def test_bad_similarities_are_refused_with_the_way_out():
    K = np.eye(4)
    K[0, 1] = 0.5
    with pytest.raises(InvalidKernel, match="repair_kernel"):
        ConditionalRanker(kernel="precomputed").fit(K, Y_BAD)
    K = 1.0 - 2 * np.eye(4)
    with pytest.raises(InvalidKernel, match=r"column nodes is indefinite.*repair_kernel"):
        ConditionalRanker(kernel="precomputed").fit((np.eye(4), K), Y_BAD)


def test_a_graph_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("rankwise.numerics.memory.available_memory", lambda: 500)
    with pytest.raises(ValueError, match=r"closed form of a complete graph of 4 x 4.*cg"):
        ConditionalRanker().fit(X_BAD, Y_BAD)


def test_predictions_of_bad_input_are_refused():
    model = ConditionalRanker().fit((X_BAD, X_BAD[:, :2]), Y_BAD)
    with pytest.raises(ValueError, match="V is required"):
        model.predict(X_BAD)
    with pytest.raises(ValueError, match="column nodes has 3 features"):
        model.predict(X_BAD, X_BAD)
    index, scores = model.rank(X_BAD, X_BAD[:, :2], k=2)
    assert index.shape == scores.shape == (4, 2)
    with pytest.raises(ValueError, match="k must be"):
        model.rank(X_BAD[0], X_BAD[:, :2], k=0)
    with pytest.raises(ValueError, match="shape of the predictions"):
        model.score(X_BAD, X_BAD[:, :2], Y_BAD[:2])
    with pytest.raises(ValueError, match="alphas must be"):
        model.path([1.0, 0.0])
    incomplete = ConditionalRanker(solver="cg").fit(X_BAD, Y_BAD)
    with pytest.raises(ValueError, match="complete graph"):
        incomplete.leave_row_out()
    with pytest.raises(ValueError, match="EdgeSplit"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        ConditionalRanker(relation="symmetric").fit(X_BAD, Y_BAD).leave_edge_out()


def test_values_that_contradict_the_relation_are_named():
    rng = np.random.default_rng(3)
    X, S = rng.normal(size=(5, 2)), rng.normal(size=(5, 5))
    for relation, sign in (("symmetric", 1), ("reciprocal", -1)):
        Y = S + sign * S.T
        edges = np.argwhere(np.ones((5, 5)))
        model = ConditionalRanker(relation=relation, objective="regression")
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            model.fit(X, Y)
            model.fit(X, Y.ravel(), edges=edges)
            model.fit(X, [1.0, 3.0, sign * 2.0], edges=[(0, 1), (0, 1), (1, 0)])
            model.fit(X, [1.0, 2.0], edges=[(0, 1), (2, 3)])
        Y[1, 3] += 1.0
        message = rf"not {relation}: .* at the nodes (1 and 3|3 and 1)"
        with pytest.warns(UserWarning, match=message):
            model.fit(X, Y)
        with pytest.warns(UserWarning, match=message):
            model.fit(X, Y.ravel()[::-1], edges=edges[::-1])
    probabilities = 1 / (1 + np.exp(S.T - S))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        ConditionalRanker(relation="reciprocal").fit(X, probabilities)


@pytest.mark.parametrize("pairwise", ["kronecker", "cartesian", "linear", "polynomial", "mlpk"])
def test_scales(pairwise):
    """Labels of any size give the same model up to scale; kernels too large are refused."""
    rng = np.random.default_rng(4)
    X, Y = rng.normal(size=(6, 3)), rng.normal(size=(6, 6))
    model = ConditionalRanker(kernel="rbf", pairwise=pairwise, tol=1e-8, max_iter=2000)
    expected = model.fit(X, Y).predict(X)
    for size in (1e-130, 1e120):
        found = clone(model).fit(X, size * Y).predict(X) / size
        np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
    K = 1e200 * np.eye(6)
    huge = clone(model).set_params(kernel="precomputed", item_effect=1.0)
    try:
        found = huge.fit(K, Y).predict(K)
    except ValueError as error:
        assert "overflow" in str(error)
    else:
        assert np.isfinite(found).all()
