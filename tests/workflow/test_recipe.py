"""Recipes: what a learner is given, and what it refuses."""

import pytest

from rankwise.workflow.recipe import LEARNERS, Recipe

OF_RELATIONS = [name for name, method in LEARNERS.items() if method.learns_relations]


@pytest.mark.parametrize("name, parameter", [("nearest", 5), ("kernel-filter", "smoothing")])
def test_a_baseline_has_nothing_to_choose(name, parameter):
    recipe = Recipe(learner=name)
    assert recipe.value == parameter and not recipe.searches
    assert Recipe.from_record(recipe.record()).record() == recipe.record()
    model = recipe.method.build(recipe.value, {"kernel": "rbf"})
    assert model.get_params()["kernel"] == "rbf"
    assert parameter in model.get_params().values()


def test_options_of_other_learners_are_refused():
    with pytest.raises(ValueError, match=r"no --alpha \(its complexity is --neighbours"):
        Recipe(learner="nearest").refuse_unused({"alpha"})
    with pytest.raises(ValueError, match="two-step has no --pairwise; conditional has it"):
        Recipe(learner="two-step").refuse_unused({"pairwise"})
    with pytest.raises(ValueError, match="kernel-filter has no --cv;"):
        Recipe(learner="kernel-filter").refuse_unused({"cv"})


@pytest.mark.parametrize("name", OF_RELATIONS)
def test_learners_of_relations_share_their_options(name):
    Recipe(learner=name).refuse_unused({"kernel", "column_kernel", "repair", "relation", "new"})
