"""Nested selection by hand, and with searches of scikit-learn."""

import numpy as np
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import RankRLS, RankRLSCV, metrics
from rankwise.evaluation import nested_score
from tests.evaluation.small_data import QID, B, X, Y


def test_nested_score_by_hand():
    search = RankRLSCV([0.1, 1000.0])
    folds = [(np.setdiff1d(np.arange(24), np.flatnonzero(q == QID)), q == QID) for q in "abcdef"]
    expected, chosen = [], []
    for train, test in folds:
        model = RankRLSCV([0.1, 1000.0]).fit(X[train], Y[train], qid=QID[train])
        expected.append(metrics.concordance(Y[test], model.predict(X[test])))
        chosen.append(model.alpha_)
    found = nested_score(search, X, Y, QID)
    assert_allclose(found.score, np.mean(expected))
    assert_allclose(found.score_se, np.std(expected, ddof=1) / np.sqrt(6))
    assert found.chosen == chosen
    assert_allclose(found.selected_score, search.fit(X, Y, qid=QID).best_score_)
    assert_allclose(found.optimism, found.selected_score - found.score)
    assert found.interval[0] < found.score < found.interval[1]
    assert "±" in str(found)


def test_nested_score_of_other_searches():
    grid = GridSearchCV(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1, 10.0]})
    found = nested_score(grid, X, Y, cv=4)
    assert [set(choice) for choice in found.chosen] == [{"ridge__alpha"}] * 4
    assert 0 <= found.score <= 1
    assert nested_score(LogisticRegression(), X, B, cv=3).selected_score is None


def test_nested_score_where_a_fold_takes_all_positives():
    rare = np.zeros(24)
    rare[[2, 3]] = 1
    folds = [np.arange(4), np.arange(4, 24)]
    found = nested_score(RankRLSCV([0.1, 1.0]), X, rare, cv=folds)
    assert found.chosen[0] is None and found.score == 0.5


def test_a_search_by_query_inside_queries():
    """With metadata routing a GridSearchCV is handed the queries of each outer fold."""
    grid = GridSearchCV(RankRLS(), {"alpha": [0.1, 1000.0]}, cv=GroupKFold(4))
    with config_context(enable_metadata_routing=True):
        found = nested_score(grid, X, Y, QID)
        train = np.flatnonzero(QID != "a")
        grid.fit(X[train], Y[train], qid=QID[train], groups=QID[train])
    assert found.chosen[0] == grid.best_params_
    assert len(found.chosen) == 6 and 0 <= found.score <= 1
