"""SVRank and MPRank with norm 1: risks on sorted residuals, against pairs one by one."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from rankwise.learners.mprank import MPRank
from rankwise.learners.svrank import SVRank
from rankwise.losses.epsilon_insensitive import residual_risk
from rankwise.supervision.queries import Queries
from tests import reference_magnitude as slow

RNG = np.random.default_rng(6)
M, N = 15, 3
X = RNG.normal(size=(M, N))
Y = X @ [1.0, -2.0, 0.5] + RNG.normal(size=M) + 4.0
QID = RNG.permutation([0] * 7 + [1] * 5 + [2] * 2 + [3])


@given(
    st.integers(1, 12).flatmap(
        lambda m: st.tuples(
            st.lists(st.integers(-4, 4), min_size=m, max_size=m),
            st.lists(st.integers(-4, 4), min_size=m, max_size=m),
            st.lists(st.integers(0, 2), min_size=m, max_size=m),
            st.lists(st.integers(1, 3), min_size=m, max_size=m),
        )
    ),
    st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    st.sampled_from([1, 2]),
)
@settings(max_examples=150, deadline=None)
def test_value_and_gradient(data, epsilon, power):
    """On a grid of integers, where many pairs tie or lie at ε exactly."""
    p, y, qid, weight = (np.array(part, dtype=float) for part in data)
    risk = residual_risk(y, Queries.from_labels(qid, len(y)), weight, epsilon, power)
    found = risk.at(p)

    def value(at):
        return slow.objective(at, 0.0, y, 1.0, power, epsilon, qid, weight)

    assert_allclose(found.value, value(p), atol=1e-12)
    direction = np.sin(np.arange(len(p)) + 1.0)
    ahead, behind = (value(p + step * direction) for step in (1e-6, -1e-6))
    assert (ahead - value(p)) / 1e-6 >= found.gradient @ direction - 1e-5
    assert (value(p) - behind) / 1e-6 <= found.gradient @ direction + 1e-5
    assert_allclose(found.gradient.sum(), 0.0, atol=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, 0.7])
def test_curvature(epsilon):
    weight, v = RNG.random(M) + 0.5, RNG.normal(size=M)
    risk = residual_risk(Y, Queries.from_labels(QID, M), weight, epsilon, 2)
    p, step = RNG.normal(size=M), 1e-6
    change = risk.at(p + step * v).gradient - risk.at(p - step * v).gradient
    assert_allclose(risk.at(p).curvature(v), change / (2 * step), atol=1e-6)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.5])
@pytest.mark.parametrize("C", [0.5, 20.0])
def test_equals_the_quadratic_programme(epsilon, C):
    model = SVRank(C, epsilon, tol=1e-8).fit(X, Y)
    least, w = slow.svrank_programme(X, Y, C, epsilon)
    assert_allclose(model.objective_, least, rtol=1e-6)
    assert_allclose(model.coef_, w, atol=1e-3)
    assert model.objective_ - model.gap_ <= least + 1e-7
    if epsilon == 0.0:
        assert_allclose(MPRank(C, norm=1, tol=1e-8).fit(X, Y).objective_, least, rtol=1e-6)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("epsilon", [0.0, 0.5])
@pytest.mark.parametrize("qid", [None, QID], ids=["one query", "queries"])
@pytest.mark.parametrize("kind", ["ties", "duplicates", "both"])
def test_equals_the_quadratic_programme_of_queries_ties_and_duplicates(kind, qid, epsilon, norm):
    """Scores on a grid of halves, where residuals lie at ε exactly; items up to five times over."""
    items, y = np.round(X, 1), np.round(Y) / 2 if kind != "duplicates" else Y
    if kind != "ties":
        copies = np.arange(M) % 3
        items, y = items[copies], y[copies] if kind == "both" else y
    model = SVRank(8.0, epsilon, norm=norm, tol=1e-8).fit(items, y, qid=qid)
    least, w = slow.svrank_programme(items, y, 8.0, epsilon, qid, norm)
    assert_allclose(model.objective_, least, rtol=1e-6, atol=1e-8)
    assert_allclose(model.coef_, w, atol=1e-3)
    if epsilon == 0.0:
        found = MPRank(8.0, norm=norm, tol=1e-8).fit(items, y, qid=qid).coef_
        assert_allclose(found, w, atol=1e-3)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("qid", [None, QID], ids=["one query", "queries"])
def test_objective_is_least_and_as_stated(norm, qid):
    weight = RNG.integers(1, 3, M)
    model = SVRank(5.0, 0.4, norm=norm, tol=1e-7).fit(X, Y, qid=qid, sample_weight=weight)

    def objective(w):
        return slow.objective(X @ w, w @ w, Y, 5.0, norm, 0.4, qid, weight)

    assert_allclose(model.objective_, objective(model.coef_))
    for _ in range(20):
        nearby = objective(model.coef_ + 0.1 * RNG.normal(size=N))
        assert nearby >= model.objective_ - model.gap_ - 1e-12


def test_norm_2_without_epsilon_is_mprank():
    found = SVRank(5.0, 0.0, norm=2, tol=1e-10).fit(X, Y, qid=QID).coef_
    assert_allclose(found, MPRank(5.0).fit(X, Y, qid=QID).coef_, rtol=1e-6)


def test_weights_are_copies():
    weight = RNG.integers(1, 4, M)
    copies = np.repeat(np.arange(M), weight)
    model = SVRank(5.0, 0.2, norm=2, tol=1e-10)
    weighted = model.fit(X, Y, sample_weight=weight).coef_
    assert_allclose(weighted, model.fit(X[copies], Y[copies]).coef_, rtol=1e-6)


@pytest.mark.parametrize("norm", [1, 2])
def test_kernels_sparse_and_outputs(norm):
    options = {"norm": norm, "tol": 1e-9}
    linear = SVRank(3.0, **options).fit(X, Y)
    for other, items in (
        (SVRank(3.0, **options, kernel="precomputed"), X @ X.T),
        (SVRank(3.0, **options, kernel="linear", basis=[0, 1, 2, 3]), X),
        (SVRank(3.0, **options), sparse.csr_array(X)),
    ):
        assert_allclose(other.fit(items, Y).predict(items), linear.predict(X), atol=1e-3)
    K = rbf_kernel(X, gamma=0.5)
    model = SVRank(3.0, **options, kernel="rbf", gamma=0.5).fit(X, np.column_stack([Y, -Y]))
    precomputed = SVRank(3.0, **options, kernel="precomputed").fit(K, Y)
    assert model.objective_.shape == (2,)
    assert_allclose(model.predict(X)[:, 0], precomputed.predict(K), atol=1e-3)
    assert_allclose(model.predict(X)[:, 0], -model.predict(X)[:, 1], atol=1e-3)


def test_a_wide_tube_leaves_the_zero_model():
    model = SVRank(10.0, 100.0).fit(X, Y)
    assert_allclose(model.coef_, 0.0)
    assert model.gap_ == 0.0


def test_stability_bound_counts_its_own_cost():
    model = SVRank(0.1, 0.5).fit(X, Y)
    h = model.predict(X)
    expected = slow.objective(h, 0.0, Y, 1.0, 1, 0.5)
    assert_allclose(model.stability_bound()["empirical"], expected)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"epsilon": -0.1}, "epsilon must"),
        ({"epsilon": np.nan}, "epsilon must"),
        ({"C": 0.0}, "C must"),
        ({"norm": 0}, "norm must"),
        ({"max_iter": 1.5}, "max_iter must"),
    ],
    ids=str,
)
def test_bad_parameters(options, named):
    with pytest.raises(ValueError, match=named):
        SVRank(**options).fit(X, Y)


def test_features_too_small_to_matter_converge():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SVRank(norm=2).fit(1e-8 * X, Y)
    assert_allclose(model.objective_, slow.objective(np.zeros(M), 0.0, Y, 1.0, 2, 0.1))


@pytest.mark.parametrize("solver", ["closed", "online"])
def test_overflow_is_refused(solver):
    with pytest.raises(ValueError, match="large"):
        MPRank(solver=solver).fit(1e300 * X, Y)
    with pytest.raises(ValueError, match="large"):
        SVRank().fit(1e300 * X, Y)


def test_warns_with_the_gap_where_iterations_run_out():
    with pytest.warns(UserWarning, match="within"):
        SVRank(1e4, max_iter=1).fit(X, Y)
