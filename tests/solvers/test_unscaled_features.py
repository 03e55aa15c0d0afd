"""Features as they come, from 1e-3 to 2e8: solvers reach the minimum, or say that they did not."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from rankwise.learners.rank_svm import RankSVM
from tests import reference_svm as reference

POWER = {"hinge": 1, "squared_hinge": 2}


def web_search(n_queries=40, per_query=25, n=136, share=1.0, seed=0):
    """Log-normal features of scales 1e-3 to 2e8 with levels of their own in every query, two equal
    columns and a constant one; grades 0 to 4. `share` of the entries are not zero."""
    rng = np.random.default_rng(seed)
    m = n_queries * per_query
    qid = np.repeat(np.arange(n_queries), per_query)
    logs = rng.standard_normal((m, 8)) @ rng.standard_normal((8, n)) / 3
    logs += 0.5 * rng.standard_normal((m, n)) + 0.7 * rng.standard_normal((n_queries, n))[qid]
    X = np.exp(logs * rng.uniform(0.3, 1.2, n)) * 10 ** rng.uniform(-3, 8.3, n)
    X[rng.random(X.shape) > share] = 0.0
    X[:, 1], X[:, 2] = X[:, 3], 3.0
    worth = logs @ rng.standard_normal(n) * 0.15 + 1.5 * rng.standard_normal(m)
    return X, np.digitize(worth, np.quantile(worth, [0.55, 0.8, 0.93, 0.98])), qid


def standardised(X):
    spread = X.std(axis=0)
    return X / np.where(spread > 0, spread, 1.0)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("alpha", [1e-3, 1e-5])
@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_array])
def test_features_as_they_come_need_few_more_iterations(loss, alpha, form):
    X, y, qid = web_search(share=1.0 if form is not sparse.csr_array else 0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        raw = RankSVM(alpha, loss=loss).fit(form(X), y, qid=qid)
        even = RankSVM(alpha, loss=loss).fit(form(standardised(X)), y, qid=qid)
    assert raw.gap_ <= 1e-3
    assert raw.n_iter_ <= 3 * even.n_iter_


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_gap_bounds_what_a_generic_optimiser_gains(loss):
    """The objective with alpha‖w‖² of the features as they come, minimised in even coordinates."""
    X, y, qid = web_search(n_queries=8, per_query=10, n=6)
    model = RankSVM(1e-3, loss=loss).fit(X, y, qid=qid)
    scale = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    pairs = reference.pair_list(y, qid)

    def objective(u):
        return reference.objective(u / scale, X, *pairs, 1e-3, POWER[loss])

    best = minimize(objective, model.coef_ * scale, method="Powell", options={"maxiter": 20_000})
    assert model.objective_ == pytest.approx(objective(model.coef_ * scale), rel=1e-9)
    assert model.objective_ - model.gap_ <= best.fun <= model.objective_
    assert model.gap_ <= 1e-3


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_stop_far_from_the_minimum_is_never_silent(loss):
    """At 1e13 rounding errors of the gradient forbid a certificate; the way out is named."""
    X, y, qid = web_search(n=20)
    with pytest.warns(ConvergenceWarning, match="standardise"):
        model = RankSVM(1e-3, loss=loss, max_iter=30).fit(X * 1e9, y, qid=qid)
    assert model.gap_ > 1e-3


def test_a_tolerance_out_of_reach_leaves_a_small_gap():
    """Rounding errors of features up to 2e8 end the help; the gap proved before is kept."""
    rng = np.random.default_rng(7)
    X = np.abs(rng.normal(size=(1500, 40))) ** 1.5
    y = np.digitize(X[:, :5].sum(axis=1) + rng.normal(size=1500), [1, 3, 5.0]).astype(float)
    qid = np.repeat(np.arange(30), 50)
    model = RankSVM(1e-3, tol=1e-7, max_iter=100)
    with pytest.warns(ConvergenceWarning, match="standardise"):
        model.fit(X * 10.0 ** rng.uniform(-3, 8.3, size=40), y, qid=qid)
    assert model.gap_ < 1e-5


def test_a_stalled_fit_does_not_ask_for_more_iterations():
    """Rounding errors of features up to 1e13 end the fit long before max_iter."""
    X, y, qid = web_search(n_queries=10, n=12)
    with pytest.warns(
        ConvergenceWarning, match="more iterations would not help, so raise tol"
    ) as w:
        RankSVM(1e-3, tol=1e-9, max_iter=5000).fit(X * 1e5, y, qid=qid)
    assert "increase max_iter" not in str(w[0].message)
