"""KernelMap.folds: every fold is the map of a KernelMap fitted to its training items alone."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold

from rankwise import RLS, KernelMap, RankRLS, RankSVM
from rankwise.spaces import orthogonal_complement as complement

RNG = np.random.default_rng(7)
X = RNG.normal(size=(60, 3))
Y = X @ [1.0, -1.0, 0.5] + RNG.normal(size=60)
QID = RNG.integers(0, 8, 60)
BASIS = RNG.permutation(60)[:20]


def from_scratch(options, basis, items, train, test):
    """Maps of both by fitting to the training items with the basis items among them."""
    staying = [int(np.flatnonzero(train == i)[0]) for i in basis if i in train]
    fitted = KernelMap(**options, basis=staying).fit(items[train])
    return fitted.embedding_, fitted.transform(items[test])


def assert_same_kernel(found, expected, tolerance=1e-6):
    F, G = np.vstack(found), np.vstack(expected)
    K = G @ G.T
    assert_allclose(F @ F.T, K, atol=tolerance * max(np.diagonal(K).max(initial=0.0), 1e-12))


def clusters(width):
    rng = np.random.default_rng(1)
    return np.repeat(rng.normal(size=(12, 3)), 10, axis=0) + width * rng.normal(size=(120, 3))


FAMILIES = {
    "rbf": (X, {"kernel": "rbf"}),
    "smooth": (RNG.normal(size=(120, 3)), {"kernel": "rbf", "gamma": 0.01}),
    "line": (np.sort(RNG.uniform(0, 10, (120, 1)), axis=0), {"kernel": "rbf", "gamma": 1.0}),
    "linear": (RNG.normal(size=(60, 4)), {"kernel": "linear"}),
    "unscaled": (X * [1.0, 1e3, 1e-3], {"kernel": "linear"}),
    "norms apart": (X * 10.0 ** RNG.uniform(-1, 1, (60, 1)), {"kernel": "poly"}),
    "clusters": (clusters(1e-2), {"kernel": "rbf"}),
    "tight clusters": (clusters(1e-4), {"kernel": "rbf"}),
    "tighter clusters": (clusters(1e-6), {"kernel": "rbf"}),
    "duplicates": (clusters(0.0), {"kernel": "rbf"}),
    "laplacian": (X, {"kernel": "laplacian", "gamma": 0.7}),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("cv", [KFold(5), KFold(8, shuffle=True, random_state=1)], ids=str)
def test_every_fold_equals_fitting_anew(family, cv):
    """KFold in order holds out whole clusters and stretches of the line, basis items and all."""
    items, options = FAMILIES[family]
    basis = np.random.default_rng(3).permutation(len(items))[: len(items) // 3]
    splits = list(cv.split(items))
    folds = KernelMap(**options, basis=basis).fit(items).folds(splits)
    for (train, test), found in zip(splits, folds, strict=True):
        assert_same_kernel(found, from_scratch(options, basis, items, train, test))


@pytest.mark.parametrize("family", ["rbf", "linear", "duplicates", "line"])
def test_exact_map_too(family):
    items, options = FAMILIES[family]
    splits = list(KFold(4).split(items))
    for (train, test), (F, G) in zip(splits, KernelMap(**options).fit(items).folds(splits)):
        K = KernelMap(**options).fit(items[train])
        assert_allclose(F @ F.T, K.embedding_ @ K.embedding_.T, atol=1e-9)
        assert_allclose(G @ F.T, K.transform(items[test]) @ K.embedding_.T, atol=1e-6)


@settings(max_examples=80)
@given(st.integers(0, 2**32 - 1), st.integers(3, 14), st.integers(1, 3))
def test_small_and_singular(seed, m, n):
    """Integer items: duplicates, zeros, few dimensions; training sets that leave items aside."""
    rng = np.random.default_rng(seed)
    items = rng.integers(-1, 3, (m, n)).astype(float)
    basis = rng.permutation(m)[: rng.integers(1, m + 1)]
    place = rng.integers(0, 3, m)
    train, test = rng.permutation(np.flatnonzero(place > 0)), np.flatnonzero(place == 0)
    assume(np.isin(basis, train).any())
    if len(train) > 2:
        train = train[:-1] if np.isin(basis, train[:-1]).any() else train
    for options in ({"kernel": "linear"}, {"kernel": "rbf"}, {"kernel": "poly", "degree": 2}):
        (found,) = KernelMap(**options, basis=basis).fit(items).folds([(train, test)])
        if len(test):
            assert_same_kernel(found, from_scratch(options, basis, items, train, test))


def test_what_splits_may_be():
    mapped = KernelMap(basis=BASIS).fit(X)

    def grams(splits, **extra):
        return [(len(F), G @ F.T) for F, G in mapped.folds(splits, **extra)]

    by_query = [np.flatnonzero(q == QID) for q in range(8)]
    everything = np.arange(60)
    pairs = [(np.setdiff1d(everything, test), test) for test in by_query]
    masks = [(~np.isin(everything, test), np.isin(everything, test)) for test in by_query]
    expected = grams(pairs)
    for splits in (by_query, masks, iter(pairs)):
        for (m, found), (n, wanted) in zip(grams(splits), expected, strict=True):
            assert m == n
            assert_allclose(found, wanted)
    for found, wanted in zip(grams("leave-query-out", qid=QID), expected, strict=True):
        assert_allclose(found[1], wanted[1])
    assert [size for size, _ in grams(6)] == [50] * 6
    several = list(GroupKFold(4).split(X, groups=QID))
    assert [s for s, _ in grams(4, qid=QID)] == [len(train) for train, _ in several]
    assert [s for s, _ in grams(GroupKFold(4), qid=QID)] == [len(train) for train, _ in several]
    assert len(grams(StratifiedKFold(3), y=Y > 0)) == 3


def test_items_outside_the_training_set_leave_the_basis():
    splits = list(ShuffleSplit(3, train_size=0.5, test_size=0.2, random_state=0).split(X))
    for (train, test), found in zip(splits, KernelMap(basis=BASIS).fit(X).folds(splits)):
        assert_same_kernel(found, from_scratch({}, BASIS, X, train, test), 1e-10)


def test_bootstrap_trains_on_rows_twice():
    train = np.random.default_rng(0).integers(0, 60, 60)
    test = np.setdiff1d(np.arange(60), train)
    ((F, G),) = KernelMap(basis=BASIS).fit(X).folds([(train, test)])
    assert_same_kernel((F, G), from_scratch({}, BASIS, X, train, test), 1e-10)


@pytest.mark.parametrize("model", [Ridge(0.1), RankSVM(0.01, loss="squared_hinge", tol=1e-8)])
def test_any_learner_predicts_as_if_trained_anew(model):
    splits = list(KFold(4, shuffle=True, random_state=0).split(X))
    for (train, test), (F, G) in zip(splits, KernelMap(basis=BASIS).fit(X).folds(splits)):
        F_new, G_new = from_scratch({}, BASIS, X, train, test)
        expected = model.fit(F_new, Y[train]).predict(G_new)
        assert_allclose(model.fit(F, Y[train]).predict(G), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("learner", [RLS, RankRLS])
def test_closed_form_is_the_same_algebra(learner):
    mapped = KernelMap(basis=BASIS).fit(X)
    model = learner(0.3, kernel="rbf", basis=BASIS).fit(X, Y, qid=QID)
    expected = model.leave_query_out()
    queries = [np.flatnonzero(q == QID) for q in range(8)]
    for test, (F, G) in zip(queries, mapped.folds(queries)):
        train = np.setdiff1d(np.arange(60), test)
        found = learner(0.3).fit(F, Y[train], qid=QID[train]).predict(G)
        assert_allclose(found, expected[test], rtol=1e-6, atol=1e-8)


def test_a_seed_shared_by_basis_and_folds_picks_different_items():
    for seed in range(5):
        basis = KernelMap(basis=30, random_state=seed).fit(np.zeros((300, 1))).basis_index_
        for cv in (KFold(10, shuffle=True, random_state=seed),):
            held = [np.isin(basis, test).sum() for _, test in cv.split(np.zeros((300, 1)))]
            assert max(held) < 15


def test_bad_splits_are_named():
    mapped = KernelMap(basis=BASIS).fit(X)
    with pytest.raises(ValueError, match="fold 1 holds out all 20 basis items"):
        list(mapped.folds([[0], BASIS]))
    for splits in (1, 61, "leave-one-out", "leave-query-out", 2.5, None):
        with pytest.raises(ValueError, match="splits"):
            mapped.folds(splits)
    for fold in ([60], [0, 0], [0.5], ([0, 1], [1, 2]), 3):
        with pytest.raises(ValueError, match="splits fold 0"):
            list(mapped.folds([fold]))
    with pytest.raises(ValueError, match="qid"):
        mapped.folds(3, qid=QID[:10])


def test_folds_share_no_memory_and_keep_none():
    items = np.random.default_rng(0).normal(size=(2000, 4))
    mapped = KernelMap("laplacian", basis=np.arange(0, 2000, 20)).fit(items)
    before = mapped.embedding_.copy()
    tracemalloc.start()
    for F, G in mapped.folds(40):
        F[:], G[:] = 0.0, 0.0
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert_allclose(mapped.embedding_, before)
    assert peak < 5 * before.nbytes


def test_maps_that_someone_holds_are_not_written_over():
    mapped = KernelMap("rbf", basis=BASIS).fit(X)
    at_once = list(mapped.folds(6))
    views = []
    for F, _ in mapped.folds(6):
        views.append(F[:, ::2])
        del F
    for (F, G), (again, held), view in zip(at_once, mapped.folds(6), views):
        assert_allclose(F, again)
        assert_allclose(G, held)
        assert_allclose(view, again[:, ::2])


@pytest.mark.parametrize("few", [0, 3, 100])
@pytest.mark.parametrize("order", ["C", "F"])
def test_row_by_row_equals_by_blocks(monkeypatch, few, order):
    monkeypatch.setattr(complement, "FEW", few)
    monkeypatch.setattr(complement, "BLOCK", 500)
    N, F = RNG.normal(size=(9, 3)), np.asarray(RNG.normal(size=(40, 9)), order=order)
    rows = RNG.permutation(40)[:33]
    found = complement.OrthogonalComplement(N).of(F, rows)
    Q = np.linalg.qr(N)[0]
    left = F[rows] @ (np.eye(9) - Q @ Q.T)
    assert found.shape == (33, 6)
    assert_allclose(found @ found.T, left @ left.T, atol=1e-12)


@pytest.mark.parametrize("basis", [None, BASIS], ids=["exact", "reduced"])
@pytest.mark.parametrize("make", [RankRLS, RLS, RankSVM, KernelMap])
def test_models_do_not_share_the_callers_items(make, basis):
    items = X.copy()
    model = make(kernel="rbf", basis=basis).fit(items, Y)
    call = model.transform if make is KernelMap else model.predict
    expected = call(X)
    items[:] = 0.0
    assert_allclose(call(X), expected)


def test_hold_outs_refuse_an_edited_precomputed_kernel():
    K = X @ X.T
    model = RankRLS(kernel="precomputed").fit(K, Y)
    expected = model.predict(X @ X.T)
    K[:] = 0.0
    with pytest.raises(ValueError, match="X was edited after fit"):
        model.leave_one_out()
    assert_allclose(model.predict(X @ X.T), expected)


@pytest.mark.parametrize("family", ["smooth", "line", "tight clusters", "duplicates", "linear"])
@pytest.mark.parametrize("learner", [RLS, RankRLS])
def test_closed_forms_equal_refits_on_singular_kernels(family, learner):
    items, options = FAMILIES[family]
    rng = np.random.default_rng(2)
    m = len(items)
    y, qid, basis = rng.normal(size=m), np.arange(m) * 6 // m, rng.permutation(m)[: m // 3]
    model = learner(0.1, **options, basis=basis).fit(items, y, qid=qid)

    def refitted(test):
        train = np.setdiff1d(np.arange(m), test)
        left = np.flatnonzero(np.isin(train, basis))
        again = learner(0.1, **options, basis=left).fit(items[train], y[train], qid=qid[train])
        return again.predict(items[test])

    expected = np.concatenate([refitted(np.flatnonzero(qid == q)) for q in range(6)])
    assert_allclose(model.leave_query_out(), expected, rtol=1e-5, atol=1e-5)
    some = basis[:2]
    assert_allclose(model.leave_one_out()[some], [refitted([i])[0] for i in some], atol=1e-5)
    pair = np.sort(np.flatnonzero(qid == qid[basis[0]])[:2])
    assert_allclose(model.leave_pair_out([pair])[0], refitted(pair), atol=1e-5)
