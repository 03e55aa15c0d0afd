"""What scikit-learn users run into: routing, wrong words, importances, names of weights."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import RLS, MPRank, RankBoost, RankRLS, RankRLSCV, RankSVM, RankSVMCV, SVRank
from rankwise.metrics import scorer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
QID = np.repeat(np.arange(10), 6)
Y = X[:, 0] + 0.3 * RNG.normal(size=60) + 5.0 * QID
LINE = r"sklearn\.set_config\(enable_metadata_routing=True\)"
FOLDS = {"cv": GroupKFold(3)}


@pytest.mark.parametrize(
    "learner", [RankRLS(), RankSVM(), RankBoost(5), MPRank(), RankRLSCV([1.0])]
)
def test_without_routing_the_error_names_the_line_to_add(learner):
    with pytest.raises(ValueError, match=LINE):
        cross_val_score(learner, X, Y, params={"qid": QID}, groups=QID, **FOLDS)


@pytest.mark.parametrize("scoring", [None, scorer("tau"), {"a": scorer("tau"), "b": "r2"}])
def test_searches_and_scorers_without_routing(scoring):
    refit = "a" if isinstance(scoring, dict) else True
    search = GridSearchCV(RankRLS(), {"alpha": [1.0, 2.0]}, scoring=scoring, refit=refit, **FOLDS)
    with pytest.raises(ValueError, match=LINE):
        search.fit(X, Y, groups=QID, qid=QID)
    with pytest.raises(ValueError, match=LINE):
        cross_validate(
            make_pipeline(StandardScaler(), RankRLS()),
            X,
            Y,
            params={"rankrls__qid": QID},
            groups=QID,
            scoring=scoring,
            **FOLDS,
        )


def test_scorers_that_need_no_queries_are_left_alone():
    found = cross_val_score(
        RankRLS(), X, Y, params={"qid": QID}, groups=QID, scoring="neg_mean_squared_error", **FOLDS
    )
    assert np.isfinite(found).all()
    assert np.isfinite(cross_val_score(RankRLS(), X, Y)).all()


def test_with_the_line_it_works():
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_val_score(RankRLS(), X, Y, params={"qid": QID, "groups": QID}, **FOLDS)
    assert np.isfinite(found).all() and found.min() > 0.5


@pytest.mark.parametrize("word", ["group", "groups", "query_id"])
@pytest.mark.parametrize("learner", [RankRLS, RankSVM, RankBoost, MPRank, SVRank, RLS])
def test_other_words_for_qid_get_the_right_word(learner, word):
    with pytest.raises(TypeError, match=f"has no {word}=: the labels of queries are qid="):
        learner().fit(X, Y, **{word: QID})
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        learner().fit(X, Y, colour=QID)


def test_searches_keep_their_groups():
    assert RankSVMCV([1.0]).fit(X, Y, groups=QID).cv_.endswith("groups")


def test_permutation_importance_needs_no_function_of_its_own():
    frame = pd.DataFrame(X, columns=list("abc"))
    for model in (RankRLS(), make_pipeline(StandardScaler(), RankRLS())):
        last = model[-1] if hasattr(model, "steps") else model
        model.fit(frame, Y, **{"qid" if last is model else "rankrls__qid": QID})
        for name in ("concordance", "tau", "ranking_error"):
            scoring = scorer(name, qid=QID)
            found = permutation_importance(model, frame, Y, scoring=scoring, random_state=0)
            assert np.argmax(found.importances_mean) == 0
            assert_allclose(scoring(model, frame, Y), scorer(name)(model, frame, Y, qid=QID))
    model = RankRLS().fit(X, Y, qid=QID)
    with pytest.raises(ValueError, match=r"scorer\('concordance', qid=qid\)"):
        permutation_importance(model, X, Y)
    with pytest.raises(ValueError, match="queries of 60 items, and is asked to score 20"):
        scorer("tau", qid=QID)(model, X[:20], Y[:20])
    with pytest.raises(ValueError, match="not defined by query"):
        scorer("auc", qid=QID)


def test_importances_of_boosting():
    model = RankBoost(20).fit(X, Y, qid=QID)
    importances = model.feature_importances_
    assert importances.shape == (3,) and np.argmax(importances) == 0
    assert importances.sum() == pytest.approx(1.0)
    expected = [np.abs(model.weights_[model.rankers_["feature"] == j]).sum() for j in range(3)]
    assert_allclose(importances, expected / np.sum(expected))
    assert not hasattr(RankBoost(), "feature_importances_")


def test_weights_have_names():
    frame = pd.DataFrame(X, columns=["price", "stars", "age"])
    model = RankRLS().fit(frame, Y, qid=QID)
    named = model.named_coef()
    assert next(iter(named)) == "price"
    assert_allclose([named[name] for name in frame.columns], model.coef_)
    assert next(iter(RankSVM().fit(X, Y, qid=QID).named_coef())) == "x0"
    both = RankRLS().fit(frame, np.column_stack((Y, -Y)), qid=QID)
    assert_allclose(both.named_coef()["stars"], both.coef_[:, 1])
    with pytest.raises(AttributeError, match="permutation_importance"):
        RankRLS(kernel="rbf").fit(X, Y).named_coef()
