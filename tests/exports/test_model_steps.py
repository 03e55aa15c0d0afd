"""Steps of every kind of model, and models that are none."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    StandardScaler,
)

import rankwise as rw
from rankwise.exports.model_steps import checked_steps
from rankwise.workflow.trained_model import TrainedModel
from tests.model_zoo import X, models, y

ZOO = models()


@pytest.mark.parametrize("name", ZOO)
def test_every_model_of_the_zoo_is_exported_or_refused_with_a_reason(name):
    model, (X_new, *_) = ZOO[name]
    reasons = {"gram": "precomputed", "kernel map": "no scores"}
    for relation in "conditional", "two_step", "kernel filter", "nearest nodes":
        reasons[relation] = "pairs of objects"
    reasons["without features"] = "without features|precomputed"
    reason = next((text for word, text in reasons.items() if word in name), None)
    if reason is None and name != "pipeline map":
        features = "abcd" if name == "trained" else None
        function = checked_steps(model, features and list(features))
        dense = X_new.toarray() if hasattr(X_new, "toarray") else X_new
        scores = function.scores(dense).reshape(np.shape(model.predict(X_new)))
        assert np.allclose(scores, model.predict(X_new), rtol=1e-9, atol=1e-12)
    elif reason is not None and name != "pipeline map":
        with pytest.raises(ValueError, match=reason):
            checked_steps(model)


def test_searches_are_their_best_model():
    search = GridSearchCV(make_pipeline(StandardScaler(), rw.RankRLS()), {"rankrls__alpha": [1, 2]})
    search.fit(X, y)
    assert checked_steps(search).learner == "RankRLS"


def test_a_learner_with_other_predictions_is_refused():
    class Shifted(rw.RankRLS):
        def predict(self, X):
            return super().predict(X) + X[:, 0] ** 2

    with pytest.raises(ValueError, match="not a sum over its coefficients"):
        checked_steps(Shifted().fit(X, y))


def test_names_come_from_the_caller_the_record_or_the_frame():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    model = rw.RankRLS().fit(frame, y)
    assert checked_steps(model).features == ["a", "b", "c", "d"]
    assert checked_steps(model, ["e", "f", "g", "h"]).features == ["e", "f", "g", "h"]
    nameless = checked_steps(rw.RankRLS().fit(X, y))
    assert nameless.features[0] == "feature 1" and not nameless.named
    trained = TrainedModel(rw.RankRLS().fit(X, y), None, {"features": ["p", "q", "r", "s"]})
    assert checked_steps(trained).named
    for names, reason in (["a"], "1 names for 4"), (["a", "a", "b", "c"], "two features"):
        with pytest.raises(ValueError, match=reason):
            checked_steps(model, names)


@pytest.mark.parametrize("mean", [1.0, 1e6])
def test_a_kernel_expansion_that_loses_the_digits_of_the_scores_is_refused(mean):
    rng = np.random.default_rng(0)
    near = rng.normal(size=(20, 3))
    y = near.sum(axis=1) + rng.normal(size=20)
    model = rw.RankRLS(1e-2 * mean**4, kernel="poly", degree=3).fit(near + mean, y)
    if mean == 1.0:
        assert checked_steps(model).learner == "RankRLS"
        return
    with pytest.raises(ValueError, match=r"loses digits.*standardise the features"):
        checked_steps(model)
    piped = make_pipeline(StandardScaler(), rw.RankRLS(kernel="poly", degree=3))
    assert checked_steps(piped.fit(near + mean, y)).learner == "RankRLS"
