"""Folds, and groups within folds, left out: equal to refitting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankwise import RLS, RankRLS
from rankwise.holdout.kernel_folds import LeaveOut


def refitted(K, y, training, tested, alpha, centred):
    """Scores by training again; ranking with the intercept of its residuals."""
    part = K[np.ix_(training, training)]
    model = RankRLS(alpha * len(training)) if centred else RLS(alpha)
    model = model.set_params(kernel="precomputed").fit(part, y[training])
    scores = model.predict(K[np.ix_(tested, training)])
    return scores + (np.mean(y[training] - model.predict(part)) if centred else 0.0)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.01, 1.0, 30.0]), st.booleans())
def test_nested_groups_equal_refitting(seed, alpha, centred):
    rng = np.random.default_rng(seed)
    m = 14
    X = rng.normal(size=(m, 4))
    K, y = X @ X.T, rng.normal(size=m)
    groups = rng.integers(0, 5, m)
    fold = np.flatnonzero(groups == groups[0])
    rest = np.setdiff1d(np.arange(m), fold)
    model = LeaveOut(K, y, alpha, centred)
    assert_allclose(model.without(fold), refitted(K, y, rest, fold, alpha, centred), atol=1e-8)
    members = [np.flatnonzero(groups == g) for g in np.unique(groups[rest])]
    found = model.groups_without(members, fold)
    assert np.isnan(found[fold]).all()
    for own in members:
        training = np.setdiff1d(rest, own)
        if len(training) > 1:
            expected = refitted(K, y, training, own, alpha, centred)
            assert_allclose(found[own], expected, atol=1e-8)


def test_coefficients_are_the_models():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 5)), rng.normal(size=600)
    K = X @ X.T
    model = LeaveOut(K, y, 0.7)
    assert_allclose(K @ model.coefficients, RLS(0.7).fit(X, y).predict(X), atol=1e-8)
    ranking = LeaveOut(K, y, 0.7, centred=True)
    expected = RankRLS(0.7 * 600).fit(X, y).predict(X)
    assert_allclose(K @ ranking.coefficients, expected, atol=1e-8)
    assert_allclose(np.mean(y - expected), ranking.intercept)


def test_a_lost_alpha_is_refused():
    with pytest.raises(ValueError, match="lost in the rounding"):
        LeaveOut(np.full((3, 3), 1e8), np.ones(3), 1e-12)
