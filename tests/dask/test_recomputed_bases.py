"""Leave-query-out over nearly singular reduced sets equals refitting, as in the local class."""

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose

import rankwise
import rankwise.dask as distributed_rankers
from rankwise import Censored
from rankwise.dask import recomputed_bases
from tests.dask_cases import as_dask, ranking_data

SMOOTH = {"kernel": "rbf", "gamma": 1e-6}
"""So smooth that the basis items are combinations of each other up to the last digits."""
TWINS = np.r_[0:10, 60:75]


def twin_data(outputs=None):
    X, y, qid, weight = ranking_data(m=120, n_queries=8, outputs=outputs)
    X[60:70] = X[:10]
    return X, y, qid, weight


def refitted(options, X, y, qid, weight):
    """Each query predicted by a model that is trained without it and without its basis items."""
    basis = np.asarray(options["basis"])
    out = np.empty(np.shape(y))
    for query in np.unique(qid):
        held = qid == query
        rows = np.flatnonzero(~held)
        smaller = {**options, "basis": np.searchsorted(rows, basis[~held[basis]])}
        model = rankwise.RankRLS(**smaller)
        model.fit(X[rows], y[rows], qid=qid[rows], sample_weight=weight[rows])
        out[held] = model.predict(X[held])
    return out


@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
@pytest.mark.parametrize("cost", [{}, {"ties": "drop"}, {"loss": "unit", "query_weight": "size"}])
def test_predictions_equal_refits(cost, alpha, outputs):
    X, y, qid, weight = twin_data(outputs)
    options = {"alpha": alpha, "basis": TWINS, **SMOOTH, **cost}
    expected = refitted(options, X, y, qid, weight)
    model = distributed_rankers.RankRLS(**options)
    model.fit(as_dask(X, qid, 2), y, qid=qid, sample_weight=weight)
    assert model.training_problem.plan.map.is_nearly_singular
    scale = np.abs(expected).max()
    assert_allclose(model.leave_query_out().compute(), expected, rtol=0, atol=1e-7 * scale)


def test_scores_of_a_grid_in_several_passes(monkeypatch):
    X, y, qid, weight = twin_data()
    alphas = [1e-3, 1e-1, 10.0]
    search = rankwise.RankRLSCV(alphas, basis=TWINS, **SMOOTH)
    search.fit(X, y, qid=qid, sample_weight=weight)
    model = distributed_rankers.RankRLS(basis=TWINS, **SMOOTH)
    model.fit(as_dask(X, qid, 2), y, qid=qid, sample_weight=weight)
    for most in (2e8, 1.0):
        monkeypatch.setattr(recomputed_bases, "PASS_BYTES", most)
        found = model.leave_query_out_scores(alphas)
        assert_allclose(found["score"], search.cv_results_["score"], rtol=1e-9)


def test_a_kernel_matrix_with_equal_rows():
    X, y, qid, weight = twin_data()
    K = X @ X.T
    options = {"alpha": 0.5, "basis": TWINS, "kernel": "precomputed"}
    local = rankwise.RankRLS(**options).fit(K, y, qid=qid, sample_weight=weight)
    model = distributed_rankers.RankRLS(**options)
    model.fit(as_dask(K, qid, 2), y, qid=qid, sample_weight=weight)
    expected = local.leave_query_out()
    scale = np.abs(expected).max()
    assert_allclose(model.leave_query_out().compute(), expected, rtol=0, atol=1e-7 * scale)


@pytest.mark.parametrize("censored", [False, True])
def test_beside_spread_queries(censored):
    X, y, qid, weight = twin_data()
    if censored:
        y = Censored(np.arange(120) % 3 > 0, np.round(np.exp(0.4 * y) * 4))
    names = np.where(qid < 4, "large", qid.astype(str)).astype(object)
    options = {"alpha": 0.1, "basis": np.r_[5, 20, 55, 100:115, 65], **SMOOTH}
    local = rankwise.RankRLS(**options).fit(X, y, qid=names, sample_weight=weight)
    model = distributed_rankers.RankRLS(**options)
    model.fit(as_dask(X, qid, 1), y, qid=names, sample_weight=weight, spread=["large"])
    expected = local.leave_query_out()
    scale = np.abs(expected).max()
    assert_allclose(model.leave_query_out().compute(), expected, rtol=0, atol=1e-7 * scale)


def test_a_query_that_holds_the_whole_basis():
    X, y, qid, _ = twin_data()
    basis = np.flatnonzero(qid == qid[0])
    local = rankwise.RankRLS(0.1, basis=basis, **SMOOTH).fit(X, y, qid=qid)
    model = distributed_rankers.RankRLS(0.1, basis=basis, **SMOOTH)
    model.fit(da.from_array(X, chunks=(as_dask(X, qid, 2).chunks[0], -1)), y, qid=qid)
    assert_allclose(model.leave_query_out().compute(), local.leave_query_out(), atol=1e-7)
