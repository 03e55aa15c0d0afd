"""MPRank point by point: passes that end in the batch solution, and streams."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from rankwise.learners.mprank import MPRank
from rankwise.solvers.online import KernelRows
from tests import reference_magnitude as slow

RNG = np.random.default_rng(5)
M, N = 14, 3
X = RNG.normal(size=(M, N)) + 1.0
Y = X @ [1.0, -2.0, 0.5] + RNG.normal(size=M) + 4.0
QID = RNG.permutation([0] * 6 + [1] * 5 + [2] * 2 + [3])
RBF = {"kernel": "rbf", "gamma": 0.3}
QUERIES = pytest.mark.parametrize("qid", [None, QID], ids=["one query", "queries"])
TIGHT = {"tol": 1e-14, "max_iter": 20_000}


@QUERIES
@pytest.mark.parametrize(
    "options",
    [{}, RBF, {**RBF, "cache_size": 0}, {**RBF, "basis": [0, 3, 5, 8]}],
    ids=["linear", "rbf", "uncached", "basis"],
)
def test_converges_to_the_batch_solution(options, qid):
    both = np.column_stack([Y, -Y])
    for items in (X, sparse.csr_array(X)):
        batch = MPRank(2.0, **options).fit(items, both, qid=qid)
        online = MPRank(2.0, **options, solver="online", **TIGHT).fit(items, both, qid=qid)
        assert_allclose(online.predict(X), batch.predict(X), atol=1e-6)
        assert online.gap_ <= 1e-10 * online.objective_


@QUERIES
def test_weights(qid):
    weight = np.arange(M) % 4
    for options in ({}, RBF):
        batch = MPRank(2.0, **options).fit(X, Y, qid=qid, sample_weight=weight)
        online = MPRank(2.0, **options, solver="online", **TIGHT)
        online.fit(X, Y, qid=qid, sample_weight=weight)
        assert_allclose(online.predict(X), batch.predict(X), atol=1e-6)


def test_many_blocks():
    rng = np.random.default_rng(1)
    items = rng.normal(size=(700, 2)) + 100.0
    y = np.sin(items[:, 0]) + items[:, 1]
    for options in ({}, {"kernel": "rbf", "cache_size": 2}):
        batch = MPRank(5.0, **options).fit(items, y)
        online = MPRank(5.0, **options, solver="online", **TIGHT).fit(items, y)
        assert_allclose(online.predict(items), batch.predict(items), atol=1e-5, rtol=1e-5)


def test_objective_rises_in_the_dual_and_bounds_the_primal():
    model = MPRank(2.0, solver="online", tol=1e-3).fit(X, Y, qid=QID)
    w = model.coef_
    assert_allclose(model.objective_, slow.objective(X @ w, w @ w, Y, 2.0, 2, qid=QID))
    best = slow.mprank(X, Y, 2.0, QID)
    least = slow.objective(X @ best, best @ best, Y, 2.0, 2, qid=QID)
    assert model.objective_ - model.gap_ <= least * (1 + 1e-12) <= model.objective_ * (1 + 1e-9)
    assert np.all(np.diff(model.history_["objective"]) >= 0)
    last, change = model.history_["objective"][-1], np.diff(model.history_["objective"])[-1]
    assert change <= 1e-3 * last


def test_warns_where_passes_run_out():
    with pytest.warns(UserWarning, match="did not converge"):
        MPRank(1e4, solver="online", max_iter=1).fit(X, Y)


@pytest.mark.parametrize(
    "options", [{}, RBF, {**RBF, "basis": [0, 2, 3]}, {"basis": [0, 2, 3]}], ids=str
)
@pytest.mark.parametrize("begin", ["fit", "partial_fit"])
def test_stream_equals_batch(options, begin):
    batch = MPRank(2.0, **options).fit(X, Y)
    stream = MPRank(2.0, **options, solver="online", **TIGHT)
    getattr(stream, begin)(X[:5], Y[:5])
    for start in range(5, M, 4):
        stream.partial_fit(X[start : start + 4], Y[start : start + 4])
    assert_allclose(stream.predict(X), batch.predict(X), atol=1e-5)


def test_a_stream_may_begin_with_one_item():
    stream = MPRank(2.0, solver="online")
    for i in range(M):
        stream.partial_fit(X[[i]], Y[[i]])
    assert_allclose(stream.coef_, slow.mprank(X, Y, 2.0))


def test_memory_is_bounded_for_features():
    stream = MPRank(solver="online").partial_fit(X, Y).partial_fit(X, Y)
    assert stream._X is None
    assert stream._supervision is None
    with pytest.raises(ValueError, match="keeps sums"):
        stream.pairwise_loo()
    grown = MPRank(**RBF, solver="online").partial_fit(X, Y).partial_fit(X, Y)
    assert len(grown.dual_coef_) == 2 * M


def test_refusals():
    with pytest.raises(AttributeError, match="partial_fit"):
        MPRank().partial_fit(X, Y)
    assert not hasattr(MPRank(solver="online", kernel="precomputed"), "partial_fit")
    stream = MPRank(solver="online").partial_fit(X, Y)
    with pytest.raises(ValueError, match="features"):
        stream.partial_fit(X[:, :2], Y)
    with pytest.raises(ValueError, match="1 output"):
        stream.partial_fit(X, np.column_stack([Y, Y]))
    with pytest.raises(ValueError, match="qid"):
        MPRank(solver="online").fit(X, Y, qid=QID).partial_fit(X, Y)
    weighted = MPRank(solver="online").fit(X, Y, sample_weight=np.arange(M))
    with pytest.raises(ValueError, match="sample_weight"):
        weighted.partial_fit(X, Y)
    with pytest.raises(ValueError, match="norm"):
        MPRank(solver="online", norm=1).fit(X, Y)


def test_kept_rows_stay_within_the_limit():
    items = RNG.normal(size=(50, 2))
    for limit, kept in ((0, 0), (8 * 50 * 7, 7), (1e9, 50)):
        source = KernelRows(items, "rbf", {"gamma": 1.0}, limit)
        for _ in range(2):
            rows = RNG.permutation(50)
            assert_allclose(source.rows(rows), rbf_kernel(items[rows], items, gamma=1.0))
        assert source._kept.shape == (kept, 50)
