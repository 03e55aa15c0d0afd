"""Reduced sets against 60 digits: nothing above rounding is lost, singular bases included."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise import RLS, RankRLS
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.nystrom_map import NystromMap
from tests.reference_precise import rbf_in_decimals, reduced_set_scores, rounded

RNG = np.random.default_rng(0)
PLANE = RNG.normal(size=(110, 2))
SMOOTH = {
    "plane": (PLANE, 0.5),
    "wide kernel": (RNG.normal(size=(100, 3)), 0.01),
    "five features": (RNG.normal(size=(100, 5)), 0.1),
    "line": (np.sort(RNG.uniform(0, 10, (100, 1)), axis=0), 1.0),
    "near twins": (np.vstack((PLANE, PLANE[:30] + 1e-5)), 0.5),
}
LEARNERS = {"RLS": RLS, "RankRLS": RankRLS}


def smooth_problem(name):
    X, gamma = SMOOTH[name]
    rng = np.random.default_rng(1)
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=len(X))
    basis = rng.permutation(len(X))[:40]
    new = X[:30] + 0.05 * rng.normal(size=(30, X.shape[1]))
    return X, y, gamma, basis, new


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_kernels_keep_their_digits(name, learner):
    """1e-6 of the range of scores, or as far as kernel values of double precision say.

    Eigenvalues of these K_RR fade to 1e-12 of the largest and below. To leave out those below
    1e-11 changed scores by up to their range.
    """
    X, y, gamma, basis, new = smooth_problem(name)
    K_MR, K_new = rbf_in_decimals(X, X[basis], gamma), rbf_in_decimals(new, X[basis], gamma)
    ranks = learner == "RankRLS"
    for alpha in (1.0, 1e-2, 1e-4, 1e-6):
        expected = reduced_set_scores(K_MR, K_MR[basis], K_new, y, alpha, ranks)
        from_rounded = reduced_set_scores(
            rounded(K_MR), rounded(K_MR[basis]), rounded(K_new), y, alpha, ranks
        )
        known = np.abs(from_rounded - expected).max() / np.ptp(expected)
        model = LEARNERS[learner](alpha, kernel="rbf", gamma=gamma, basis=basis).fit(X, y)
        error = np.abs(model.predict(new) - expected).max() / np.ptp(expected)
        assert error < max(1e-6, 100 * known), f"alpha {alpha:g}: {error:.1e}, known {known:.1e}"


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("alpha", [1.0, 1e-6, 1e-10])
def test_twins_in_the_basis_change_nothing(learner, alpha):
    """A basis item given twice, as another row with the same features, adds no function."""
    X = np.vstack((PLANE[:60], PLANE[:20]))
    y = np.sin(X[:, 0]) + 0.3 * RNG.normal(size=80)
    make = LEARNERS[learner]
    once = make(alpha, kernel="rbf", gamma=5.0, basis=np.arange(40)).fit(X, y)
    twice = make(alpha, kernel="rbf", gamma=5.0, basis=np.arange(80)[20:]).fit(X, y)
    more = make(alpha, kernel="rbf", gamma=5.0, basis=np.r_[0:40, 60:80]).fit(X, y)
    assert_allclose(more.predict(PLANE), once.predict(PLANE), atol=1e-6)
    all_distinct = make(alpha, kernel="rbf", gamma=5.0, basis=np.arange(60)).fit(X, y)
    assert_allclose(twice.predict(PLANE), all_distinct.predict(PLANE), atol=1e-6)


@pytest.mark.parametrize("name", ["plane", "wide kernel", "five features", "near twins"])
def test_the_order_of_the_basis_changes_nothing(name):
    X, y, gamma, basis, new = smooth_problem(name)
    for make in (RLS, RankRLS):
        options = {"alpha": 1e-4, "kernel": "rbf", "gamma": gamma}
        one = make(**options, basis=basis).fit(X, y).predict(new)
        other = make(**options, basis=np.sort(basis)).fit(X, y).predict(new)
        assert_allclose(other, one, atol=1e-4 * np.ptp(one))


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("alpha", [1e-2, 1e-5])
@pytest.mark.parametrize("name", ["plane", "wide kernel", "five features", "near twins"])
def test_hold_outs_equal_refits_on_smooth_kernels(name, alpha, learner):
    X, y, gamma, basis, _ = smooth_problem(name)
    m, options = len(X), {"kernel": "rbf", "gamma": gamma}
    qid, make = np.arange(m) % 7, LEARNERS[learner]
    model = make(alpha, **options, basis=basis).fit(X, y, qid=qid)

    def refitted(test):
        train = np.setdiff1d(np.arange(m), test)
        staying = [int(np.searchsorted(train, i)) for i in basis if i in train]
        again = make(alpha, **options, basis=staying).fit(X[train], y[train], qid=qid[train])
        return again.predict(X[test])

    outside = np.setdiff1d(np.arange(m), basis)[:3]
    tested = [np.flatnonzero(qid == 2), basis[:1], basis[:2], outside[:1], np.r_[outside, basis[3]]]
    for items in tested:
        expected = refitted(items)
        found = model.holdout(items)
        assert_allclose(found, expected, atol=1e-5 * max(np.ptp(model.predict(X)), 1e-3))
    assert_allclose(
        model.leave_query_out()[tested[0]], refitted(tested[0]), atol=1e-5 * np.ptp(expected)
    )
    single = model.leave_one_out()
    for item in (basis[0], outside[0]):
        assert_allclose(single[item], refitted([item])[0], atol=1e-5 * np.ptp(model.predict(X)))


@pytest.mark.parametrize("exact", [True, False])
def test_the_map_reproduces_the_kernel_of_its_basis(exact):
    for X, gamma in SMOOTH.values():
        index = np.arange(len(X)) if exact else RNG.permutation(len(X))[:30]
        kernel = Kernel("rbf", gamma)
        mapped = NystromMap(kernel, index, exact=exact).fit(X)
        K = kernel.matrix(X[index], X[index])
        F = mapped.embedding[index]
        assert_allclose(F @ F.T, K, atol=1e-6)
        S = mapped.scale[:, None] * mapped.basis_features
        assert_allclose(S @ S.T, K, atol=1e-12)
