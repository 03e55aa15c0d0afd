"""Polynomial kernels of items far from zero: the right model, or a refusal, never another model."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import rankwise
from rankwise import (
    RLS,
    MPRank,
    Preferences,
    RankLogistic,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
    SVRank,
)
from tests.reference_precise import exact_scores, exact_squared_hinge

MEANS = [0.0, 1e2, 1e4, 1e6]
GAMMA = 0.25


def problem(mean, m=12, n=3, seed=0):
    """Items, new items and scores; offsets are added without rounding."""
    rng = np.random.default_rng(seed)
    near = np.round(rng.normal(size=(m + 5, n)) * 2**14) / 2**14
    y = near[:m] @ [1.0, 2.0, -1.0] + near[:m, 0] ** 2 + 0.1 * rng.normal(size=m)
    X = near + mean
    return X[:m], X[m:], y


def size_of(mean, degree):
    """About the largest difference of kernel values."""
    return degree**2 * GAMMA * (3 * GAMMA * mean**2 + 1) ** (degree - 1)


def all_pairs(y):
    P = Preferences.from_scores(y)
    return list(zip(P.winner, P.loser))


def differences(scores):
    return scores - scores.mean(axis=0)


def kernel(degree):
    return {"kernel": "poly", "gamma": GAMMA, "degree": degree}


def assert_close(found, expected, tolerance=1e-6):
    found, expected = differences(found), differences(expected)
    assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("share", [1e-5, 1e-2])
def test_squared_hinge(mean, degree, share):
    X, X_new, y = problem(mean)
    alpha = share * size_of(mean, degree)
    model = RankSVM(alpha, loss="squared_hinge", tol=1e-9, **kernel(degree))
    objective, expected = exact_squared_hinge(
        X, all_pairs(y), X_new, alpha, kernel="poly", gamma=GAMMA, degree=degree
    )
    told = [
        (X, {"y": y}),
        (sparse.csr_array(X), {"y": y}),
        (X, {"preferences": Preferences.from_scores(y)}),
    ]
    for given, what in told:
        fitted = model.fit(given, **what)
        assert fitted.objective_ == pytest.approx(objective, rel=1e-6)
        new = X_new if isinstance(given, np.ndarray) else sparse.csr_array(X_new)
        assert_close(fitted.predict(new), expected, 1e-5)


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("degree", [2, 3])
def test_hinge_of_scores_and_preferences_dense_and_sparse(mean, degree):
    X, _, y = problem(mean, m=20)
    model = RankSVM(1e-4 * size_of(mean, degree), tol=1e-6, **kernel(degree))
    objectives = [
        model.fit(X, y).objective_,
        model.fit(sparse.csr_array(X), y).objective_,
        model.fit(X, preferences=Preferences.from_scores(y)).objective_,
    ]
    assert np.ptp(objectives) <= 2e-6


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("share", [1e-6, 1e-2])
def test_least_squares_and_their_hold_outs(mean, degree, share):
    X, X_new, y = problem(mean)
    alpha = share * size_of(mean, degree)
    options = {"kernel": "poly", "gamma": GAMMA, "degree": degree}
    expected = exact_scores(X, y, X_new, alpha, **options)
    single = [
        exact_scores(np.delete(X, i, 0), np.delete(y, i), X[[i, i - 1]], alpha, **options)
        for i in range(3)
    ]
    for given, new in ((X, X_new), (sparse.csr_array(X), sparse.csr_array(X_new))):
        model = RankRLS(alpha, **options).fit(given, y)
        assert_close(model.predict(new), expected)
        assert_close(
            MPRank(len(y) ** 2 / (2 * alpha), **options).fit(given, y).predict(new), expected
        )
        found = model.leave_one_out()[:3]
        largest = np.abs(differences(expected)).max()
        offset = np.abs(expected).max()
        for i in range(3):
            assert found[i] == pytest.approx(single[i][0], abs=1e-6 * largest + 1e-5 * offset)
        pair = model.leave_pair_out([[0, 1]])[0]
        of_pair = exact_scores(X[2:], y[2:], X[:2], alpha, **options)
        assert pair[0] - pair[1] == pytest.approx(of_pair[0] - of_pair[1], abs=1e-6 * largest)


@pytest.mark.parametrize("mean", MEANS)
def test_residual_losses(mean):
    X, X_new, y = problem(mean)
    C = 1e3 / size_of(mean, 3)
    model = SVRank(C, 0.0, norm=2, tol=1e-9, **kernel(3))
    alpha = len(y) ** 2 / (2 * C)
    expected = exact_scores(X, y, X_new, alpha, **kernel(3))
    assert_close(model.fit(X, y).predict(X_new), expected)
    assert_close(model.fit(sparse.csr_array(X), y).predict(X_new), expected)


@pytest.mark.parametrize("mean", MEANS)
def test_items_one_by_one(mean):
    X, X_new, y = problem(mean)
    C = 1e2 / size_of(mean, 2)
    expected = exact_scores(X, y, X_new, len(y) ** 2 / (2 * C), **kernel(2))
    model = MPRank(C, solver="online", tol=1e-12, max_iter=5000, **kernel(2))
    assert_close(model.fit(X, y).predict(X_new), expected, 1e-5)
    stream = MPRank(C, solver="online", tol=1e-12, max_iter=5000, **kernel(2))
    stream.partial_fit(X[:7], y[:7]).partial_fit(X[7:], y[7:])
    assert_close(stream.predict(X_new), expected, 1e-5)


@pytest.mark.parametrize("learner", [RankRLS(1e-2), RankSVM(1e-3), MPRank(1e2), SVRank(1e4)])
def test_reduced_sets_warn(learner):
    X, _, y = problem(1e6)
    for name in ("poly", "linear"):
        learner.set_params(basis=[0, 3, 5], **kernel(2) | {"kernel": name})
        warns_of_lost_digits(learner, X, y)


def warns_of_lost_digits(learner, X, y):
    with pytest.warns(ConvergenceWarning, match="nearly equal"):
        learner.fit(X, y)
    with warnings.catch_warnings(action="error"):
        learner.fit(problem(0.0)[0], y)


def test_queries_and_searches_give_the_same_for_dense_and_sparse_items():
    X, _, y = problem(1e4, m=24)
    qid = np.arange(24) % 4
    alphas = size_of(1e4, 2) * np.array([1e-6, 1e-4, 1e-2])
    for search in (RankRLSCV(alphas, **kernel(2)), RankSVMCV(alphas, tol=1e-6, **kernel(2))):
        found = search.fit(X, y, qid=qid).cv_results_["score"]
        assert_allclose(found, search.fit(sparse.csr_array(X), y, qid=qid).cv_results_["score"])


def test_logistic_preferences_and_their_uncertainty():
    """Far from zero and degree 1, the kernel is γ⟨x, y⟩: the linear model near zero."""
    X, X_new, y = problem(2.0**20)
    near, near_new, _ = problem(0.0)
    P = Preferences.from_scores(y)
    far_model = RankLogistic(GAMMA * 0.1, kernel="poly", gamma=GAMMA, degree=1)
    far_model.fit(X, preferences=P)
    near_model = RankLogistic(0.1).fit(near, preferences=P)
    assert_close(far_model.predict(X_new), near_model.predict(near_new))
    assert_close(far_model.predict(None), near_model.predict(near))
    for far_items, near_items in ((None, None), (X_new, near_new)):
        found = np.ptp(far_model.score_intervals(far_items), axis=1)
        expected = np.ptp(near_model.score_intervals(near_items), axis=1)
        assert_allclose(found, expected, rtol=1e-5)


def test_saved_models_predict_the_same(tmp_path):
    X, X_new, y = problem(1e4)
    for learner in (RankSVM(1e-3, **kernel(2)), RankRLS(1e-3, **kernel(2))):
        rankwise.save(learner.fit(X, y), tmp_path / "model.rw")
        loaded = rankwise.load(tmp_path / "model.rw")
        assert (loaded.predict(X_new) == learner.predict(X_new)).all()
        assert sum(learner.dual_coef_) == pytest.approx(
            0.0, abs=1e-12 * abs(learner.dual_coef_).sum()
        )


@pytest.mark.parametrize(
    "learner",
    [
        RankSVM(1e-3, **kernel(3)),
        RankSVM(1e-3, loss="squared_hinge", **kernel(3)),
        SVRank(1e3, **kernel(3)),
        SVRank(1e3, norm=2, **kernel(3)),
        MPRank(1e3, norm=1, **kernel(3)),
        MPRank(1e3, **kernel(3)),
        RankRLS(1e-3, **kernel(3)),
        RankRLSCV([1e-3], **kernel(3)),
        RankSVMCV([1e-3], **kernel(3)),
    ],
)
@pytest.mark.parametrize("mean", [1e5, 1e6])
def test_an_alpha_that_needs_lost_terms_is_refused(learner, mean):
    X, _, y = problem(mean)
    with pytest.raises(ValueError, match="standardise"):
        learner.fit(X, y)


@pytest.mark.parametrize("mean", [1e4, 1e6])
@pytest.mark.parametrize("learner", [RankSVM(1e-2), SVRank(1e2), RankRLS(1e-2), MPRank(1e2)])
def test_kernels_that_come_as_values_are_refused_or_warned_about(learner, mean):
    """Whoever computes the values has lost the digits before any learner sees them."""
    X, _, y = problem(mean)
    for given, name in (
        ((GAMMA * X @ X.T + 1) ** 3, "precomputed"),
        (X, lambda A, B: (GAMMA * A @ B.T + 1) ** 3),
    ):
        learner.set_params(kernel=name)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            with pytest.raises((ValueError, ConvergenceWarning), match=r"standardise|larger"):
                learner.fit(given, y)


def test_small_features_beside_coef0():
    """Of features that are small beside coef0, the linear part of the kernel remains."""
    X, X_new, y = problem(0.0)
    linear = RankRLS(1e-2).fit(X, y).predict(X_new)
    model = RankRLS(3e-22 * GAMMA, **kernel(3)).fit(1e-10 * X, y)
    assert_close(model.predict(1e-10 * X_new), linear)
    model = RankSVM(3e-22 * GAMMA, loss="squared_hinge", tol=1e-9, **kernel(3))
    plain = RankSVM(1e-2, loss="squared_hinge", tol=1e-9)
    plain.fit(X, y)
    assert model.fit(1e-10 * X, y).objective_ == pytest.approx(plain.objective_, rel=1e-6)


@pytest.mark.parametrize("name", ["poly", "rbf"])
@pytest.mark.parametrize("learner", [RankSVM(), SVRank(10.0), SVRank(10.0, norm=2), RankRLS()])
def test_equal_items_are_no_loss_of_digits(name, learner):
    X = np.full((6, 2), 1e3)
    scores = learner.set_params(kernel=name).fit(X, np.arange(6.0)).predict(X)
    assert np.ptp(scores) <= 1e-12 * np.abs(scores).max()


def test_equal_items_whose_kernel_values_differ_by_rounding():
    """Some BLAS libraries compute equal entries of a product by different instructions."""
    K = 1e18 * (1 + np.spacing(1.0) * np.random.default_rng(0).integers(-1, 2, (6, 6)))
    K = (K + K.T) / 2
    y = np.arange(6.0)
    for alpha in (1e-3, 1.0, 1e3):
        model = RankRLS(alpha, kernel="precomputed").fit(K, y)
        assert np.ptp(model.predict(K)) <= 1e-12
        assert np.ptp(model.leave_one_out()) <= 1e-12
    mean = RLS(1.0, kernel="precomputed").fit(np.full((6, 6), 2.0), y).predict(np.full((1, 6), 2.0))
    assert mean == pytest.approx(2 * y.sum() / (2 * 6 + 1))


@pytest.mark.parametrize("as_items", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("seed", range(30))
def test_items_that_are_all_equal_are_no_loss_of_digits(as_items, seed):
    """Their kernel values may differ by rounding, which grows with gamma times their squares."""
    rng = np.random.default_rng(seed)
    X = np.tile(rng.normal(size=rng.integers(1, 20)), (5, 1))
    for learner in (
        RankSVM(kernel="rbf", gamma=50.0),
        SVRank(kernel="rbf", gamma=50.0),
    ):
        with warnings.catch_warnings(action="error"):
            model = learner.fit(as_items(X), rng.normal(size=5))
        assert np.ptp(model.predict(as_items(X))) < 1e-6
