"""MPRank point by point: passes that end in the batch solution, and streams."""

import pickle
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from rankwise.exceptions import InvalidKernel
from rankwise.learners.mprank import MPRank
from rankwise.solvers.online import FeatureRows, KernelRows
from rankwise.spaces.kernels import Kernel
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


def test_stops_with_the_first_pass_that_changes_the_objective_by_a_share_of_tol():
    for tol in (1e-2, 1e-4, 1e-6):
        dual = MPRank(20.0, solver="online", tol=tol).fit(X, Y).history_["objective"]
        share = np.diff(dual, prepend=0.0) / dual
        assert share[-1] <= tol
        assert np.all(share[:-1] > tol)


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


def test_a_new_item_costs_a_few_rows_of_the_kernel(monkeypatch):
    """The steps that the gap needs become fewer, not more, as the number of items grows."""
    rng = np.random.default_rng(3)
    items = rng.normal(size=(1220, 2))
    y = np.column_stack([np.sin(items[:, 0]), items[:, 1]]) + 0.3 * rng.normal(size=(1220, 2))
    stream = MPRank(1.0, **RBF, solver="online", tol=1e-4).fit(items[:1200], y[:1200])
    stream.partial_fit(items[1200:1201], y[1200:1201])
    evaluated, matrix = [], Kernel.matrix

    def counted(self, A, B):
        evaluated.append(A.shape[0] * B.shape[0])
        return matrix(self, A, B)

    monkeypatch.setattr(Kernel, "matrix", counted)
    for i in range(1201, 1220):
        stream.partial_fit(items[i : i + 1], y[i : i + 1])
    monkeypatch.undo()
    assert sum(evaluated) / 19 < 30 * 1220
    batch = MPRank(1.0, **RBF).fit(items, y)
    assert_allclose(stream.predict(items), batch.predict(items), atol=0.02 * np.ptp(y))
    assert stream.gap_ <= 1e-4 * stream.objective_
    restored = pickle.loads(pickle.dumps(stream))
    for model in (stream, restored):
        model.set_params(C=2.0).partial_fit(items[:3], y[:3])
    assert_allclose(restored.predict(items), stream.predict(items), rtol=1e-6, atol=1e-6)


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


def test_memory_of_a_stream_as_measured():
    """A linear model and a reduced set stay as large as they were; a kernel's grows."""
    sizes = {}
    for name, options in (("linear", {}), ("basis", {**RBF, "basis": 5}), ("kernel", RBF)):
        stream = MPRank(**options, solver="online", random_state=0)
        sizes[name] = [len(pickle.dumps(stream.partial_fit(X, Y))) for _ in range(20)]
    assert max(sizes["linear"]) <= sizes["linear"][0] + 8
    assert max(sizes["basis"]) <= sizes["basis"][0] + 8
    assert sizes["kernel"][-1] > 5 * sizes["kernel"][0]


def test_the_kernel_matrix_is_never_whole_if_told_so():
    m = 2000
    items = np.random.default_rng(0).normal(size=(m, 2))
    model = MPRank(10.0, kernel="rbf", solver="online", tol=1e-2, cache_size=0)
    model.fit(items[:300], items[:300, 0])
    tracemalloc.start()
    model.fit(items, items[:, 0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.6 * 8 * m * m


class Interrupting(KernelRows):
    """Ctrl-C in the middle of the third pass."""

    calls = 0

    def products(self, rows, alpha):
        self.calls += 1
        if self.calls == 8:
            raise KeyboardInterrupt
        return super().products(rows, alpha)


def test_an_interrupted_fit_leaves_a_usable_model(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("rankwise.learners.mprank.KernelRows", Interrupting)
        patch.setattr("rankwise.solvers.online.BLOCK_BYTES", 8 * M * 5)
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            model = MPRank(50.0, **RBF, solver="online", tol=1e-9).fit(X, Y)
    assert model.n_iter_ == 2
    h, K = model.predict(X), rbf_kernel(X, gamma=0.3)
    norm = model.dual_coef_ @ K @ model.dual_coef_
    assert_allclose(model.objective_, slow.objective(h, norm, Y, 50.0, 2))
    assert model.partial_fit(X, Y).predict(X).shape == (M,)


def test_an_interrupted_linear_fit_is_consistent(monkeypatch):
    class InterruptingFeatures(FeatureRows):
        block, calls = 5, 0

        def update(self, rows, change):
            super().update(rows, change)
            self.calls += 1
            if self.calls == 8:
                raise KeyboardInterrupt

    monkeypatch.setattr("rankwise.learners.mprank.FeatureRows", InterruptingFeatures)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = MPRank(50.0, solver="online", tol=1e-12).fit(X, Y)
    w = model.coef_
    assert_allclose(model.objective_, slow.objective(X @ w, w @ w, Y, 50.0, 2))


def test_a_stream_may_mix_sparse_and_dense():
    batch = MPRank(2.0, **RBF).fit(X, Y).predict(X)
    for first, second in ((sparse.csr_array, np.asarray), (np.asarray, sparse.csr_array)):
        stream = MPRank(2.0, **RBF, solver="online", **TIGHT).partial_fit(first(X[:9]), Y[:9])
        assert_allclose(stream.partial_fit(second(X[9:]), Y[9:]).predict(X), batch, atol=1e-5)


def test_features_of_a_stream_must_not_change():
    for options, change in ((({}), {"kernel": "rbf"}), (RBF, {"gamma": 2.0})):
        stream = MPRank(**options, solver="online").partial_fit(X, Y).set_params(**change)
        with pytest.raises(ValueError, match="must not change in a stream"):
            stream.partial_fit(X, Y)


def test_a_block_that_overflows_leaves_the_stream_as_it_was():
    stream = MPRank(2.0, solver="online").partial_fit(X[:9], Y[:9])
    with pytest.raises(ValueError, match="overflow"):
        stream.partial_fit(1e300 * X, Y)
    assert_allclose(stream.partial_fit(X[9:], Y[9:]).coef_, slow.mprank(X, Y, 2.0))


def test_a_stream_without_a_ridge_to_speak_of():
    twice = np.hstack([X, X])
    stream = MPRank(1e300, solver="online").partial_fit(twice, Y)
    assert_allclose(stream.coef_, MPRank(1e300).fit(twice, Y).coef_, rtol=1e-6)


@pytest.mark.parametrize("kernel", ["precomputed", "sigmoid"])
def test_indefinite_kernels_are_refused(kernel):
    items = -X @ X.T if kernel == "precomputed" else X
    with pytest.raises(InvalidKernel, match="indefinite"):
        MPRank(kernel=kernel, gamma=2.0, coef0=-3.0, solver="online").fit(items, Y)


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
        source = KernelRows(items, Kernel("rbf", 1.0), limit)
        for _ in range(2):
            rows = RNG.permutation(50)
            assert_allclose(source.rows(rows), rbf_kernel(items[rows], items, gamma=1.0))
        assert source._kept.shape == (kept, 50)
