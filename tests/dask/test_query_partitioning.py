"""Queries that are cut apart are refused, or brought together by either method."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import rankwise
import rankwise.dask as distributed_rankers
from rankwise.dask import SplitQuery, partition_by_query
from tests.dask_cases import as_delayed


@settings(max_examples=20)
@given(
    cuts=st.lists(st.integers(0, 60), max_size=8),
    seed=st.integers(0, 50),
    loss=st.sampled_from(["magnitude", "unit"]),
    npartitions=st.integers(1, 6),
)
def test_any_cut_is_arranged_or_refused(cuts, seed, loss, npartitions):
    """Split queries never pass; arranged by either method they give the local answer."""
    rng = np.random.default_rng(seed)
    X, qid = rng.normal(size=(60, 3)), rng.permutation(np.repeat(list("abcdef"), 10))
    y = rng.integers(0, 3, 60) + X[:, 0]
    chunks = np.diff(np.r_[0, np.sort(cuts), 60]).astype(int).tolist()
    local = rankwise.RankRLS(loss=loss).fit(X, y, qid=qid).coef_
    columns = as_delayed(chunks, X, y, qid)
    is_split = any(
        len({np.searchsorted(np.cumsum(chunks), i, side="right") for i in np.flatnonzero(qid == q)})
        > 1
        for q in "abcdef"
    )
    model = distributed_rankers.RankRLS(loss=loss)
    if is_split:
        with pytest.raises(SplitQuery, match=r"query '[a-f]' is split between partitions \d"):
            model.fit(columns[0], columns[1], qid=columns[2])
    else:
        assert_allclose(model.fit(columns[0], columns[1], qid=columns[2]).coef_, local, rtol=1e-8)
    whole = partition_by_query(columns[0], columns[1], qid=columns[2], npartitions=npartitions)
    assert_allclose(model.fit(whole.X, whole.y, qid=whole.qid).coef_, local, rtol=1e-8)
    order = np.argsort(qid, kind="stable")
    columns = as_delayed(chunks, X[order], y[order], qid[order])
    whole = partition_by_query(columns[0], columns[1], qid=columns[2], method="sorted")
    assert_allclose(model.fit(whole.X, whole.y, qid=whole.qid).coef_, local, rtol=1e-8)
