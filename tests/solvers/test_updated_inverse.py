"""Updated equations against solutions from scratch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankwise.solvers import updated_inverse
from rankwise.solvers.updated_inverse import ExactSum, UpdatedInverse


@pytest.fixture(autouse=True)
def updates_of_few_features(monkeypatch):
    monkeypatch.setattr(updated_inverse, "UPDATED_FROM", 2)


def sums(Z, B):
    return Z, Z.T @ Z, Z.T @ B


def solution(Z, B, alpha):
    return np.linalg.solve(Z.T @ Z + alpha * np.eye(Z.shape[1]), Z.T @ B)


def system(Z, B, alpha=0.5):
    return UpdatedInverse.of_sums(*sums(Z, B)[1:], alpha)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), alpha=st.sampled_from([1e-6, 0.3, 1e3]))
def test_any_sequence_of_rows(seed, alpha):
    rng = np.random.default_rng(seed)
    kept = [(rng.normal(size=(9, 6)), rng.normal(size=(9, 2)))]
    found = system(*kept[0], alpha)
    for _ in range(15):
        if len(kept) > 1 and rng.uniform() < 0.4:
            found = found.without_rows(*sums(*kept.pop(rng.integers(len(kept)))))
        else:
            u = rng.integers(1, 4)
            kept.append((rng.normal(size=(u, 6)), rng.normal(size=(u, 2))))
            found = found.with_rows(*sums(*kept[-1]))
        Z, B = (np.vstack(part) for part in zip(*kept))
        # With fewer rows than features, the plain solution itself has a condition of 1/alpha.
        exact = 1e-9 if alpha > 1e-3 else 1e-6
        assert_allclose(found.solve(), solution(Z, B, alpha), rtol=exact, atol=exact)


def test_features_come_and_go():
    rng = np.random.default_rng(1)
    Z, B = rng.normal(size=(30, 5)), rng.normal(size=(30, 2))
    found, new = system(Z, B), rng.normal(size=30)
    larger = found.with_feature(Z.T @ new, new @ new, new @ B)
    both = np.column_stack([Z, new])
    assert_allclose(larger.solve(), solution(both, B, 0.5), rtol=1e-10)
    v = rng.normal(size=6)
    H = np.eye(6) - 2 * np.outer(v, v) / (v @ v)
    assert_allclose(larger.reflected(v).solve(), solution(both @ H, B, 0.5), rtol=1e-9)
    cut = larger.reflected(v).without_last_feature()
    assert_allclose(cut.solve(), solution((both @ H)[:, :5], B, 0.5), rtol=1e-9)
    assert_allclose(larger.at(2.0).solve(), solution(both, B, 2.0), rtol=1e-10)


def test_ten_thousand_updates_drift_by_less_than_rounding():
    """Large rows come and go: their squares are 1e12 times those of the rows that stay."""
    rng = np.random.default_rng(2)
    Z, B = rng.normal(size=(40, 12)), rng.normal(size=(40, 1))
    found = system(Z, B, 1e-3)
    for step in range(5000):
        size = 1e6 if step % 100 == 0 else 1.0
        guest = sums(size * rng.normal(size=(1, 12)), rng.normal(size=(1, 1)))
        found = found.with_rows(*guest).without_rows(*guest)
        if step % 250 == 0:
            assert_allclose(found.solve(), solution(Z, B, 1e-3), rtol=1e-10)
    assert_allclose(found.solve(), solution(Z, B, 1e-3), rtol=1e-11)
    assert_allclose(found.gram.high, Z.T @ Z, rtol=1e-13)


def test_rows_that_were_never_added_are_refused():
    rng = np.random.default_rng(3)
    found = system(rng.normal(size=(9, 6)), rng.normal(size=(9, 1)))
    with pytest.raises(np.linalg.LinAlgError, match="negative"):
        found.without_rows(*sums(10 * rng.normal(size=(1, 6)), rng.normal(size=(1, 1))))


def test_a_row_with_all_the_leverage_leaves():
    """What it alone determined goes back to zero, without a trace of its size."""
    Z, B = np.diag([1e8, 1.0, 1.0]), np.ones((3, 1))
    found = (
        system(Z[1:], B[1:], 1e-9).with_rows(*sums(Z[:1], B[:1])).without_rows(*sums(Z[:1], B[:1]))
    )
    assert_allclose(found.solve(), solution(Z[1:], B[1:], 1e-9), atol=1e-15)


def test_exact_sums():
    total = ExactSum(np.array([[1.0]]))
    for _ in range(1000):
        total = total.plus(np.array([[1e16]])).plus(np.array([[0.1]])).plus(np.array([[-1e16]]))
    assert_allclose(total.high + total.low, 101.0, rtol=1e-14)
