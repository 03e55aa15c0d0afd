"""Searches with a default grid find an alpha beyond its ends; given grids warn at their ends."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise import (
    ConditionalRankerCV,
    MPRankCV,
    RankRLS,
    RankRLSCV,
    RankSVMCV,
)
from rankwise.exceptions import GridWarning

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 30))
QID = np.repeat(np.arange(8), 5)
WEIGHTS = RNG.normal(size=30)
Y = X @ WEIGHTS + 40 * RNG.normal(size=40)


@pytest.mark.parametrize("qid", [None, QID])
@pytest.mark.parametrize("options", [{}, {"kernel": "rbf", "gamma": 0.01}])
def test_the_choice_does_not_depend_on_the_unit_of_measurement(qid, options):
    """X in a unit 2^k times smaller has alphas 2^2k times larger (rbf: gamma 2^-2k)."""
    as_given = RankRLSCV(**options).fit(X, Y, qid=qid)
    for k in (-12, 12):
        scaled = dict(options)
        if options:
            scaled["gamma"] = options["gamma"] * 4.0**-k
        other = RankRLSCV(**scaled).fit(2.0**k * X, Y, qid=qid)
        factor = 1.0 if options else 4.0**k
        assert other.alpha_ == pytest.approx(factor * as_given.alpha_)
        assert other.best_score_ == pytest.approx(as_given.best_score_)


def test_a_strongly_regularised_model_is_found_beyond_the_default_grid():
    rng, many = np.random.default_rng(0), np.repeat(np.arange(60), 12)
    strong = rng.normal(size=(720, 40)) * 30
    y = strong @ rng.normal(size=40) * 0.005 + 10 * rng.normal(size=720)
    found = RankRLSCV().fit(strong, y, qid=many)
    assert found.alpha_ > 2.0**15
    assert found.alphas_[0] == 2.0**-15
    assert found.alphas_[-1] > found.alpha_
    assert_allclose(found.alphas_, found.cv_results_["alpha"])
    with pytest.warns(GridWarning, match="largest of alphas, 32768"):
        ending = RankRLSCV(2.0 ** np.arange(-15, 16)).fit(strong, y, qid=many)
    assert found.best_score_ > ending.best_score_
    refitted = RankRLS(found.alpha_).fit(strong, y, qid=many)
    assert_allclose(found.coef_, refitted.coef_, rtol=1e-9)


def test_one_alpha_for_each_output_may_lie_at_either_side():
    Y2 = np.column_stack([Y, X @ WEIGHTS])
    found = RankRLSCV(alpha_per_target=True).fit(X, Y2, qid=QID)
    single = [RankRLSCV().fit(X, y, qid=QID).alpha_ for y in Y2.T]
    assert_allclose(found.alpha_, single)


def test_an_easy_ranking_keeps_the_default_grid():
    found = RankRLSCV().fit(X[:, :1], X[:, 0])
    assert len(found.alphas_) == 31
    assert found.alpha_ == 2.0**15


def test_mprank_extends_and_warns():
    x = RNG.normal(size=(30, 20)) * 1e-4
    y = 1e4 * x[:, 0] + RNG.normal(size=30)
    found = MPRankCV().fit(x, y)
    assert found.C_ > 2.0**15
    assert found.Cs_[-1] > found.C_ > found.Cs_[0]
    assert np.all(np.diff(found.Cs_) > 0)
    wide = MPRankCV(2.0 ** np.arange(-10, 61)).fit(x, y)
    assert wide.C_ == found.C_
    assert wide.best_cost_ == pytest.approx(found.best_cost_)
    with pytest.warns(GridWarning, match="largest of Cs, 8"):
        MPRankCV([0.5, 8.0, 1.0]).fit(x, y)


def test_rank_svm_extends_and_warns():
    found = RankSVMCV(cv=3).fit(1e3 * X, Y, qid=QID)
    small = RankSVMCV(10.0 ** np.arange(-12, 13), cv=3).fit(1e3 * X, Y, qid=QID)
    assert found.best_score_ == pytest.approx(small.best_score_, abs=0.02)
    assert found.alphas_[-1] > 10
    with pytest.warns(GridWarning, match="alphas, 1e-08"):
        RankSVMCV([1e-9, 1e-8], cv=3).fit(X, Y, qid=QID)


@pytest.mark.parametrize("setting", ["rows"])
def test_conditional_ranker_extends_and_warns(setting):
    A, B = RNG.normal(size=(12, 6)), RNG.normal(size=(9, 5))
    relation = A @ RNG.normal(size=(6, 5)) @ B.T + 4 * RNG.normal(size=(12, 9))
    as_given = ConditionalRankerCV(setting=setting, random_state=0).fit((A, B), relation)
    other = ConditionalRankerCV(setting=setting, random_state=0).fit((2.0**12 * A, B), relation)
    assert other.best_score_ == pytest.approx(as_given.best_score_, abs=0.02)
    assert other.alphas_[0] > 2.0**15
    assert np.all(np.diff(other.alphas_) < 0)
    with pytest.warns(GridWarning, match="largest of alphas"):
        ConditionalRankerCV(alphas=[1e-3, 1.0], setting=setting, random_state=0).fit(
            (2.0**12 * A, B), relation
        )


def test_default_grids_never_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error", GridWarning)
        RankRLSCV().fit(X, RNG.permutation(Y), qid=QID)
        MPRankCV().fit(X, RNG.permutation(Y))
