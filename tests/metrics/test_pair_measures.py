"""Measures of pairs against loops over all pairs, scikit-learn and SciPy."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import kendalltau
from sklearn.metrics import roc_auc_score

from rankwise import RankRLSCV, metrics
from rankwise.supervision.preferences import Preferences
from tests import reference_metrics as slow
from tests.metrics.drawn_rankings import check, quick, rankings


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
        check(slow.misranking(*data), metrics.misranking, *data)

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

    @pytest.mark.parametrize("levels", [1, 2, 5, 32, 33])
    @pytest.mark.parametrize("rounding", [1, 8])
    def test_many_items_with_few_grades(self, levels, rounding):
        rng = np.random.default_rng(levels)
        y = rng.integers(levels, size=5000).astype(float)
        s = np.round(y + rng.normal(size=5000), rounding)
        if levels == 1:
            with pytest.raises(metrics.UndefinedMetric):
                metrics.kendall_tau_b(y, s)
            return
        assert_allclose(metrics.kendall_tau_b(y, s), kendalltau(y, s).statistic, atol=1e-12)
        half = metrics.concordance(y[:4000], s[:4000])  # fewer items are counted by merging
        pairs = np.subtract.outer(y[:4000], y[:4000]) > 0
        difference = np.subtract.outer(s[:4000], s[:4000])[pairs]
        assert_allclose(half, np.mean((difference > 0) + 0.5 * (difference == 0)))

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
        error = slow.preference_error(preferences, s, tie=1.0) if weight.sum() else None
        check(error, metrics.preference_error, preferences, s, ties="wrong")

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
        expected = slow.conditional_error_of_pairs(Y, S, condition)
        check(expected, metrics.conditional_error, Y, S, condition=condition, average="pairs")

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

    @given(rankings(), st.sampled_from([0.0, 0.1, 0.7]))
    @quick
    @pytest.mark.parametrize("power", [1, 2])
    @pytest.mark.parametrize("cost", ["HR", "MP", "HMP", "SVR"])
    def test_pair_cost_by_query(self, cost, power, data, epsilon):
        y, s, qid = data
        qid = np.zeros(len(y)) if qid is None else qid

        def one(y, s):
            return slow.pair_cost(y, s, cost, power, epsilon) if len(y) > 1 else None

        expected = slow.mean_over_queries(one, y, s, qid)
        check(expected, metrics.pair_cost, y, s, cost, power=power, epsilon=epsilon, qid=qid)
        if cost == "MP":
            names = {1: "mean_absolute_difference", 2: "mean_squared_difference"}
            check(expected, getattr(metrics, names[power]), y, s, qid)

    def test_a_constant_shift_costs_nothing(self):
        y = np.arange(10.0)
        assert metrics.mean_squared_difference(y, y + 2.0**20) == 0.0
        assert metrics.pair_cost(y, 3 * y, "HMP") == 0.0


def test_conditional_error_of_every_condition():
    Y = np.array([[1.0, 2.0, np.nan], [3.0, 3.0, 3.0], [2.0, 1.0, 0.0]])
    S = np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 3.0], [1.0, 2.0, 0.0]])
    each = metrics.conditional_error(Y, S, average=False)
    np.testing.assert_allclose(each, [0.0, np.nan, 1 / 3])
    assert metrics.conditional_error(Y, S) == pytest.approx(np.nanmean(each))
    assert metrics.conditional_error(Y, S, average=True) == metrics.conditional_error(Y, S)
    assert metrics.conditional_error(Y, S, average="pairs") == pytest.approx(1 / 4)
    with pytest.raises(ValueError, match="average"):
        metrics.conditional_error(Y, S, average="rows")
    with pytest.raises(ValueError, match="ties"):
        metrics.preference_error(Preferences([0], [1]), [1.0, 2.0], ties="third")


@pytest.mark.parametrize("ties", ["half", "wrong"])
@pytest.mark.parametrize("s", [[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [1.0, 1.0, 0.0]])
def test_a_statement_of_equality_costs_a_half_whoever_stands_first(ties, s):
    for winner, loser in ((0, 1), (1, 0)):
        tie = Preferences([winner], [loser], n_items=3, tie=[True])
        assert metrics.preference_error(tie, s, ties=ties) == 0.5
        both = Preferences([winner, 0], [loser, 2], weight=[1, 3], n_items=3, tie=[True, False])
        assert metrics.preference_error(both, s, ties=ties) == 0.125


@pytest.mark.filterwarnings("ignore::rankwise.exceptions.GridWarning")
def test_a_statement_of_equality_counts_as_in_a_search():
    X = np.arange(6.0)[:, None]
    preferences = Preferences([1, 3, 5, 2, 4], [0, 2, 4, 3, 5], tie=[0, 0, 0, 0, 1])
    search = RankRLSCV([1e-3, 1.0, 1e3], cv=[[0, 1, 3], [2, 4]]).fit(X, preferences=preferences)
    assert search.best_score_ == pytest.approx(1 - metrics.preference_error(preferences, X[:, 0]))
