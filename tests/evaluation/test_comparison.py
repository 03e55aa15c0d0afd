"""Comparisons of models: the level of the test, Holm's correction, with and without queries."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from scipy.stats import t as student
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from rankwise import RankRLS, RankRLSCV, RankSVM, metrics
from rankwise.evaluation import compare
from rankwise.evaluation.intervals import TRAINING, holm, paired_p
from tests import reference_evaluation as reference
from tests.evaluation.small_data import QID, B, X, Y


def half(number, X, Y):
    """The linear kernel of the first or the second half of the features."""
    n = X.shape[1] // 2
    columns = slice(number * n, (number + 1) * n)
    return X[:, columns] @ Y[:, columns].T


def rejections(repetitions, strength, with_queries, advantage=0.0):
    """The share of comparisons with p ≤ 0.05 of models on two halves of the features.

    Both halves carry the same signal, unless the first has an advantage, and independent noise.
    """
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(14), 5) if with_queries else None
    models = {name: RankRLS(10.0, kernel=partial(half, i)) for i, name in enumerate("ab")}
    rejected = 0
    for _ in range(repetitions):
        X = rng.normal(size=(70, 8))
        w = rng.normal(size=4) * strength
        y = X[:, :4] @ w + X[:, 4:] @ w + advantage * X[:, 0] + rng.normal(size=70)
        if not with_queries:
            y = (y > 0).astype(float)
        rejected += compare(models, X, y, qid).differences[0].p_value <= 0.05
    return rejected / repetitions


@pytest.mark.parametrize("with_queries", [True, False])
@pytest.mark.parametrize("strength", [0.0, 0.3])
def test_equal_models_are_rarely_called_different(strength, with_queries):
    """The level of a test at 5%; with 120 repetitions 5% + 2 standard errors is 9%.

    Flipping the signs of the differences by query, as if queries were independent, calls 12 to 15%
    of these comparisons significant. benchmarks/papers/evaluation_comparison.py has a wider table.
    """
    assert rejections(120, strength, with_queries) <= 0.09


@pytest.mark.parametrize("with_queries", [True, False])
def test_a_better_model_is_called_better(with_queries):
    assert rejections(40, 0.0, with_queries, advantage=2.5) > 0.9


def test_the_corrected_test_of_differences_by_query():
    d = np.random.default_rng(7).normal(size=9) + 0.5
    influence = np.sqrt(TRAINING) * (d - d.mean()) / np.sqrt(9 * 8)
    t = d.mean() / np.sqrt(TRAINING * d.var(ddof=1) / 9)
    assert_allclose(paired_p(d.mean(), influence, 9), 2 * student.sf(t, 8))
    assert_allclose(paired_p(d.mean(), influence), 2 * norm.sf(t))


def test_few_queries_never_prove_much():
    assert paired_p(0.5, np.zeros(2), 2) == 0.5
    assert paired_p(0.5, np.zeros(5), 5) == 2.0**-4
    assert paired_p(0.5, np.full(1, np.nan), 1) == 1.0
    assert paired_p(0.0, np.zeros(5), 5) == 1.0


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


def test_refitted_models_of_noise_do_not_differ():
    """Without the gate of chance, up to a quarter of such data sets gave p ≤ 0.05."""
    rejected = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
        models = {
            str(j): make_pipeline(FunctionTransformer(lambda X, j=j: X[:, [j]]), Ridge())
            for j in range(2)
        }
        rejected += compare(models, X, y, random_state=0).differences[0].p_value <= 0.05
    assert rejected <= 3
