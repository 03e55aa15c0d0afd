"""Every measure against loops over pairs and orders, scikit-learn and SciPy."""

import pickle
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import kendalltau
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import metrics
from rankwise.exceptions import UndefinedMetric
from rankwise.metrics.scorers import MEASURES
from rankwise.supervision.preferences import Preferences
from tests import reference_metrics as slow

quick = settings(deadline=None, max_examples=60)


@st.composite
def rankings(draw, max_items=25, y_values=None):
    """(y, s, qid) with real, tied or constant scores, and with or without queries."""
    m = draw(st.integers(1, max_items))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def scores():
        levels = draw(st.sampled_from([1, 2, 4, None]))
        return rng.normal(size=m) if levels is None else rng.integers(levels, size=m) / 3.0

    y = scores() if y_values is None else rng.choice(y_values, size=m)
    queries = draw(st.sampled_from([None, 1, 3, 8]))
    qid = None if queries is None else np.array(list("abcdefgh"))[rng.integers(queries, size=m)]
    return y, scores(), qid


def check(expected, measure, *arguments, **options):
    """The measure gives the expected value, or raises UndefinedMetric where that is None."""
    if expected is None:
        with pytest.raises(UndefinedMetric):
            measure(*arguments, **options)
    else:
        value = measure(*arguments, **options)
        assert type(value) is float
        assert_allclose(value, expected, rtol=1e-10, atol=1e-12)


class TestPairs:
    @given(rankings())
    @quick
    def test_ranking_error_and_concordance(self, data):
        error = slow.ranking_error(*data)
        check(error, metrics.ranking_error, *data)
        check(None if error is None else 1 - error, metrics.concordance, *data)

    @given(rankings())
    @quick
    def test_misranking(self, data):
        y, s, _ = data
        check(slow.misranking(y, s), metrics.misranking, y, s)

    @given(rankings(y_values=[-1.0, 1.0]))
    @quick
    def test_auc_is_that_of_scikit_learn(self, data):
        y, s, _ = data
        check(roc_auc_score(y, s) if len(set(y)) == 2 else None, metrics.auc, y, s)

    @given(rankings())
    @quick
    def test_kendall_tau_b_is_that_of_scipy(self, data):
        def tau(y, s):
            return kendalltau(y, s).statistic if np.ptp(y) > 0 and np.ptp(s) > 0 else None

        check(slow.mean_over_queries(tau, *data), metrics.kendall_tau_b, *data)

    def test_kendall_tau_b_of_many_items(self):
        y, s = np.random.default_rng(0).normal(size=(2, 200_000))
        assert_allclose(metrics.kendall_tau_b(y, s), kendalltau(y, s).statistic, atol=1e-12)
        assert_allclose(metrics.kendall_tau_b(y, 2 * y), 1.0)

    @given(rankings(), st.integers(0, 2**32 - 1), st.booleans())
    @quick
    def test_preference_error(self, data, seed, sized):
        y, s, _ = data
        m, rng = len(y), np.random.default_rng(seed)
        winner = rng.integers(m, size=20)
        loser = (winner + rng.integers(1, max(m, 2), size=20)) % m
        kept = winner != loser
        weight = rng.integers(3, size=20)[kept]
        preferences = Preferences(
            winner[kept], loser[kept], weight=weight, n_items=m if sized else None
        )
        error = slow.preference_error(preferences, s) if weight.sum() else None
        check(error, metrics.preference_error, preferences, s)

    @given(rankings())
    @quick
    def test_all_preferences_of_the_scores_give_the_ranking_error(self, data):
        y, s, _ = data
        preferences = Preferences.from_scores(y)
        check(slow.ranking_error(y, s), metrics.preference_error, preferences, s)

    @given(
        st.integers(1, 6), st.integers(1, 6), st.sampled_from(["row", "column"]), st.integers(0, 99)
    )
    @quick
    def test_conditional_error(self, p, q, condition, seed):
        rng = np.random.default_rng(seed)
        Y, S = rng.integers(4, size=(2, p, q)).astype(float)
        hidden = rng.random((p, q)) < 0.3
        Y[hidden], S[hidden] = np.nan, rng.choice([np.nan, 1.0])
        expected = slow.conditional_error(Y, S, condition)
        check(expected, metrics.conditional_error, Y, S, condition=condition)

    def test_a_tie_is_half_an_error_and_queries_are_not_mixed(self):
        assert metrics.ranking_error([1, 2], [0, 0]) == 0.5
        assert metrics.misranking([1, 2], [0, 0]) == 1.0
        y, s, qid = [1, 2, 3, 4], [5, 6, 1, 2], ["b", "b", "a", "a"]
        assert metrics.ranking_error(y, s, qid) == 0.0
        assert metrics.ranking_error(y, s) == pytest.approx(4 / 6)


@pytest.mark.parametrize("container", [list, pd.Series, pl.Series, np.float32, np.asfortranarray])
def test_containers(container):
    y, s, qid = [0, 1, 1, 0], [0.5, 1.0, 0.5, 0.25], ["b", "b", "a", "a"]
    assert metrics.concordance(container(y), container(s), qid) == 1.0
    assert metrics.concordance(container(y), container(s)) == 0.875


class TestCosts:
    @given(rankings(), st.sampled_from([0.0, 0.1, 0.7]))
    @quick
    @pytest.mark.parametrize("power", [1, 2])
    @pytest.mark.parametrize("cost", ["HR", "MP", "HMP", "SVR"])
    def test_pair_cost(self, cost, power, data, epsilon):
        y, s, _ = data
        expected = slow.pair_cost(y, s, cost, power, epsilon)
        check(expected, metrics.pair_cost, y, s, cost, power=power, epsilon=epsilon)

    @given(rankings())
    @quick
    def test_mean_differences(self, data):
        y, s, _ = data
        differences = np.subtract.outer(s, s) - np.subtract.outer(y, y)
        check(np.mean(differences**2), metrics.mean_squared_difference, y, s)
        check(np.mean(np.abs(differences)), metrics.mean_absolute_difference, y, s)

    def test_a_constant_shift_costs_nothing(self):
        y = np.arange(10.0)
        assert metrics.mean_squared_difference(y, y + 2.0**20) == 0.0
        assert metrics.pair_cost(y, 3 * y, "HMP") == 0.0


class TestLists:
    @given(
        rankings(max_items=6),
        st.sampled_from([None, 1, 3, 50]),
        st.sampled_from(["exp2", "linear"]),
    )
    @quick
    @pytest.mark.parametrize("empty", ["zero", "skip"])
    def test_ndcg_is_its_mean_over_all_orders_of_the_ties(self, empty, data, k, gain):
        def one(y, s):
            value = slow.one_ndcg(y, s, k, gain)
            return 0.0 if value is None and empty == "zero" else value

        expected = slow.mean_over_queries(one, *data)
        check(expected, metrics.ndcg, *data, k=k, gain=gain, empty=empty)

    @given(rankings(max_items=6, y_values=[0.0, 1.0]))
    @quick
    @pytest.mark.parametrize("empty", ["zero", "skip"])
    def test_average_precision_is_its_mean_over_all_orders_of_the_ties(self, empty, data):
        def one(y, s):
            value = slow.one_average_precision(y, s)
            return 0.0 if value is None and empty == "zero" else value

        check(slow.mean_over_queries(one, *data), metrics.average_precision, *data, empty=empty)

    @given(rankings(), st.sampled_from([None, 5]))
    @quick
    def test_ndcg_is_that_of_scikit_learn(self, data, k):
        y, s, _ = data
        y = np.abs(y)
        if len(y) > 1:
            assert_allclose(
                metrics.ndcg(y, s, k=k, gain="linear"), ndcg_score([y], [s], k=k), atol=1e-12
            )

    @given(st.integers(1, 60), st.integers(0, 99))
    @quick
    def test_average_precision_without_ties_is_that_of_scikit_learn(self, m, seed):
        rng = np.random.default_rng(seed)
        y, s = rng.permutation(np.arange(m) % 3 == 0), rng.permutation(m)
        assert_allclose(metrics.average_precision(y, s), average_precision_score(y, s))

    def test_real_and_negative_gains(self):
        y, s = np.array([0.5, -1.0, 2.0]), np.array([1.0, 3.0, 2.0])
        discount = 1 / np.log2([2, 3, 4])
        expected = y[[1, 2, 0]] @ discount / (y[[2, 0, 1]] @ discount)
        assert_allclose(metrics.ndcg(y, s, gain="linear"), expected)
        assert metrics.ndcg([-3, 4], [1, 0], gain="linear") < 0
        assert metrics.ndcg([-1, -2], [1, 0], gain="linear") == 0.0

    def test_a_perfect_order_never_exceeds_one(self):
        y = np.round(np.random.default_rng(0).random(1000), 1)
        assert metrics.ndcg(y, y) <= 1.0
        assert_allclose(metrics.ndcg(y, y), 1.0)

    def test_queries_without_relevant_items(self):
        y, s, qid = [0, 1, 0, 0], [1, 2, 1, 2], [7, 7, 8, 8]
        for measure in (metrics.ndcg, metrics.average_precision):
            assert measure(y, s, qid) == 0.5
            assert measure(y, s, qid, empty="skip") == 1.0
            assert measure([0, 0], [1, 2]) == 0.0
            with pytest.raises(UndefinedMetric, match="no query has a relevant item"):
                measure([0, 0], [1, 2], empty="skip")


VECTOR_MEASURES = {
    name: (lambda y, s, m=measure: m(y, s, cost="MP")) if name == "pair_cost" else measure
    for name, (measure, _) in MEASURES.items()
}


class TestBadInput:
    @pytest.mark.parametrize("name", VECTOR_MEASURES)
    @pytest.mark.parametrize(
        ("y", "s", "message"),
        [
            ([0, 1, np.nan], [1, 2, 3], "y contains NaN .*row 2"),
            ([0, 1, 1], [1, np.inf, 3], "s contains infinity .*row 1"),
            ([0, 1, 1], [1, 2], "same length, got 3 and 2"),
            ([[0, 1], [1, 1]], [1, 2], r"y must be one-dimensional.*\(2, 2\)"),
            ([0, 1], ["a", "b"], "s must hold real numbers"),
            ([0, 1], [1j, 2], "s must hold real numbers"),
            ([], [], "empty"),
        ],
    )
    def test_vectors(self, name, y, s, message):
        with pytest.raises(ValueError, match=message):
            VECTOR_MEASURES[name](y, s)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: metrics.auc([0, 1, 2], [1, 2, 3]), "third.*concordance"),
            (lambda: metrics.average_precision([0, 2], [1, 2]), "row 1 holds 2"),
            (lambda: metrics.average_precision([-1, 0, 1], [1, 2, 3]), "row 1 holds 0"),
            (lambda: metrics.ndcg([0, 1], [1, 2], k=0), "k must be a positive integer"),
            (lambda: metrics.ndcg([0, 1], [1, 2], k=2.5), "k must be a positive integer"),
            (lambda: metrics.ndcg([0, 1], [1, 2], gain="log"), "gain must be one of 'exp2'"),
            (lambda: metrics.ndcg([0, 1], [1, 2], empty="one"), "empty must be one of 'zero'"),
            (lambda: metrics.ndcg([0, 1500], [1, 2]), "y = 1500 at row 1"),
            (lambda: metrics.pair_cost([0, 1], [1, 2], "mp"), "cost must be one of 'HR'"),
            (lambda: metrics.pair_cost([0, 1], [1, 2], "MP", power=3), "power must be 1 or 2"),
            (lambda: metrics.pair_cost([0, 1], [1, 2], "SVR", epsilon=-1), "epsilon"),
            (lambda: metrics.pair_cost([0, 1], [1, 1e200], "MP", power=2), "overflow"),
            (lambda: metrics.pair_cost([-1e308, 0], [1e308, 0], "MP"), "overflow"),
            (lambda: metrics.ranking_error([0, 1], [1, 2], qid=[1]), "qid"),
            (lambda: metrics.conditional_error([[0, 1]], [[1, 2, 3]]), "same shape"),
            (
                lambda: metrics.conditional_error([[0, 1]], [[np.nan, 2]]),
                "S is not finite at row 0",
            ),
            (lambda: metrics.conditional_error([[0, np.inf]], [[1, 2]]), "Y .* row 0, column 1"),
            (lambda: metrics.conditional_error([[0, 1]], [[1, 2]], condition="both"), "condition"),
            (lambda: metrics.preference_error(Preferences([0], [5]), [1, 2]), "name item 5"),
            (
                lambda: metrics.preference_error(Preferences([0], [1], n_items=3), [1, 2]),
                "speak of 3 items",
            ),
            (lambda: metrics.scorer("map"), "name must be one of 'concordance'"),
            (lambda: metrics.scorer("ndcg", top=3), "no option 'top'; it has .*'k'"),
            (lambda: metrics.scorer("ndcg", gain="log"), "gain must be one of"),
            (lambda: metrics.scorer("pair_cost"), "needs cost="),
        ],
    )
    def test_values(self, call, message):
        with pytest.raises(ValueError, match=message):
            call()

    @pytest.mark.parametrize(
        "call",
        [
            lambda: metrics.concordance([1], [1]),
            lambda: metrics.ranking_error([1, 1], [1, 2]),
            lambda: metrics.ranking_error([1, 2], [1, 2], qid=["a", "b"]),
            lambda: metrics.misranking([1, 1], [1, 2]),
            lambda: metrics.auc([1, 1], [1, 2]),
            lambda: metrics.kendall_tau_b([1, 2], [1, 1]),
            lambda: metrics.preference_error(Preferences([], []), [1, 2]),
            lambda: metrics.conditional_error([[1.0, np.nan]], [[1, 2]]),
            lambda: metrics.conditional_error([[np.nan]], [[1]]),
        ],
    )
    def test_nothing_to_judge(self, call):
        with pytest.raises(UndefinedMetric):
            call()


class QueryModel(BaseEstimator):
    """The first feature as the score; remembers, as rankers do, whether it saw queries."""

    __metadata_request__fit: ClassVar = {"qid": True}

    def __init__(self, sign=1):
        self.sign = sign

    def fit(self, X, y, qid=None):
        self.fitted_, self._has_queries = True, qid is not None
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
        with pytest.raises(ValueError, match="auc is not taken by query"):
            metrics.scorer("auc")(QueryModel(), self.X, self.y, qid=self.qid)

    def test_is_pickled_and_printed(self):
        scoring = metrics.scorer("ndcg", k=5)
        assert repr(pickle.loads(pickle.dumps(scoring))) == "scorer('ndcg', k=5)"


def test_conditional_error_of_every_condition():
    Y = np.array([[1.0, 2.0, np.nan], [3.0, 3.0, 3.0], [2.0, 1.0, 0.0]])
    S = np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 3.0], [1.0, 2.0, 0.0]])
    each = metrics.conditional_error(Y, S, average=False)
    np.testing.assert_allclose(each, [0.0, np.nan, 1 / 3])
    assert metrics.conditional_error(Y, S) == pytest.approx(np.nanmean(each))
