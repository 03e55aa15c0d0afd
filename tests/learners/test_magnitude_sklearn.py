"""MPRank, SVRank and RankBoost as scikit-learn citizens."""

import doctest
import importlib
import pickle

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankwise.learners.mprank import MPRank
from rankwise.learners.mprank_cv import MPRankCV
from rankwise.learners.rank_boost import RankBoost
from rankwise.learners.svrank import SVRank

RNG = np.random.default_rng(9)
X = RNG.normal(size=(40, 3))
QID = RNG.permutation(np.repeat(list("abcdefgh"), 5))
Y = X[:, 0] + 0.5 * RNG.normal(size=40) + 10 * (np.unique(QID, return_inverse=True)[1])
LEARNERS = [MPRank(), MPRankCV([0.1, 10.0]), SVRank(), RankBoost()]
IDS = [type(learner).__name__ for learner in LEARNERS]


@parametrize_with_checks(
    [
        *LEARNERS,
        MPRank(solver="online", tol=1e-18, max_iter=10_000),
        MPRank(kernel="rbf", solver="online", tol=1e-18, max_iter=10_000),
        MPRank(norm=1),
        SVRank(norm=2, kernel="rbf"),
    ]
)
def test_check_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("learner", LEARNERS, ids=IDS)
def test_queries_are_routed_through_pipelines_and_searches(learner):
    names = {"MPRank": "C", "SVRank": "C", "RankBoost": "n_rounds", "MPRankCV": "exact"}
    name = names[type(learner).__name__]
    grid = {f"{type(learner).__name__.lower()}__{name}": [1, 2] if name != "exact" else [True]}
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), clone(learner))
        search = GridSearchCV(pipeline, grid, cv=GroupKFold(4)).fit(X, Y, qid=QID, groups=QID)
    assert search.best_score_ > 0.6
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        search.best_estimator_.score(X, Y)


@pytest.mark.parametrize("learner", LEARNERS, ids=IDS)
def test_pickles_and_scores(learner):
    model = clone(learner).fit(X, Y, qid=QID)
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(again.predict(X), model.predict(X))
    assert model.score(X, Y, qid=QID) > 0.6


@pytest.mark.parametrize("module", ["mprank", "mprank_cv", "svrank", "rank_boost"])
def test_docstring_examples(module):
    assert doctest.testmod(importlib.import_module(f"rankwise.learners.{module}")).failed == 0


@pytest.mark.parametrize("learner", LEARNERS, ids=IDS)
@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"y": np.where(Y > 5, np.nan, Y)}, "Input y contains NaN"),
        ({"y": Y[:-1]}, "as many rows"),
        ({"qid": QID[:-1]}, "qid must"),
        ({"X": np.where(X > 1, np.inf, X)}, "infinity"),
    ],
    ids=["nan in y", "short y", "short qid", "inf in X"],
)
def test_bad_data(learner, bad, named):
    given = {"X": X, "y": Y, "qid": QID, **bad}
    with pytest.raises(ValueError, match=named):
        clone(learner).fit(given.pop("X"), given.pop("y"), **given)
