"""Odd shapes and scales: exact answers or a ValueError with a way out; never nan, never a crash."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from rankwise import RLS, RankRLS, RankRLSCV
from tests.reference import enumerate_pairs, laplacian_and_target

RNG = np.random.default_rng(12)
X = RNG.normal(size=(20, 4))
Y = RNG.normal(size=20)
QID = RNG.permutation(np.repeat(np.arange(4), 5))
COSTS = [{}, {"ties": "drop"}, {"loss": "unit"}, {"loss": "relative"}]
SPACES = [{}, {"kernel": "rbf"}, {"kernel": "rbf", "basis": [2, 0]}, {"basis": [1]}]


def everything(model):
    """All that a fitted model can say of its training items."""
    said = [model.leave_one_out(), model.leave_pair_out(), model.holdout([0])]
    return said + ([model.leave_query_out()] if model._has_queries else [])


@pytest.mark.parametrize("cost", COSTS, ids=str)
@pytest.mark.parametrize("space", SPACES, ids=str)
@pytest.mark.parametrize("m", [3, 4])
def test_tiny_problems(cost, space, m):
    y = np.array([0.0, 1.0, 1.0, 3.0])[:m]
    model = RankRLS(**cost, **space).fit(X[:m], y)
    for values in everything(model):
        assert np.isfinite(values).all()
    left = np.arange(1, m)
    options = dict(space)
    if "basis" in options:
        options["basis"] = [i - 1 for i in options["basis"] if i > 0]
    if options.get("basis") == [] or np.ptp(y[1:]) == 0:
        expected = 0.0
    else:
        expected = RankRLS(**cost, **options).fit(X[left], y[left]).predict(X[:1])
    assert_allclose(model.holdout([0]), expected, atol=1e-8)


def test_two_items():
    model = RankRLS(0.5).fit([[0.0], [2.0]], [1.0, 2.0])
    assert_allclose(model.coef_, [2 / 4.5])
    assert_allclose(model.leave_one_out(), [0, 0])
    assert_allclose(model.leave_pair_out(), [[0, 0]])


def test_one_item_is_enough_for_rls():
    model = RLS(1.0).fit([[2.0]], [3.0])
    assert_allclose(model.coef_, [6 / 5])
    assert_allclose(model.leave_one_out(), [0])


@pytest.mark.parametrize("cost", COSTS, ids=str)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_queries_of_one_item_and_of_ties(cost, kernel):
    qid = np.array([0] * 5 + [1] + [2] * 6 + [3] * 8)
    y = np.where(qid == 2, 1.0, Y)
    model = RankRLS(kernel=kernel, **cost).fit(X, y, qid=qid)
    out = model.leave_query_out()
    for label in range(4):
        held = qid == label
        without = RankRLS(kernel=kernel, **cost).fit(X[~held], y[~held], qid=qid[~held])
        assert_allclose(out[held], without.predict(X[held]), atol=1e-8)


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.uint8, bool])
def test_types_of_items(kind):
    items = (X > 0).astype(kind) if kind is bool else (3 * np.abs(X)).astype(kind)
    for options in ({}, {"kernel": "rbf"}, {"kernel": "rbf", "basis": [1, 2]}):
        found = RankRLS(**options).fit(items, Y, qid=QID).leave_query_out()
        expected = RankRLS(**options).fit(items.astype(float), Y, qid=QID).leave_query_out()
        assert_allclose(found, expected, rtol=1e-9)


def test_layouts_of_memory():
    expected = RankRLS().fit(X, Y, qid=QID, sample_weight=np.abs(Y))
    items, y, qid, weight = np.asfortranarray(X), Y.copy(), QID.copy(), np.abs(Y)
    for array in (items, y, qid, weight):
        array.setflags(write=False)
    index64 = sparse.csr_array(X)
    index64.indices, index64.indptr = index64.indices.astype("i8"), index64.indptr.astype("i8")
    zeros = sparse.csr_array(np.where(X == 0, 1, X))
    for given in (items, X[::-1][::-1], index64, zeros, sparse.csc_matrix(X), sparse.coo_array(X)):
        model = RankRLS().fit(given, y, qid=qid, sample_weight=weight)
        assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
        for mine, theirs in zip(everything(model), everything(expected)):
            assert_allclose(mine, theirs, rtol=1e-7, atol=1e-9)


def test_explicit_zeros_are_zeros():
    items = sparse.csr_array(X)
    items.data[::3] = 0
    found, expected = RankRLS().fit(items, Y), RankRLS().fit(items.toarray(), Y)
    assert_allclose(found.coef_, expected.coef_, rtol=1e-9)


@pytest.mark.parametrize("cost", COSTS, ids=str)
@pytest.mark.parametrize("space", SPACES, ids=str)
def test_features_that_are_constant_within_queries(cost, space):
    """No pair differs in any feature: nothing can be learnt, all scores are zero."""
    items = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 3.0], [-1.0, 0.5]])[QID]
    model = RankRLS(**cost, **space).fit(items, Y, qid=QID)
    for values in [model.predict(items), *everything(model)]:
        assert_allclose(values, 0, atol=1e-9)
    alone = RankRLS(**cost, **space).fit(np.ones((20, 2)), Y)
    for values in everything(alone):
        assert_allclose(values, 0, atol=1e-9)


def test_zero_and_duplicate_items():
    items = np.repeat(X[:5], 4, axis=0)
    items[:, 2] = 0
    for options in SPACES:
        model = RankRLS(1e-3, **options).fit(items, Y)
        assert all(np.isfinite(values).all() for values in everything(model))
    assert_allclose(RankRLS().fit(np.zeros((20, 2)), Y).leave_one_out(), 0)


def test_a_basis_of_zero_items_predicts_nothing():
    """Its kernel is zero: there is no function to learn, so all scores are zero."""
    items = X.copy()
    items[3] = 0
    model = RankRLS(basis=[3]).fit(items, Y)
    assert_allclose(model.predict(X), 0)
    assert_allclose(model.leave_one_out(), 0)


@pytest.mark.parametrize("cost", COSTS, ids=str)
def test_without_its_whole_basis_a_model_says_exactly_nothing(cost):
    """Zeros, not rounding errors: the order of rounding errors would be judged as an order."""
    for qid in (None, QID):
        model = RankRLS(kernel="rbf", basis=[1, 2, 3], **cost).fit(X, Y, qid=qid)
        assert (model.holdout([1, 2, 3, 9]) == 0).all()
        assert (model.holdout(np.arange(12)) == 0).all()


@pytest.mark.parametrize("cost", COSTS, ids=str)
@pytest.mark.parametrize("space", SPACES[:3], ids=str)
@pytest.mark.parametrize("alpha", [1e-8, 1e8, 1e12])
def test_extreme_alphas(cost, space, alpha):
    """Relative to the largest prediction, as scores shrink like 1/alpha."""
    y = np.round(Y)
    make = RankRLS(alpha, **cost, **space)
    model = make.fit(X, y)
    pairs = np.array([[0, 1], [4, 9], [11, 3], [7, 2]])
    found = model.leave_pair_out(pairs)
    for pair, values in zip(pairs, found):
        left = np.setdiff1d(np.arange(20), pair)
        options = dict(space)
        if "basis" in options:
            options["basis"] = np.searchsorted(left, np.setdiff1d(options["basis"], pair))
        expected = RankRLS(alpha, **cost, **options).fit(X[left], y[left]).predict(X[pair])
        scale = np.abs(model.predict(X)).max()
        assert_allclose(values, expected, atol=1e-6 * scale)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_units_of_measurement(scale):
    """Features in other units with alpha in the same units squared: the same predictions."""
    for cost in COSTS:
        expected = RankRLS(0.5, **cost).fit(X, Y, qid=QID)
        model = RankRLS(0.5 * scale**2, **cost).fit(X * scale, Y, qid=QID)
        assert_allclose(model.predict(X * scale), expected.predict(X), rtol=1e-7)
        for mine, theirs in zip(everything(model), everything(expected)):
            assert_allclose(mine, theirs, rtol=1e-6, atol=1e-9)
    magnified = RankRLS(0.5).fit(X, Y * scale, qid=QID).leave_query_out()
    assert_allclose(magnified, RankRLS(0.5).fit(X, Y, qid=QID).leave_query_out() * scale)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6, 1e8])
@pytest.mark.parametrize("alpha", [1.0, 2.0**-15])
def test_collinear_features_in_large_units(scale, alpha):
    """A sum of columns beside them, unscaled: directions that no item shows get no weight."""
    items = np.hstack((X, X[:, :1] + X[:, 1:2], 2 * X[:, 2:3])) * scale
    new = np.random.default_rng(0).normal(size=(5, 6)) * scale
    U, S, Vt = np.linalg.svd(np.sqrt(20) * (items - items.mean(axis=0)), full_matrices=False)
    shrunk = np.where(1e-12 * S[0] < S, S / (S**2 + alpha), 0.0)
    w = Vt.T @ (shrunk * (U.T @ (np.sqrt(20) * Y)))
    for options in ({}, {"kernel": "linear", "basis": np.arange(20)}):
        found = RankRLS(alpha, **options).fit(items, Y).predict(new)
        assert_allclose(found, new @ w, atol=1e-5)


OWN = np.hstack((X, np.eye(4)[QID] * RNG.normal(size=(20, 1))))
"""Each query has a feature of its own, which only that query can teach."""


@pytest.mark.parametrize("scale", [1.0, 1e2, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("method", ["leave_query_out", "holdout"])
def test_features_of_one_query_in_large_units(scale, method):
    """Nothing is learnt of a left-out query's own feature: its weight comes out as zero."""
    held = np.flatnonzero(QID == 2)
    left = np.flatnonzero(QID != 2)
    model = RankRLS(2.0**-15).fit(OWN * scale, Y, qid=QID)
    found = model.holdout(held) if method == "holdout" else model.leave_query_out()[held]
    others = np.delete(OWN, 4 + 2, axis=1) * scale
    expected = RankRLS(2.0**-15).fit(others[left], Y[left], qid=QID[left]).predict(others[held])
    assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("loss", ["magnitude", "unit"])
@pytest.mark.parametrize("alpha", [1e2, 1e6, 1e10])
def test_weak_kernels_with_ties_dropped(loss, alpha):
    """Predictions shrink like 1/alpha, and so must their errors: their order is what counts."""
    y = np.array([2.0, 1.0, 1.0, 2.0])
    options = {"loss": loss, "ties": "drop", "kernel": "rbf"}
    model = RankRLS(alpha, **options).fit(X[:4], y)
    expected = RankRLS(alpha, **options).fit(X[2:4], y[2:]).predict(X[:2])
    found = model.leave_pair_out([[0, 1]])[0]
    assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("scale", [1e4, 1e6, 1e8])
@pytest.mark.parametrize("cv", ["leave-query-out", "leave-pair-out", "leave-one-out", 2])
def test_the_default_grid_on_unscaled_features(scale, cv):
    model = RankRLSCV(cv=cv).fit(OWN * scale, Y, qid=QID)
    assert np.isfinite(model.cv_results_["score"]).all()
    assert np.isfinite(model.predict(OWN * scale)).all()


@pytest.mark.parametrize(
    ("items", "y", "weight", "options"),
    [
        (X * 1e200, Y, None, {}),
        (X * 1e200, Y, None, {"kernel": "rbf"}),
        (X * 1e120, Y, None, {"kernel": "poly"}),
        (X, Y * 1e300, None, {}),
        (X, Y, np.full(20, 1e200), {}),
        (X, np.where(np.arange(20) == 3, Y[4] + 1e-200, Y), None, {"loss": "relative"}),
        (X, np.arange(20) * 1e-200, None, {"loss": "relative"}),
        (X, np.arange(20) * 1e200, None, {"loss": "relative"}),
    ],
    ids=["X", "X rbf", "X poly", "y", "weight", "near tie", "tiny y", "huge y"],
)
def test_overflow_is_refused_or_avoided(items, y, weight, options):
    try:
        model = RankRLS(**options).fit(items, y, sample_weight=weight)
    except ValueError as error:
        assert not isinstance(error, np.linalg.LinAlgError)
        return
    assert np.isfinite(model.predict(items)).all()


@pytest.mark.parametrize("options", [{}, {"solver": "cg"}, {"kernel": "precomputed"}], ids=str)
def test_nearly_equal_scores_do_not_hide_the_others(options):
    """Relative cost, one gap of 1e-9 of weight 1e18: a constraint, beside which all else counts.

    Refusing such scores, with the pair named, is as good as the right answer.
    """
    y, items = np.array([0.0, 1e-9, 1.0, 2.0, 3.5, 5.0]), X[:6]
    ordinary = [pair for pair in enumerate_pairs(y, loss="relative") if pair[2] > 1e-6]
    L, b = laplacian_and_target(ordinary, 6)
    tied = (items[1] - items[0])[:, None]
    system = np.block([[items.T @ L @ items + np.eye(4), tied], [tied.T, np.zeros((1, 1))]])
    expected = items @ np.linalg.solve(system, np.append(items.T @ b, 1e-9))[:4]
    given = items @ items.T if options.get("kernel") else items
    try:
        found = RankRLS(loss="relative", **options).fit(given, y).predict(given)
    except ValueError as error:
        assert "y" in str(error) and "relative" in str(error)
        return
    assert_allclose(found, expected, atol=1e-4)


def test_threads():
    expected = RankRLSCV([0.1, 10.0]).fit(X, Y).cv_results_["score"]
    found = []

    def work():
        for _ in range(3):
            found.append(RankRLSCV([0.1, 10.0]).fit(X, Y).cv_results_["score"])

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 15
    assert all((scores == expected).all() for scores in found)


def test_zero_weights_are_absent_items():
    weight = np.where(np.arange(20) % 3 == 0, 0.0, 1.0)
    kept = weight > 0
    for cost in COSTS:
        for kernel in ("linear", "rbf"):
            model = RankRLS(kernel=kernel, **cost).fit(X, Y, qid=QID, sample_weight=weight)
            absent = RankRLS(kernel=kernel, **cost).fit(X[kept], Y[kept], qid=QID[kept])
            assert_allclose(model.predict(X), absent.predict(X), atol=1e-9)
            assert_allclose(model.leave_query_out()[kept], absent.leave_query_out(), atol=1e-8)
            assert_allclose(model.leave_one_out()[kept], absent.leave_one_out(), atol=1e-8)
            assert_allclose(model.leave_one_out()[~kept], model.predict(X)[~kept], atol=1e-8)
