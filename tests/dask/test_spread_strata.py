"""Strata of censored outcomes in several partitions give the answers of the local class."""

import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

import rankwise
import rankwise.dask as distributed_rankers
from rankwise import Censored
from rankwise.dask.spread_strata import StratumTally
from tests.dask_cases import REDUCED, as_dask, as_delayed, ranking_data

COSTS = [
    {"loss": loss, "ties": ties, "query_weight": weight}
    for loss, ties in (("magnitude", "keep"), ("magnitude", "drop"), ("unit", "keep"))
    for weight in ("pairs", "size", "queries")
]


def outcomes(m=160, seed=3):
    X, y, qid, weight = ranking_data(m=m, n_queries=12)
    rng = np.random.default_rng(seed)
    return X, Censored(rng.random(m) < 0.7, np.round(np.exp(0.5 * y) * 5)), qid, weight


@pytest.mark.parametrize("space", [{}, REDUCED], ids=["linear", "rbf"])
@pytest.mark.parametrize("cost", COSTS, ids=lambda cost: "-".join(cost.values()))
def test_one_stratum_in_many_partitions(cost, space):
    X, y, _, weight = outcomes()
    lazy = da.from_array(X + 100.0, chunks=(23, -1))
    local = rankwise.RankRLS(0.5, **cost, **space).fit(X + 100.0, y, sample_weight=weight)
    found = distributed_rankers.RankRLS(0.5, **cost, **space)
    found.fit(lazy, y, sample_weight=weight)
    assert_allclose(found.predict(X + 100), local.predict(X + 100), rtol=1e-8, atol=1e-8)
    labels = np.full(len(X), "all")
    found.fit(lazy, y, qid=labels, sample_weight=weight)
    assert_allclose(found.predict(X + 100), local.predict(X + 100), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("cost", COSTS[::2], ids=lambda cost: "-".join(cost.values()))
@pytest.mark.parametrize("space", [{}, REDUCED], ids=["linear", "rbf"])
def test_named_strata_may_be_spread_beside_whole_ones(cost, space):
    X, y, qid, weight = outcomes()
    names = np.where(qid < 6, "large", qid.astype(str)).astype(object)
    local = rankwise.RankRLS(**cost, **space).fit(X, y, qid=names, sample_weight=weight)
    found = distributed_rankers.RankRLS(**cost, **space)
    found.fit(as_dask(X, qid, 2), y, qid=names, sample_weight=weight, spread=["large"])
    assert_allclose(found.predict(X), local.predict(X), rtol=1e-8, atol=1e-8)
    held_out = found.leave_query_out().compute()
    assert_allclose(held_out, local.leave_query_out(), rtol=1e-6, atol=1e-7)


def test_sparse_rows_and_lists_of_partitions():
    X, y, _, _ = outcomes()
    X[np.abs(X - 2) < 1] = 0.0
    local = rankwise.RankRLS(0.5).fit(sparse.csr_array(X), y)
    parts = as_delayed((40, 0, 60, 60), sparse.csr_array(X), np.asarray(y))
    found = distributed_rankers.RankRLS(0.5).fit(*parts)
    assert_allclose(found.coef_, local.coef_, rtol=1e-8)


@settings(max_examples=15)
@given(
    m=st.integers(4, 40),
    chunk=st.integers(1, 20),
    times=st.integers(1, 12),
    seed=st.integers(0, 10**6),
)
def test_any_times_ties_and_cuts(m, chunk, times, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(m, 3)), Censored(rng.random(m) < 0.6, rng.integers(0, times, m))
    cost = COSTS[seed % len(COSTS)]
    lazy = da.from_array(X, chunks=(chunk, -1))
    try:
        local = rankwise.RankRLS(**cost).fit(X, y)
    except ValueError:
        with pytest.raises(ValueError, match="no single preference"):
            distributed_rankers.RankRLS(**cost).fit(lazy, y)
        return
    found = distributed_rankers.RankRLS(**cost).fit(lazy, y)
    assert_allclose(found.coef_, local.coef_, rtol=1e-7, atol=1e-9)


def test_ranges_are_about_equal_and_keep_equal_times_together():
    times = np.sort(np.random.default_rng(0).exponential(size=1000))
    cuts = StratumTally(1.0, np.zeros(1), 0.0, times).cuts(8)
    sizes = np.bincount(np.searchsorted(cuts, times, side="right"))
    assert len(sizes) == 8 and sizes.min() > 100
    assert len(StratumTally(1.0, np.zeros(1), 0.0, np.ones(50)).cuts(8)) == 1
