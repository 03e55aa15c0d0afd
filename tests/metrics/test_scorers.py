"""Measures as scorers of scikit-learn searches, with queries routed to each fold."""

import pickle
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import metrics
from rankwise.metrics.scorers import MEASURES


class QueryModel(BaseEstimator):
    """The first feature as the score; remembers, as rankers do, whether it saw queries."""

    __metadata_request__fit: ClassVar = {"qid": True}

    def __init__(self, sign=1):
        self.sign = sign

    def fit(self, X, y, qid=None):
        self.fitted_, self.fitted_with_queries = True, qid is not None
        return self

    def predict(self, X):
        return self.sign * X[:, 0]


class TestScorer:
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(12), 5)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + rng.normal(size=60) > 0) + 10.0 * qid

    @pytest.mark.parametrize("name", MEASURES)
    def test_is_the_signed_measure_of_the_predictions(self, name):
        options = {"cost": "HR", "power": 2} if name == "pair_cost" else {}
        y = self.y % 10
        model = Ridge().fit(self.X, y)
        value = metrics.scorer(name, **options)(model, self.X, y)
        measure, sign = MEASURES[name]
        assert value == sign * measure(y, model.predict(self.X), **options)
        assert (sign < 0) == any(word in name for word in ("error", "cost", "diff", "misranking"))

    def test_prefers_the_decision_function(self):
        y = self.y % 10
        model = LogisticRegression().fit(self.X, y)
        value = metrics.scorer("auc")(model, self.X, y)
        assert value == metrics.auc(y, model.decision_function(self.X))

    def test_without_queries_no_routing_is_needed(self):
        scoring = metrics.scorer("concordance")
        search = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, scoring=scoring, error_score="raise")
        search.fit(self.X, self.y)
        assert 0 < search.best_score_ < 1
        assert len(cross_val_score(Ridge(), self.X, self.y, scoring=scoring)) == 5

    @pytest.mark.parametrize("model", [QueryModel(), make_pipeline(StandardScaler(), QueryModel())])
    def test_search_routes_qid_to_every_fold(self, model):
        name = "sign" if isinstance(model, QueryModel) else "querymodel__sign"
        with config_context(enable_metadata_routing=True):
            search = GridSearchCV(
                model,
                {name: [1, -1]},
                scoring=metrics.scorer("ranking_error"),
                cv=GroupKFold(4),
                error_score="raise",
            ).fit(self.X, self.y, qid=self.qid, groups=self.qid)
            folds = [
                -metrics.ranking_error(self.y[test], self.X[test, 0], self.qid[test])
                for _, test in GroupKFold(4).split(self.X, groups=self.qid)
            ]
            assert_allclose(search.best_score_, np.mean(folds))
            whole = search.score(self.X, self.y, qid=self.qid)
        assert_allclose(whole, -metrics.ranking_error(self.y, self.X[:, 0], self.qid))

    def test_several_scorers_at_once(self):
        scoring = {"tau": metrics.scorer("kendall_tau_b"), "msd": metrics.scorer("misranking")}
        with config_context(enable_metadata_routing=True):
            search = GridSearchCV(
                QueryModel(), {"sign": [1, -1]}, scoring=scoring, refit="tau", error_score="raise"
            ).fit(self.X, self.y, qid=self.qid)
        assert search.best_params_ == {"sign": 1}

    @pytest.mark.parametrize("model", [QueryModel(), make_pipeline(StandardScaler(), QueryModel())])
    def test_a_model_with_queries_is_not_scored_without(self, model):
        name = "qid" if isinstance(model, QueryModel) else "querymodel__qid"
        model.fit(self.X, self.y, **{name: self.qid})
        with pytest.raises(ValueError, match="enable_metadata_routing"):
            metrics.scorer("concordance")(model, self.X, self.y)
        assert metrics.scorer("concordance")(model, self.X, self.y, qid=self.qid) > 0.5

    def test_a_measure_over_all_items_refuses_qid(self):
        with pytest.raises(ValueError, match="auc is not defined by query"):
            metrics.scorer("auc")(QueryModel(), self.X, self.y, qid=self.qid)

    def test_is_pickled_and_printed(self):
        scoring = metrics.scorer("ndcg", k=5)
        assert repr(pickle.loads(pickle.dumps(scoring))) == "scorer('ndcg', k=5)"
