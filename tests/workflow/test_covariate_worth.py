"""The variance of own strengths by restricted likelihood, and what features are worth."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from rankwise import Preferences, RankLogistic
from rankwise.workflow.covariate_worth import (
    OWN_VARIANCES,
    fit_with_features,
    own_variance,
    restricted_likelihood,
)
from rankwise.workflow.ranking_data import Items


def test_restricted_likelihood_is_that_of_contrasts():
    """REML is the likelihood of any basis of contrasts, up to a constant."""
    rng = np.random.default_rng(0)
    A = np.column_stack((np.ones(8), rng.normal(size=(8, 2))))
    root = rng.normal(size=(8, 8))
    covariance, s = root @ root.T / 8, rng.normal(size=8)
    contrasts = np.linalg.svd(A, full_matrices=True)[0][:, 3:]
    gaps = []
    for own in (0.1, 1.0, 5.0):
        V = contrasts.T @ (covariance + own * np.eye(8)) @ contrasts
        exact = stats.multivariate_normal(np.zeros(5), V).logpdf(contrasts.T @ s)
        gaps.append(restricted_likelihood(s, covariance, A, own) - exact)
    assert_allclose(gaps, gaps[0])


def test_own_variance_is_found():
    rng = np.random.default_rng(1)
    found = []
    for _ in range(30):
        X = rng.normal(size=(60, 2))
        s = X @ [1.0, 0.0] + rng.normal(size=60) + np.sqrt(0.2) * rng.normal(size=60)
        found.append(own_variance(s, 0.2 * np.eye(60), X))
    assert 0.85 < np.mean(found) < 1.15
    assert own_variance(np.arange(3.0), np.eye(3), np.eye(3)) == 1.0
    assert own_variance(np.zeros(9), np.eye(9), np.ones((9, 1))) == OWN_VARIANCES[0]


def test_intervals_of_features_cover():
    rng = np.random.default_rng(2)
    hits = {"w": 0, "new": 0}
    repetitions = 60
    for _ in range(repetitions):
        X = rng.normal(size=(32, 2))
        strength = X @ [0.8, -0.4] + 0.5 * rng.normal(size=32)
        a, b = rng.integers(0, 30, (2, 900))
        a, b = a[a != b], b[a != b]
        outcome = rng.random(len(a)) < 1 / (1 + np.exp(strength[b] - strength[a]))
        names = np.array([f"s{i}" for i in range(30)])
        votes = Preferences.from_votes(names[a], names[b], outcome.astype(float), items=names)
        model = RankLogistic(0.01, max_iter=200)
        fitted = fit_with_features(model, Items(X, features=["f", "g"]), np.arange(30), votes)
        for one in fitted.worth():
            true = {"f": 0.8, "g": -0.4}[one.name] * one.deviation
            hits["w"] += one.low <= true <= one.high
        expected, error = fitted.predict(np.array([30, 31]))
        truth = strength[30:] - strength[:30].mean()
        hits["new"] += int((np.abs(expected - truth) <= 1.96 * error).sum())
    for name, hit in hits.items():
        assert 0.89 <= hit / (2 * repetitions) <= 1.0, name


def test_constant_features_are_left_out():
    votes = Preferences.from_votes(["x", "y", "z"], ["y", "z", "x"], [1, 1, 1])
    X = np.array([[1.0, 2.0], [1.0, 3.0], [1.0, np.nan]])
    items = Items(X, names=votes.items, features=["same", "other"])
    fitted = fit_with_features(RankLogistic(0.1), items, np.arange(3), votes)
    assert fitted.names == ["other"] and fitted.filled == {"other": 1}
    with pytest.raises(ValueError, match="no feature differs"):
        fit_with_features(
            RankLogistic(0.1), Items(X[:, :1], names=votes.items), np.arange(3), votes
        )
