"""The choice of alpha and threshold, against brute force."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankwise import RLS
from rankwise.applications.alpha_and_threshold import best_threshold, choose, judge
from rankwise.exceptions import UndefinedMetric


@given(st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), min_size=1, max_size=12))
def test_best_threshold_beats_all_others(items):
    y, scores = (np.array(column) for column in zip(*items))
    assume(y.any())
    found = judge(y, scores > best_threshold(y, scores)).f
    assert found == max(judge(y, scores > t).f for t in np.arange(-5, 5, 0.5))


def test_judge_and_thresholds_at_the_edges():
    assert judge([True, False], [False, False]) == (0.0, 0.0, 0.0)
    assert judge([True, False], [True, True]) == (0.5, 1.0, 2 / 3)
    with pytest.raises(UndefinedMetric, match="at least one positive"):
        best_threshold([False, False], [1.0, 2.0])


def test_reduced_set_removes_the_basis_of_held_out_groups():
    """Leave-group-out with a basis equals refitting with the basis items of the group removed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 30))
    K, y = X @ X.T, rng.choice([-1.0, 1.0], 20)
    groups = np.array_split(np.arange(20), 6)
    chosen = choose(K, y, groups, [2.0], "rls", 12, 7)
    basis = np.flatnonzero(chosen.coefficients)
    assert len(basis) == 12
    for group in groups:
        rest = np.setdiff1d(np.arange(20), group)
        left = np.setdiff1d(basis, group)
        model = RLS(2.0, kernel="precomputed", basis=np.searchsorted(rest, left))
        model.fit(K[np.ix_(rest, rest)], y[rest])
        expected = model.predict(K[np.ix_(group, rest)])
        assert_allclose(chosen.held_out[group], expected, atol=1e-8)


def test_basis_vectors_that_are_the_same_graph_leave_one_by_one():
    """Duplicates and low rank, by brute force: min ‖y − K_MR b‖² + 2 bᵀK_RR b without the group."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(10, 4)), 3, axis=0)
    K, y, m = X @ X.T, rng.choice([-1.0, 1.0], 30), 30
    groups = np.array_split(rng.permutation(m), 7)
    chosen = choose(K, y, groups, [2.0], "rls", 15, 7)
    basis = np.flatnonzero(chosen.coefficients)
    apart = K + 2e-11 * np.trace(K) * np.eye(m)
    for group in groups:
        rest, left = np.setdiff1d(np.arange(m), group), np.setdiff1d(basis, group)
        F = apart[np.ix_(rest, left)]
        system = F.T @ F + 2.0 * apart[np.ix_(left, left)]
        b = np.linalg.lstsq(system, F.T @ y[rest], rcond=1e-14)[0]
        assert_allclose(chosen.held_out[group], K[np.ix_(group, left)] @ b, atol=1e-6)
