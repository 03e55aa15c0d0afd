"""Any measure by its name in searches, comparisons, nested estimates and curves, by plain loops."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.model_selection import GroupKFold

from rankwise import (
    ConditionalRankerCV,
    MPRank,
    MPRankCV,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
    metrics,
)
from rankwise.evaluation import compare, learning_curve, nested_score, regularisation_curve
from rankwise.evaluation.intervals import TRAINING, student_interval
from rankwise.exceptions import EstimateWarning

RNG = np.random.default_rng(5)
QID = np.repeat(np.arange(9), 7)
X = RNG.normal(size=(63, 4))
Y = np.clip(np.round(X[:, 0] + RNG.normal(size=63) + 1), 0, 3)
BINARY = (Y > 1).astype(float)
# A query where every item has the same grade: most measures have nothing to judge there.
Y[QID == 4], BINARY[QID == 4] = 2.0, 1.0
PLAIN = {
    "concordance": (Y, lambda y, s: metrics.concordance(y, s)),
    "ndcg@3": (Y, lambda y, s: metrics.ndcg(y, s, k=3)),
    "ndcg": (Y, metrics.ndcg),
    "map": (BINARY, metrics.average_precision),
    "average_precision": (BINARY, metrics.average_precision),
    "tau": (Y, metrics.kendall_tau_b),
    "auc": (BINARY, metrics.auc),
    "err@2": (Y, lambda y, s: metrics.expected_reciprocal_rank(y, s, k=2, highest=Y.max())),
    "err": (Y, lambda y, s: metrics.expected_reciprocal_rank(y, s, highest=Y.max())),
}
NAMES = pytest.mark.parametrize("name", PLAIN)


def by_query(name, make, folds):
    """The measure of every query by a model refitted without the fold that holds the query."""
    y, measure = PLAIN[name]
    values = {}
    for train, test in folds:
        s = make().fit(X[train], y[train], qid=QID[train]).predict(X[test])
        for query in np.unique(QID[test]):
            items = QID[test] == query
            try:
                values[query] = measure(y[test][items], s[items])
            except metrics.UndefinedMetric:
                values[query] = np.nan
    return np.array([values[query] for query in sorted(values)])


def queries_out():
    rows = np.arange(63)
    return [(rows[query != QID], rows[query == QID]) for query in range(9)]


FOLDS = list(GroupKFold(3).split(X, groups=QID))


@NAMES
def test_searches(name):
    y = PLAIN[name][0]
    grid = [0.1, 10.0]
    found = RankRLSCV(grid, scoring=name).fit(X, y, qid=QID).cv_results_
    slow = [by_query(name, lambda a=a: RankRLS(a), queries_out()) for a in grid]
    assert_allclose(found["score"], np.nanmean(slow, axis=1), rtol=1e-9)
    count = np.isfinite(slow).sum(axis=1)
    assert_allclose(found["score_se"], np.nanstd(slow, axis=1, ddof=1) / np.sqrt(count), rtol=1e-7)

    found = MPRankCV(grid, scoring=name).fit(X, y, qid=QID)
    slow = [by_query(name, lambda C=C: MPRank(C), queries_out()) for C in grid]
    assert_allclose(found.cv_results_["score"], np.nanmean(slow, axis=1), rtol=1e-9)
    assert found.best_score_ == found.cv_results_["score"].max()


def test_rank_svm_search():
    options = {"loss": "squared_hinge", "tol": 1e-9}
    found = RankSVMCV([0.01, 1.0], cv=FOLDS, scoring="err@2", **options).fit(X, Y, qid=QID)
    slow = [by_query("err@2", lambda a=a: RankSVM(a, **options), FOLDS) for a in (0.01, 1.0)]
    assert_allclose(found.cv_results_["score"], np.mean(slow, axis=1), rtol=1e-6)


def test_relation_search():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(12, 3)), rng.normal(size=(9, 2))
    grades = rng.integers(0, 3, (12, 9)).astype(float)
    search = ConditionalRankerCV(alphas=[0.1, 10.0], setting="rows", scoring="ndcg@3")
    found = search.fit((A, B), grades)
    for alpha, score in zip(found.alphas_, found.cv_results_["score"]):
        model = found.best_estimator_.set_params(alpha=alpha).fit((A, B), grades)
        held_out = model.leave_row_out()
        assert_allclose(score, np.mean([metrics.ndcg(y, s, k=3) for y, s in zip(grades, held_out)]))


@NAMES
def test_nested_score(name):
    y = PLAIN[name][0]
    found = nested_score(RankRLS(), X, y, QID, cv=FOLDS, scoring=name)
    slow = by_query(name, RankRLS, FOLDS)
    slow = slow[np.isfinite(slow)]
    assert_allclose(found.score, slow.mean())
    assert_allclose(found.score_se, slow.std(ddof=1) / np.sqrt(len(slow)))
    assert found.interval[0] < found.score < found.interval[1]


@NAMES
def test_compare(name):
    y = PLAIN[name][0]
    models = {"strong": RankRLS(1.0), "weak": RankRLS(1e4, kernel="rbf", gamma=3.0)}
    found = compare(models, X, y, QID, cv=FOLDS, scoring=name)
    slow = {key: by_query(name, lambda m=model: m, FOLDS) for key, model in models.items()}
    both = np.isfinite(np.column_stack(list(slow.values()))).all(axis=1)
    for key, score, error in zip(found.names, found.score, found.score_se):
        values = slow[key][both]
        assert_allclose(score, values.mean())
        assert_allclose(error, np.sqrt(TRAINING / len(values)) * values.std(ddof=1))
    first, second = (slow[key][both] for key in found.names)
    assert_allclose(found.differences[0].difference, (first - second).mean())
    assert 0 < found.differences[0].p_value <= 1
    assert metrics.scorer(name).title in str(found)


@NAMES
def test_curves(name):
    y = PLAIN[name][0]
    slow = [by_query(name, lambda a=a: RankRLS(a), FOLDS) for a in (0.1, 10.0)]
    found = regularisation_curve(RankRLS(), X, y, QID, alphas=[0.1, 10.0], cv=FOLDS, scoring=name)
    assert_allclose(found.score, np.nanmean(slow, axis=1), rtol=1e-9)
    refitted = regularisation_curve(
        RankSVM(), X, y, QID, alphas=[0.1, 10.0], cv=FOLDS, scoring=name
    )
    slow = [by_query(name, lambda a=a: RankSVM(a), FOLDS) for a in (0.1, 10.0)]
    assert_allclose(refitted.score, np.nanmean(slow, axis=1), rtol=1e-9)
    grown = learning_curve(RankRLS(), X, y, QID, folds=3, sizes=[6], scoring=name)
    assert 0 < grown.score[0] <= 1 and grown.measure == metrics.scorer(name).title


def test_a_list_measure_without_queries_is_averaged_over_folds():
    found = RankRLSCV([0.1, 10.0], scoring="ndcg@5").fit(X, Y)
    assert found.cv_ == "10 folds"
    with pytest.raises(ValueError, match="leave-pair-out judges pairs, not NDCG@5"):
        RankRLSCV([0.1], scoring="ndcg@5", cv="leave-pair-out").fit(X, Y)
    pairs = RankRLSCV([0.1, 10.0], scoring="auc").fit(X, BINARY)
    assert pairs.cv_ == "leave-pair-out"
    with pytest.raises(ValueError, match="auc needs two values of y"):
        RankRLSCV([0.1, 10.0], scoring="auc").fit(X, Y)
    comparison = compare([RankRLS(), RankRLS(100.0)], X, Y, scoring="ndcg@5")
    assert comparison.by_query is None and "10 folds paired" in comparison.how
    nested = nested_score(RankRLS(), X, Y, scoring="ndcg@5")
    assert nested.interval[0] < nested.score < nested.interval[1]


def test_measures_of_differences_see_the_scores_themselves():
    name = "mean_squared_difference"
    found = nested_score(RankRLS(), X, Y, QID, cv=FOLDS, scoring=name)
    values = []
    for train, test in FOLDS:
        s = RankRLS().fit(X[train], Y[train], qid=QID[train]).predict(X[test])
        for query in np.unique(QID[test]):
            items = QID[test] == query
            values.append(-metrics.mean_squared_difference(Y[test][items], s[items]))
    assert_allclose(found.score, np.mean(values))
    assert found.interval[1] <= 0


class TestFewQueries:
    few = np.isin(QID, (0, 1))

    @pytest.mark.parametrize("name", PLAIN)
    def test_two_equal_queries_never_give_certainty(self, name):
        x = np.tile(np.arange(4.0), 2)[:, None]
        y, qid = np.tile([0.0, 0, 1, 1], 2), np.repeat([0, 1], 4)
        with pytest.warns(EstimateWarning, match="2 queries only"):
            found = nested_score(RankRLS(), x, y, qid, scoring=name)
        assert found.interval[1] - found.interval[0] > 0.5
        assert np.isnan(found.score_se) and "±" not in str(found)
        models = {"a": RankRLS(), "b": RankRLS(kernel="rbf", gamma=1e-9)}
        with pytest.warns(EstimateWarning, match="2 queries only"):
            both = compare(models, x, y, qid, scoring=name)
        assert np.isnan(both.score_se).all() and "0.000\n" not in str(both)

    def test_enough_queries_do_not_warn(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error", EstimateWarning)
            nested_score(RankRLS(), X, Y, QID, cv=FOLDS)

    def test_the_rule(self):
        low, high = student_interval(0.9, 0.0, 0.95, 2, (-1.0, 1.0))
        assert -1 <= low < 0.2 and high == pytest.approx(1.0, abs=0.02)
        assert student_interval(-3.0, 0.0, 0.95, 5, (-np.inf, 0.0)) == (-np.inf, 0.0)
        # A mean outside the limits, as NDCG of negative gains can be, stays inside its interval.
        low, high = student_interval(-0.1, 0.0, 0.95, 3)
        assert low == -0.1 < high


class TestGroupsThatSpanQueries:
    groups = np.where(QID < 2, 100, QID)  # queries 0 and 1 are about the same thing

    def test_they_count_as_one_unit(self):
        found = nested_score(RankRLS(), X, Y, QID, groups=self.groups, scoring="ndcg@3")
        together = np.where(np.arange(9) < 2, 0, np.arange(9))
        folds = [
            (np.flatnonzero(together[QID] != one), np.flatnonzero(together[QID] == one))
            for one in np.unique(together)
        ]
        values = by_query("ndcg@3", RankRLS, folds)
        assert_allclose(found.score, values.mean())
        sums = np.bincount(together, values - values.mean())[np.unique(together)]
        assert_allclose(found.score_se, np.sqrt(8 / 7 * (sums**2).sum()) / 9)

    def test_the_comparison_has_fewer_degrees_of_freedom(self):
        models = [RankRLS(), RankRLS(1e3)]
        apart = compare(models, X, Y, QID, groups=QID, cv="leave-query-out")
        found = compare(models, X, Y, QID, groups=self.groups, cv="leave-query-out")
        assert len(found.by_query) == len(apart.by_query) == 8
        values = found.by_query[:, 0] - found.by_query[:, 1]
        sums = np.append(values[2:], values[:2].sum()) - values.mean() * np.append(np.ones(6), 2)
        error = np.sqrt(TRAINING * 7 / 6 * (sums**2).sum()) / 8
        p = 2 * stats.t(6).sf(abs(values.mean()) / error)
        assert found.differences[0].p_value >= p - 1e-12


class TestMPRankGroups:
    def test_groups_leave_together(self):
        groups = np.arange(63) % 6
        found = MPRankCV([0.1, 10.0]).fit(X, Y, groups=groups)
        assert found.cv_ == "6 folds of groups"
        for C, cost in zip(found.Cs_, found.cv_results_["cost"]):
            values = []
            for group in range(6):
                out = groups == group
                s = MPRank(C).fit(X[~out], Y[~out]).predict(X[out])
                values.append(metrics.mean_squared_difference(Y[out], s))
            assert_allclose(cost, np.mean(values), rtol=1e-8)

    def test_patients_without_signal(self):
        rng = np.random.default_rng(0)
        who = np.repeat(np.arange(20), 3)
        x = rng.normal(size=(20, 6))[who] + 0.02 * rng.normal(size=(60, 6))
        y = rng.permutation(np.arange(20) % 2)[who].astype(float)
        options = {"kernel": "rbf", "gamma": 0.5, "scoring": "auc", "cv": 5}
        blind = MPRankCV([1e2, 1e4], **options).fit(x, y).best_score_
        honest = MPRankCV([1e2, 1e4], **options).fit(x, y, groups=who).best_score_
        assert blind > 0.95 and honest < 0.85


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("map@5", "average_precision has no @K"),
        ("ndcg@", "positive number of ranks"),
        ("ndcg@0", "positive number of ranks"),
        ("recall", "is no measure; the names are concordance"),
        (3, "must be a string"),
    ],
)
def test_names_that_mean_nothing(name, words):
    with pytest.raises(ValueError, match=words):
        metrics.scorer(name)


def test_a_name_and_its_long_form_are_one():
    assert repr(metrics.scorer("ndcg@10")) == repr(metrics.scorer("ndcg", k=10))
    with pytest.raises(ValueError, match="says k already"):
        metrics.scorer("ndcg@10", k=3)


def test_a_curve_is_short_in_words_and_plots():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    curve = regularisation_curve(RankRLS(), X, Y, QID, scoring="ndcg@3")
    assert len(repr(curve)) < 160 and "NDCG@3 over alpha: 31 values" in repr(curve)
    axes = curve.plot(pyplot.figure().subplots())
    assert axes.get_ylabel() == "NDCG@3"
    pyplot.close("all")
