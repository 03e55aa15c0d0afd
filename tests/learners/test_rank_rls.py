"""RankRLS and RLS against pairs written out, matrices formed and systems solved."""

import doctest
import tracemalloc
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from rankwise import RLS, Preferences, RankRLS
from rankwise.learners import rank_rls
from rankwise.losses.query_weights import QUERY_WEIGHTS
from tests.reference import (
    dual_solution,
    enumerate_pairs,
    laplacian_and_target,
    primal_solution,
    query_scale,
    reduced_solution,
)

M, N = 17, 5
COSTS = [
    ("magnitude", "keep"),
    ("magnitude", "drop"),
    ("unit", "keep"),
    ("relative", "keep"),
    ("relative", "drop"),
]
RNG = np.random.default_rng(7)
X = RNG.normal(size=(M, N))
X_NEW = RNG.normal(size=(4, N))
Y = RNG.integers(0, 4, size=(M, 3)).astype(float)
QID = RNG.permutation(list("bacbacbacbacbacba"))
WEIGHT = RNG.choice([0.0, 0.5, 1.0, 3.0], M)


def quadratic(y, qid=None, weight=None, loss="magnitude", ties="keep", query_weight="pairs"):
    pairs = enumerate_pairs(y, qid, weight, loss, ties, query_weight)
    return laplacian_and_target(pairs, len(y))


@pytest.mark.parametrize("query_weight", ["pairs", "size", "queries"])
@pytest.mark.parametrize(("loss", "ties"), COSTS)
@pytest.mark.parametrize("qid", [None, QID], ids=["one query", "queries"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
class TestAgainstPairs:
    def model(self, loss, ties, query_weight, **options):
        return RankRLS(0.7, loss=loss, ties=ties, query_weight=query_weight, **options)

    def test_linear(self, loss, ties, query_weight, qid, weight):
        cost = (loss, ties, query_weight)
        expected = [primal_solution(X, *quadratic(y, qid, weight, *cost), 0.7) for y in Y.T]
        for items in (X, sparse.csr_array(X)):
            single = self.model(*cost).fit(items, Y[:, 0], qid=qid, sample_weight=weight)
            assert_allclose(single.coef_, expected[0], rtol=1e-8, atol=1e-10)
            assert_allclose(single.predict(X_NEW), X_NEW @ expected[0], rtol=1e-8, atol=1e-10)
            many = self.model(*cost).fit(items, Y, qid=qid, sample_weight=weight)
            assert_allclose(many.coef_, expected, rtol=1e-8, atol=1e-10)
            by_cg = self.model(*cost, solver="cg", tol=1e-12)
            by_cg.fit(items, Y, qid=qid, sample_weight=weight)
            assert_allclose(by_cg.coef_, expected, rtol=1e-6, atol=1e-8)

    def test_more_features_than_items(self, loss, ties, query_weight, qid, weight):
        wide = np.random.default_rng(1).normal(size=(M, 2 * M))
        cost = (loss, ties, query_weight)
        expected = primal_solution(wide, *quadratic(Y[:, 0], qid, weight, *cost), 0.7)
        for items in (wide, sparse.csr_array(wide)):
            found = self.model(*cost).fit(items, Y[:, 0], qid=qid, sample_weight=weight).coef_
            assert_allclose(found, expected, rtol=1e-8, atol=1e-10)

    def test_kernel(self, loss, ties, query_weight, qid, weight):
        cost = (loss, ties, query_weight)
        K, K_new = rbf_kernel(X), rbf_kernel(X_NEW, X)
        expected = np.column_stack(
            [dual_solution(K, *quadratic(y, qid, weight, *cost), 0.7) for y in Y.T]
        )
        model = self.model(*cost, kernel="rbf").fit(X, Y, qid=qid, sample_weight=weight)
        assert_allclose(model.dual_coef_, expected, rtol=1e-7, atol=1e-9)
        assert_allclose(model.predict(X_NEW), K_new @ expected, rtol=1e-7, atol=1e-9)

    def test_reduced_set(self, loss, ties, query_weight, qid, weight):
        cost, basis = (loss, ties, query_weight), np.array([11, 0, 3, 8])
        K, K_new = rbf_kernel(X), rbf_kernel(X_NEW, X)
        expected = reduced_solution(K, basis, *quadratic(Y[:, 0], qid, weight, *cost), 0.7)
        model = self.model(*cost, kernel="rbf", basis=basis)
        model.fit(X, Y[:, 0], qid=qid, sample_weight=weight)
        assert_allclose(model.predict(X_NEW), K_new[:, basis] @ expected, rtol=1e-6, atol=1e-8)
        assert model.basis_index_.tolist() == basis.tolist()

    def test_path(self, loss, ties, query_weight, qid, weight):
        cost, alphas = (loss, ties, query_weight), [3.0, 0.01, 40.0]
        model = self.model(*cost).fit(X, Y, qid=qid, sample_weight=weight)
        L_b = [quadratic(y, qid, weight, *cost) for y in Y.T]
        expected = [[primal_solution(X, *pair, alpha) for pair in L_b] for alpha in alphas]
        assert_allclose(model.path(alphas), expected, rtol=1e-8, atol=1e-10)
        single = self.model(*cost).fit(X, Y[:, 0], qid=qid, sample_weight=weight)
        assert_allclose(single.path(alphas), np.array(expected)[:, 0], rtol=1e-8, atol=1e-10)

    def test_partial_fit_in_pieces(self, loss, ties, query_weight, qid, weight):
        pieces = [np.flatnonzero(label == QID) for label in "cab"]
        model = self.model(loss, ties, query_weight)
        v = np.ones(M) if weight is None else weight + 0.25
        for place, items in enumerate(pieces):
            given = None if qid is None else QID[items]
            fit = model.fit if place == 0 else model.partial_fit
            assert fit(X[items], Y[items], qid=given, sample_weight=v[items]) is model
        whole = self.model(loss, ties, query_weight).fit(X, Y, qid=QID, sample_weight=v)
        assert_allclose(model.coef_, whole.coef_, rtol=1e-8, atol=1e-10)


def rows_kernel(x, z):
    return float(np.exp(-np.abs(x - z).sum() / 3))


@pytest.mark.parametrize(
    ("options", "K_of"),
    [
        ({"kernel": "rbf", "gamma": 0.3}, lambda A, B: rbf_kernel(A, B, gamma=0.3)),
        (
            {"kernel": "poly", "degree": 2, "coef0": 0.5, "gamma": 0.2},
            lambda A, B: polynomial_kernel(A, B, degree=2, gamma=0.2, coef0=0.5),
        ),
        ({"kernel": "poly"}, lambda A, B: (A @ B.T / N + 1) ** 3),
        ({"kernel": rbf_kernel}, rbf_kernel),
        (
            {"kernel": rows_kernel},
            lambda A, B: np.array([[rows_kernel(a, b) for b in B] for a in A]),
        ),
        ({"kernel": lambda A, B: A @ B.T}, lambda A, B: A @ B.T),
    ],
    ids=["rbf", "poly", "default gamma", "callable", "callable of rows", "linear callable"],
)
def test_kernels_on_new_items(options, K_of):
    L, b = quadratic(Y[:, 0], QID)
    expected = K_of(X_NEW, X) @ dual_solution(K_of(X, X), L, b, 2.0)
    model = RankRLS(2.0, **options).fit(X, Y[:, 0], qid=QID)
    assert_allclose(model.predict(X_NEW), expected, rtol=1e-7, atol=1e-9)
    given = RankRLS(2.0, kernel="precomputed").fit(K_of(X, X), Y[:, 0], qid=QID)
    assert_allclose(given.predict(K_of(X_NEW, X)), expected, rtol=1e-7, atol=1e-9)
    basis = [3, 9, 1]
    reduced = RankRLS(2.0, basis=basis, **options).fit(X, Y[:, 0], qid=QID)
    stored = RankRLS(2.0, basis=basis, kernel="precomputed").fit(K_of(X, X), Y[:, 0], qid=QID)
    assert_allclose(reduced.predict(X_NEW), stored.predict(K_of(X_NEW, X)), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("loss", ["magnitude", "unit", "relative"])
@pytest.mark.parametrize("query_weight", ["pairs", "size", "queries"])
def test_preferences_multigraph(loss, query_weight):
    rng = np.random.default_rng(3)
    winner, loser = rng.integers(0, M, (2, 40))
    kept = (winner != loser) & (QID[winner] == QID[loser])
    winner, loser = winner[kept], loser[kept]
    winner, loser = np.append(winner, winner[:3]), np.append(loser, loser[:3])
    magnitude, weight = rng.uniform(0.2, 3, (2, len(winner)))
    weight[1] = 0.0
    pair_weight = weight * WEIGHT[winner] * WEIGHT[loser]
    totals = {
        label: (WEIGHT[label == QID].sum(), pair_weight[QID[winner] == label].sum())
        for label in set(QID)
    }
    pairs = []
    for h, j, y, v in zip(winner, loser, magnitude, pair_weight):
        squared = v / y**2 if loss == "relative" else v
        squared *= query_scale(query_weight, *totals[QID[h]])
        pairs.append((h, j, 1.0 if loss == "unit" else y, squared))
    L, b = laplacian_and_target(pairs, M)
    preferences = Preferences(winner, loser, magnitude, weight, n_items=M)
    told = {"preferences": preferences, "qid": QID, "sample_weight": WEIGHT}
    options = {"loss": loss, "query_weight": query_weight}
    for items in (X, sparse.csr_array(X)):
        model = RankRLS(0.4, **options).fit(items, **told)
        assert_allclose(model.coef_, primal_solution(X, L, b, 0.4), rtol=1e-8, atol=1e-10)
    kernel = RankRLS(0.4, kernel="rbf", **options).fit(X, **told)
    assert_allclose(
        kernel.predict(X), rbf_kernel(X) @ dual_solution(rbf_kernel(X), L, b, 0.4), atol=1e-9
    )


def test_preferences_of_scores_are_the_scores():
    """Enumerated preferences and scores with ties dropped are the same objective."""
    preferences = Preferences.from_scores(Y[:, 0], QID)
    for loss, query_weight in product(("magnitude", "unit", "relative"), QUERY_WEIGHTS):
        options = {"loss": loss, "query_weight": query_weight}
        told = RankRLS(**options).fit(X, preferences=preferences, qid=QID)
        scored = RankRLS(ties="drop", **options).fit(X, Y[:, 0], qid=QID)
        assert_allclose(told.coef_, scored.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_global_magnitude_is_ridge_with_intercept(weighted):
    v = WEIGHT if weighted else np.ones(M)
    model = RankRLS(3.0).fit(X, Y, sample_weight=WEIGHT if weighted else None)
    ridge = Ridge(3.0 / v.sum()).fit(X, Y, sample_weight=v)
    assert_allclose(model.coef_, ridge.coef_, rtol=1e-9)


@pytest.mark.parametrize("items", [X, sparse.csr_array(X)], ids=["dense", "sparse"])
def test_rls_is_ridge_without_intercept(items):
    expected = Ridge(3.0, fit_intercept=False).fit(X, Y, sample_weight=WEIGHT).coef_
    model = RLS(3.0).fit(items, Y, sample_weight=WEIGHT, qid=QID)
    assert_allclose(model.coef_, expected, rtol=1e-9)
    by_cg = RLS(3.0, solver="cg", tol=1e-12).fit(items, Y, sample_weight=WEIGHT)
    assert_allclose(by_cg.coef_, expected, rtol=1e-7)
    kernel = RLS(3.0, kernel="rbf").fit(items, Y)
    expected = np.linalg.solve(rbf_kernel(X) + 3.0 * np.eye(M), Y)
    assert_allclose(kernel.dual_coef_, expected, rtol=1e-8)


def test_holdouts_after_conjugate_gradients_stay_sparse():
    rng = np.random.default_rng(0)
    items = sparse.random(2000, 2000, density=0.002, random_state=rng, format="csr")
    y, qid = rng.normal(size=2000), np.arange(2000) % 40
    model = RankRLS(solver="cg", tol=1e-10).fit(items, y, qid=qid)
    held, left = np.flatnonzero(qid == 3), np.flatnonzero(qid != 3)
    tracemalloc.start()
    found = model.holdout(held)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    without = RankRLS(solver="cg", tol=1e-10).fit(items[left], y[left], qid=qid[left])
    assert_allclose(found, without.predict(items[held]), atol=1e-6)
    assert peak < 16e6, "one dense 2000 x 2000 matrix takes 32 MB"


def test_docstrings():
    assert doctest.testmod(rank_rls).failed == 0
    assert doctest.testmod(rank_rls).attempted > 0


def test_partial_fit_refuses_a_query_seen_before():
    model = RankRLS().partial_fit(X[:8], Y[:8, 0], qid=[1, 1, 1, 1, 2, 2, 2, 2])
    coef = model.coef_.copy()
    with pytest.raises(ValueError, match=r"2.*seen before"):
        model.partial_fit(X[8:], Y[8:, 0], qid=[2] * 5 + [3] * 4)
    assert_allclose(model.coef_, coef)
    model.partial_fit(X[8:], Y[8:, 0], qid=[4] * 5 + [3] * 4)
    fitted = RankRLS().fit(X, Y[:, 0], qid=[1] * 4 + [2] * 4 + [4] * 5 + [3] * 4)
    assert_allclose(model.coef_, fitted.coef_, rtol=1e-9)
    with pytest.raises(ValueError, match="partial_fit"):
        model.leave_one_out()
    with pytest.raises(ValueError, match="seen before"):
        fitted.partial_fit(X[:3], Y[:3, 0], qid=[9, 9, 4])


def test_partial_fit_needs_features():
    assert not hasattr(RankRLS(kernel="rbf"), "partial_fit")
    assert hasattr(RankRLS(kernel="rbf", basis=3), "partial_fit")


def test_partial_fit_takes_a_query_of_ties():
    """Its items are to score alike: with ties kept that is information, as in one fit."""
    tied = np.where(np.arange(M) < 5, 2.0, Y[:, 0] + np.arange(M))
    qid = np.where(np.arange(M) < 5, "ties", "rest")
    model = RankRLS().partial_fit(X[5:], tied[5:], qid=qid[5:])
    model.partial_fit(X[:5], tied[:5], qid=qid[:5])
    assert_allclose(model.coef_, RankRLS().fit(X, tied, qid=qid).coef_, rtol=1e-9)


def test_partial_fit_after_fit_from_a_reused_buffer():
    """A stream reads every chunk into one array; what was learnt must not change with it."""
    buffer = X[:8].copy()
    model = RankRLS().fit(buffer, Y[:8, 0])
    buffer[:] = X[8:16]
    model.partial_fit(buffer, Y[8:16, 0])
    whole = RankRLS().fit(X[:16], Y[:16, 0], qid=[0] * 8 + [1] * 8)
    assert_allclose(model.coef_, whole.coef_, rtol=1e-9)


def test_refused_partial_fit_does_not_forget_the_queries():
    model = RankRLS().partial_fit(X, Y[:, 0], qid=QID)
    with pytest.raises(ValueError):
        model.partial_fit(X, np.full(M, np.nan))
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        model.score(X, Y[:, 0])
