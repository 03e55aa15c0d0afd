"""Scaling, choices, judgements and explanations against plain formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from rankwise import RankBoost, RankRLS, metrics
from rankwise.learners.item_scaler import ItemScaler
from rankwise.workflow.explaining import explain, importance
from rankwise.workflow.items import Items
from rankwise.workflow.judging import judge
from rankwise.workflow.recipe import LEARNERS, Recipe
from rankwise.workflow.trained_model import TrainedModel
from rankwise.workflow.training import median_gamma, train, unfitted
from tests.cli_files import made_items


def test_standard_scaling_is_scikit_learns():
    X, _, _ = made_items()
    X[:, 2] = 7.0
    np.testing.assert_allclose(
        ItemScaler().fit_transform(X), StandardScaler().fit_transform(X), atol=1e-12
    )


@given(st.integers(0, 10**6), st.booleans())
def test_scaling_by_query_is_scaling_every_query_alone(seed, is_sparse):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 30))
    X = rng.integers(-2, 3, size=(m, 3)).astype(float)
    qid = rng.integers(0, 5, size=m)
    given_X = sparse.csr_matrix(X) if is_sparse else X
    found = ItemScaler("query").fit(given_X).transform(given_X, qid)
    found = found.toarray() if is_sparse else found
    for label in np.unique(qid):
        part = X[qid == label]
        deviation = part.std(axis=0)
        deviation[deviation == 0] = 1.0
        centred = part if is_sparse else part - part.mean(axis=0)
        np.testing.assert_allclose(found[qid == label], centred / deviation, atol=1e-9)


def test_missing_values_take_the_training_median():
    X = np.array([[1.0, np.nan], [3.0, 4.0], [np.nan, 8.0], [5.0, np.nan]])
    found = ItemScaler("none", missing="median").fit_transform(X)
    np.testing.assert_array_equal(found, [[1, 6], [3, 4], [3, 8], [5, 6]])
    with pytest.raises(ValueError, match="row 0, column 1"):
        ItemScaler("none").fit(X)


def test_the_median_heuristic():
    X = np.array([[0.0], [1.0], [3.0]])
    assert median_gamma(X, "rbf") == pytest.approx(0.5 / 2**2)
    assert median_gamma(X, "laplacian") == pytest.approx(0.5 / 2)
    assert median_gamma(np.ones((4, 2)), "rbf") == 1.0


@given(st.integers(0, 10**6))
def test_judgements_are_means_of_the_measures(seed):
    rng = np.random.default_rng(seed)
    m = 40
    y, s = rng.integers(0, 3, m).astype(float), rng.normal(size=m).round(1)
    qid = rng.integers(0, 6, m)
    found = judge(y, s, qid)
    assert found["ranking_error"].value == pytest.approx(metrics.ranking_error(y, s, qid))
    assert found["ndcg@10"].value == pytest.approx(metrics.ndcg(y, s, qid, k=10))
    expected = metrics.average_precision((y > 0).astype(float), s, qid)
    assert found["map"].value == pytest.approx(expected)
    assert found["tau_b"].value == pytest.approx(metrics.kendall_tau_b(y, s, qid))
    for measure in found.measures:
        if measure.low is not None:
            assert measure.low <= measure.value + 1e-12 and measure.value <= measure.high + 1e-12


def test_one_list_has_intervals_of_the_measures_that_count_pairs():
    rng = np.random.default_rng(0)
    y = rng.normal(size=80)
    found = judge(y, y + rng.normal(size=80))
    assert found["ranking_error"].low < found["ranking_error"].value
    assert found["tau_b"].low < found["tau_b"].value < found["tau_b"].high
    assert found["map"].value is None and "--relevant" in found["map"].reason
    assert found["ndcg@10"].value is None


@pytest.mark.parametrize("is_sparse", [False, True])
def test_explanations_sum_to_the_difference_of_scores(is_sparse):
    X, y, qid = made_items()
    data = sparse.csr_matrix(X) if is_sparse else X
    for ranker in (RankRLS(2.0), RankRLS(kernel="rbf", basis=[3, 9, 30]), RankBoost(20)):
        if isinstance(ranker, RankBoost):
            data = X
        model = TrainedModel(ranker.fit(data, y, qid=qid))
        found = explain(model, data, 3, 17)
        scores = ranker.predict(data)
        assert found.difference == pytest.approx(scores[3] - scores[17])
        assert sum(part.amount for part in found.parts) == pytest.approx(found.difference)
        assert len(importance(model, data)[1]) == len(importance(model, data)[2])


@pytest.mark.parametrize("learner", [name for name in LEARNERS if name != "conditional"])
def test_the_unfitted_learner_learns_the_same_model(learner):
    X, y, qid = made_items()
    items = Items(X, y.astype(float), qid)
    model = train(Recipe(learner=learner), items)
    again = unfitted(model).fit(X, y, qid=qid)
    a, b = model.predict(X), again.predict(X)
    np.testing.assert_allclose(a, b, rtol=0.05, atol=0.02 * np.abs(a).max())


def test_a_trained_model_can_learn_anew():
    X, y, qid = made_items()
    model = train(Recipe(scale="query", alpha=3.0), Items(X, y.astype(float), qid))
    before = model.predict(X, qid)
    np.testing.assert_allclose(model.fit(X, y, qid=qid).predict(X, qid), before)
