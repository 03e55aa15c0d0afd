"""Regularisation and learning curves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from rankwise import RLS, RankRLS, RankRLSCV, RankSVM, metrics
from rankwise.evaluation import learning_curve, regularisation_curve
from tests.evaluation.small_data import QID, B, X, Y


def test_regularisation_curve():
    grid = [0.1, 1.0, 10.0]
    closed = regularisation_curve(RankRLS(kernel="rbf"), X, Y, QID, alphas=grid)
    model = RankRLSCV(grid, kernel="rbf").fit(X, Y, qid=QID)
    assert_allclose(closed.score, model.cv_results_["score"])
    assert_allclose(closed.score_se, model.cv_results_["score_se"])
    assert closed.best == model.alpha_
    slow = regularisation_curve(
        make_pipeline(RankRLS(kernel="rbf")),
        X,
        Y,
        QID,
        alphas=grid,
        parameter="rankrls__alpha",
        cv="leave-query-out",
    )
    assert_allclose(slow.score, closed.score, atol=1e-12)
    assert_allclose(slow.score_se, closed.score_se, atol=1e-12)
    pointwise = regularisation_curve(RLS(), X, Y, QID, alphas=grid)
    for alpha, score in zip(grid, pointwise.score):
        s = RLS(alpha).fit(X, Y, qid=QID).leave_query_out()
        assert_allclose(score, metrics.concordance(Y, s, QID))
    assert regularisation_curve(RankSVM(), X, B, alphas=grid, cv=3).name == "alpha"
    with pytest.raises(ValueError, match="neither alpha nor C"):
        regularisation_curve(make_pipeline(Ridge()), X, Y)
    with pytest.raises(ValueError, match="no parameter 'gama'"):
        regularisation_curve(Ridge(), X, Y, parameter="gama")


@pytest.mark.parametrize("qid", [None, np.repeat(np.arange(40), 3)], ids=["items", "queries"])
def test_learning_curve(qid, tmp_path):
    rng = np.random.default_rng(7)
    x = rng.normal(size=(120, 20))
    y = x @ np.ones(20) + rng.normal(size=120)
    curve = learning_curve(RankRLS(0.1), x, y, qid, random_state=0)
    assert curve.score[-1] > curve.score[0]
    assert curve.training is not None and np.all(curve.score_se >= 0)
    assert curve.x[-1] == (32 if qid is not None else 96)
    picture = curve.save(tmp_path / "curve.png")
    assert picture.stat().st_size > 1000 and list(tmp_path.iterdir()) == [picture]
    sized = learning_curve(Ridge(), x, y, qid, sizes=[0.5, 1.0], folds=(3, 2))
    assert len(sized.x) == 2 and sized.x[1] == 2 * sized.x[0]
    with pytest.raises(ValueError, match="what a fold leaves"):
        learning_curve(RankRLS(), x, y, qid, sizes=[500])
