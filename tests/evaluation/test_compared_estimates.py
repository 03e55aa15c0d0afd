"""Models of the same preferences, compared."""

import numpy as np
import pytest

from rankwise import RankRLS, RankRLSCV, RankSVM
from rankwise.evaluation import compare
from tests.evaluation.test_held_out_statements import votes


def test_the_better_model_wins():
    X, preferences, judge = votes(m=30, l=300)
    models = {"good": RankRLS(), "poor": RankRLS(kernel=lambda A, B: A[:, 3:] @ B[:, 3:].T)}
    found = compare(models, X, preferences=preferences)
    assert found.names == ["good", "poor"] and found.differences[0].p_value < 0.01
    assert found.how.startswith("leave-preference-out") and "pairs of items paired" in found.how
    by_judge = compare(models, X, preferences=preferences, groups=judge)
    assert "6 groups paired" in by_judge.how


def test_models_that_refit_share_the_folds():
    X, preferences, _ = votes()
    found = compare([RankRLS(), RankRLSCV(), RankSVM()], X, preferences=preferences)
    assert found.how.startswith("10 folds of pairs of items")
    assert np.all(found.score > 0.5)


def test_equal_models_rarely_differ():
    """Two models with features of equal worth: the level is at most 5%, within error."""
    rng = np.random.default_rng(0)
    low = 0
    for seed in range(100):
        X, preferences, _ = votes(m=16, l=60, seed=seed, signal=float(seed % 2))
        noise = rng.normal(size=(2, len(X)))
        X[:, 1], X[:, 2] = X[:, 0] + noise[0], X[:, 0] + noise[1]
        first, second = (
            RankRLS(1.0, kernel=lambda A, B, j=j: A[:, j : j + 1] @ B[:, j : j + 1].T)
            for j in (1, 2)
        )
        low += compare([first, second], X, preferences=preferences).differences[0].p_value < 0.05
    assert low <= 11


def test_noise_is_not_better_than_noise():
    low = 0
    for seed in range(60):
        X, preferences, _ = votes(m=12, l=60, seed=seed, signal=0.0)
        models = [RankRLS(1.0), RankRLS(0.1, kernel="rbf")]
        low += compare(models, X, preferences=preferences).differences[0].p_value < 0.05
    assert low <= 7


def test_y_is_needed_without_preferences():
    with pytest.raises(ValueError, match="preferences="):
        compare([RankRLS(), RankSVM()], np.zeros((4, 2)))


def test_an_existing_ranking_is_a_baseline():
    X, preferences, _ = votes(m=30, l=300)
    found = compare(
        {"new": RankRLS(), "old": -X[:, 0], "random": X[:, 3]}, X, preferences=preferences
    )
    assert found.names[0] == "new" and set(found.baselines) == {"old", "random"}
    verdict = found.against("random")
    assert verdict is not None and found.differences[0].p_value < 0.01
    with pytest.raises(ValueError, match="30 items"):
        compare({"new": RankRLS(), "old": X[:5, 0]}, X, preferences=preferences)
