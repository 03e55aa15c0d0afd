"""Fields of a model file that are not what the learner needs: refused when the file is loaded."""

import copy
import io
import json
import warnings

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwise as rw
from rankwise.io.model_fields import FIELDS
from rankwise.io.model_probe import check_probe, probe
from rankwise.io.model_schemas import SCHEMAS
from tests.io.test_damaged_models import forged
from tests.model_zoo import models

MODELS = models()


def tree_and_arrays(model, folder):
    """The tree and the arrays of the file of a model, with its training data."""
    path = folder / "model.rw"
    rw.save(model, path, training_data=True)
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    about = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["rankwise"])
    return about["model"], dict(safetensors.numpy.load(data))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fields")
    return {name: tree_and_arrays(model, folder) for name, (model, _) in MODELS.items()}


def loaded(tree, arrays):
    return rw.load(io.BytesIO(forged({"model": tree}, arrays)))


def places(node, path=()):
    """The paths of all values in a tree."""
    yield path
    items = dict(enumerate(node)) if isinstance(node, list) else node
    for key, value in items.items() if isinstance(items, dict) else ():
        yield from places(value, (*path, key))


def replaced(tree, path, value):
    if not path:
        return value
    tree = copy.deepcopy(tree)
    node = tree
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    return tree


JUNK = [
    *(None, True, -1, 0, 3, 2**70, 1.5, "abc", "", [], [1, "a"], {}, {"is": "array", "name": "0"}),
    *({"is": "float", "value": "nan"}, {"is": "tuple", "items": [1]}, {"is": "dict", "items": {}}),
    *({"is": "array", "name": "odd"}, {"is": "array", "name": "nan"}, {"is": "array", "name": "u"}),
    {"is": "texts", "shape": [2], "items": ["a", "b"]},
    {"is": "RankRLS", "state": {}},
]
ODD = {"odd": np.ones((2, 3, 1)), "nan": np.full(4, np.nan), "u": np.arange(5, dtype=np.uint8)}


def predicts(model, arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        score = model.predict if hasattr(model, "predict") else model.transform
        return np.asarray(score(*arguments))


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_a_damaged_field_is_refused_or_does_not_matter(files, data):
    name = data.draw(st.sampled_from(sorted(files)))
    tree, arrays = files[name]
    path = data.draw(st.sampled_from(list(places(tree))))
    damaged = replaced(tree, path, data.draw(st.sampled_from(JUNK)))
    try:
        model = loaded(damaged, {**arrays, **ODD})
    except rw.ReadError:
        return
    try:
        predicts(model, MODELS[name][1])
    except ValueError as error:
        # Another number of features, or no model of this kind any more, is the caller's mistake.
        assert "features" in str(error) or "V is required" in str(error)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_damaged_array_is_refused_or_does_not_matter(files, data):
    name = data.draw(st.sampled_from(sorted(files)))
    tree, arrays = files[name]
    key = data.draw(st.sampled_from(sorted(arrays)))
    array = arrays[key]
    how = data.draw(
        st.sampled_from(["cut", "flat", "nan", "ints", "bool", "empty", "longer", "f4"])
    )
    other = {
        "cut": lambda: array[:-1] if array.ndim else array,
        "flat": lambda: array.reshape(-1, 1),
        "nan": lambda: np.full(array.shape, np.nan),
        "ints": lambda: np.full(array.shape, -7),
        "bool": lambda: np.ones(array.shape, dtype=bool),
        "empty": lambda: np.empty((0, *array.shape[1:])),
        "longer": lambda: np.concatenate([np.atleast_1d(array)] * 2),
        "f4": lambda: array.astype(np.float32),
    }[how]()
    try:
        model = loaded(tree, {**arrays, key: np.ascontiguousarray(other)})
    except rw.ReadError:
        return
    try:
        predicts(model, MODELS[name][1])
    except ValueError as error:
        assert "features" in str(error)


@pytest.mark.parametrize("name", MODELS)
def test_every_fitted_attribute_is_declared(name):
    model, _ = MODELS[name]
    if type(model).__name__ not in SCHEMAS or not type(model).__module__.startswith("rankwise"):
        return
    public = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    assert public <= SCHEMAS[type(model).__name__].fitted_names
    undeclared = {"validation_scores_", "labels_", "pairs_", "n_features_out_"}
    assert public <= {*FIELDS, *undeclared}


@pytest.mark.parametrize("name", MODELS)
def test_whole_files_load(name, files):
    predicted = predicts(loaded(*files[name]), MODELS[name][1])
    np.testing.assert_array_equal(predicted, predicts(MODELS[name][0], MODELS[name][1]))


@pytest.mark.parametrize(
    "field, value, reason",
    [
        ("dual_coef_", "abc", "RankRLS.dual_coef_ must be an array of finite floats"),
        ("dual_coef_", {"is": "array", "name": "nan"}, "that are not finite"),
        ("dual_coef_", {"is": "array", "name": "odd"}, "dual_coef_ has the shape"),
        ("colour_", 3, "RankRLS has no attribute 'colour_'"),
        ("n_features_in_", 7, "_X_basis has the shape"),
        ("basis_index_", {"is": "array", "name": "nan"}, "basis_index_ must be an array of integ"),
        ("_X_basis", None, "cannot predict"),
        ("kernel", "no kernel", "kernel must be one of"),
        ("_has_queries", "yes", "must be true or false"),
    ],
)
def test_errors_name_file_and_field(files, field, value, reason):
    tree, arrays = files["rank_rls outputs"]
    damaged = replaced(tree, ("state", field), value)
    with pytest.raises(rw.ReadError, match=reason) as caught:
        loaded(damaged, {**arrays, **ODD})
    assert str(caught.value).startswith("the open file")


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("conditional", ("state", "_has_relations"), True),
        ("rank_rls outputs", ("state", "dual_coef_", "name"), "_X"),
        ("rank_rls", ("state", "alpha"), "abc"),
        ("rank_rls", ("state", "kernel"), 3),
        ("rank_boost", ("state", "coef_"), {"is": "array", "name": "0"}),
        ("rank_svm", ("state", "strengths_"), {"is": "array", "name": "0"}),
        ("pipeline StandardScaler", ("state", "steps", 0, "items", 1, "state", "with_mean"), 7),
        ("pipeline StandardScaler", ("state", "steps", 0, "items", 1, "state", "mean_"), "abc"),
        ("pipeline StandardScaler", ("state", "steps"), []),
    ],
)
def test_each_learner_has_its_own_schema(files, name, path, value):
    tree, arrays = files[name]
    if value == "_X":  # another array of fitting shape
        old = tree["state"]["dual_coef_"]["name"]
        arrays = {**arrays, "_X": arrays[old][::-1].copy()}
    tree = replaced(tree, path, value)
    about = {"format": 2, "model": tree, "probe": probe(MODELS[name][0])}
    with pytest.raises(rw.ReadError):
        rw.load(io.BytesIO(forged(about, arrays)))


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_probe(name):
    model, _ = MODELS[name]
    shape, values = probe(model)
    assert len(values) == min(16, np.prod(shape))
    check_probe(model, [shape, values])
    shift = 0.01 * (1 + max(map(abs, values)))
    with pytest.raises(ValueError, match="predicts otherwise"):
        check_probe(model, [shape, [v + shift for v in values]])
    with pytest.raises(ValueError, match="predicts otherwise"):
        check_probe(model, [[*shape, 1], values])
