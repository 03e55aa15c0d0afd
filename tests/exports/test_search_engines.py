"""Files for search engines, computed by the engines' formulas in double and single precision."""

import json

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

import rankwise as rw
from rankwise.learners.item_scaler import ItemScaler
from tests.exports.readers import READERS, exported_scores

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3)) * [1.0, 30.0, 0.01] + [3.0, 1970.0, 0.0]
y = X @ [1.0, 0.1, 50.0] + rng.normal(size=40)
NAMES = ["title_query", "release_year", "recency"]
ENGINES = ["elasticsearch", "solr"]
SCALERS = [StandardScaler(), MinMaxScaler((-1, 3)), RobustScaler(), MaxAbsScaler(), ItemScaler()]
LEARNERS = [rw.RankRLS(), rw.RankSVM(), rw.RLS(), rw.MPRank(), rw.SVRank(), rw.RankRLSCV()]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda est: type(est).__name__)
def test_linear_learners_and_scalers(engine, learner, tmp_path):
    for scaler in SCALERS:
        model = make_pipeline(scaler, learner).fit(X, y)
        found = exported_scores(model, X, engine, tmp_path, features=NAMES)
        assert np.allclose(found, model.predict(X), rtol=1e-9, atol=1e-9)
        single = READERS[engine](tmp_path / f"model.{engine}", X, np.float32)
        assert np.abs(single - model.predict(X)).max() < 1e-4 * np.abs(model.predict(X)).max()


def test_a_model_without_scaling_has_no_normalizers(tmp_path):
    rw.export(rw.RankRLS().fit(X, y), tmp_path / "movies.json", "elasticsearch", features=NAMES)
    content = json.loads((tmp_path / "movies.json").read_text(encoding="utf-8"))
    assert content["model"]["name"] == content["featureset"]["name"] == "movies"
    assert "feature_normalizers" not in content["model"]["model"]
    assert set(content["model"]["model"]["definition"]) == set(NAMES)
    rw.export(rw.RankRLS().fit(X, y), tmp_path / "m.json", "solr", features=NAMES, name="b/ö 2")
    content = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    assert content["model"]["name"] == content["model"]["store"] == "b_2"
    assert all("norm" not in feature for feature in content["model"]["features"])


def test_filled_values_become_defaults_of_the_fields(tmp_path):
    model = make_pipeline(ItemScaler(missing="median"), rw.RankRLS()).fit(X, y)
    medians = np.median(X, axis=0)
    rw.export(model, tmp_path / "a.json", "elasticsearch", features=NAMES)
    for feature, value in zip(
        json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["featureset"]["features"],
        medians,
    ):
        factor = feature["template"]["function_score"]["field_value_factor"]
        assert factor == {"field": feature["name"], "missing": value}
    rw.export(model, tmp_path / "b.json", "solr", features=NAMES)
    stored = json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))["features"]
    assert [feature["params"]["defaultValue"] for feature in stored] == medians.tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_features_without_names_are_numbered(engine, tmp_path):
    rw.export(rw.RankRLS().fit(X, y), tmp_path / "m.json", engine)
    assert '"feature_1"' in (tmp_path / "m.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("model", "names", "reason"),
    [
        (rw.RankRLS(kernel="rbf"), NAMES, "has a kernel"),
        (rw.RankBoost(3), NAMES, "adds up thresholds"),
        (rw.RankRLS(), ["a", "b c", "d"], "cannot call a feature 'b c'"),
        (rw.RankRLS(), ["a", "1st", "d"], "1st"),
        (rw.RankRLS(), ["a", "", "d"], "''"),
        (make_pipeline(MinMaxScaler(clip=True), rw.RankRLS()), NAMES, "more than an offset"),
    ],
)
def test_refused_with_the_reason(engine, model, names, reason, tmp_path):
    with pytest.raises(ValueError, match=reason):
        rw.export(model.fit(X, y), tmp_path / "m", engine, features=names)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_several_outputs_and_numbers_beyond_single_precision_are_refused(engine, tmp_path):
    with pytest.raises(ValueError, match="2 outputs"):
        model = rw.RankRLS().fit(X, np.column_stack((y, y)))
        rw.export(model, tmp_path / "m", engine, features=NAMES)
    with pytest.raises(ValueError, match=r"single precision.*title_query"):
        rw.export(rw.RankRLS().fit(X, y * 1e60), tmp_path / "m", engine, features=NAMES)
