"""RankRLS on partitions gives the answers of the local class; here on Dask's own threads."""

import dask.array as da
import numpy as np
import pytest
from dask import delayed
from numpy.testing import assert_allclose
from scipy import sparse

import rankwise
import rankwise.dask as distributed_rankers
from tests.dask_cases import COSTS, REDUCED, as_dask, as_delayed, ranking_data, whole_query_chunks


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


def test_wide_partitions_may_be_dense_or_sparse(monkeypatch):
    """Wide sparse blocks are summed too if conjugate gradients are not needed after all."""
    monkeypatch.setattr("rankwise.dask.normal_equations.DECOMPOSABLE", 4)
    X, y, qid, _ = ranking_data()
    blocks = as_delayed(whole_query_chunks(qid, 12), X, y, qid)
    blocks[0][1] = delayed(sparse.csr_matrix)(blocks[0][1])
    model = distributed_rankers.RankRLS().fit(blocks[0], blocks[1], qid=blocks[2])
    assert_allclose(model.coef_, rankwise.RankRLS().fit(X, y, qid=qid).coef_, rtol=1e-8)


def test_another_alpha_reads_no_data():
    X, y, qid, _ = ranking_data()
    model = distributed_rankers.RankRLS(1.0).fit(as_dask(X, qid), y, qid=qid)
    model.training_problem.blocks.clear()
    assert model.set_alpha(10.0).alpha == 10.0
    assert_allclose(model.coef_, rankwise.RankRLS(10.0).fit(X, y, qid=qid).coef_, rtol=1e-8)
    assert model.trained_on == (240, 24)


class GapLoss:
    """Differences count by their square root."""

    def pairs(self, difference):
        return difference, np.sqrt(difference)


def test_a_loss_of_your_own():
    X, y, qid, _ = ranking_data()
    local = rankwise.RankRLS(loss=GapLoss()).fit(X, y, qid=qid)
    model = distributed_rankers.RankRLS(loss=GapLoss()).fit(as_dask(X, qid), y, qid=qid)
    assert_allclose(model.coef_, local.coef_, rtol=1e-8)
    assert_allclose(model.leave_query_out().compute(), local.leave_query_out(), rtol=1e-7)
    with pytest.raises(ValueError, match=r"GapLoss needs all pairs.*partition_by_query"):
        model.fit(as_dask(X, qid), y)


def test_what_is_not_offered_says_so():
    X, y, qid, _ = ranking_data()
    lazy = as_dask(X, qid)
    model = distributed_rankers.RankRLS().fit(lazy, y, qid=qid)
    for call in (
        lambda: model.partial_fit(X, y),
        lambda: model.holdout([0]),
        lambda: model.hold_outs(lazy, y, qid=qid),
        model.leave_one_out,
        model.leave_pair_out,
    ):
        with pytest.raises(ValueError, match="not offered on partitions"):
            call()
    for learner in (distributed_rankers.RankRLS, distributed_rankers.RankSVM):
        with pytest.raises(ValueError, match="basis"):
            learner(kernel="rbf").fit(lazy, y, qid=qid)
    with pytest.raises(ValueError, match="relative"):
        distributed_rankers.RankRLS(loss="relative").fit(lazy, y)
