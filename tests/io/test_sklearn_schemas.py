"""Pipelines of scikit-learn in model files: the listed parts, nested, columns by name or index."""

import io
import json
import warnings

import numpy as np
import pytest
import sklearn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

import rankwise as rw
from rankwise.exceptions import VersionWarning
from rankwise.io.sklearn_schemas import TRANSFORMERS
from rankwise.scaling import ItemScaler
from tests.io.test_damaged_models import forged
from tests.io.test_model_fields import replaced, tree_and_arrays

pd = pytest.importorskip("pandas")

ROWS = 60
rng = np.random.default_rng(1)
FRAME = pd.DataFrame(
    {
        "price": rng.normal(size=ROWS),
        "age": np.where(rng.uniform(size=ROWS) < 0.2, np.nan, rng.normal(3, 2, ROWS)),
        "colour": rng.choice(["red", "green", "ünï", "blue"], ROWS),
        "size": rng.choice([1, 2, 3], ROWS),
        "shop": pd.Series(rng.choice(["a", "b", None], ROWS), dtype=object),
        "stock": rng.uniform(size=ROWS),
    }
)
NUMBERS, GAPS, WORDS = ["price", "size", "stock"], ["age"], ["colour"]
y, qid = rng.normal(size=ROWS), np.repeat(np.arange(6), 10)


def again(model, folder):
    """The model after save and load."""
    rw.save(model, folder / "model.rw")
    return rw.load(folder / "model.rw")


def fresh(*steps):
    """A pipeline; Pipeline.fit would fit a step that occurs twice only once."""
    return make_pipeline(*(step if isinstance(step, str) else clone(step) for step in steps))


scalers = st.sampled_from(
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        MinMaxScaler(feature_range=(-1, 2), clip=True),
        MaxAbsScaler(),
        RobustScaler(quantile_range=(10.0, 90.0)),
        RobustScaler(with_centering=False),
        Normalizer("l1"),
        PolynomialFeatures(degree=(1, 2), interaction_only=True),
        PolynomialFeatures(2, include_bias=False),
        Nystroem(n_components=4, random_state=0),
        Nystroem("poly", degree=2, coef0=1.0, n_components=3, random_state=1),
        rw.KernelMap(basis=5, random_state=0),
        "passthrough",
    ]
)
numeric_steps = st.lists(scalers, min_size=1, max_size=3).map(lambda steps: fresh(*steps))
imputers = st.sampled_from(
    [
        SimpleImputer(),
        SimpleImputer(strategy="median", add_indicator=True),
        SimpleImputer(strategy="constant", fill_value=-1.0),
    ]
)
encoders = st.sampled_from(
    [
        OneHotEncoder(handle_unknown="ignore"),
        OneHotEncoder(drop="first", sparse_output=False),
        OneHotEncoder(drop="if_binary", dtype=np.float32),
        OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=14),
        OneHotEncoder(categories=[["blue", "red", "green", "ünï"]]),
        OrdinalEncoder(),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, dtype=int),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, max_categories=2),
    ]
)
text_with_gaps = st.sampled_from(
    [
        make_pipeline(
            SimpleImputer(strategy="most_frequent", missing_values=None), OneHotEncoder()
        ),
        make_pipeline(
            SimpleImputer(strategy="constant", fill_value="none", missing_values=None),
            OrdinalEncoder(),
        ),
        OneHotEncoder(handle_unknown="ignore"),
        OrdinalEncoder(encoded_missing_value=-2),
        "drop",
    ]
)
by_name = {"n": NUMBERS, "g": GAPS, "w": WORDS, "t": ["shop"]}
by_index = {"n": [0, 3, 5], "g": [1], "w": [2], "t": [4]}
by_mask = {
    key: np.isin(np.arange(6), columns) if key in "nw" else columns
    for key, columns in by_index.items()
}
by_pandas = {key: pd.Index(columns) for key, columns in by_name.items()}
by_slice = {**by_index, "n": slice("price", "price"), "g": slice(1, 2), "w": slice(-4, -3)}
selections = st.sampled_from([by_name, by_index, by_mask, by_pandas, by_slice])
remainders = st.sampled_from(["drop", "passthrough", StandardScaler()])
rankers = st.sampled_from(
    [
        rw.RankRLS(2.0),
        rw.RankRLS(kernel="rbf", gamma=0.1),
        rw.RankRLSCV([0.1, 1.0], cv=3),
        rw.RankSVM(0.1),
        rw.MPRank(),
        rw.RankBoost(5),
        rw.RLS(kernel="rbf", basis=7, random_state=0),
    ]
)


@st.composite
def pipelines(draw):
    columns = draw(selections)
    remainder = draw(remainders)
    kept = draw(st.sets(st.sampled_from("ngwt"), min_size=1)) | {"t", "w", "g"}
    parts = {
        "n": draw(st.one_of(numeric_steps, st.just("passthrough"))),
        "g": make_pipeline(draw(imputers), draw(scalers)),
        "w": draw(encoders),
        "t": draw(text_with_gaps),
    }
    table = ColumnTransformer(
        [(key, parts[key], columns[key]) for key in "ngwt" if key in kept],
        remainder=remainder,
        sparse_threshold=draw(st.sampled_from([0.0, 0.3])),
        verbose_feature_names_out=draw(st.booleans()),
        transformer_weights=draw(st.sampled_from([None, {"n": 0.5}])),
    )
    last = draw(st.sampled_from([SimpleImputer(), SimpleImputer(strategy="median")]))
    scaled = draw(st.sampled_from([MaxAbsScaler(), StandardScaler(with_mean=False), "passthrough"]))
    return Pipeline([("table", table), ("rest", last), ("scaled", scaled), ("rank", draw(rankers))])


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(model=pipelines(), shuffled=st.permutations(list(FRAME.columns)))
def test_any_pipeline_predicts_the_same_after_loading(tmp_path_factory, model, shuffled):
    folder = tmp_path_factory.mktemp("p")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(FRAME, y)
        expected = model.predict(FRAME)
        loaded = again(model, folder)
        assert isinstance(loaded, Pipeline)
        assert_allclose(loaded.predict(FRAME), expected, rtol=1e-12, atol=1e-12)
        assert_allclose(loaded.predict(FRAME[shuffled]), expected, rtol=1e-12, atol=1e-12)
        extra = FRAME[shuffled].assign(other="text")
        assert_allclose(loaded.predict(extra), expected, rtol=1e-12, atol=1e-12)
        rw.save(loaded, folder / "second.rw")
        assert (folder / "second.rw").read_bytes() == (folder / "model.rw").read_bytes()


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(scalers, min_size=1, max_size=4), ranker=rankers)
def test_pipelines_of_arrays(tmp_path_factory, steps, ranker):
    X = FRAME[NUMBERS].to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fresh(*steps, ranker).fit(X, y)
        loaded = again(model, tmp_path_factory.mktemp("a"))
        assert type(loaded) is Pipeline
        assert_allclose(loaded.predict(X), model.predict(X), rtol=1e-12, atol=1e-12)
        assert repr(loaded) == repr(model)


def fitted(*steps, X=FRAME, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_pipeline(*steps, rw.RankRLS()).fit(X, y, **options)


def numbers_only(**options):
    return ColumnTransformer([("numbers", StandardScaler(), NUMBERS)], **options)


def test_columns_are_matched_by_name(tmp_path):
    X = FRAME[NUMBERS]
    model = fitted(StandardScaler(), X=X)
    loaded = again(model, tmp_path)
    assert_allclose(loaded.predict(FRAME[["stock", "colour", "price", "size"]]), model.predict(X))
    assert loaded.score(FRAME, y) == model.score(X, y)
    with pytest.raises(ValueError, match=r"yet now missing:\n- size"):
        loaded.predict(FRAME[["stock", "price", "age"]])
    swapped = X.to_numpy()[:, [1, 0, 2]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_allclose(loaded.predict(swapped), model.predict(swapped))
    pl = pytest.importorskip("polars")
    assert_allclose(loaded.predict(pl.DataFrame(X[["stock", "size", "price"]])), model.predict(X))


def test_unknown_categories_are_treated_as_before(tmp_path):
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), WORDS))
    model = fitted(encoder)
    new = FRAME.assign(colour="violet")
    assert_allclose(again(model, tmp_path).predict(new), model.predict(new))
    model = fitted(make_column_transformer((OneHotEncoder(), WORDS)))
    with pytest.raises(ValueError, match="unknown categories"):
        again(model, tmp_path).predict(new)


class Mine(StandardScaler):
    pass


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([FunctionTransformer(np.abs)], "FunctionTransformer.func is code of your own.*before the"),
        ([Mine()], r"steps\[0\]\[1\] is a Mine, which a model file cannot hold"),
        ([PCA(2)], "is a PCA, which a model file cannot hold: it can hold"),
        ([FeatureUnion([("a", StandardScaler())])], "is a FeatureUnion"),
        ([Nystroem(lambda a, b: 1.0, n_components=2)], r"steps\[0\]\[1\].kernel is a function"),
        ([OneHotEncoder(feature_name_combiner=lambda f, c: "x")], "feature_name_combiner"),
    ],
)
def test_what_cannot_be_saved_is_named(tmp_path, steps, reason):
    model = fitted(*steps, X=FRAME[NUMBERS].to_numpy())
    with pytest.raises(ValueError, match=f"(?s){reason}"):
        rw.save(model, tmp_path / "model.rw")
    assert not list(tmp_path.iterdir())


def test_columns_chosen_by_code_are_refused(tmp_path):
    table = make_column_transformer((StandardScaler(), make_column_selector(pattern="price")))
    with pytest.raises(ValueError, match=r"transformers\[0\]\[2\] chooses columns by code"):
        rw.save(fitted(table), tmp_path / "model.rw")


def test_an_attribute_of_a_newer_version_is_refused(tmp_path):
    model = fitted(numbers_only())
    model[0].transformers_[0][1].angle_ = 3.0
    with pytest.raises(ValueError, match=r"StandardScaler.angle_ is an attribute of scikit-learn"):
        rw.save(model, tmp_path / "model.rw")


def test_another_version_of_scikit_learn_is_said(tmp_path):
    tree, arrays = tree_and_arrays(fitted(numbers_only()), tmp_path)
    about = {"model": tree, "format": 2, "versions": {"rankwise": "1", "scikit-learn": "1.2.3"}}
    with pytest.warns(VersionWarning, match=r"ColumnTransformer.*1\.2\.3 and read with"):
        rw.load(io.BytesIO(forged(about, arrays)))
    tree = replaced(tree, ("state", "steps", 0, "items", 1, "state", "sparse_output_"), "no")
    with pytest.raises(rw.ReadError, match=r"sparse_output_.*1\.2\.3"):
        rw.load(io.BytesIO(forged({**about, "model": tree}, arrays)))


def test_a_function_in_a_file_is_refused(tmp_path):
    model = fitted(numbers_only(remainder="drop"), FunctionTransformer())
    tree, arrays = tree_and_arrays(model, tmp_path)
    assert json.dumps(tree).count("FunctionTransformer") == 1
    place = ("state", "steps", 1, "items", 1, "state", "func")
    for func in ("os.system", {"is": "dtype", "class": "float"}):
        with pytest.raises(rw.ReadError):
            rw.load(io.BytesIO(forged({"model": replaced(tree, place, func)}, arrays)))


def test_each_class_of_the_list_was_tried():
    tried = {
        *("ColumnTransformer", "OneHotEncoder", "OrdinalEncoder", "SimpleImputer", "Normalizer"),
        *("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "PolynomialFeatures"),
        *("Nystroem", "Pipeline"),
    }
    assert {schema.name for schema in TRANSFORMERS} == tried


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_pipeline_is_refused_or_predicts(damaged_source, data):
    tree, arrays, probe = damaged_source
    places = list(_places(tree))
    path = data.draw(st.sampled_from(places))
    junk = [None, -1, 3, 1.5, "abc", [], {}, {"is": "tuple", "items": []}, {"is": "dict"}]
    value = data.draw(st.sampled_from(junk))
    about = {"format": 2, "model": replaced(tree, path, value), "probe": probe}
    try:
        model = rw.load(io.BytesIO(forged(about, arrays)))
    except rw.ReadError:
        return
    try:
        assert np.isfinite(model.predict(FRAME)).all()
    except ValueError as error:  # missing values may be coded otherwise now
        assert "NaN" in str(error)


def _places(node, path=()):
    yield path
    items = dict(enumerate(node)) if isinstance(node, list) else node
    for key, value in items.items() if isinstance(items, dict) else ():
        yield from _places(value, (*path, key))


@pytest.fixture(scope="module")
def damaged_source(tmp_path_factory):
    table = ColumnTransformer(
        [
            ("words", OneHotEncoder(handle_unknown="ignore"), WORDS),
            ("gaps", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), GAPS),
            ("kept", "passthrough", ["price"]),
        ]
    )
    folder = tmp_path_factory.mktemp("damaged")
    model = fitted(table)
    tree, arrays = tree_and_arrays(model, folder)
    data = (folder / "model.rw").read_bytes()
    size = int.from_bytes(data[:8], "little")
    about = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["rankwise"])
    assert about["probe"] is not None
    return tree, arrays, about["probe"]


def test_labels_are_routed_and_output_is_configured_as_before(tmp_path):
    X, labels = FRAME[NUMBERS], {"qid": qid}
    table = numbers_only().set_output(transform="pandas")
    model = fitted(table)
    assert_allclose(again(model, tmp_path).predict(FRAME), model.predict(FRAME))
    sklearn.set_config(enable_metadata_routing=True)
    try:
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        model = make_pipeline(scaler, ItemScaler("query"), rw.RankRLS()).fit(X, y, **labels)
        loaded = again(model, tmp_path)
        assert_allclose(loaded.predict(X[NUMBERS[::-1]], **labels), model.predict(X, **labels))
        with pytest.raises(ValueError, match="qid is required"):
            loaded.predict(X)
    finally:
        sklearn.set_config(enable_metadata_routing=False)
