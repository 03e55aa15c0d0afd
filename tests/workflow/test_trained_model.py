"""Models of the command in Python: frames by name, and no scores without the queries they need."""

import numpy as np
import pytest

import rankwise
from rankwise.workflow.ranking_data import Items
from rankwise.workflow.recipe import Recipe
from rankwise.workflow.training import train
from tests.cli_files import made_items, run, write_csv


@pytest.fixture
def items():
    X, y, qid = made_items()
    return Items(X, y.astype(float), qid, features=["a", "b", "c"])


@pytest.fixture(params=["fitted", "loaded"])
def remembered(request, tmp_path):
    """The model as it is, or after save and load."""

    def again(model):
        if request.param == "fitted":
            return model
        rankwise.save(model, tmp_path / "m.rw")
        return rankwise.load(tmp_path / "m.rw")

    return again


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize(
    "recipe",
    [
        Recipe(alpha=1.0),
        Recipe(alpha=1.0, scale="standard", kernel="rbf"),
        Recipe(learner="rank-boost", rounds=3),
    ],
    ids=["linear", "scaled", "boosted"],
)
def test_columns_of_frames_are_matched_by_name(items, remembered, recipe, library):
    frames = pytest.importorskip(library)
    model = remembered(train(recipe, items))
    a, b, c = items.X.T
    expected = model.predict(items.X)
    frame = frames.DataFrame({"c": c, "id": ["x"] * len(items), "b": b, "a": a})
    np.testing.assert_allclose(model.predict(frame), expected, rtol=1e-12)
    with pytest.raises(ValueError, match=r"lacks 1 of the model's 3 features: 'b'"):
        model.predict(frame[["c", "a", "id"]])
    with pytest.raises(ValueError, match=r"text|could not convert"):
        model.predict(frames.DataFrame({"a": a, "b": ["x"] * len(items), "c": c}))


def test_features_without_names_keep_their_order(remembered):
    pd = pytest.importorskip("pandas")
    X, y, qid = made_items()
    model = remembered(train(Recipe(alpha=1.0), Items(X, y.astype(float), qid)))
    with pytest.warns(UserWarning, match="without feature names"):
        found = model.predict(pd.DataFrame(X, columns=["z", "y", "x"]))
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-12)


def test_scaling_by_query_refuses_items_without_queries(items, remembered):
    model = remembered(train(Recipe(alpha=1.0, scale="query"), items))
    assert model.needs_queries
    with pytest.raises(ValueError, match="predict needs qid"):
        model.predict(items.X)
    assert np.ptp(model.predict(items.X, items.qid)) > 0
    one = np.zeros(len(items), dtype=int)
    assert len(model.predict(items.X, one)) == len(items)
    items.qid = None
    model = remembered(train(Recipe(alpha=1.0, scale="query"), items))
    assert not model.needs_queries
    np.testing.assert_array_equal(model.predict(items.X), model.predict(items.X, one))


def test_the_command_asks_for_the_queries(tmp_path):
    data = write_csv(tmp_path / "train.csv")
    model = tmp_path / "m.rw"
    run("train", data, "--scale", "query", "--alpha", "1", "-o", model, "-q")
    lines = [line.split(",") for line in data.read_text(encoding="utf-8").splitlines()]
    (tmp_path / "new.csv").write_text(
        "\n".join(",".join([c[0], *c[2:]]) for c in lines) + "\n", encoding="utf-8"
    )
    for command in ("predict", "evaluate"):
        found = run(command, model, tmp_path / "new.csv", code=2)
        assert "give --query COLUMN" in found.stderr
    run("predict", model, data)
