"""Every kind of Dask collection is accepted; bad input is named by partition and row."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import rankwise
import rankwise.dask as distributed_rankers
from tests.dask_cases import as_dask, as_delayed, ranking_data, whole_query_chunks


def test_kinds_of_collections():
    X, y, qid, weight = ranking_data()
    local = rankwise.RankRLS().fit(X, y, qid=qid, sample_weight=weight)
    chunks = whole_query_chunks(qid)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=y, w=weight, q=qid.astype(str))
    bounds = [*np.r_[0, np.cumsum(chunks)[:-1]].tolist(), len(X) - 1]
    lazy = dd.from_pandas(frame, npartitions=1).repartition(divisions=bounds)
    model = distributed_rankers.RankRLS()
    model.fit(lazy[list("abcde")], lazy.y, qid=lazy.q, sample_weight=lazy.w)
    assert_allclose(model.coef_, local.coef_, rtol=1e-8)
    assert list(model.feature_names_in_) == list("abcde")
    assert_allclose(model.predict(lazy[list("abcde")]).compute(), local.predict(X))
    assert_allclose(lazy.assign(s=model.predict(lazy[list("abcde")])).compute().s, local.predict(X))
    assert_allclose(model.predict(lazy[list("edcba")]).compute(), local.predict(X))
    blocks = as_delayed(chunks, sparse.csr_matrix(X), y, qid, weight)
    model.fit(blocks[0], blocks[1], qid=blocks[2], sample_weight=blocks[3])
    assert_allclose(model.coef_, local.coef_, rtol=1e-8)
    parts = model.predict(blocks[0])
    assert_allclose(np.concatenate([part.compute() for part in parts]), local.predict(X))
    model.fit(X, y, qid=qid, sample_weight=weight)
    assert_allclose(model.coef_, local.coef_, rtol=1e-8)


def test_bad_input_names_partition_and_row():
    X, y, qid, _ = ranking_data()
    lazy = as_dask(X, qid)
    first = lazy.chunks[0][0]
    bad = X.copy()
    bad[first + 2, 1] = np.nan
    with pytest.raises(ValueError, match=r"partition 1.*NaN.*row 2, column 1"):
        distributed_rankers.RankRLS().fit(as_dask(bad, qid), y, qid=qid)
    with pytest.raises(ValueError, match=r"partition 1.*NaN"):
        distributed_rankers.RankSVM().fit(as_dask(bad, qid), y, qid=qid)
    with pytest.raises(ValueError, match=r"240.*239"):
        distributed_rankers.RankRLS().fit(lazy, y[1:], qid=qid)
    blocks = as_delayed(whole_query_chunks(qid), X, y, qid)
    with pytest.raises(ValueError, match="qid has 5 partitions, X has 6"):
        distributed_rankers.RankRLS().fit(blocks[0], blocks[1], qid=blocks[2][1:])
    with pytest.raises(ValueError, match=r"partition \d.*rows"):
        distributed_rankers.RankRLS().fit(blocks[0], blocks[1][::-1], qid=blocks[2])
    with pytest.raises(ValueError, match="partition 3 of X has 4 features"):
        blocks[0][3] = blocks[0][3][:, :4]
        distributed_rankers.RankRLS().fit(blocks[0], blocks[1], qid=blocks[2])
    with pytest.raises(ValueError, match="no single preference"):
        distributed_rankers.RankRLS().fit(lazy, np.zeros(240), qid=qid)
    with pytest.raises(ValueError, match="no single preference"):
        distributed_rankers.RankSVM().fit(lazy, np.zeros(240), qid=qid)
    with pytest.raises(ValueError, match="0 sample"):
        distributed_rankers.RankRLS().fit(lazy[:0], y[:0], qid=qid[:0])
