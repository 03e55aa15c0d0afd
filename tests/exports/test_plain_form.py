"""Folded scaling: thresholds to the last bit, weights to rounding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, RobustScaler, StandardScaler

import rankwise as rw
from rankwise.exports.model_steps import checked_steps
from rankwise.exports.plain_form import plain_form
from tests.exports.readers import exported_scores


def data(seed=0, m=40, n=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)) * 10.0 ** rng.integers(-4, 4, n) + rng.normal(size=n)
    return X, X @ (1.0 / X.std(axis=0)) + rng.normal(size=m)


@given(st.integers(0, 10**6), st.booleans())
def test_thresholds_behind_scalers_separate_the_same_floats(seed, clip):
    X, y = data(seed)
    steps = (StandardScaler(), MinMaxScaler((-1, 2), clip=clip))
    model = make_pipeline(*steps, rw.RankBoost(20)).fit(X, y)
    rules = plain_form(checked_steps(model)).thresholds
    for j, at in zip(rules.feature, rules.threshold):
        if np.isfinite(at) and at < 1e300:
            item = np.repeat(X[:1], 2, axis=0)
            item[:, j] = at, np.nextafter(at, np.inf)
            below, above = model.predict(item)
            assert below != above or (rules.threshold == at)[rules.feature == j].sum() > 1


def test_selected_features_and_kernels(tmp_path):
    X, y = data()
    for learner in (rw.RankRLS(), rw.RankRLS(kernel="rbf"), rw.RankRLS(kernel="cosine")):
        steps = (StandardScaler(), SelectKBest(f_regression, k=2), RobustScaler())
        model = make_pipeline(*steps, learner).fit(X, y)
        found = exported_scores(model, X, "json", tmp_path)
        assert np.allclose(found, model.predict(X), rtol=1e-9, atol=1e-12)


def test_columns_with_scalers_of_their_own(tmp_path):
    X, y = data()
    X[5, 1] = X[6, 0] = np.nan
    parts = [("a", make_pipeline(SimpleImputer(), RobustScaler()), [3, 1])]
    parts.append(("b", MinMaxScaler(), [2]))
    for learner in (rw.RankRLS(), rw.RankRLS(kernel="rbf"), rw.RankBoost(9)):
        model = make_pipeline(ColumnTransformer(parts), learner).fit(X, y)
        found = exported_scores(model, X, "json", tmp_path)
        assert np.allclose(found, model.predict(X), rtol=1e-9, atol=1e-12)
    twice = ColumnTransformer([("a", StandardScaler(), [0, 2, 3]), ("b", MinMaxScaler(), [2, 3])])
    with pytest.raises(ValueError, match="two ways"):
        model = make_pipeline(SimpleImputer(), twice, rw.RankRLS()).fit(X, y)
        exported_scores(model, X, "json", tmp_path)


def test_values_that_fill_gaps_are_those_of_features_as_they_come(tmp_path):
    X, y = data()
    X[3, 0] = X[7, 2] = np.nan
    for steps in ((SimpleImputer(), StandardScaler()), (StandardScaler(), SimpleImputer())):
        model = make_pipeline(*steps, rw.RankRLS()).fit(X, y)
        found = exported_scores(model, X, "json", tmp_path)
        assert np.allclose(found, model.predict(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("step", [Normalizer(), MinMaxScaler(clip=True)])
def test_other_steps_are_refused_with_a_format_that_takes_them(step):
    model = make_pipeline(step, rw.RankRLS()).fit(*data())
    with pytest.raises(ValueError, match=r'more than an offset and a scale.*format="onnx"'):
        plain_form(checked_steps(model))
