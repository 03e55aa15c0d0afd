"""Kernel models at small alpha against solutions with 60 digits.

Rounding errors of the kernel matrix K change predictions by about eps/r, r being alpha beside the
largest eigenvalue of K. Models must not be worse than that. A visibly singular K leaves no such
errors: for r below 2e-10 its null space is left out of the model.
"""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise import RLS, RankRLS
from tests.reference_precise import DIGITS, exact_scores, exactly, solve

RNG = np.random.default_rng(11)
PLANE = RNG.normal(size=(36, 2))
NEW = RNG.normal(size=(8, 2))
TWINS, CLONES = PLANE.copy(), PLANE.copy()
TWINS[1] = TWINS[0] + [1e-7, 0.0]
CLONES[1:8] = CLONES[0]
NOISE = 0.5 * RNG.normal(size=36)
# items, kernel, gamma, whether the kernel matrix is visibly singular
PROBLEMS = {
    "smooth": (PLANE, "rbf", 0.5, False),
    "very smooth": (PLANE, "rbf", 0.01, False),
    "near twins": (TWINS, "rbf", 5.0, False),
    "clones": (CLONES, "rbf", 5.0, True),
    "rank 10": (PLANE, "poly", 0.5, True),
    "rank 2": (PLANE, "linear", 1.0, True),
    "decades": (PLANE * [1.0, 1e-3], "linear", 1.0, True),
}
COSTS = {"RLS": None, "magnitude": "magnitude", "unit": "unit"}
SHARES = 10.0 ** np.array([-16, -14, -12, -11, -10, -9, -8, -6, -3])


def kernel_matrix(X, Z, kernel, gamma):
    """The matrix in doubles, to be given as a precomputed kernel."""
    if kernel == "rbf":
        return np.exp(-gamma * ((X[:, None] - Z[None]) ** 2).sum(axis=2))
    return X @ Z.T if kernel == "linear" else (gamma * (X @ Z.T) + 1) ** 3


def learner(cost, alpha, **options):
    return RLS(alpha, **options) if cost == "RLS" else RankRLS(alpha, loss=cost, **options)


def sized(cost, K, share):
    """alpha as a share of the largest eigenvalue of what alpha is added to."""
    if cost == "RLS":
        return share * np.linalg.eigvalsh(K)[-1]
    m = len(K)
    C = np.eye(m) - 1 / m
    return share * m * np.linalg.eigvalsh(C @ K @ C)[-1]


def allowed(share, singular):
    if singular and share < 2e-10:
        return 1e-6
    return max(1e-8, 5e-15 / share)


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_fits(name, cost):
    X, kernel, gamma, singular = PROBLEMS[name]
    y = np.sin(X[:, 0]) + NOISE
    K, K_new = kernel_matrix(X, X, kernel, gamma), kernel_matrix(NEW, X, kernel, gamma)
    for share in SHARES[2:] if not singular else SHARES:
        alpha = sized(cost, K, share)
        exact = exact_scores(X, y, NEW, alpha, kernel=kernel, gamma=gamma, loss=COSTS[cost])
        for solver in ("auto", "spectral", "cholesky"):
            model = learner(cost, alpha, kernel="precomputed", solver=solver).fit(K, y)
            error = np.abs(model.predict(K_new) - exact).max() / np.abs(exact).max()
            assert error < allowed(share, singular), (solver, share, error)


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_hold_outs(name, cost):
    """One or two items left out, against exact solutions without them."""
    X, kernel, gamma, singular = PROBLEMS[name]
    y = np.sin(X[:, 0]) + NOISE
    K = kernel_matrix(X, X, kernel, gamma)
    pairs = np.array([[0, 1], [3, 30], [20, 21]])
    for share in (1e-14, 1e-9, 1e-6, 1e-2) if singular else (1e-9, 1e-6, 1e-2):
        alpha = sized(cost, K, share)
        model = learner(cost, alpha, kernel="precomputed").fit(K, y)
        found = [*zip(np.arange(36)[:, None], model.leave_one_out()[:, None])][::7]
        found += [*zip(pairs, model.leave_pair_out(pairs))]
        found += [(items, model.holdout(items)) for items in (pairs[0], np.arange(4, 12))]
        for items, predicted in found:
            rest = np.setdiff1d(np.arange(36), items)
            exact = exact_scores(
                X[rest], y[rest], X[items], alpha, kernel=kernel, gamma=gamma, loss=COSTS[cost]
            )
            error = np.abs(predicted - exact).max() / max(np.abs(exact).max(), np.ptp(y))
            assert error < max(1e-6, 10 * allowed(share, singular)), (share, items, error)


def test_ordinary_data_at_alphas_that_people_use():
    """200 items in a plane: the errors were 7.6e-5 of RLS and 6.9e-4 of RankRLS."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(120, 2)), rng.normal(size=(20, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=120)
    for model, loss in ((RLS(1e-6), None), (RankRLS(1e-4), "magnitude")):
        model.set_params(kernel="rbf", gamma=0.5).fit(X, y)
        exact = exact_scores(X, y, new, model.alpha, kernel="rbf", gamma=0.5, loss=loss)
        assert_allclose(model.predict(new), exact, atol=1e-7 * np.abs(exact).max())
        spectral = type(model)(model.alpha, kernel="rbf", gamma=0.5, solver="spectral")
        found = spectral.fit(X, y).predict(new)
        assert_allclose(found, exact, atol=1e-7 * np.abs(exact).max())
        single = model.leave_one_out()
        for i in (0, 50):
            rest = np.delete(np.arange(120), i)
            again = type(model)(model.alpha, kernel="rbf", gamma=0.5).fit(X[rest], y[rest])
            assert_allclose(again.predict(X[[i]])[0], single[i], atol=1e-7 * np.ptp(single))


@pytest.mark.parametrize("seed", [0, 1])
def test_rows_that_nearly_coincide(seed):
    """Two rows 1e-7 apart, alpha 1e-10 of the largest eigenvalue: errors were ten times these.

    The exact answers are those of the kernel matrix as it was given, digit by digit.
    """
    rng, m, alpha = np.random.default_rng(seed), 100, 1e-6
    X = rng.normal(size=(m, 2))
    X[1] = X[0] + [1e-7, 0.0]
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=m)
    K = kernel_matrix(X, X, "rbf", 0.5)
    model = RankRLS(alpha, kernel="precomputed").fit(K, y)
    single = model.leave_one_out()
    for i in (0, 5):
        rest = np.delete(np.arange(m), i)
        exact = exact_ridge_with_intercept(K[np.ix_(rest, rest)], y[rest], K[i, rest], alpha)
        refitted = RankRLS(alpha, kernel="precomputed").fit(K[np.ix_(rest, rest)], y[rest])
        assert_allclose(refitted.predict(K[[i]][:, rest])[0], exact, atol=1e-6 * np.ptp(y))
        assert_allclose([single[i], model.holdout([i])[0]], exact, atol=3e-6 * np.ptp(y))


def exact_ridge_with_intercept(K, y, k_new, alpha):
    """RankRLS of one query is ridge regression with an intercept at alpha/m: 60 digits."""
    with localcontext(prec=DIGITS):
        m = len(K)
        bordered = exactly(np.block([[K, np.ones((m, 1))], [np.ones((1, m)), np.zeros((1, 1))]]))
        bordered[range(m), range(m)] += Decimal(alpha) / m
        a = solve(bordered, exactly([*y, 0.0]))
        return float(exactly(k_new) @ a[:m])


def exact_leave_one_out(X, y, alpha, **options):
    m, qid = len(X), options.pop("qid", None)
    out = []
    for i in range(m):
        rest = np.delete(np.arange(m), i)
        told = None if qid is None else qid[rest]
        out += [*exact_scores(X[rest], y[rest], X[[i]], alpha, qid=told, **options)]
    return np.array(out)


@pytest.mark.parametrize("gamma", [0.02, 0.05, 0.1, 0.2])
@pytest.mark.parametrize("share", [1e-4, 1e-7])
def test_eigenvalues_that_jump_over_the_rounding_errors_are_not_zero(gamma, share):
    """On a line each eigenvalue may be 100 times smaller than the one before, which is no gap."""
    rng = np.random.default_rng(0)
    X = np.sort(rng.normal(size=(17, 1)), axis=0)
    y = rng.normal(size=17)
    alpha = sized("magnitude", kernel_matrix(X, X, "rbf", gamma), share)
    model = RankRLS(alpha, kernel="rbf", gamma=gamma, solver="spectral").fit(X, y)
    exact = exact_leave_one_out(X, y, alpha, kernel="rbf", gamma=gamma)
    error = np.abs(model.leave_one_out() - exact).max() / np.abs(exact).max()
    assert error < max(1e-8, 1e-13 / share)


@pytest.mark.parametrize("loss", ["unit", "magnitude"])
@pytest.mark.parametrize("share", [1e-13, 1e-11])
def test_leave_one_out_next_to_clones(loss, share):
    """Items that are fitted exactly have residuals that drown in the null space of the clones."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(16, 3))
    X[1] = X[0]
    y = np.round(rng.normal(size=16), 1)
    alpha = sized(loss, kernel_matrix(X, X, "poly", 0.5), share)
    options = {"kernel": "poly", "gamma": 0.5, "loss": loss, "ties": "drop"}
    model = RankRLS(alpha, **options).fit(X, y)
    exact = exact_leave_one_out(X, y, alpha, **options)
    assert_allclose(model.leave_one_out(), exact, rtol=0, atol=1e-6 * np.abs(exact).max())


@pytest.mark.parametrize("unit", [1e-6, 1e-9])
@pytest.mark.parametrize("solver", ["auto", "spectral", "cholesky"])
def test_scores_that_hang_on_rounding_are_refused(unit, solver):
    """A relative loss of small scores: alpha is far below the rounding errors of its kernel."""
    rng = np.random.default_rng(0)
    X = np.sort(rng.normal(size=(16, 1)), axis=0)
    y = unit * np.round(rng.normal(size=16), 2)
    model = RankRLS(1e-4, loss="relative", kernel="rbf", gamma=0.5, solver=solver)
    with pytest.raises(ValueError, match=r"alpha=0.0001 is so small .* multiply y by a constant"):
        model.fit(X, y)
    RankRLS(1e-4, loss="relative", kernel="rbf", gamma=0.5).fit(X, y / unit)


@pytest.mark.parametrize("share", [1e-20, 1e-12, 1e-8, 1e-6])
def test_features_in_which_the_other_queries_do_not_vary(share):
    """The other queries then leave 1/alpha of a direction open, next to which digits are lost."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(7, 4)), np.round(rng.normal(size=7), 2)
    qid = np.array([0, 0, 0, 0, 1, 1, 2])
    options = {"kernel": "linear", "gamma": 1.0, "loss": "relative", "qid": qid}
    alpha = share * np.linalg.norm(X) ** 2 / np.diff(np.unique(y)).min() ** 2
    model = RankRLS(alpha, loss="relative").fit(X, y, qid=qid)
    exact = exact_leave_one_out(X, y, alpha, **options)
    assert_allclose(model.leave_one_out(), exact, rtol=0, atol=1e-6 * np.abs(exact).max())


@pytest.mark.parametrize("offset", [1e5, 1e7])
@pytest.mark.parametrize("cost", [{}, {"loss": "unit"}, {"ties": "drop"}])
def test_more_features_than_items_far_from_the_origin(offset, cost):
    """X Xᵀ would lose what the items differ in: 1e-3 of the scores at an offset of 1e6."""
    rng = np.random.default_rng(0)
    X, y = offset + rng.normal(size=(8, 11)), np.round(rng.normal(size=8), 1)
    model = RankRLS(1e-4, **cost).fit(X, y)
    options = {"kernel": "linear", "gamma": 1.0, **cost}
    exact = exact_scores(X, y, X, 1e-4, **options)
    assert_allclose(model.predict(X), exact, rtol=0, atol=1e-8 * np.abs(exact).max())
    exact = exact_scores(X[3:], y[3:], X[:3], 1e-4, **options)
    again = RankRLS(1e-4, **cost).fit(X[3:], y[3:]).predict(X[:3])
    assert_allclose(again, exact, rtol=0, atol=1e-8 * np.abs(exact).max())
