"""Censored outcomes on partitions give the answers of the local classes."""

import dask.array as da
import numpy as np
import pytest
from dask import delayed
from numpy.testing import assert_allclose

import rankwise
import rankwise.dask as distributed_rankers
from rankwise import Censored
from tests.dask_cases import REDUCED, as_dask, ranking_data, whole_query_chunks


def outcomes():
    X, y, qid, weight = ranking_data(m=160, n_queries=12)
    rng = np.random.default_rng(3)
    time = np.round(np.exp(0.5 * y) * 5)
    return X, Censored(rng.random(160) < 0.7, time), qid, weight


def structured(y, X):
    return da.from_array(np.asarray(y), chunks=(X.chunks[0],))


@pytest.mark.parametrize("query_weight", ["pairs", "size", "queries"])
@pytest.mark.parametrize("space", [{}, REDUCED], ids=["linear", "rbf"])
@pytest.mark.parametrize("loss", ["magnitude", "unit"])
def test_rank_rls_equals_the_local_class(loss, space, query_weight):
    X, y, qid, weight = outcomes()
    options = {"loss": loss, "query_weight": query_weight, **space}
    local = rankwise.RankRLS(0.5, **options).fit(X, y, qid=qid, sample_weight=weight)
    lazy = as_dask(X, qid)
    for told in (y, structured(y, lazy)):
        found = distributed_rankers.RankRLS(0.5, **options)
        found.fit(lazy, told, qid=qid, sample_weight=weight)
        assert_allclose(found.predict(X), local.predict(X), rtol=1e-8, atol=1e-8)
    assert_allclose(
        found.leave_query_out().compute(), local.leave_query_out(), rtol=1e-6, atol=1e-7
    )
    assert found.score(lazy, y, qid=qid) == pytest.approx(local.score(X, y, qid=qid))
    scores = found.leave_query_out_scores([0.1, 1.0])
    expected = rankwise.RankRLSCV([0.1, 1.0], cv="leave-query-out", **options)
    expected.fit(X, y, qid=qid, sample_weight=weight)
    assert_allclose(scores["score"], expected.cv_results_["score"], rtol=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_rank_svm_equals_the_local_class(loss):
    X, y, qid, weight = outcomes()
    options = {"loss": loss, "tol": 1e-6}
    local = rankwise.RankSVM(0.01, **options).fit(X, y, qid=qid, sample_weight=weight)
    lazy = as_dask(X, qid)
    found = distributed_rankers.RankSVM(0.01, **options)
    found.fit(lazy, y, qid=qid, sample_weight=weight)
    assert found.objective_ == pytest.approx(local.objective_, abs=2e-6)
    assert_allclose(found.predict(X), local.predict(X), atol=0.02)


def test_lists_of_partitions():
    X, y, qid, _ = outcomes()
    ends = np.cumsum(whole_query_chunks(qid))
    rows = [np.arange(a, b) for a, b in zip([0, *ends[:-1]], ends)]
    parts = [[delayed(values[r]) for r in rows] for values in (X, qid)]
    told = [delayed(y[r], traverse=False) for r in rows]
    found = distributed_rankers.RankRLS().fit(parts[0], told, qid=parts[1])
    assert_allclose(found.coef_, rankwise.RankRLS().fit(X, y, qid=qid).coef_, rtol=1e-9)
    one = distributed_rankers.RankRLS().fit(da.from_array(X, chunks=(-1, -1)), y)
    assert_allclose(one.coef_, rankwise.RankRLS().fit(X, y).coef_, rtol=1e-9)
    assert one.score(da.from_array(X, chunks=(50, -1)), y) == pytest.approx(one.score(X, y))


def test_splits_are_refused_where_they_would_lose_pairs():
    X, y, qid, _ = outcomes()
    lazy = da.from_array(X, chunks=(40, -1))
    for learner in (distributed_rankers.RankRLS(), distributed_rankers.RankSVM()):
        with pytest.raises(distributed_rankers.SplitQuery):
            learner.fit(lazy, y, qid=qid)
    with pytest.raises(ValueError, match="needs all pairs of a query in one partition"):
        distributed_rankers.RankRLS(loss="relative").fit(lazy, y)
    nothing = Censored(np.zeros(160, dtype=bool), y.time)
    with pytest.raises(ValueError, match="no single preference"):
        distributed_rankers.RankRLS().fit(as_dask(X, qid), nothing, qid=qid)
    with pytest.raises(ValueError, match="no single preference"):
        distributed_rankers.RankRLS().fit(lazy, nothing)
