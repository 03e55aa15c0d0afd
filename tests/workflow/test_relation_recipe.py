"""Recipes of relations: a kernel for each side, and objects without an edge."""

import numpy as np
import pytest

from rankwise.workflow.kernel_widths import median_gamma
from rankwise.workflow.ranking_data import Items, Relation
from rankwise.workflow.recipe import Recipe
from rankwise.workflow.recipe_choice import Sided, in_settings, label_of, recipes_of
from rankwise.workflow.relation_recipe import (
    is_precomputed,
    relation_arguments,
    without_lone_objects,
)


def made(one_domain=False):
    rng = np.random.default_rng(0)
    rows, columns = (Items(rng.normal(size=(n, 2)), features=["x", "z"]) for n in (6, 5))
    edges = np.array([[0, 1], [4, 3], [4, 1], [2, 3]])
    return Relation(rows, None if one_domain else columns, edges, np.arange(4.0))


def test_one_value_where_both_sides_agree_and_pairs_elsewhere():
    recipe = Recipe(learner="conditional", kernel="poly", column_kernel="rbf", column_gamma=2.0)
    arguments, found = relation_arguments(recipe, made())
    assert arguments["kernel"] == ("poly", "rbf") and arguments["gamma"] == (None, 2.0)
    assert arguments["degree"] == 3 and not found
    arguments, _ = relation_arguments(Recipe(learner="conditional"), made())
    assert (arguments["kernel"], arguments["gamma"]) == ("linear", None)


def test_one_domain_has_one_kernel():
    with pytest.raises(ValueError, match="same nodes"):
        relation_arguments(
            Recipe(learner="conditional", column_kernel="rbf"), made(one_domain=True)
        )


def test_options_by_side():
    options = {"kernel": (Sided("precomputed", "rbf"), "linear"), "gamma": Sided("auto", 0.5)}
    first, second = recipes_of(("conditional",), options)
    assert is_precomputed(first) == (True, False) and first.column_gamma == 0.5
    assert first.kernel_name == "precomputed:rbf" and second.kernel_name == "linear"
    assert label_of(first, [first, second]) == "conditional precomputed:rbf"
    assert Recipe.from_record(first.record()).kernels == first.kernels
    with pytest.raises(ValueError, match="one kernel"):
        recipes_of(("rank-rls",), {"kernel": Sided("rbf", "linear")})
    settings = in_settings([second])
    assert [one.new for one in settings] == ["edges", "rows", "columns", "both"]
    assert label_of(settings[3], settings) == "conditional new both"


def test_options_of_conditional_ranker_are_passed_on():
    options = {"pairwise": "linear", "item_effect": 0.5, "repair": "clip"}
    recipe = Recipe(learner="conditional", loss="regression", effects="rows", **options)
    arguments, _ = relation_arguments(recipe, made())
    assert {name: arguments[name] for name in options} == options
    assert arguments["effects"] == "rows"
    with pytest.raises(ValueError, match="--effects needs --loss regression"):
        relation_arguments(Recipe(learner="conditional", effects="rows"), made())
    arguments, _ = relation_arguments(Recipe(learner="nearest", repair="clip"), made())
    assert arguments["repair"] == "clip" and not {"pairwise", "fill", "alpha"} & set(arguments)


def test_objects_without_an_edge_are_left_out():
    relation = made()
    found, lone = without_lone_objects(relation, (False, False))
    assert lone == (["row 2", "row 4", "row 6"], ["row 1", "row 3", "row 5"])
    assert np.array_equal(found.rows.X, relation.rows.X[[0, 2, 4]])
    for edge in range(4):
        assert found.pair(edge) == relation.pair(edge)
    one, lone = without_lone_objects(made(one_domain=True), (False, False))
    assert lone == (["row 6"], []) and one.columns is None
    assert one.edges.tolist() == made().edges.tolist()


def test_kernels_lose_the_columns_of_such_objects():
    relation = made()
    names = np.array(list("abcdef"))
    relation.rows = Items(np.arange(36.0).reshape(6, 6), names=names, features=list("abcdef"))
    found, _ = without_lone_objects(relation, (True, False))
    assert np.array_equal(found.rows.X, relation.rows.X[np.ix_([0, 2, 4], [0, 2, 4])])
    assert found.rows.features == ["a", "c", "e"] and found.rows.named


def test_each_side_has_its_own_width():
    relation = made()
    recipe = Recipe(learner="two-step", kernel="rbf", seed=3)
    arguments, found = relation_arguments(recipe, relation)
    widths = tuple(median_gamma(side.X, "rbf", 3) for side in relation.domains)
    assert arguments["gamma"] == widths
    assert found == {"gamma": widths[0], "column_gamma": widths[1]}
    arguments, found = relation_arguments(recipe, made(one_domain=True))
    assert arguments["gamma"] == found["gamma"] == widths[0]
