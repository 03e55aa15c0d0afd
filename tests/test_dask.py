"""rankwise.dask gives the local classes' answers on any partitions; here on Dask's own threads.

The same on a real cluster of processes, with its faults, is in test_dask_cluster.
"""

import pickle

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone

import rankwise
import rankwise.dask as distributed_rankers
from rankwise.dask import SplitQuery, partition_by_query
from rankwise.dask.hashes import label_hashes
from tests.dask_cases import as_dask, as_delayed, ranking_data, whole_query_chunks

COSTS = [
    {"loss": loss, "ties": ties, "query_weight": weight}
    for loss, ties in (
        ("magnitude", "keep"),
        ("magnitude", "drop"),
        ("unit", "keep"),
        ("relative", "keep"),
    )
    for weight in ("pairs", "queries")
]
REDUCED = {"kernel": "rbf", "gamma": 0.1, "basis": 12, "random_state": 3}


@pytest.mark.parametrize("cost", COSTS, ids=lambda cost: "-".join(cost.values()))
@pytest.mark.parametrize("space", [{}, REDUCED, {"basis": [3, 200, 77]}], ids=["x", "rbf", "basis"])
def test_rank_rls_equals_the_local_class(cost, space):
    X, Y, qid, weight = ranking_data(outputs=2)
    local = rankwise.RankRLS(0.5, **cost, **space).fit(X, Y, qid=qid, sample_weight=weight)
    found = distributed_rankers.RankRLS(0.5, **cost, **space)
    found.fit(as_dask(X, qid), Y, qid=qid, sample_weight=weight)
    assert_allclose(found.predict(X), local.predict(X), rtol=1e-8, atol=1e-9)
    assert_allclose(found.predict(as_dask(X, qid)).compute(), local.predict(X), atol=1e-9)
    grid = [1e-3, 1.0, 1e3]
    scale = np.abs(local.path(grid)).max()
    assert_allclose(found.path(grid), local.path(grid), rtol=1e-8, atol=1e-8 * scale)
    lazy = found.leave_query_out()
    assert isinstance(lazy, da.Array)
    assert_allclose(lazy.compute(), local.leave_query_out(), rtol=1e-7, atol=1e-8)


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
    """A query alone knows some features, so leaving it out needs the others' sums anew."""
    X, y, qid, _ = ranking_data(n=4)
    X = np.column_stack([X, np.where(qid == qid[0], 1e4 * X[:, 0] ** 2, 0.0)])
    local = rankwise.RankRLS(1e-6).fit(X, y, qid=qid)
    model = distributed_rankers.RankRLS(1e-6).fit(as_dask(X, qid), y, qid=qid)
    expected = local.leave_query_out()
    assert_allclose(model.leave_query_out().compute(), expected, rtol=1e-6, atol=1e-6)
    found = model.leave_query_out_scores()["score"]
    search = rankwise.RankRLSCV([1e-6]).fit(X, y, qid=qid)
    assert_allclose(found, search.cv_results_["score"], rtol=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("space", [{}, REDUCED], ids=["x", "rbf"])
@pytest.mark.parametrize("outputs", [None, 2])
def test_rank_svm_equals_the_local_class_within_the_gap(loss, space, outputs):
    X, y, qid, _ = ranking_data(outputs=outputs)
    local = rankwise.RankSVM(0.01, loss=loss, **space).fit(X, y, qid=qid)
    model = distributed_rankers.RankSVM(0.01, loss=loss, **space)
    model.fit(as_dask(X, qid), y, qid=qid)
    slack = local.gap_ + model.gap_ + 1e-12
    assert np.all(np.abs(local.objective_ - model.objective_) <= slack)
    exact = rankwise.RankSVM(0.01, loss=loss, tol=1e-7, **space).fit(X, y, qid=qid)
    fine = distributed_rankers.RankSVM(0.01, loss=loss, tol=1e-7, **space)
    fine.fit(as_dask(X, qid), y, qid=qid)
    assert_allclose(fine.predict(X), exact.predict(X), atol=3e-3)
    assert_allclose(fine.objective_, exact.objective_, atol=1e-6)


def test_rank_svm_starts_warm():
    X, y, qid, _ = ranking_data()
    model = distributed_rankers.RankSVM(0.01, loss="squared_hinge", warm_start=True)
    model.fit(as_dask(X, qid), y, qid=qid)
    assert model.fit(as_dask(X, qid), y, qid=qid).n_iter_ == 0


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
    with pytest.raises(ValueError, match="feature names"):
        model.predict(lazy[list("edcba")]).compute()
    blocks = as_delayed(chunks, sparse.csr_matrix(X), y, qid, weight)
    model.fit(blocks[0], blocks[1], qid=blocks[2], sample_weight=blocks[3])
    assert_allclose(model.coef_, local.coef_, rtol=1e-8)
    parts = model.predict(blocks[0])
    assert_allclose(np.concatenate([part.compute() for part in parts]), local.predict(X))
    model.fit(X, y, qid=qid, sample_weight=weight)
    assert_allclose(model.coef_, local.coef_, rtol=1e-8)


def test_conjugate_gradients_for_wide_sparse_blocks():
    rng = np.random.default_rng(0)
    X = sparse.random(3100, 3200, 0.002, format="csr", random_state=0)
    y = X[:, :50] @ np.ones(50) + 0.1 * rng.normal(size=3100)
    qid = np.arange(3100) // 50
    blocks = as_delayed(whole_query_chunks(qid, 20), X, y, qid)
    local = rankwise.RankRLS(tol=1e-12).fit(X, y, qid=qid)
    model = distributed_rankers.RankRLS(tol=1e-12).fit(blocks[0], blocks[1], qid=blocks[2])
    assert model.n_iter_ > 1
    assert_allclose(model.coef_, local.coef_, atol=1e-8)
    with pytest.raises(ValueError, match="spectral"):
        model.leave_query_out()


def test_scores_and_a_way_back(tmp_path):
    X, Y, qid, _ = ranking_data(outputs=2)
    lazy = as_dask(X, qid)
    model = distributed_rankers.RankRLS().fit(lazy, Y, qid=qid)
    local = rankwise.RankRLS().fit(X, Y, qid=qid)
    assert_allclose(model.score(lazy, Y, qid=qid), local.score(X, Y, qid=qid))
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        model.score(lazy, Y)
    back = pickle.loads(pickle.dumps(model))
    assert_allclose(back.predict(X), local.predict(X))
    with pytest.raises(ValueError, match="fit again"):
        back.path([1.0])
    plain = model.to_local()
    assert type(plain) is rankwise.RankRLS
    assert_allclose(plain.predict(X), local.predict(X))
    rankwise.save(model, tmp_path / "model.rw")
    assert_allclose(rankwise.load(tmp_path / "model.rw").predict(X), local.predict(X))
    whole = distributed_rankers.RankRLS().fit(lazy, Y)
    assert_allclose(whole.score(lazy, Y), rankwise.RankRLS().fit(X, Y).score(X, Y))
    assert clone(model).get_params() == rankwise.RankRLS().get_params()


def test_what_is_not_offered_says_so():
    X, y, qid, _ = ranking_data()
    lazy = as_dask(X, qid)
    model = distributed_rankers.RankRLS().fit(lazy, y, qid=qid)
    for call in (
        lambda: model.partial_fit(X, y),
        lambda: model.holdout([0]),
        model.leave_one_out,
        model.leave_pair_out,
    ):
        with pytest.raises(ValueError, match="not offered on partitions"):
            call()
    pairs = rankwise.Preferences([0], [1])
    for learner in (distributed_rankers.RankRLS, distributed_rankers.RankSVM):
        with pytest.raises(ValueError, match="across partitions"):
            learner().fit(lazy, preferences=pairs)
        with pytest.raises(ValueError, match="basis"):
            learner(kernel="rbf").fit(lazy, y, qid=qid)
    with pytest.raises(ValueError, match=r"one query, which spans 6 partitions.*RankRLS"):
        distributed_rankers.RankSVM().fit(lazy, y)
    with pytest.raises(SplitQuery, match=r"query 'x' is split.*RankRLS"):
        distributed_rankers.RankSVM().fit(lazy, y, qid=np.full(len(X), "x"))
    with pytest.raises(ValueError, match="relative"):
        distributed_rankers.RankRLS(loss="relative").fit(lazy, y)


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


def test_equal_labels_of_different_types_hash_alike():
    assert len({int(label_hashes(np.array([x]))[0]) for x in (1, 1.0, np.float32(1), True)}) == 1
    objects = np.array([1, 1.0, "a", b"a", (1, 2), 2.5, 2**70], dtype=object)
    assert label_hashes(objects)[0] == label_hashes(objects)[1] == label_hashes(np.array([1]))[0]
    assert label_hashes(objects)[2] == label_hashes(np.array(["a"]))[0]
    assert len(set(label_hashes(objects).tolist())) == 5
    many = label_hashes(np.arange(100_000))
    assert len(np.unique(many)) == 100_000
    assert np.bincount((many % np.uint64(10)).astype(int)).min() > 9_000


def test_labels_that_share_a_hash_are_no_split_query():
    assert label_hashes(np.array(["a"])) == label_hashes(np.array([b"a"]))
    X, y, _, _ = ranking_data(m=20)
    qid = np.array(["a"] * 10 + [b"a"] * 10, dtype=object)
    blocks = as_delayed([10, 10], X, y, qid)
    model = distributed_rankers.RankRLS().fit(blocks[0], blocks[1], qid=blocks[2])
    assert_allclose(model.coef_, rankwise.RankRLS().fit(X, y, qid=qid).coef_, rtol=1e-8)
