"""Whole recipes inside outer folds: no choice sees the fold that is judged."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise import metrics
from rankwise.evaluation.judged_folds import checked_scores, refitting_folds
from rankwise.workflow.nested_judging import beside, judge_recipes, price
from rankwise.workflow.ranking_data import Items
from rankwise.workflow.recipe import Recipe
from rankwise.workflow.recipe_choice import label_of, recipes_of
from rankwise.workflow.search_path import SearchPath
from rankwise.workflow.training import train, train_best

RNG = np.random.default_rng(2)
QID = np.repeat(np.arange(10), 6)
X = RNG.normal(size=(60, 3)) * [1.0, 50.0, 0.1]
Y = np.round(X[:, 0] + X[:, 2] * 10 + RNG.normal(size=60))
ITEMS = Items(X, Y, QID)
RECIPES = recipes_of(
    ("rank-rls", "rank-boost"),
    {"kernel": ("linear", "rbf"), "gamma": (0.1, 1.0), "alpha": (0.1, 1.0), "scale": "standard"},
)


def test_every_combination_is_one_recipe():
    labels = [label_of(one, RECIPES) for one in RECIPES]
    assert labels == [
        "rank-rls linear",
        "rank-rls rbf gamma 0.1",
        "rank-rls rbf gamma 1",
        "rank-boost",
    ]
    assert [one.kernel for one in recipes_of(("rank-rls",), {"kernel": "auto"})] == [
        "linear",
        "rbf",
    ]
    assert recipes_of(("rank-rls",), {"alpha": 1.0}) == [Recipe(alpha=1.0)]


def test_the_best_recipe_is_trained_and_the_others_are_recorded():
    model = train_best(RECIPES, ITEMS)
    scores = []
    for recipe in RECIPES:
        path = SearchPath.from_record(train(recipe, ITEMS).training["path"])
        scores.append(path.at_chosen[0])
    assert_allclose([one["score"] for one in model.record["tried"]], scores)
    best = RECIPES[int(np.argmax(scores))]
    assert model.record["recipe"] == best.record()


def test_nested_scores_are_those_of_the_whole_choice_without_the_fold():
    found = judge_recipes(RECIPES, ITEMS, 5)
    y, queries = checked_scores(Y, QID)
    expected = np.zeros(60)
    for held, test in refitting_folds(5, y, queries, 0).splits:
        rest = np.setdiff1d(np.arange(60), held)
        expected[test] = train_best(RECIPES, ITEMS.take(rest)).predict(X[test], QID[test])
    assert_allclose(found.scores, expected)
    assert_allclose(found.asked.value, metrics.concordance(Y, expected, QID))
    assert found.asked.low < found.asked.value < found.asked.high
    assert len(found.chosen) == found.folds == 5 and found.verdict is None
    assert sum(found.record()["chosen"].values()) == 5


def test_held_out_labels_change_nothing_that_they_are_judged_by():
    """The strongest proof that nothing leaks: scores of a fold do not depend on its labels."""
    folds = refitting_folds(5, Y, checked_scores(Y, QID)[1], 0).splits
    held = folds[0][0]
    changed = Y.copy()
    changed[held] = RNG.permutation(changed[held]) + 7.0
    before = judge_recipes(RECIPES, ITEMS, 5).scores
    after = judge_recipes(RECIPES, Items(X, changed, QID), 5).scores
    assert_allclose(before[held], after[held])
    assert not np.allclose(np.delete(before, held), np.delete(after, held))


def test_a_baseline_and_a_measure():
    items = Items(X, Y - Y.min(), QID, baseline=X[:, 2], baseline_name="old")
    found = judge_recipes([Recipe(scoring="ndcg@3", alpha=(1.0, 10.0))], items, 5)
    assert found.asked.name == "NDCG@3"
    assert found.verdict.baseline == "old" and found.verdict.measure == "NDCG@3"
    expected = metrics.ndcg(items.y, X[:, 2], QID, k=3)
    assert found.verdict.baseline_score == pytest.approx(expected)


def test_groups_leave_together():
    groups = np.repeat(np.arange(20), 3)
    found = judge_recipes([Recipe(alpha=1.0)], Items(X, Y, groups=groups, baseline=X[:, 0]), 5)
    assert found.folds == 5 and 0 < found.verdict.p_value <= 1


def test_prices_and_words():
    assert price(1.0, 5) == "about 4.0 s"
    assert price(20.0, 3) == "about 40 s"
    assert price(100.0, 7) == "about 10 min"
    assert price(3600.0, 11) == "about 10.0 h"
    nested = judge_recipes([Recipe(alpha=(1.0, 10.0))], ITEMS, 3).record()
    path = SearchPath.from_record(train(Recipe(alpha=(1.0, 10.0)), ITEMS).training["path"])
    assert f"the choice itself saw {path.at_chosen[0]:.4f}" in beside(path, nested)
    assert beside(None, nested).endswith(".")


@pytest.mark.parametrize(
    ("recipe", "message"),
    [(Recipe(alpha=1.0), "fixed parameter"), (Recipe(learner="mprank"), "error of differences")],
)
def test_recipes_without_a_common_score_are_not_compared(recipe, message):
    with pytest.raises(ValueError, match=message):
        train_best([recipe, Recipe()], ITEMS)
