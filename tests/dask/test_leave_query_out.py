"""Leave-query-out on partitions gives the predictions and scores of the local classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import rankwise
import rankwise.dask as distributed_rankers
from tests.dask_cases import as_dask, ranking_data


@pytest.mark.parametrize("scoring", [None, "ndcg"])
@pytest.mark.parametrize("outputs", [None, 2])
def test_leave_query_out_scores_are_those_of_rank_rls_cv(scoring, outputs):
    X, y, qid, weight = ranking_data(outputs=outputs)
    y = y - y.min()
    alphas = [1e-9, 1e-2, 1.0, 1e4]
    search = rankwise.RankRLSCV(alphas, scoring=scoring).fit(X, y, qid=qid, sample_weight=weight)
    model = distributed_rankers.RankRLS().fit(as_dask(X, qid), y, qid=qid, sample_weight=weight)
    found = model.leave_query_out_scores(alphas, scoring)
    for name, values in search.cv_results_.items():
        assert_allclose(found[name], values, rtol=1e-8, atol=1e-12)


def test_leave_query_out_with_an_alpha_lost_in_rounding():
    """Only one query has values of the last feature: to leave it out, all other sums are added."""
    X, y, qid, _ = ranking_data(n=4)
    X = np.column_stack([X, np.where(qid == qid[0], 1e4 * X[:, 0] ** 2, 0.0)])
    local = rankwise.RankRLS(1e-6).fit(X, y, qid=qid)
    model = distributed_rankers.RankRLS(1e-6).fit(as_dask(X, qid), y, qid=qid)
    expected = local.leave_query_out()
    assert_allclose(model.leave_query_out().compute(), expected, rtol=1e-6, atol=1e-6)
    found = model.leave_query_out_scores()["score"]
    search = rankwise.RankRLSCV([1e-6]).fit(X, y, qid=qid)
    assert_allclose(found, search.cv_results_["score"], rtol=1e-6)


def test_a_partition_with_one_query_and_nothing_to_judge():
    """Its scores are all equal, so a measure over pairs is not defined for it."""
    X, Y, qid, _ = ranking_data(outputs=2)
    Y[qid == 3], Y[qid == 5, 0] = 1.0, 2.0
    search = rankwise.RankRLSCV([1.0], scoring="concordance").fit(X, Y, qid=qid)
    model = distributed_rankers.RankRLS().fit(as_dask(X, qid, per_partition=1), Y, qid=qid)
    found = model.leave_query_out_scores(scoring="concordance")
    assert_allclose(found["score"], search.cv_results_["score"], rtol=1e-8)
    assert_allclose(found["score_se"], search.cv_results_["score_se"], rtol=1e-8)
