"""The leave-pair-out interval, and tournaments against a loop."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import roc_auc_score

from rankwise import RLS, RankRLS
from rankwise.evaluation import cross_val_auc, leave_pair_out_interval, lpo_roc, tournament
from tests import reference_evaluation as reference
from tests.evaluation.small_data import B, X


def test_leave_pair_out_interval():
    rng = np.random.default_rng(5)
    hits = []
    y = np.repeat([1.0, 0.0], [15, 25])
    for _ in range(60):
        X = rng.normal(size=(40, 5))
        X[:, 0] += y
        w = RankRLS().fit(X, y).coef_
        truth = norm.cdf(w[0] / np.sqrt(2 * w @ w))
        low, high = leave_pair_out_interval(RankRLS(), X, y)
        assert 0 <= low <= cross_val_auc(RankRLS(), X, y) <= high <= 1
        hits.append(low <= truth <= high)
    assert np.mean(hits) > 0.88
    low, high = leave_pair_out_interval(RankRLS(), X, X[:, 1] + rng.normal(size=40), level=0.8)
    assert 0.5 < low < high < 1


@pytest.mark.parametrize("estimator", [RankRLS(0.5, kernel="rbf"), RLS(), RidgeClassifier()])
def test_tournament_against_a_loop(estimator):
    x, y = X[:12], B[:12]
    beats = np.full((12, 12), np.nan)
    for i in range(12):
        for j in range(i):
            a, b = reference.refit(estimator, x, y, np.array([i, j]))
            beats[i, j], beats[j, i] = a > b, b > a
    wins = np.nansum(beats, axis=1)
    found = tournament(estimator, x, y)
    assert_allclose(found.wins, wins)
    assert_allclose(found.auc, roc_auc_score(y, wins))
    assert_allclose(found.pair_auc, reference.leave_pair_out_auc(estimator, x, y))
    cycles = sum(
        beats[i, j] and beats[j, k] and beats[k, i]
        for i in range(12)
        for j in range(12)
        for k in range(12)
        if len({i, j, k}) == 3
    )
    assert found.cycles == cycles // 3
    fpr, tpr, area = lpo_roc(estimator, x, y)
    assert (fpr[0], tpr[0], fpr[-1], tpr[-1]) == (0, 0, 1, 1)
    assert_allclose(np.trapezoid(tpr, fpr), area)
    assert_allclose(area, found.auc)


def test_a_tournament_without_an_order():
    """Rock, paper, scissors is as inconsistent as can be; a line has no cycle."""
    line = tournament(RLS(1e-3), np.arange(12.0)[:, None], (np.arange(12) >= 6) * 1.0)
    assert (line.cycles, line.inconsistency, line.auc) == (0, 0.0, 1.0)
    with pytest.raises(ValueError, match="only one value"):
        lpo_roc(RLS(), X, np.ones(24))
