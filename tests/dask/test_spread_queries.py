"""Queries that lie in several partitions are exact, from sums over all partitions."""

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose

import rankwise
import rankwise.dask as distributed_rankers
from tests.dask_cases import COSTS, REDUCED, as_dask, ranking_data


@pytest.mark.parametrize("cost", COSTS[:6], ids=lambda cost: "-".join(cost.values()))
@pytest.mark.parametrize("space", [{}, REDUCED], ids=["x", "rbf"])
def test_one_enormous_query_is_exact_from_global_sums(cost, space):
    X, Y, _, weight = ranking_data(outputs=2)
    lazy = da.from_array(X + 100.0, chunks=(50, 2))
    local = rankwise.RankRLS(**cost, **space).fit(X + 100.0, Y, sample_weight=weight)
    model = distributed_rankers.RankRLS(**cost, **space)
    model.fit(lazy, Y, sample_weight=weight)
    assert_allclose(model.predict(X + 100), local.predict(X + 100), rtol=1e-8, atol=1e-8)
    model.fit(lazy, Y, qid=np.full(len(X), "all"), sample_weight=weight)
    assert_allclose(model.predict(X + 100), local.predict(X + 100), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("cost", COSTS[:6], ids=lambda cost: "-".join(cost.values()))
@pytest.mark.parametrize("space", [{}, REDUCED], ids=["x", "rbf"])
def test_named_queries_may_be_spread(cost, space):
    X, y, qid, weight = ranking_data()
    names = np.where(qid < 12, "enormous", qid.astype(str)).astype(object)
    local = rankwise.RankRLS(**cost, **space).fit(X, y, qid=names, sample_weight=weight)
    model = distributed_rankers.RankRLS(**cost, **space)
    model.fit(as_dask(X, qid), y, qid=names, sample_weight=weight, spread=["enormous"])
    assert_allclose(model.predict(X), local.predict(X), rtol=1e-8, atol=1e-9)
    held_out = model.leave_query_out().compute()
    assert_allclose(held_out, local.leave_query_out(), rtol=1e-6, atol=1e-8)
    with pytest.raises(ValueError, match="spread"):
        model.leave_query_out_scores()
    with pytest.raises(ValueError, match="no label"):
        model.fit(as_dask(X, qid), y, qid=qid, spread=["nobody"])
