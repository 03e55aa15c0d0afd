"""Learners on censored outcomes: the same model as on the comparable pairs told one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import Censored, Preferences, RankRLS, RankRLSCV, RankSVM, RankSVMCV, metrics
from tests import reference_survival


def data(seed, m=22, n=3, strata=2, times=9):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    time = np.floor(times * np.exp(0.3 * X[:, 0] + 0.5 * rng.normal(size=m)))
    y = Censored(rng.random(m) < 0.7, time)
    return X, y, np.arange(m) % strata, rng.uniform(0.3, 2.0, m)


def told_one_by_one(y, qid=None, magnitude=True):
    """The comparable pairs as statements; those of equal times are ties for the magnitude loss."""
    h, j = np.array(reference_survival.comparable(y.event, y.time, qid)).T
    gap = y.time[h] - y.time[j]
    tie = (gap == 0) & magnitude
    return Preferences(h, j, np.where(gap == 0, 1.0, gap), n_items=len(y), tie=tie)


SPACES = {
    "linear": {},
    "rbf": {"kernel": "rbf", "gamma": 0.3},
    "reduced": {"kernel": "rbf", "gamma": 0.3, "basis": [1, 4, 7, 11]},
}


@pytest.mark.parametrize("query_weight", ["pairs", "size", "queries"])
@pytest.mark.parametrize("ties", ["keep", "drop"])
@pytest.mark.parametrize("loss", ["unit", "magnitude", "relative"])
@pytest.mark.parametrize("space", SPACES)
def test_rank_rls_is_that_of_the_pairs(space, loss, ties, query_weight):
    X, y, qid, weight = data(1)
    options = {"loss": loss, "ties": ties, "query_weight": query_weight, **SPACES[space]}
    statements = told_one_by_one(y, qid, magnitude=loss != "unit")
    if loss == "relative":  # which has no pairs of equal times
        statements = statements[np.flatnonzero(~statements.tie)]
    for given_weight in (None, weight):
        told = {"qid": qid, "sample_weight": given_weight}
        found = RankRLS(0.3, **options).fit(X, y, **told)
        expected = RankRLS(0.3, **options).fit(X, preferences=statements, **told)
        assert_allclose(found.predict(X), expected.predict(X), atol=1e-9)
    alphas = [0.1, 2.0]
    found, expected = (model.path(alphas) for model in (found, expected))
    assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("solver", ["cholesky", "spectral", "cg"])
def test_every_solver(solver):
    X, y, qid, weight = data(2)
    told = {"qid": qid, "sample_weight": weight}
    expected = RankRLS(0.5).fit(X, y, **told).coef_
    found = RankRLS(0.5, solver=solver, tol=1e-13).fit(X, y, **told).coef_
    assert_allclose(found, expected, rtol=1e-8)


def test_a_loss_of_your_own_sees_differences_of_times():
    class Logarithmic:
        def pairs(self, difference):
            return np.log1p(difference), np.ones_like(difference)

    X, y, qid, _ = data(3)
    statements = told_one_by_one(y, qid)
    statements = statements[np.flatnonzero(~statements.tie)]
    found = RankRLS(loss=Logarithmic()).fit(X, y, qid=qid)
    expected = RankRLS(loss=Logarithmic()).fit(X, preferences=statements, qid=qid)
    assert_allclose(found.coef_, expected.coef_, rtol=1e-8)
    rest = np.arange(2, len(y))
    refit = clone(found).fit(X[rest], y[rest], qid=qid[rest])
    assert_allclose(found.holdout([0, 1]), refit.predict(X[:2]), rtol=1e-8)


@pytest.mark.parametrize("query_weight", ["pairs", "size", "queries"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("space", SPACES)
def test_rank_svm_is_that_of_the_pairs(space, loss, query_weight):
    X, y, qid, weight = data(4)
    options = {"loss": loss, "query_weight": query_weight, "tol": 1e-9, "max_iter": 5000}
    statements = told_one_by_one(y, qid, magnitude=False)
    for given_weight in (None, weight):
        told = {"qid": qid, "sample_weight": given_weight}
        found = RankSVM(0.01, **options, **SPACES[space]).fit(X, y, **told)
        expected = RankSVM(0.01, **options, **SPACES[space]).fit(X, preferences=statements, **told)
        assert found.objective_ == pytest.approx(expected.objective_, abs=1e-8)
        assert_allclose(found.predict(X), expected.predict(X), atol=1e-3)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(0, 5), st.integers(0, 1)), min_size=3, max_size=12
    )
)
def test_any_outcomes(outcomes):
    """Ties, few events, strata without a pair."""
    event, time, qid = (np.array(part) for part in zip(*outcomes))
    pairs = reference_survival.comparable(event, time, qid)
    X, y = np.random.default_rng(0).normal(size=(len(time), 2)), Censored(event, time)
    if not pairs:
        with pytest.raises(ValueError, match="no single preference"):
            RankRLS().fit(X, y, qid=qid)
        return
    statements = told_one_by_one(y, qid)
    found = RankRLS().fit(X, y, qid=qid).coef_
    assert_allclose(found, RankRLS().fit(X, preferences=statements, qid=qid).coef_, atol=1e-9)
    found = RankSVM(0.1, loss="squared_hinge", tol=1e-8).fit(X, y, qid=qid).coef_
    statements = told_one_by_one(y, qid, magnitude=False)
    told = RankSVM(0.1, loss="squared_hinge", tol=1e-8).fit(X, preferences=statements, qid=qid)
    assert_allclose(found, told.coef_, atol=1e-6)


def test_uncensored_times_are_scores():
    X, y, qid, weight = data(5)
    everything = Censored(np.ones(len(y), dtype=bool), y.time)
    for make in (
        RankRLS(loss="unit"),
        RankRLS(ties="drop"),
        RankSVM(0.01, loss="squared_hinge", tol=1e-8),
    ):
        by_time = clone(make).fit(X, y.time, qid=qid, sample_weight=weight)
        by_outcome = clone(make).fit(X, everything, qid=qid, sample_weight=weight)
        assert_allclose(by_outcome.coef_, by_time.coef_, rtol=1e-7)
        assert by_outcome.score(X, everything, qid=qid) == pytest.approx(
            by_time.score(X, y.time, qid=qid)
        )


def test_partial_fit_adds_strata():
    X, y, qid, weight = data(6)
    whole = RankRLS().fit(X, y, qid=qid, sample_weight=weight)
    parts = RankRLS()
    for q in (0, 1):
        rows = qid == q
        parts.partial_fit(X[rows], y[rows], qid=qid[rows], sample_weight=weight[rows])
    assert_allclose(parts.coef_, whole.coef_, rtol=1e-9)
    fitted_first = RankRLS().fit(X[qid == 0], y[qid == 0], qid=qid[qid == 0])
    fitted_first.partial_fit(X[qid == 1], y[qid == 1], qid=qid[qid == 1])
    assert_allclose(fitted_first.coef_, RankRLS().fit(X, y, qid=qid).coef_, rtol=1e-9)


def test_score_is_the_concordance_and_needs_strata():
    X, y, qid, _ = data(7)
    model = RankRLS().fit(X, y, qid=qid)
    expected = reference_survival.concordance(y.event, y.time, model.predict(X), qid)
    assert model.score(X, y, qid=qid) == pytest.approx(expected)
    assert model.score(X, np.asarray(y), qid=qid) == pytest.approx(expected)
    with pytest.raises(ValueError, match="fitted with queries"):
        model.score(X, y)


def test_scikit_learn_splits_outcomes_and_structured_arrays():
    X, y, _, _ = data(8, m=60)
    for told in (y, np.asarray(y)):
        model = make_pipeline(StandardScaler(), RankRLS())
        scores = cross_val_score(model, X, told, cv=4)
        assert scores.shape == (4,) and np.isfinite(scores).all()
        search = GridSearchCV(RankSVM(), {"alpha": [0.01, 1.0]}, cv=3).fit(X, told)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("cv", ["leave-pair-out", "leave-one-out", 4, StratifiedKFold(3)])
@pytest.mark.parametrize("loss", ["unit", "magnitude"])
def test_rank_rls_cv_scores_are_those_of_refits(loss, cv):
    X, y, _, _ = data(9, m=16)
    alphas = np.array([0.05, 1.0, 20.0])
    found = RankRLSCV(alphas, cv=cv, loss=loss).fit(X, y)

    def without(held, alpha):
        rest = np.setdiff1d(np.arange(len(y)), held)
        return RankRLS(alpha, loss=loss).fit(X[rest], y[rest]).predict(X[held])

    for alpha, score in zip(alphas, found.cv_results_["score"]):
        if cv == "leave-pair-out":
            pairs = reference_survival.comparable(y.event, y.time)
            right = [np.sign(np.diff(without([j, h], alpha))[0]) / 2 + 0.5 for h, j in pairs]
            expected = np.mean(right)
        elif cv == "leave-one-out":
            s = np.concatenate([without([i], alpha) for i in range(len(y))])
            expected = metrics.concordance(y, s)
        else:
            from sklearn.model_selection import KFold

            splitter = KFold(cv, shuffle=True, random_state=0) if cv == 4 else cv
            folds = [test for _, test in splitter.split(X, y.event)]
            values = [metrics.concordance(y[test], without(test, alpha)) for test in folds]
            expected = np.mean(values)
        assert score == pytest.approx(expected, abs=1e-9)


def test_searches_hold_out_strata_and_groups():
    X, y, qid, weight = data(10, m=40, strata=5)
    found = RankRLSCV().fit(X, y, qid=qid, sample_weight=weight)
    assert found.cv_ == "leave-query-out" and 0.5 < found.best_score_ <= 1
    groups = np.arange(40) // 4
    assert RankRLSCV([0.1, 1.0]).fit(X, y, groups=groups).cv_ == "leave-pair-out of groups"
    svm = RankSVMCV([0.01, 0.1]).fit(X, y, qid=qid)
    assert svm.cv_ == "5 folds of queries" and svm.alpha_ in (0.01, 0.1)
    assert "folds" in RankSVMCV([0.01, 0.1]).fit(X, y).cv_


def test_cv_auto_knows_the_price():
    """Few features have leave-pair-out for little; a kernel would refit without every pair."""
    X, y, _, _ = data(11, m=60)
    assert RankRLSCV([1.0]).fit(X, y).cv_ == "leave-pair-out"
    assert RankRLSCV([1.0], kernel="rbf").fit(X, y).cv_ == "10 folds"
    assert RankRLSCV([1.0], kernel="rbf", basis=10).fit(X, y).cv_ == "leave-pair-out"
    wide = np.random.default_rng(0).normal(size=(300, 150))
    y = Censored(np.arange(300) % 2 > 0, np.arange(300))
    assert RankRLSCV([1.0]).fit(wide, y).cv_ == "10 folds"


def test_other_measures_refuse_outcomes():
    X, y, _, _ = data(12)
    with pytest.raises(ValueError, match="censored"):
        RankRLSCV([0.1, 1.0], scoring="ndcg", cv=3).fit(X, y)


@pytest.mark.parametrize("scale", [1e-120, 1e-3, 1e120])
def test_units_of_features_do_not_matter(scale):
    X, y, qid, _ = data(13)
    near = RankRLS(1.0, loss="unit").fit(X, y, qid=qid)
    far = RankRLS(scale**2, loss="unit").fit(X * scale, y, qid=qid)
    assert_allclose(far.predict(X * scale), near.predict(X), rtol=1e-9)
    assert_allclose(far.leave_one_out(), near.leave_one_out(), rtol=1e-7)
    assert_allclose(far.leave_pair_out(), near.leave_pair_out(), rtol=1e-7)


def test_strata_leave_a_stream_again():
    X, y, qid, weight = data(14)
    both = RankRLS().fit(X, y, qid=qid, sample_weight=weight)
    rows = qid == 1
    both.remove_items(X[rows], y[rows], qid=qid[rows], sample_weight=weight[rows])
    alone = RankRLS().fit(X[~rows], y[~rows], qid=qid[~rows], sample_weight=weight[~rows])
    assert_allclose(both.coef_, alone.coef_, rtol=1e-7)
