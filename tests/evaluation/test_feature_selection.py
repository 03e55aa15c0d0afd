import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import GreedyRankRLS, RankRLS, metrics
from rankwise.evaluation import selection_curve, selection_stability, stability_of
from tests.reference import enumerate_pairs

RNG = np.random.default_rng(2)
X = RNG.normal(size=(60, 40))
QID = np.arange(60) % 10
Y = X[:, 3] - X[:, 8] + 0.5 * RNG.normal(size=60)


@pytest.mark.parametrize("loss", ["magnitude", "unit"])
def test_curve_against_refits_by_hand(loss):
    est, folds = GreedyRankRLS(3, loss=loss), GroupKFold(5)
    curve = selection_curve(est, X, Y, QID, cv=folds)
    pairs = enumerate_pairs(Y, QID, loss=loss)
    zero = sum(w * z * z for _, _, z, w in pairs)
    for k in range(3):
        f = np.empty(60)
        for train, test in folds.split(X, Y, QID):
            model = clone(est).set_params(n_features_to_select=k + 1)
            f[test] = model.fit(X[train], Y[train], qid=QID[train]).predict(X[test])
        error = sum(w * (z - (f[h] - f[j])) ** 2 for h, j, z, w in pairs)
        assert_allclose(curve.nested[k], error / zero)
        assert_allclose(curve.score[k], metrics.concordance(Y, f, QID))
    assert (curve.nested_se > 0).all() and (curve.score_se > 0).all()
    whole = clone(est).fit(X, Y, qid=QID)
    assert_allclose(curve.criterion, whole.criterion_ / whole.criterion_of_none_)
    assert curve.selected.tolist() == whole.selected_.tolist()


def test_the_criterion_is_too_good_where_there_is_no_signal():
    """Among 200 columns of noise some look useful to the selection, and none is."""
    noise, y = np.random.default_rng(3).normal(size=(60, 200)), RNG.normal(size=60)
    curve = selection_curve(GreedyRankRLS(8), noise, y, QID)
    assert curve.criterion[-1] < 0.6 and curve.nested[-1] > 0.9
    assert abs(curve.score[-1] - 0.5) < 4 * curve.score_se[-1]


def test_curve_without_queries_and_in_a_pipeline():
    est = make_pipeline(StandardScaler(), GreedyRankRLS(4))
    curve = selection_curve(est, X, Y, cv=5)
    assert curve.best in (2, 3, 4) and curve.enough <= curve.best
    assert "features are" not in repr(curve) and "nested error" in repr(curve)
    assert curve.draw().get_xlabel() == "selected features"
    with pytest.raises(ValueError, match="needs a GreedyRankRLS"):
        selection_curve(RankRLS(), X, Y)


def test_stability_of_known_selections():
    same = np.tile(np.arange(10) < 3, (6, 1))
    assert_allclose(stability_of(same).stability, 1)
    assert stability_of(same).interval[0] < 0.9  # six equal choices prove little
    # With k of d features always selected it is Kuncheva's index, averaged over pairs.
    masks = np.zeros((5, 12), dtype=bool)
    for row in masks:
        row[RNG.permutation(12)[:4]] = True
    shared = [(a & b).sum() for i, a in enumerate(masks) for b in masks[:i]]
    kuncheva = np.mean([(r - 16 / 12) / (4 - 16 / 12) for r in shared])
    assert_allclose(stability_of(masks).stability, kuncheva)
    with pytest.raises(ValueError, match="no choice to judge"):
        stability_of(np.ones((3, 4)))


def test_the_interval_of_random_selections_covers_zero():
    covered = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        found = stability_of(rng.uniform(size=(40, 30)) < 0.2)
        covered += found.interval[0] <= 0 <= found.interval[1]
    assert 180 <= covered <= 200


def test_stability_over_resamples():
    found = selection_stability(GreedyRankRLS(2), X, Y, QID, n_resamples=8)
    assert found.stability > 0.8 and found.frequency[[3, 8]].min() > 0.8
    assert found.selections.shape == (8, 40) and "95%" in str(found)
    noise = selection_stability(GreedyRankRLS(2), X[:, 10:], Y, n_resamples=8)
    assert noise.stability < found.stability
    pipeline = make_pipeline(StandardScaler(), SelectKBest(f_regression, k=2))
    assert selection_stability(pipeline, X, Y, n_resamples=3).frequency.sum() == pytest.approx(2)
    with pytest.raises(ValueError, match="selects no features"):
        selection_stability(RankRLS(), X, Y)
