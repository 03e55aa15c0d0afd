"""Scores of a grid through the public hold-outs, against refits and plain loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise import RLS, Preferences, RankRLS, RankRLSCV, metrics
from rankwise.metrics import UndefinedMetric, concordance, ndcg
from rankwise.metrics.scorers import read_scoring
from rankwise.model_selection.folds import Folds
from rankwise.model_selection.scoring import condition_values, score_folds, score_pairs
from rankwise.supervision.queries import Queries
from tests.evaluation.small_data import QID, B, X, Y

GRID = np.array([0.1, 10.0])
TARGETS = np.column_stack((Y, B))


def refitted(alpha, items, held, y, qid):
    """Predictions for `items` by the model trained without `held`."""
    train = np.setdiff1d(np.arange(len(y)), held)
    labels = None if qid is None else qid[train]
    return RankRLS(alpha).fit(X[train], y[train], qid=labels).predict(X[items])


@pytest.mark.parametrize("qid", [None, QID], ids=["one query", "queries"])
def test_leave_group_out_is_refitting_without_each_group(qid):
    groups = np.arange(24) % 5
    problem = RankRLS().hold_outs(X, TARGETS, qid=qid)
    folds = Folds("leave-one-out", problem.supervision.queries, TARGETS, groups=groups)
    scores, influence = score_folds(problem, folds, GRID, None)
    assert scores.shape == (2, 2) and influence.shape[0] == 2
    for i, alpha in enumerate(GRID):
        for j, y in enumerate(TARGETS.T):
            s = np.empty(24)
            for group in range(5):
                items = np.flatnonzero(groups == group)
                s[items] = refitted(alpha, items, items, y, qid)
            assert_allclose(scores[i, j], metrics.concordance(y, s, qid))


def test_leave_query_out_holds_out_whole_groups():
    groups = np.arange(24)
    groups[[0, 1, 8]] = 0
    problem = RankRLS().hold_outs(X, Y, qid=QID)
    folds = Folds("leave-query-out", problem.supervision.queries, Y, groups=groups)
    scores, _ = score_folds(problem, folds, GRID, None)
    for i, alpha in enumerate(GRID):
        values = [
            metrics.concordance(Y[test], refitted(alpha, test, held, Y, QID))
            for held, test in folds.splits
        ]
        assert_allclose(scores[i, 0], np.mean(values))


def test_a_fold_counts_as_a_unit():
    problem = RankRLS().hold_outs(X, Y)
    folds = Folds(4, problem.supervision.queries, Y)
    scores, influence = score_folds(problem, folds, GRID, None)
    for i, alpha in enumerate(GRID):
        values = [
            metrics.concordance(Y[test], refitted(alpha, test, held, Y, None))
            for held, test in folds.splits
        ]
        assert_allclose(scores[i, 0], np.mean(values))
        error = np.std(values, ddof=1) / 2
        assert_allclose(np.linalg.norm(influence[i, :, 0]), error)


def test_a_measure_that_is_undefined_for_one_alpha_counts_for_the_others():
    problem = RankRLS().hold_outs(X, Y, qid=QID)
    folds = Folds("leave-query-out", problem.supervision.queries, Y)
    calls = []

    def tau(y, s):
        calls.append(len(y))
        if len(calls) == 1:
            raise UndefinedMetric("the first alpha of the first query")
        return metrics.kendall_tau_b(y, s)

    scores, _ = score_folds(problem, folds, GRID, tau)
    expected, _ = score_folds(problem, folds, GRID, "kendall_tau_b")
    assert len(calls) == 12
    assert scores[1] == expected[1] and scores[0] != expected[0]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("alpha", [1e-5, 0.1, 10.0])
def test_judged_pairs_of_a_pointwise_loss(kernel, alpha):
    rng = np.random.default_rng(7)
    for features, weight in ((4, None), (30, None), (4, rng.integers(1, 3, 24).astype(float))):
        x = rng.normal(size=(24, features)).round(1)
        problem = RLS(alpha, kernel=kernel).hold_outs(x, TARGETS, sample_weight=weight)
        counted, right = (counts[0] for counts in problem.judge_pairs([alpha]))
        pairs = np.column_stack(np.triu_indices(24, 1))
        f = problem.leave_pairs_out(pairs, [alpha])[0]
        gap = TARGETS[pairs[:, 0]] - TARGETS[pairs[:, 1]]
        agreed = 0.5 + 0.5 * np.sign(f[:, 0] - f[:, 1]) * np.sign(gap)
        agreed[gap == 0] = 0.0
        for j in range(2):
            both = pairs.ravel()
            assert_allclose(counted[:, j], np.bincount(both, np.repeat(gap[:, j] != 0, 2)))
            assert_allclose(right[:, j], np.bincount(both, np.repeat(agreed[:, j], 2)))


def test_pairs_are_judged_within_queries():
    problem = RankRLS().hold_outs(X, Y, qid=QID)
    scores, influence = score_pairs(problem, GRID, None)
    found = RankRLSCV(GRID, cv="leave-pair-out").fit(X, Y, qid=QID).cv_results_
    assert_allclose(scores[:, 0], found["score"])
    assert_allclose(np.linalg.norm(influence[:, :, 0], axis=1), found["score_se"])
    with pytest.raises(ValueError, match="leave-pair-out judges pairs"):
        score_pairs(problem, GRID, "ndcg")


def test_explicit_preferences_have_no_scores_to_judge():
    problem = RankRLS().hold_outs(X, preferences=Preferences.from_scores(Y))
    with pytest.raises(ValueError, match="not explicit preferences"):
        score_folds(problem, Folds(2, problem.supervision.queries), GRID, None)


def test_each_condition_is_judged_alone():
    rng = np.random.default_rng(0)
    y, s = rng.integers(0, 3, 40).astype(float), rng.normal(size=40)
    codes = np.repeat(np.arange(8), 5)
    y[:5] = 1.0
    conditions = Queries.from_labels(codes, 40)
    for scoring, measure in ((None, concordance), ("ndcg", ndcg), (concordance, concordance)):
        found = condition_values(read_scoring(scoring), y, s, conditions)
        assert np.isnan(found[0])
        expected = [measure(y[codes == c], s[codes == c]) for c in range(1, 8)]
        np.testing.assert_allclose(found[1:], expected)
