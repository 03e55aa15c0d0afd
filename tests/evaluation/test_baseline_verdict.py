"""An existing ranking as one of the compared models, and the verdict about it."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.linear_model import Ridge

from rankwise import RankRLS, RankSVM, metrics
from rankwise.evaluation import BaselineVerdict, compare
from rankwise.evaluation.intervals import (
    SETTLED,
    TRAINING,
    PairedDifference,
    paired_p,
    training_factor,
)
from rankwise.exceptions import EstimateWarning

RNG = np.random.default_rng(11)
QID = np.repeat([f"q{i}" for i in range(12)], 9)
X = RNG.normal(size=(108, 4))
Y = X @ [2.0, 0.5, 0.0, 0.0] + RNG.normal(size=108)
OLD = X[:, 1] + 0.3 * RNG.normal(size=108)


def by_query(scores):
    return np.array([metrics.concordance(Y[q == QID], scores[q == QID]) for q in np.unique(QID)])


def test_a_baseline_is_judged_on_the_same_queries_without_training():
    found = compare({"old": OLD, "new": RankRLS()}, X, Y, QID)
    new, old = by_query(RankRLS().fit(X, Y, qid=QID).leave_query_out()), by_query(OLD)
    assert found.names == ["new", "old"] and found.baselines == ("old",)
    assert_allclose(found.by_query, np.column_stack((new, old)))
    assert list(found.queries) == sorted(set(QID))
    assert_allclose(found.score_se[1], old.std(ddof=1) / np.sqrt(12))
    assert_allclose(found.score_se[0], np.sqrt(TRAINING) * new.std(ddof=1) / np.sqrt(12))
    verdict = found.against()
    assert verdict.model == "new" and verdict.better == "yes"
    assert_allclose(verdict.difference, (new - old).mean())
    assert verdict.low < verdict.difference < verdict.high
    worse = {q: (a, b) for q, a, b in zip(found.queries, new, old) if a < b - 1e-9}
    assert {one.query: one[1:] for one in verdict.worse} == pytest.approx(worse)
    losses = [one.model - one.baseline for one in verdict.worse]
    assert losses == sorted(losses)
    assert verdict.wins + verdict.ties + len(verdict.worse) == 12 == verdict.queries
    assert str(verdict).startswith("new is better than old: share of pairs")
    assert BaselineVerdict.from_record(verdict.record()).record() == verdict.record()


def test_two_existing_rankings_are_a_plain_paired_test():
    """Nothing is trained, so that nothing is corrected and X is not needed."""
    a, b = by_query(X[:, 0]), by_query(OLD)
    found = compare({"a": X[:, 0], "b": list(OLD)}, None, Y, QID)
    expected = stats.ttest_rel(a, b)
    one = found.differences[0]
    assert_allclose(abs(one.difference), abs((a - b).mean()))
    assert_allclose(one.p_value, expected.pvalue)
    low, high = expected.confidence_interval()
    sign = np.sign(one.difference * (a - b).mean())
    assert_allclose(sorted((sign * low, sign * high)), (one.low, one.high))
    assert found.how == "scores as given, 12 queries paired"


@pytest.mark.parametrize("values", [Y, (Y > 0).astype(float)])
def test_two_existing_rankings_without_queries_are_the_test_over_items(values):
    found = compare([X[:, 0], OLD], None, values)
    assert found.names == ["baseline", "baseline 2"] and found.by_query is None
    expected = [metrics.concordance(values, s) for s in (X[:, 0], OLD)]
    assert_allclose(found.score, expected)
    with pytest.raises(ValueError, match="2 of the models are given as scores"):
        found.against()
    assert found.against("baseline 2", "baseline").queries == 0


def test_a_baseline_beside_any_model_without_queries():
    found = compare({"old": pd.Series(OLD), "ridge": Ridge(), "svm": RankSVM()}, X, Y)
    assert found.how == "10 folds"
    exact = compare({"old": OLD, "rls": RankRLS()}, X, Y)
    assert exact.how == "leave-pair-out"
    assert_allclose(exact.score[exact.names.index("old")], metrics.concordance(Y, OLD))


def test_existing_scores_of_twins_may_differ():
    """Items with equal features are tied for a model, and not for what ranked them before."""
    twins = np.repeat(X[:54], 2, axis=0)
    found = compare({"old": OLD, "new": RankRLS()}, twins, Y, QID)
    assert_allclose(found.score[found.names.index("old")], by_query(OLD).mean())


@pytest.mark.parametrize("name", ["ndcg@3", "map", "tau", "err@5", "auc", "concordance"])
def test_any_measure_against_a_baseline(name):
    y = np.digitize(Y, [-0.5, 0.5]).astype(float)
    y = (y > 1).astype(float) if name in ("map", "auc") else y
    found = compare({"old": OLD, "new": RankRLS()}, X, y, QID, scoring=name)
    measure = metrics.scorer(name).bound(y)
    expected = []
    for q in np.unique(QID):
        try:
            expected.append(measure.measure(y[q == QID], OLD[q == QID]))
        except metrics.UndefinedMetric:
            continue
    assert_allclose(found.score[found.names.index("old")], np.mean(expected))
    assert found.against().measure == measure.title


def test_groups_hold_a_baseline_too():
    groups = np.repeat(np.arange(36), 3)
    found = compare({"old": OLD, "new": RankRLS()}, X, Y, groups=groups)
    assert found.how == "leave-pair-out of groups"
    assert 0 < found.differences[0].p_value <= 1


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (OLD[:-1], "'old' must be one for each of the 108 items; got 107"),
        (np.where(np.arange(108) == 5, np.nan, OLD), "NaN .*row 5"),
        (np.column_stack((OLD, OLD)), "one-dimensional"),
        (["a"] * 108, "real numbers"),
    ],
)
def test_bad_scores_are_named(scores, message):
    with pytest.raises(ValueError, match=message):
        compare({"old": scores, "new": RankRLS()}, X, Y, QID)


def test_models_need_items_and_names_must_be_known():
    with pytest.raises(ValueError, match="X is None"):
        compare({"old": OLD, "new": RankRLS()}, None, Y, QID)
    found = compare({"old": OLD, "new": RankRLS()}, X, Y, QID)
    with pytest.raises(ValueError, match="'newer' was not compared"):
        found.against(model="newer")
    with pytest.raises(ValueError, match="with itself"):
        found.against("old", "old")


def test_two_queries_prove_nothing_and_have_an_interval():
    two = np.isin(QID, ["q0", "q1"])
    perfect = {"perfect": Y[two], "reversed": -Y[two]}
    with pytest.warns(EstimateWarning, match="2 queries only"):
        found = compare(perfect, None, Y[two], QID[two])
    one = found.differences[0]
    assert one.difference == 1.0 and one.p_value == 0.5 and one.high - one.low > 0.3
    assert found.against("reversed", "perfect").better == "unproved"
    assert "not shown" in str(found.against("reversed", "perfect"))


def test_the_variance_that_training_adds():
    d, own = np.array([0.3, -0.1, -0.2]), np.array([0.1, 0.0, -0.1])
    assert training_factor(d, (), np.inf) == 1.0
    assert training_factor(d, (own, d), 1.0) == TRAINING
    share = own @ own / (d @ d)
    assert_allclose(training_factor(d, (own,), 0.0), 1 + (TRAINING - 1) * share)
    assert_allclose(training_factor(d, (own,), SETTLED / 2), 1 + (TRAINING - 1) * share / 2)
    assert training_factor(d, (own,), 2 * SETTLED) == 1.0
    assert training_factor(d, (10 * own,), -3.0) == TRAINING
    assert training_factor(np.zeros(3), (own,), 0.0) == 1.0


def test_differences_without_spread_are_never_certain():
    """100 items: at most 50 pairs without a common item, none of which disagrees."""
    same = PairedDifference(0.5, np.zeros(100))
    assert same.p_value == paired_p(0.5, np.zeros(100)) == 2.0**-49
    assert same.interval()[0] < 0.5 < same.interval()[1]


def rejections(repetitions, equal):
    """Shares of data sets in which a model is called better, and worse, than existing scores.

    The existing scores are noise, or (`equal`) the truth with so much noise that they order as well
    as the model does on average.
    """
    rng, qid = np.random.default_rng(3), np.repeat(np.arange(12), 8)
    called = {"yes": 0, "no": 0, "unproved": 0}
    for _ in range(repetitions):
        X, w = rng.normal(size=(96, 3)), rng.normal(size=3)
        truth = X @ w / np.linalg.norm(w) if equal else np.zeros(96)
        y = truth + rng.normal(size=96)
        old = truth + (0.31 if equal else 1.0) * rng.normal(size=96)
        found = compare({"old": old, "new": RankRLS(10.0)}, X, y, qid)
        called[found.against().better] += 1
    return called["yes"] / repetitions, called["no"] / repetitions


@pytest.mark.parametrize("equal", [False, True])
def test_a_model_no_better_than_the_baseline_is_rarely_called_better(equal):
    """2.5% are expected in each direction; benchmarks/papers/evaluation_baseline.py has a table."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        better, worse = rejections(120, equal)
    assert better <= 0.06 and worse <= 0.07
