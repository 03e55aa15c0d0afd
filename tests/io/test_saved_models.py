"""save and load: every learner answers the same after loading; foreign objects are refused."""

import json
import warnings

import numpy as np
import pytest
import safetensors.numpy
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import rankwise as rw
from tests.model_zoo import X_NEW, X, Y, models, qid, y

MODELS = models()


def _again(model, tmp_path, **options):
    rw.save(model, tmp_path / "model", **options)
    return rw.load(tmp_path / "model")


def _predict(model, arguments):
    if hasattr(model, "predict"):
        return model.predict(*arguments)
    return model.transform(*arguments)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("training_data", [False, True])
def test_every_learner_predicts_the_same_bits(name, training_data, tmp_path):
    model, arguments = MODELS[name]
    loaded = _again(model, tmp_path, training_data=training_data)
    assert type(loaded) is type(model)
    assert _predict(loaded, arguments).tobytes() == _predict(model, arguments).tobytes()
    if name != "rank_rls random":
        assert repr(loaded) == repr(model)
    _same_public_attributes(model, loaded)


def _same_public_attributes(model, loaded):
    fitted = [name for name in vars(model) if name.endswith("_")]
    for name in fitted:
        mine, theirs = getattr(model, name), getattr(loaded, name)
        assert type(mine) is type(theirs), name
        if isinstance(mine, np.ndarray):
            assert mine.dtype == theirs.dtype and np.array_equal(mine, theirs), name
        elif isinstance(mine, dict) and mine and isinstance(next(iter(mine.values())), np.ndarray):
            assert mine.keys() == theirs.keys()
            assert all(np.array_equal(mine[k], theirs[k], equal_nan=True) for k in mine)


def test_saving_changes_nothing_and_is_repeatable(tmp_path):
    model, _ = MODELS["rank_rls basis"]
    before = {name: id(value) for name, value in vars(model).items()}
    rw.save(model, tmp_path / "a")
    rw.save(model, tmp_path / "b")
    rw.save(rw.load(tmp_path / "a"), tmp_path / "c")
    assert {name: id(value) for name, value in vars(model).items()} == before
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b == c
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b", "c"]


def test_holdouts_and_paths_with_training_data_only(tmp_path):
    for name in ("rls", "rank_rls", "rank_rls basis", "rank_rls preferences"):
        model, _ = MODELS[name]
        loaded = _again(model, tmp_path, training_data=True)
        np.testing.assert_allclose(loaded.leave_one_out(), model.leave_one_out(), rtol=1e-10)
        np.testing.assert_array_equal(loaded.path([0.1, 2.0]), model.path([0.1, 2.0]))
        with pytest.raises(ValueError, match="training_data=True"):
            _again(model, tmp_path).leave_one_out()
    model, _ = MODELS["mprank"]
    assert _again(model, tmp_path, training_data=True).pairwise_loo() == model.pairwise_loo()
    with pytest.raises(ValueError, match="training_data=True"):
        _again(model, tmp_path).pairwise_loo()
    model, _ = MODELS["conditional"]
    with pytest.raises(ValueError, match="need fit"):
        _again(model, tmp_path).path([1.0])
    with pytest.raises(ValueError, match="need fit"):
        _again(model, tmp_path).leave_row_out()


@pytest.mark.parametrize("name", ["rank_rls stream", "mprank stream", "mprank basis stream"])
def test_streams_go_on_from_their_sums(name, tmp_path):
    model, loaded = models()[name][0], _again(MODELS[name][0], tmp_path)
    labels = {"qid": np.repeat("new", 7)} if name == "rank_rls stream" else {}
    for one in (model, loaded):
        one.partial_fit(X_NEW, X_NEW[:, 0], **labels)
    assert loaded.predict(X).tobytes() == model.predict(X).tobytes()
    if labels:
        with pytest.raises(ValueError, match="seen before"):
            loaded.partial_fit(X_NEW, X_NEW[:, 0], **labels)


@pytest.mark.parametrize("name", ["rank_rls", "mprank online", "mprank rbf stream"])
def test_streams_that_need_items_say_so(name, tmp_path):
    model = models()[name][0]
    labels = {"qid": np.repeat("new", 7)} if name == "rank_rls" else {}
    with pytest.raises(ValueError, match="training_data=True"):
        _again(model, tmp_path).partial_fit(X_NEW, X_NEW[:, 0], **labels)
    loaded = _again(model, tmp_path, training_data=True)
    for one in (model, loaded):
        one.partial_fit(X_NEW, X_NEW[:, 0], **labels)
    np.testing.assert_allclose(loaded.predict(X), model.predict(X), rtol=1e-9)


def test_loaded_models_refuse_scoring_without_queries_and_keep_names(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c", "ä"])
    loaded = _again(rw.RankRLS().fit(frame, y, qid=qid), tmp_path)
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "ä"]
    with pytest.raises(ValueError, match="qid"):
        loaded.score(frame, y)
    assert np.array_equal(loaded.predict(frame[["b", "a", "c", "ä"]]), loaded.predict(frame))
    with pytest.raises(ValueError, match="ä"):
        loaded.predict(frame[["b", "a", "c"]])


def test_what_cannot_be_saved_says_why(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    with pytest.raises(ValueError, match="precomputed"):
        rw.save(rw.RankRLS(kernel=lambda A, B: A @ B.T).fit(X, y), path)
    with pytest.raises(ValueError, match=r"scoring.*set_params"):
        rw.save(rw.RankRLSCV(scoring=lambda y, s: 0.0, cv=3).fit(X, y), path)
    with pytest.raises(ValueError, match="Ridge"):
        rw.save(Ridge().fit(X, y), path)
    with pytest.raises(ValueError, match="FunctionTransformer"):
        rw.save(make_pipeline(FunctionTransformer(np.abs), rw.RankRLS()).fit(X, y), path)
    with pytest.raises(ValueError, match="best_estimator_"):
        rw.save(GridSearchCV(rw.RankRLS(), {"alpha": [1.0]}, cv=2).fit(X, y), path)
    with pytest.raises(ValueError, match="TransformedTargetRegressor"):
        rw.save(TransformedTargetRegressor(rw.RankRLS()).fit(X, y), path)
    with pytest.raises(NotFittedError):
        rw.save(rw.RankRLS(), path)
    model = rw.RankRLS().fit(X, y)
    model.notes_ = np.array([object()])
    with pytest.raises(ValueError, match=r"RankRLS.notes_ is no attribute that a fit sets"):
        rw.save(model, path)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


class Mine(rw.RankRLS):
    pass


def test_subclasses_are_foreign(tmp_path):
    with pytest.raises(ValueError, match="Mine"):
        rw.save(Mine().fit(X, y), tmp_path / "model")


def test_the_file_is_plain_safetensors(tmp_path):
    model, _ = MODELS["rank_rls"]
    rw.save(model, tmp_path / "model")
    tensors = safetensors.numpy.load_file(tmp_path / "model")
    assert any(np.array_equal(t, model.coef_) for t in tensors.values())
    with safetensors.safe_open(tmp_path / "model", "numpy") as file:
        about = json.loads(file.metadata()["rankwise"])
    assert about["format"] == 2
    shape, scores = about["probe"]
    assert shape == [2] and len(scores) == 2
    assert about["model"]["is"] == "RankRLS"
    assert about["model"]["state"]["alpha"] == 0.5
    assert set(about["versions"]) == {"rankwise", "python", "numpy", "scipy", "scikit-learn"}


def test_arrays_shared_by_two_attributes_are_written_once(tmp_path):
    rw.save(MODELS["mprank rbf stream"][0], tmp_path / "with", training_data=True)
    tensors = safetensors.numpy.load_file(tmp_path / "with")
    assert sum(t.shape == X.shape for t in tensors.values()) == 1


def test_no_warning_and_multi_output(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = _again(rw.RankRLS().fit(np.asfortranarray(X), Y), tmp_path)
    assert loaded.coef_.shape == (2, 4)
