"""Graphs in ONNX Runtime against predict, over models of all kinds and sizes of numbers."""

import json
import tempfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

import rankwise as rw
from rankwise.exports.model_steps import checked_steps, sizes_of_terms
from rankwise.exports.onnx_format import OPSET, to_onnx
from rankwise.features import Interactions
from rankwise.learners.item_scaler import ItemScaler
from tests.exports.readers import exported_scores

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

CLOSE = 1e-5
SCALERS = [
    None,
    StandardScaler(),
    MinMaxScaler(),
    MinMaxScaler(clip=True),
    RobustScaler(),
    MaxAbsScaler(),
    ItemScaler(),
]
KERNELS = ["linear", "rbf", "laplacian", "poly", "sigmoid", "cosine", "chi2", "additive_chi2"]


def assert_equal_scores(model, X):
    with tempfile.TemporaryDirectory() as folder:
        found = exported_scores(model, X, "onnx", folder)
    expected = model.predict(X)
    assert found.shape == expected.shape and found.dtype == np.float64
    terms = sizes_of_terms(checked_steps(model), X)
    rounding = 1e-14 * terms.max()
    assert np.abs(found - expected).max() <= max(CLOSE * np.abs(expected).max(), rounding)


@st.composite
def fitted_models(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    m, n = draw(st.integers(6, 25)), draw(st.integers(1, 5))
    kernel = draw(st.sampled_from(KERNELS))
    offset = draw(st.sampled_from([0.0, 1.0, 1e4, 1e8]))
    unit = draw(st.sampled_from([1e-3, 1.0, 1e5]))
    scaler = draw(st.sampled_from(SCALERS))
    centres = scaler is not None and not isinstance(scaler, MaxAbsScaler)
    if kernel not in ("linear", "rbf", "laplacian") and not centres:
        offset, unit = 0.0, 1.0  # beyond, powers of features overflow or leave no digits
    X = rng.uniform(0.1, 1.0, size=(m + 7, n)) + offset
    if kernel == "sigmoid":
        X = X[rng.integers(3, size=m + 7)] * 0 + rng.uniform(0, 0.1, (m + 7, n)) + offset
    X *= unit
    Y = rng.normal(size=(m, draw(st.sampled_from([1, 3])))).squeeze()
    gamma = None if centres else 0.5 / unit ** (2 if kernel == "rbf" else 1)
    options = {"kernel": kernel, "gamma": gamma, "degree": draw(st.sampled_from([2, 3, 1.5]))}
    learner = draw(st.sampled_from([rw.RankRLS, rw.RLS, rw.MPRank, rw.RankSVM]))
    if kernel in ("sigmoid", "additive_chi2") or (kernel == "poly" and options["degree"] == 1.5):
        learner = rw.RankRLS  # may be indefinite, which others refuse more often
    basis = draw(st.sampled_from([None, 4])) if kernel != "linear" else None
    model = learner(**options, basis=basis)
    model = model if scaler is None else make_pipeline(scaler, model)
    return model, X[:m], Y, X[m:]


@given(fitted_models())
@settings(max_examples=80, deadline=None)
def test_any_model_scores_in_the_runtime_as_in_predict(drawn):
    model, X, Y, X_new = drawn
    try:
        model.fit(X, Y)
        model.predict(X_new)
    except ValueError:  # an indefinite kernel, or negative features of chi2
        return
    assert_equal_scores(model, np.vstack((X, X_new)))


@pytest.mark.parametrize("gamma", [1e-2, 1.0, 1e8])
def test_clusters_far_apart_keep_their_digits(gamma):
    """Centring does not help where half of the items are at 0 and half at 10⁶."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) / np.sqrt(gamma) + 1e6 * (np.arange(40) % 2)[:, None]
    assert_equal_scores(rw.RankRLS(kernel="rbf", gamma=gamma).fit(X, X[:, 0] % 7), X + 1e-3)


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
def test_graph_only_steps(norm):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    X[3] = 0
    for steps in ((Normalizer(norm),), (StandardScaler(), PolynomialFeatures(3))):
        assert_equal_scores(make_pipeline(*steps, rw.RankRLS()).fit(X, y), X)


@pytest.mark.parametrize("unknown", ["error", "ignore"])
def test_columns_of_their_own_and_levels(unknown):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 4)), rng.normal(size=40)
    X[:, 1] = rng.integers(3, size=40)
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    encoder = OneHotEncoder(handle_unknown=unknown, drop="first" if unknown == "error" else None)
    parts = [
        ("level", encoder, ["b"]),
        ("number", StandardScaler(), ["d", "a"]),
        ("no", "drop", ["c"]),
    ]
    model = make_pipeline(ColumnTransformer(parts), rw.RankRLS(kernel="rbf")).fit(frame, y)
    X[0, 1] = 7
    with tempfile.TemporaryDirectory() as folder:
        found = exported_scores(model, X, "onnx", folder)
    rest = slice(1, None) if unknown == "error" else slice(None)
    assert np.allclose(found[rest], model.predict(frame.assign(b=X[:, 1])[rest]), rtol=1e-9)
    assert np.isnan(found[0]) == (unknown == "error")


def test_boosted_thresholds_and_missing_values():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)).round(1), rng.integers(3, size=60)
    X[rng.uniform(size=X.shape) < 0.2] = np.nan
    for scaler in (None, ItemScaler(missing="median"), StandardScaler()):
        model = rw.RankBoost(30)
        model = (model if scaler is None else make_pipeline(scaler, model)).fit(X, y)
        assert_equal_scores(model, X)


def test_a_missing_value_gives_nan_unless_filled():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    gap = np.array([[np.nan, 1.0], [0.5, 1.0]])
    with tempfile.TemporaryDirectory() as folder:
        for kernel in ("linear", "rbf", "laplacian"):
            found = exported_scores(rw.RankRLS(kernel=kernel).fit(X, y), gap, "onnx", folder)
            assert np.isnan(found).tolist() == [True, False]
        filled = make_pipeline(ItemScaler(missing="median"), rw.RankRLS()).fit(X, y)
        found = exported_scores(filled, gap, "onnx", folder)
    assert np.allclose(found, filled.predict(gap))


def test_the_file_says_its_opset_and_features():
    rng = np.random.default_rng(0)
    model = rw.RankRLS(kernel="rbf").fit(rng.normal(size=(9, 2)), rng.normal(size=(9, 2)))
    content = onnx.load_from_string(to_onnx(checked_steps(model, ["ä b", "c"])))
    assert [(each.domain, each.version) for each in content.opset_import] == [("", OPSET)]
    about = {entry.key: entry.value for entry in content.metadata_props}
    assert json.loads(about["features"]) == ["ä b", "c"] and about["learner"] == "RankRLS"


@pytest.mark.parametrize("normalize", [True, False])
def test_interactions_of_two_embeddings(normalize):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 9)), rng.normal(size=30)
    X[0, :4] = 0.0
    include = ("cosine", "product", "outer")
    features = Interactions(4, include=include, rank=3, normalize=normalize)
    model = make_pipeline(features, StandardScaler(), rw.RankRLS()).fit(X, y)
    assert_equal_scores(model, X)
    for format in ("json", "solr", "elasticsearch"):
        with pytest.raises(ValueError, match="Interactions is more than an offset and a scale"):
            rw.export(model, "never.json", format=format)
