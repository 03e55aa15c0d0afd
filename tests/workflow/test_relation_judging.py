"""Edges that a model is judged on: what it has seen, what is new, and what is held out."""

import numpy as np
import pytest

from rankwise.workflow.ranking_data import Items, Relation
from rankwise.workflow.recipe import Recipe
from rankwise.workflow.relation_judging import judged_edges
from rankwise.workflow.training import train


def made(one_domain=False, seed=0):
    rng = np.random.default_rng(seed)
    A = Items(rng.normal(size=(14, 2)), names=np.array([f"a{i}" for i in range(14)]))
    B = A if one_domain else Items(rng.normal(size=(13, 2)), names=np.array(list("bcdefghijklmn")))
    edges = np.argwhere(np.ones((len(A), len(B))))
    edges = edges[edges[:, 0] != edges[:, 1]] if one_domain else edges
    y = np.sum(A.X[edges[:, 0]] * B.X[edges[:, 1]], axis=1) + 0.1 * rng.normal(size=len(edges))
    if one_domain:
        y = np.round(np.sum(A.X[edges[:, 0]] * A.X[edges[:, 1]], axis=1), 6)
    return Relation(A, None if one_domain else B, edges, y)


@pytest.mark.parametrize("condition", ["row", "column"])
@pytest.mark.parametrize("one_domain", [False, True])
def test_every_setting_of_training_data(condition, one_domain):
    relation = made(one_domain)
    kind = "symmetric" if one_domain else "general"
    recipe = Recipe(learner="conditional", alpha=1.0, condition=condition, relation=kind)
    model = train(recipe, relation)
    found = judged_edges(model, relation)
    assert found.on_training_data and not found.held_out
    assert [kind for kind, _, _ in found.by_kind()] == ["seen"]
    for new in ("edges", "rows", "columns", "both"):
        held_out = judged_edges(model, relation, new)
        assert held_out.held_out and not held_out.on_training_data
        assert np.isfinite(held_out.scores).all()
        whole = new in ("edges", "rows", "columns") and not (one_domain and new != "edges")
        assert (len(held_out.items) == len(relation)) == whole


def test_values_are_needed():
    relation = made()
    model = train(Recipe(learner="conditional", alpha=1.0), relation)
    relation.y = None
    with pytest.raises(ValueError, match="--value"):
        judged_edges(model, relation)


def test_conditions_are_compared_within_folds():
    relation = made()
    model = train(Recipe(learner="conditional", alpha=1.0), relation)
    rows = judged_edges(model, relation, "rows").items
    assert set(rows.qid) == {f"a{i}" for i in range(14)}
    columns = judged_edges(model, relation, "columns").items
    assert "a0, fold 1" in set(columns.qid) and len(set(columns.qid)) == 14 * 5
