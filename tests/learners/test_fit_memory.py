"""What happens to a fitted model if the caller edits the data, or sets other parameters."""

import copy
import io
import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

import rankwise as rw
from rankwise.learners.fit_memory import checksum
from rankwise.scaling import ItemScaler

RNG = np.random.default_rng(0)
X, X_NEW = RNG.normal(size=(24, 4)), RNG.normal(size=(5, 4))
Y, QID = RNG.normal(size=24), np.repeat(np.arange(4), 6)
WEIGHT = RNG.uniform(1, 2, 24)
GRAM, GRAM_NEW = X @ X.T, X_NEW @ X.T
RELATION = RNG.normal(size=(24, 24))
RBF = {"kernel": "rbf", "gamma": 0.3}
LEARNERS = {
    "RankRLS": rw.RankRLS(),
    "RankRLS, dual": rw.RankRLS(kernel="poly", degree=2),
    "RankRLS, rbf": rw.RankRLS(**RBF),
    "RankRLS, basis": rw.RankRLS(**RBF, basis=6, random_state=0),
    "RankRLS, linear basis": rw.RankRLS(basis=6, random_state=0),
    "RankRLS, gram": rw.RankRLS(kernel="precomputed"),
    "RankRLS, cg": rw.RankRLS(solver="cg"),
    "RankRLS, unit": rw.RankRLS(loss="unit"),
    "RLS": rw.RLS(),
    "RankRLSCV": rw.RankRLSCV([0.1, 1.0, 10.0]),
    "RankRLSCV, rbf": rw.RankRLSCV([0.1, 1.0, 10.0], **RBF),
    "RankSVM": rw.RankSVM(0.1),
    "RankSVM, rbf": rw.RankSVM(0.1, **RBF),
    "RankSVM, gram": rw.RankSVM(0.1, kernel="precomputed"),
    "RankSVMCV": rw.RankSVMCV([0.1, 1.0], cv=2),
    "MPRank": rw.MPRank(),
    "MPRank, norm 1": rw.MPRank(norm=1),
    "MPRank, rbf": rw.MPRank(**RBF),
    "MPRank, online": rw.MPRank(solver="online"),
    "MPRank, online rbf": rw.MPRank(solver="online", **RBF),
    "MPRank, online gram": rw.MPRank(solver="online", kernel="precomputed"),
    "MPRank, online basis": rw.MPRank(solver="online", basis=6, random_state=0, **RBF),
    "MPRankCV": rw.MPRankCV([0.1, 1.0, 10.0], **RBF),
    "SVRank": rw.SVRank(),
    "SVRank, rbf": rw.SVRank(**RBF),
    "RankBoost": rw.RankBoost(5),
    "ConditionalRanker": rw.ConditionalRanker(),
    "ConditionalRanker, rbf": rw.ConditionalRanker(**RBF),
    "ConditionalRanker, gram": rw.ConditionalRanker(kernel="precomputed"),
    "TwoStepRanker": rw.TwoStepRanker(),
    "TwoStepRanker, rbf": rw.TwoStepRanker(**RBF),
    "TwoStepRanker, gram": rw.TwoStepRanker(kernel="precomputed"),
    "Relation, KernelFilter": rw.KernelFilter(),
    "Relation, NearestNodes": rw.NearestNodes(2),
    "Relation, NearestNodes, gram": rw.NearestNodes(2, kernel="precomputed"),
    "KernelMap": rw.KernelMap(),
    "KernelMap, basis": rw.KernelMap(basis=6, random_state=0),
    "ItemScaler": ItemScaler("standard"),
}
HELD_OUT = {
    "holdout": lambda model: model.holdout([0, 1]),
    "leave_one_out": lambda model: model.leave_one_out(),
    "leave_query_out": lambda model: model.leave_query_out(),
    "leave_pair_out": lambda model: model.leave_pair_out([[0, 1], [2, 3]]),
    "path": lambda model: model.path([0.5, 2.0]),
    "pairwise_loo": lambda model: model.pairwise_loo(),
    "stability_bound": lambda model: model.stability_bound()["bound"],
    "leave_row_out": lambda model: model.leave_row_out(),
    "leave_edge_out": lambda model: model.leave_edge_out(),
    "leave_both_out": lambda model: model.leave_both_out(),
    "without": lambda model: model.without([0, 1]),
}
every_learner = pytest.mark.parametrize("name", LEARNERS)


def is_gram(name):
    return "gram" in name


def data_of(name, thin=False):
    """Fresh arrays, which a test may edit: arguments of fit."""
    if is_gram(name):
        items = GRAM.copy()
    else:
        items = sparse.csr_array(np.where(X > 0, X, 0)) if thin else X.copy()
    if any(word in name for word in ("Conditional", "TwoStep", "Relation")):
        return [items, RELATION.copy()], {}
    options = {} if "Map" in name or "Scaler" in name else {"qid": QID.copy()}
    takes = "sample_weight" in type(LEARNERS[name]).fit.__code__.co_varnames
    return [items, Y.copy()], {**options, **({"sample_weight": WEIGHT.copy()} if takes else {})}


def fitted(name, arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(LEARNERS[name]).fit(*arguments[0], **arguments[1])


def predicted(name, model):
    new = GRAM_NEW if is_gram(name) else X_NEW
    return model.predict(new) if hasattr(model, "predict") else model.transform(new)


def held_out(model):
    """The methods that the model has and answers, by name."""
    found = {}
    for name, call in HELD_OUT.items():
        if hasattr(model, name):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(warnings, "warn", lambda *a, **k: None)
                try:
                    found[name] = call(model)
                except ValueError as error:
                    found[name] = str(error)
    return found


def edit(values):
    if sparse.issparse(values):
        values.data[:] = values.data[::-1].copy() + 1.0
    else:
        values[:] = values[::-1].copy() + 1


@every_learner
@pytest.mark.parametrize("thin", [False, True], ids=["dense", "sparse"])
def test_edited_data_change_no_prediction(name, thin):
    arguments = data_of(name, thin)
    model = fitted(name, arguments)
    before = predicted(name, model)
    untouched = held_out(fitted(name, data_of(name, thin)))
    for values in [*arguments[0], *arguments[1].values()]:
        edit(values)
    assert_array_equal(predicted(name, model), before)
    for method, value in held_out(model).items():
        if isinstance(value, str):
            assert "X was edited after fit" in value or value == untouched[method]
        else:
            assert_allclose(value, untouched[method], rtol=1e-9, err_msg=method)


@pytest.mark.parametrize("thin", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("change", ["one entry", "two rows swapped", "scaled", "a tiny entry"])
def test_hold_outs_of_linear_models_refuse_edited_items(thin, change):
    items = sparse.csr_array(X) if thin else X.copy()
    model = rw.RankRLS().fit(items, Y, qid=QID)
    values = items.data.reshape(X.shape) if thin else items
    if change == "one entry":
        values[7, 2] += 1e-6
    elif change == "two rows swapped":
        values[[3, 4]] = values[[4, 3]]
    elif change == "scaled":
        values *= 2
    else:
        values[7, 2] = 0.0
    with pytest.raises(ValueError, match="X was edited after fit"):
        model.leave_one_out()
    with pytest.raises(ValueError, match="X was edited after fit"):
        model.path([1.0])
    expected = rw.RankRLS().fit(X, Y, qid=QID).predict(X_NEW)
    assert_allclose(model.predict(X_NEW), expected, rtol=1e-12)


@pytest.mark.parametrize("given", [X.tolist(), X.astype(np.float32), X.astype(object)])
def test_items_that_were_converted_cost_no_checksum(given):
    model = rw.RankRLS().fit(given, Y)
    assert vars(model)["_X_checksum"] is None


def test_a_pickled_model_has_items_of_its_own():
    items = X.copy()
    model = rw.RankRLS().fit(items, Y)
    expected = model.leave_one_out()
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        items[:] = X
        kept = other
        items[:] = 0.0
        assert_allclose(kept.leave_one_out(), expected, rtol=1e-9)


def test_preferences_are_kept_as_they_were():
    winner, loser, weight = np.array([1, 2, 3, 5]), np.array([0, 0, 1, 2]), np.ones(4)
    preferences = rw.Preferences(winner, loser, weight=weight)
    model = rw.RankRLS().fit(X, preferences=preferences)
    expected = rw.RankRLS().fit(X, preferences=preferences).leave_one_out()
    for values in (winner, loser, weight):
        values[:] = values[::-1].copy()
    with pytest.raises(ValueError, match="read-only"):
        preferences.weight[0] = 5.0
    preferences.weight = np.arange(4.0)
    assert_allclose(model.leave_one_out(), expected, rtol=1e-9)


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_checksum_does_not_depend_on_threads(order, monkeypatch):
    A = np.asarray(RNG.normal(size=(3000, 700)), order=order)
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("RANKWISE_THREADS", threads)
        found.append(checksum(A))
    assert found[0] == found[1] != checksum(A + 1e-9)


OTHERS = {
    "kernel": ["linear", "rbf", "poly", "no kernel"],
    "gamma": [2.0, -1.0],
    "degree": [5.0],
    "coef0": [0.5],
    "basis": [3, "no basis"],
    "random_state": [5],
    "solver": ["no solver", "cg", "newton"],
    "loss": ["unit", "squared_hinge", "no loss"],
    "ties": ["drop"],
    "query_weight": ["queries"],
    "norm": [1, 2, 7],
    "epsilon": [0.7],
    "condition": ["column", "no condition"],
    "objective": ["regression"],
    "relation": ["symmetric"],
    "scale": ["query", "none", "no scale"],
    "missing": ["median"],
}


def differing(learner):
    """Every argument of the constructor with other values for it, and with an object of no use."""
    for name, value in learner.get_params(deep=False).items():
        if name in ("alpha", "C"):
            continue
        for other in [*OTHERS.get(name, []), object()]:
            if type(other) is not type(value) or other != value:
                yield name, other


@every_learner
def test_other_parameters_leave_a_fitted_model_alone(name):
    arguments = data_of(name)
    model = fitted(name, arguments)
    before, expected = predicted(name, model), held_out(model)
    stored = pickle.dumps(model)
    parameters = model.get_params(deep=False)
    for parameter, other in differing(model):
        for kept in (model, pickle.loads(stored)):
            kept.set_params(**{parameter: other})
            assert_array_equal(predicted(name, kept), before)
            for method, value in held_out(kept).items():
                if isinstance(value, str):
                    assert value == expected[method], (parameter, other)
                else:
                    assert_allclose(value, expected[method], rtol=1e-9, err_msg=f"{parameter}")
            kept.set_params(**parameters)


@every_learner
def test_a_file_holds_the_parameters_of_the_fit(name, tmp_path):
    model = fitted(name, data_of(name))
    before = predicted(name, model)
    parameters = model.get_params(deep=False)
    for parameter, other in differing(model):
        if parameter in ("cv", "scoring"):  # they make no model, so a file holds those of now
            continue
        model.set_params(**{parameter: other})
        rw.save(model, tmp_path / "model.rw")
        loaded = rw.load(io.BytesIO((tmp_path / "model.rw").read_bytes()))
        assert_array_equal(predicted(name, loaded), before)
        assert_array_equal(predicted(name, loaded.set_params(**{parameter: other})), before)
        model.set_params(**parameters)


@pytest.mark.parametrize("name", [name for name in LEARNERS if "Rank" in name])
@pytest.mark.parametrize("bad", [0.0 - 1, np.nan, "two", None])
def test_a_bad_alpha_is_named(name, bad):
    model = fitted(name, data_of(name))
    parameter = "alpha" if "alpha" in model.get_params() else "C"
    if parameter not in model.get_params():
        return
    before, expected = predicted(name, model), held_out(model)
    model.set_params(**{parameter: bad})
    assert_array_equal(predicted(name, model), before)
    for method, value in held_out(model).items():
        if isinstance(value, str):
            assert parameter in value or value == expected[method]
        else:
            assert method in ("path", "stability_bound")


def test_hold_outs_are_those_of_the_current_alpha():
    model = rw.RankRLS(1.0).fit(X, Y).set_params(alpha=5.0)
    assert_allclose(model.leave_one_out(), rw.RankRLS(5.0).fit(X, Y).leave_one_out(), rtol=1e-9)
    model = rw.MPRank(C=1.0).fit(X, Y).set_params(C=5.0)
    assert_allclose(model.pairwise_loo(), rw.MPRank(C=5.0).fit(X, Y).pairwise_loo(), rtol=1e-9)


@pytest.mark.parametrize(
    "change", [{"loss": "unit"}, {"ties": "drop"}, {"query_weight": "queries"}]
)
def test_the_loss_of_a_stream_stays(change):
    model = rw.RankRLS().partial_fit(X, Y).set_params(**change)
    with pytest.raises(ValueError, match="must not change between calls of partial_fit"):
        model.partial_fit(X, Y)
