"""GreedyRankRLS as a selector and as a ranker; tests/holdout compares it with refits."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankwise import GreedyRankRLS, RankRLS
from rankwise.exceptions import EstimateWarning
from rankwise.learners import greedy_rank_rls
from tests.reference_greedy import held_out_error

RNG = np.random.default_rng(5)
X = RNG.normal(size=(48, 9))
QID = np.arange(48) % 6
Y = 2 * X[:, 6] - X[:, 2] + 0.3 * RNG.normal(size=48) + 5 * QID
SCALES = 10.0 ** np.array([-150, 150, -100, 100, 0, 0, 5, -5, 0])


@pytest.mark.filterwarnings("ignore:n_features_to_select")
@parametrize_with_checks([GreedyRankRLS(), GreedyRankRLS(1, loss="unit", cv=2)])
def test_check_estimator(estimator, check):
    check(estimator)


def test_selects_and_ranks():
    model = GreedyRankRLS(2).fit(X, Y, qid=QID)
    assert model.selected_.tolist() == [6, 2]
    assert np.flatnonzero(model.get_support()).tolist() == [2, 6]
    assert_allclose(model.transform(X), X[:, [2, 6]])
    assert_allclose(model.predict(X), RankRLS().fit(X[:, [2, 6]], Y, qid=QID).predict(X[:, [2, 6]]))
    assert model.score(X, Y, qid=QID) > 0.9
    with pytest.raises(ValueError, match="needs qid="):
        model.score(X, Y)
    assert model.cv_ == "leave-query-out"
    assert model.criterion_of_none_ > model.criterion_[0] > model.criterion_[1]


def test_the_first_features_are_a_model_of_their_own():
    model = GreedyRankRLS(4, 0.5).fit(X, Y, qid=QID)
    for k in (1, 3, 4):
        few = clone(model).set_params(n_features_to_select=k).fit(X, Y, qid=QID)
        assert_allclose(model.first(k).coef_, few.coef_, rtol=1e-9)
        assert_allclose(model.first(k).criterion_, few.criterion_)
    with pytest.raises(ValueError, match="between 1 and 4"):
        model.first(5)


def test_frames_pipelines_and_searches():
    frame = pd.DataFrame(X, columns=[f"column {j}" for j in range(9)])
    model = GreedyRankRLS(2).fit(frame, Y, qid=QID)
    assert model.get_feature_names_out().tolist() == ["column 2", "column 6"]
    both = make_pipeline(StandardScaler(), GreedyRankRLS(2), RankRLS())
    with sklearn.config_context(enable_metadata_routing=True):
        both.fit(X, Y, qid=QID)
        grid = {"n_features_to_select": [1, 2], "alpha": [0.1, 10.0]}
        search = GridSearchCV(GreedyRankRLS(), grid, cv=GroupKFold(3))
        search.fit(X, Y, qid=QID, groups=QID)
    assert both[-1].n_features_in_ == 2
    assert search.best_params_["n_features_to_select"] == 2


@pytest.mark.parametrize("cv, qid", [("auto", QID), ("auto", None), (4, None), (3, QID)])
def test_scales_offsets_and_tiny_alphas(cv, qid):
    y = Y - 5 * QID
    plain = GreedyRankRLS(4, cv=cv).fit(X, y, qid=qid)
    scaled = GreedyRankRLS(9, cv=cv).fit(X * SCALES, y, qid=qid)
    assert sorted(scaled.selected_) == list(range(9)) and np.isfinite(scaled.coef_).all()
    assert np.isfinite(scaled.predict(X * SCALES)).all()
    for factor in (1e-150, 1e150):
        other = GreedyRankRLS(4, cv=cv).fit(X, y * factor, qid=qid)
        assert other.selected_.tolist() == plain.selected_.tolist()
        assert_allclose(other.criterion_, plain.criterion_ * factor * factor, rtol=1e-9)
    moved = GreedyRankRLS(4, cv=cv).fit(X + 1e7, y, qid=qid)
    assert moved.selected_.tolist() == plain.selected_.tolist()
    assert_allclose(moved.criterion_, plain.criterion_, rtol=1e-6)
    for alpha in (1e-300, 1e-20, 1e300):
        assert np.isfinite(GreedyRankRLS(9, alpha, cv=cv).fit(X, y, qid=qid).criterion_).all()


def test_useless_columns_change_nothing_and_come_in_their_order():
    """The columns 1, 3 and 4 are constant, zero, and constant within queries."""
    data = np.column_stack([X[:, 6], np.full(48, 0.1), X[:, 2], np.zeros(48), QID / 3, X[:, 6]])
    for cv in ("auto", 3):
        model = GreedyRankRLS(6, 1e-9, cv=cv).fit(data, Y, qid=QID)
        assert model.selected_[:2].tolist() == [0, 2]
        useless = [j for j in model.selected_ if j in (1, 3, 4)]
        assert useless == [1, 3, 4]
        assert_allclose(model.criterion_[2:], model.criterion_[1], rtol=1e-6)
        assert_allclose(model.coef_[[1, 3, 4]], 0, atol=1e-9)


def test_features_beyond_use_let_the_criterion_rise():
    noise = np.random.default_rng(1).normal(size=(12, 20))
    model = GreedyRankRLS(20, 1e-3).fit(noise, noise[:, 0] + 0.1 * noise[:, 1])
    assert model.criterion_.argmin() < 15 and model.criterion_[-1] > 2 * model.criterion_.min()
    error = held_out_error(
        noise[:, model.selected_], noise[:, 0] + 0.1 * noise[:, 1], 1e-3, "leave-pair-out"
    )
    assert_allclose(model.criterion_[-1], error, rtol=1e-6)


def test_bad_arguments():
    for wrong in (0, -1, 2.5, True, "all"):
        with pytest.raises(ValueError, match="n_features_to_select must be a positive integer"):
            GreedyRankRLS(wrong).fit(X, Y)
    with pytest.raises(ValueError, match="alpha must be a finite number"):
        GreedyRankRLS(2, 0).fit(X, Y)
    with pytest.raises(ValueError, match="never holds out both items"):
        GreedyRankRLS(2, cv="leave-one-out").fit(X, Y)
    with pytest.raises(ValueError, match="no single preference"):
        GreedyRankRLS(2).fit(X, np.zeros(48))
    with pytest.raises(ValueError, match="needs qid with two"):
        GreedyRankRLS(2, cv="leave-query-out").fit(X, Y)
    with pytest.raises(ValueError, match="overflow"):
        GreedyRankRLS(2).fit(X, Y * 1e155)
    with pytest.warns(UserWarning, match="X has 9 columns"):
        assert len(GreedyRankRLS(10).fit(X, Y).selected_) == 9


def test_leave_pair_out_that_takes_too_long_becomes_folds(monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert GreedyRankRLS(2).fit(X, Y).cv_ == "leave-pair-out"
    monkeypatch.setattr(greedy_rank_rls, "MOST_WORK", 1e3)
    with pytest.warns(EstimateWarning, match="10 folds judge them instead"):
        assert GreedyRankRLS(2).fit(X, Y).cv_ == "10 folds"
    assert GreedyRankRLS(2, cv="leave-pair-out").fit(X, Y).cv_ == "leave-pair-out"


def test_fewer_than_four_items():
    """Without both items of a pair of three nothing is left to learn from."""
    model = GreedyRankRLS(1).fit(X[:3], [1.0, 2.0, 4.0])
    assert_allclose(model.criterion_, 1 + 4 + 9)
