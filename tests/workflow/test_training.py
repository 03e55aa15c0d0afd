"""Models trained from recipes, and refitted."""

import numpy as np
import pytest

from rankwise.workflow.ranking_data import Items, Relation
from rankwise.workflow.recipe import LEARNERS, Recipe
from rankwise.workflow.trained_model import TrainingRecord
from rankwise.workflow.training import train, unfitted
from tests.cli_files import made_items

OF_SCORES = [
    name
    for name, method in LEARNERS.items()
    if not method.learns_relations and not method.needs_preferences
]


@pytest.mark.parametrize("learner", OF_SCORES)
def test_the_unfitted_learner_learns_the_same_model(learner):
    X, y, qid = made_items()
    items = Items(X, y.astype(float), qid)
    model = train(Recipe(learner=learner), items)
    again = unfitted(model).fit(X, y, qid=qid)
    a, b = model.predict(X), again.predict(X)
    np.testing.assert_allclose(a, b, rtol=0.05, atol=0.02 * np.abs(a).max())


def test_a_trained_model_can_be_refitted():
    X, y, qid = made_items()
    model = train(Recipe(scale="query", alpha=3.0), Items(X, y.astype(float), qid))
    before = model.predict(X, qid)
    np.testing.assert_allclose(model.fit(X, y, qid=qid).predict(X, qid), before)


def test_the_record_holds_the_declared_fields_in_their_order():
    X, y, qid = made_items()
    of_items = train(Recipe(kernel="rbf"), Items(X, y.astype(float), qid)).record
    declared = list(TrainingRecord.__annotations__)
    assert list(of_items) == declared[:9]
    assert len(of_items["trained"].pop("fingerprint")) == 64
    assert of_items["trained"] == {
        "source": "data",
        "summary": "96 items, 3 features, 12 queries, scores 0, 1, 2",
        "items": 96,
        "queries": 12,
        "features": 3,
    }
    assert of_items["support"]["names"][95] == "row 96"
    nodes = Items(X[:6])
    edges = np.array([(i, j) for i in range(6) for j in range(6)])
    relation = Relation(nodes, None, edges, X[:, 0][edges[:, 0]] * X[:, 1][edges[:, 1]])
    of_relation = train(Recipe(learner="conditional", alpha=1.0), relation).record
    assert list(of_relation) == declared[:13]
    assert len(of_relation["trained"].pop("fingerprint")) == 64
    assert of_relation["trained"] == {"source": "data", "summary": "36 edges, 6 nodes", "items": 36}
    assert of_relation["path"] is None and of_relation["support"] is None
