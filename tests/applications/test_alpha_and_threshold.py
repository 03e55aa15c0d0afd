"""The choice of alpha and threshold, against brute force."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from rankwise import RLS
from rankwise.applications.alpha_and_threshold import (
    ReducedRanking,
    ReducedRegression,
    best_threshold,
    choose,
    highest,
    judge,
)
from rankwise.exceptions import UndefinedMetric
from rankwise.spaces.nystrom_map import NystromMap


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
    chosen = choose(sparse.csr_matrix(X), y, groups, [2.0], "rls", 12, 7)
    basis = np.flatnonzero(chosen.coefficients)
    assert len(basis) == 12
    for group in groups:
        rest = np.setdiff1d(np.arange(20), group)
        left = np.setdiff1d(basis, group)
        model = RLS(2.0, kernel="precomputed", basis=np.searchsorted(rest, left))
        model.fit(K[np.ix_(rest, rest)], y[rest])
        expected = model.predict(K[np.ix_(group, rest)])
        assert_allclose(chosen.held_out[group], expected, atol=1e-8)


@pytest.mark.parametrize("learner", ["rls", "rank_rls"])
def test_many_equal_graphs_in_the_basis_need_no_map_for_each_group(learner, monkeypatch):
    """A hold-out is an update, not O(|B|³), and equals that of the map computed again."""
    rng = np.random.default_rng(3)
    X = sparse.csr_matrix(np.repeat(rng.normal(size=(120, 200)), 2, axis=0))
    y, groups = rng.choice([-1.0, 1.0], 240), np.array_split(rng.permutation(240), 40)
    kind = {"rls": ReducedRegression, "rank_rls": ReducedRanking}[learner]
    basis, alphas = np.sort(rng.choice(240, 200, replace=False)), np.array([1.0, 10.0])
    asked = []
    recompute = NystromMap._recompute_without
    monkeypatch.setattr(
        NystromMap, "_recompute_without", lambda *given: asked.append(1) or recompute(*given)
    )
    by_update = kind(X, y, basis).held_out(groups, alphas)
    assert not asked
    again = kind(X, y, basis)
    again.problem.space.matrix.removal = again.problem.space.map.removal()
    expected = again.held_out(groups, alphas)
    assert asked
    assert_allclose(by_update, expected, atol=1e-6 * np.ptp(expected))


def test_basis_vectors_that_are_the_same_graph_leave_one_by_one():
    """Duplicates and low rank, by brute force: min ‖y − K_MR b‖² + 2 bᵀK_RR b without the group."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(10, 4)), 3, axis=0)
    K, y, m = X @ X.T, rng.choice([-1.0, 1.0], 30), 30
    groups = np.array_split(rng.permutation(m), 7)
    chosen = choose(sparse.csr_matrix(X), y, groups, [2.0], "rls", 15, 7)
    basis = np.flatnonzero(chosen.coefficients)
    apart = K + 2e-11 * np.trace(K) * np.eye(m)
    for group in groups:
        rest, left = np.setdiff1d(np.arange(m), group), np.setdiff1d(basis, group)
        F = apart[np.ix_(rest, left)]
        system = F.T @ F + 2.0 * apart[np.ix_(left, left)]
        b = np.linalg.lstsq(system, F.T @ y[rest], rcond=1e-14)[0]
        assert_allclose(chosen.held_out[group], K[np.ix_(group, left)] @ b, atol=1e-6)


@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("alpha", [0.02, 2.0])
def test_ranking_with_basis_vectors_by_brute_force(repeats, alpha):
    """min Σ (y − c − K_MR b)² + alpha bᵀK_RR b over b and c, without the group and its basis."""
    rng = np.random.default_rng(1)
    X = np.repeat(rng.normal(size=(30 // repeats, 5)), repeats, axis=0)
    K, y, m = X @ X.T, rng.choice([-1.0, 1.0], 30), 30
    groups = np.array_split(rng.permutation(m), 7)
    chosen = choose(sparse.csr_matrix(X), y, groups, np.array([alpha]), "rank_rls", 15, 7)
    basis = np.flatnonzero(chosen.coefficients)
    apart = K + 2e-11 * np.trace(K) * np.eye(m)

    def fitted(rest, left):
        F = np.column_stack((apart[np.ix_(rest, left)], np.ones(len(rest))))
        penalty = np.zeros((len(left) + 1, len(left) + 1))
        penalty[:-1, :-1] = alpha * apart[np.ix_(left, left)]
        return np.linalg.lstsq(F.T @ F + penalty, F.T @ y[rest], rcond=1e-14)[0]

    for group in groups:
        rest, left = np.setdiff1d(np.arange(m), group), np.setdiff1d(basis, group)
        *b, c = fitted(rest, left)
        assert_allclose(chosen.held_out[group], K[np.ix_(group, left)] @ b + c, atol=2e-6)
    *b, c = fitted(np.arange(m), basis)
    scores = K @ chosen.coefficients + chosen.intercept
    assert_allclose(scores, K[:, basis] @ b + c, atol=2e-6)


@pytest.mark.parametrize("learner", ["rls", "rank_rls"])
def test_a_basis_builds_no_matrix_of_all_items(learner):
    """O(m r) memory: 3000 items with 20 basis vectors need far less than the 72 MB of m × m."""
    rng = np.random.default_rng(0)
    F = sparse.random(3000, 400, 0.02, "csr", random_state=0)
    y = np.where(rng.random(3000) < 0.3, 1.0, -1.0)
    groups = np.array_split(np.arange(3000), 300)
    choose(F[:200], y[:200], groups[:20], np.array([1.0]), learner, 20, 0)  # compiles
    tracemalloc.start()
    choose(F, y, groups, np.array([1.0]), learner, 20, 0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6


def test_the_highest_share():
    scores = np.array([0.3, 0.9, 0.3, -1.0])
    assert highest(scores, 0.5).tolist() == [True, True, False, False]
    assert not highest(scores, 0.0).any() and highest(scores, 1).all()
    assert highest(np.zeros(0), 0.5).tolist() == []
    for share in (-0.1, 1.5, np.nan, "half", True, None):
        with pytest.raises(ValueError, match="share must be a number between 0 and 1"):
            highest(scores, share)
