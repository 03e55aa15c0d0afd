"""JSON files, read by the reader of docs/export.md."""

import json

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import rankwise as rw
from rankwise.learners.item_scaler import ItemScaler
from tests.exports.readers import exported_scores

rng = np.random.default_rng(0)
X = rng.uniform(0.0, 1.0, size=(40, 3)) * [1.0, 100.0, 0.01] + [0.0, 1e6, 0.0]
Y = rng.normal(size=(40, 2))
KERNELS = ["rbf", "laplacian", "poly", "polynomial", "cosine", "chi2"]


@pytest.mark.parametrize("kernel", ["linear", *KERNELS])
@pytest.mark.parametrize("outputs", [1, 2])
def test_scores_are_those_of_predict(kernel, outputs, tmp_path):
    y = Y[:, 0] if outputs == 1 else Y
    model = make_pipeline(MinMaxScaler((1, 2)), rw.RankRLS(kernel=kernel)).fit(X, y)
    found = exported_scores(model, X, "json", tmp_path)
    assert found.shape == model.predict(X).shape
    assert np.allclose(found, model.predict(X), rtol=1e-7, atol=1e-9)


def test_boosting_with_missing_values_is_exact(tmp_path):
    gaps = X.copy()
    gaps[rng.uniform(size=X.shape) < 0.2] = np.nan
    for scaler in (ItemScaler(missing="keep"), ItemScaler(missing="median"), StandardScaler()):
        model = make_pipeline(scaler, rw.RankBoost(25)).fit(gaps, Y[:, 0])
        found = exported_scores(model, gaps, "json", tmp_path)
        assert np.allclose(found, model.predict(gaps), rtol=1e-14, atol=1e-14)


def test_large_offsets_keep_their_digits(tmp_path):
    """An intercept would be −1.7e15 here and leave two digits."""
    moments = 1.7e12 + rng.uniform(0, 1000, size=(40, 2))
    model = make_pipeline(StandardScaler(), rw.RankRLS()).fit(moments, Y[:, 0])
    found = exported_scores(model, moments, "json", tmp_path)
    assert np.allclose(found, model.predict(moments), rtol=1e-10, atol=1e-12)


def test_what_the_file_says(tmp_path):
    rw.export(rw.RankRLS().fit(X, Y[:, 0]), tmp_path / "m.json", features=["a", "b", "<c>"])
    content = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    assert content["schema"] == "rankwise-scores" and content["version"] == 1
    assert content["features"] == ["a", "b", "<c>"] and content["outputs"] == 1
    assert content["fill"] is None and content["offset"] == [0, 0, 0]


def test_a_weight_beyond_all_floats_is_refused(tmp_path):
    scaler = StandardScaler().fit(X)
    scaler.scale_[1] = 1e-290
    ranker = rw.RankRLS().fit(X, Y[:, 0])
    ranker.coef_[1] = 1e30
    with pytest.raises(ValueError, match="feature 2"):
        rw.export(make_pipeline(scaler, ranker), tmp_path / "m.json")
    assert list(tmp_path.iterdir()) == []
