"""Comparisons of models: sign flips, Holm's correction, by query and without queries."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import t as student
from sklearn.linear_model import Ridge

from rankwise import RankRLS, RankRLSCV, RankSVM, metrics
from rankwise.evaluation import compare
from rankwise.evaluation.comparison import holm, sign_flip_p
from tests import reference_evaluation as reference
from tests.evaluation.small_data import QID, B, X, Y


def test_sign_flips_are_exact():
    rng = np.random.default_rng(7)
    d = np.array([0.3, 0.1, -0.05, 0.2])
    flips = np.array(np.meshgrid(*[[1, -1]] * 4)).reshape(4, -1).T
    expected = np.mean(np.abs(flips @ d) >= abs(d.sum()) - 1e-12)
    assert_allclose(sign_flip_p(d, None), expected)
    assert sign_flip_p(np.zeros(5), None) == 1.0
    many = rng.normal(size=40) + 0.35
    t = many.mean() / many.std(ddof=1) * np.sqrt(40)
    assert_allclose(
        sign_flip_p(many, np.random.RandomState(0)), 2 * student.sf(abs(t), 39), atol=0.02
    )


def test_holm():
    assert_allclose(holm([0.01, 0.02, 0.03, 0.5]), [0.04, 0.06, 0.06, 0.5])
    assert_allclose(holm([0.4, 0.6]), [0.8, 0.8])


def test_compare_by_query():
    models = {"right": RankRLS(), "wrong": RankRLS(kernel="rbf", gamma=1.0)}
    found = compare(models, X, Y, QID, random_state=0)
    assert found.how.startswith("leave-query-out, 6 queries")
    for name, column in zip(found.names, found.by_query.T):
        s = models[name].fit(X, Y, qid=QID).leave_query_out()
        expected = [metrics.concordance(Y[q == QID], s[q == QID]) for q in "abcdef"]
        assert_allclose(column, expected, atol=1e-12)
    assert_allclose(found.score, found.by_query.mean(axis=0))
    assert found.score[0] >= found.score[1] and found.best == found.names[0]
    one = found.differences[0]
    assert_allclose(one.difference, found.score[0] - found.score[1])
    assert one.p_value == one.p_adjusted
    assert found.best in str(found) and "corrected" in str(found)


def test_compare_many_models_and_no_queries():
    found = compare([Ridge(), RankRLSCV([1.0]), RankSVM(), Ridge(100)], X, Y, random_state=0)
    assert sorted(found.names) == ["RankRLSCV", "RankSVM", "Ridge", "Ridge 2"]
    assert len(found.differences) == 6 and found.by_query is None
    p = [d.p_value for d in found.differences]
    assert p == sorted(p) and all(d.p_adjusted >= d.p_value for d in found.differences)
    twins = compare([RankRLS(), RankRLS()], X, B)
    assert twins.how == "leave-pair-out" and twins.differences[0].p_value == 1.0
    assert_allclose(twins.score, reference.leave_pair_out_auc(RankRLS(), X, B))


@pytest.mark.parametrize(
    ("models", "message"),
    [([RankRLS()], "two models or more"), (3, "must be a dict"), ([RankRLS(), "x"], "estimator")],
)
def test_compare_bad_models(models, message):
    with pytest.raises(ValueError, match=message):
        compare(models, X, Y)
