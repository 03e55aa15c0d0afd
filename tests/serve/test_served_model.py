"""Ranking and explaining without HTTP: the same scores and the same refusals as predict."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

import rankwise as rw
from rankwise.learners.item_scaler import ItemScaler
from rankwise.serve.served_model import ServedModel
from rankwise.workflow.trained_model import TrainedModel
from tests.model_zoo import models
from tests.serve.running import NAMES, items_of, trained

LEARNERS = [rw.RankRLS(), rw.RankRLS(kernel="rbf"), rw.RankBoost(9), rw.RankSVM(0.1)]


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_the_order_and_scores_of_predict(learner):
    model, X = trained(learner=learner)
    ranking = ServedModel(model).rank(items_of(X))
    expected = model.predict(X)
    assert [row["index"] for row in ranking] == np.argsort(-expected, kind="stable").tolist()
    assert [row["score"] for row in ranking] == sorted(expected.tolist(), reverse=True)
    assert [row["rank"] for row in ranking] == list(range(1, len(X) + 1))
    assert ranking[0]["id"] == f"item {ranking[0]['index']}"


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_parts_add_up_to_the_difference(learner):
    model, X = trained(learner=learner)
    found = ServedModel(model).explain(items_of(X), 3, "item 7", top=2)
    assert found["a"]["index"] == 3 and found["b"]["index"] == 7 and len(found["parts"]) <= 2
    total = sum(part["amount"] for part in found["parts"]) + found["rest"]
    scores = model.predict(X)
    assert total == pytest.approx(scores[3] - scores[7]) == pytest.approx(found["difference"])


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(
    "steps", [(StandardScaler(),), (StandardScaler(), PolynomialFeatures(2)), (rw.KernelMap(),)]
)
def test_pipelines_are_explained_by_what_their_ranker_sees(steps):
    pandas = pytest.importorskip("pandas")
    _, X = trained()
    frame = pandas.DataFrame(X, columns=NAMES)
    model = make_pipeline(*steps, rw.RankRLS()).fit(frame, X[:, 0])
    served = ServedModel(model)
    assert served.features == NAMES
    swapped = [dict(reversed(item.items())) for item in items_of(X)]
    assert served.rank(swapped) == served.rank(items_of(X))
    found = served.explain(items_of(X), top=100)
    assert sum(p["amount"] for p in found["parts"]) == pytest.approx(found["difference"])


def test_scaling_within_the_query_uses_the_items_of_the_request():
    _, X = trained()
    y, qid = X[:, 0], np.repeat(np.arange(6), 10)
    scaler = ItemScaler("query").fit(X, qid=qid)
    record = {"features": NAMES, "reading": {"query": "user", "name": "name"}}
    model = TrainedModel(rw.RankRLS().fit(scaler.transform(X, qid), y, qid=qid), scaler, record)
    served, items = ServedModel(model), items_of(X[10:20])
    scores = {row["index"]: row["score"] for row in served.rank(items, "any")}
    assert np.allclose([scores[i] for i in range(10)], model.predict(X, qid)[10:20])
    for i, item in enumerate(items):
        item["user"], item["name"] = i % 2, f"n{i}"
    with pytest.raises(ValueError, match="2 queries"):
        served.rank(items)
    for item in items:
        item["user"] = 1
    assert served.rank(items)[0]["id"].startswith("n")


def test_categories_become_the_features_of_training():
    _, X = trained()
    cities = np.array(["Bonn", "Köln", "Bonn <b>"])[np.arange(60) % 3]
    levels = ["Bonn", "Bonn <b>", "Köln"]
    hot = (cities[:, None] == np.array(levels)).astype(float)
    wide = np.column_stack((X[:, :1], hot, X[:, 1:2]))
    features = ["price", *(f"city={level}" for level in levels), "emb 1"]
    learnt = [{"name": "price"}, {"name": "city", "kind": "category", "levels": levels}]
    record = {"features": features, "reading": {"learnt": learnt}}
    model = TrainedModel(rw.RankRLS().fit(wide, X[:, 0]), None, record)
    served = ServedModel(model)
    assert served.columns == ["price", "city", "emb 1"]
    items = [{"city": c, "price": p, "emb 1": e} for c, p, e in zip(cities, X[:, 0], X[:, 1])]
    scores = {row["index"]: row["score"] for row in served.rank(items)}
    assert np.allclose([scores[i] for i in range(60)], model.predict(wide))
    items[0]["city"] = "Paris"
    wide[0, 1:4] = 0
    assert served.scores(items)[0] == pytest.approx(model.predict(wide)[0])
    assert served.explain(items)["parts"][0]["name"] in features
    missing = r"^items\[0\]: 'city' is missing\.$"
    for city, message in ((None, missing), (" ", missing), ([1], "no category")):
        items[0]["city"] = city
        with pytest.raises(ValueError, match=message):
            served.rank(items)
    with pytest.raises(ValueError, match="lack 'city'"):
        served.rank([{"price": 1, "emb 1": 2}])


def test_missing_values_are_named_or_filled():
    model, X = trained()
    gap = items_of(X[:3])
    gap[1]["stars"] = None
    with pytest.raises(ValueError, match=r"^items\[1\]: 'stars' is missing\.$"):
        ServedModel(model).rank(gap)
    X_gap = X[:3].copy()
    X_gap[1, 1] = np.nan
    filling = TrainedModel(model.ranker, ItemScaler(missing="median").fit(X), model.record)
    del gap[1]["stars"]
    scores = {row["index"]: row["score"] for row in ServedModel(filling).rank(gap)}
    assert scores[1] == filling.predict(X_gap)[1] and ServedModel(filling).takes_missing
    filling = TrainedModel(model.ranker, ItemScaler(missing="mean").fit(X), model.record)
    assert ServedModel(filling).takes_missing


def test_a_pipeline_that_fills_one_column_is_not_blamed_on_it():
    pandas = pytest.importorskip("pandas")
    _, X = trained()
    hot = ColumnTransformer([("f", SimpleImputer(), NAMES[:1]), ("h", OneHotEncoder(), ["city"])])
    frame = pandas.DataFrame(X, columns=NAMES).assign(city=["Bonn", "Köln"] * (len(X) // 2))
    served = ServedModel(make_pipeline(hot, rw.RankRLS()).fit(frame, X[:, 0]))
    items = [{**item, "city": "Bonn"} for item in items_of(X[:3])]
    items[0][NAMES[0]] = None
    assert len(served.rank(items)) == 3
    items[2]["city"] = None
    with pytest.raises(ValueError, match="unknown categories"):
        served.rank(items)
    items[0][NAMES[0]] = 1.0
    with pytest.raises(ValueError, match=r"^items\[2\]: 'city' is missing\.$"):
        served.rank(items)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (0, 0, "the same item"),
        (99, 0, "positions go from 0 to 2"),
        (-1, 0, "positions go"),
        ("x", None, "no item has the id 'x'"),
        ("twin", None, "2 items have the id 'twin'"),
    ],
)
def test_two_items_that_are_not_two(a, b, message):
    model, X = trained()
    items = items_of(X[:3])
    items[1]["id"] = items[2]["id"] = "twin"
    with pytest.raises(ValueError, match=message):
        ServedModel(model).explain(items, a, b)
    assert [row["id"] for row in ServedModel(model).rank(items)].count("twin") == 2
    with pytest.raises(ValueError, match="only one"):
        ServedModel(model).explain(items[:1])


def test_models_that_cannot_rank_items_are_refused_at_the_start():
    reasons = {
        "conditional": "pairs|score items",
        "gram": "precomputed",
        "kernel map": "score",
        "outputs": "several",
    }
    for name, (model, _) in models().items():
        reason = next((text for word, text in reasons.items() if word in name), None)
        if reason and name != "pipeline map":
            with pytest.raises(ValueError, match=reason):
                ServedModel(model)


def test_the_card_has_the_estimate_of_training_and_no_folder(tmp_path):
    from tests.cli_files import run, write_csv

    table, file = write_csv(tmp_path / "train.csv"), tmp_path / "model.rw"
    run("train", table, "-o", file, "--scale", "standard")
    card = ServedModel(rw.load(file)).card()
    estimate = card["estimate"]
    assert 0.5 < estimate["low"] <= estimate["score"] <= estimate["high"] <= 1
    assert estimate["by"] == "leave-query-out" and card["trained_on"]["source"] == "train.csv"
    assert str(tmp_path) not in str(card) and len(card["typical"]) == 3
    _, X = trained()
    assert ServedModel(rw.RankRLSCV().fit(X, X[:, 0])).card()["estimate"]["by"] == "leave-pair-out"
    assert ServedModel(rw.RankRLS().fit(X, X[:, 0])).card()["estimate"] is None
