"""--preferences with votes in columns of any name: train, crossval, evaluate, report, explain."""

import json

import numpy as np
import pandas as pd
import pytest

import rankwise
from rankwise.workflow.recipe import LEARNERS
from tests.cli_files import run

TAKERS = [name for name, method in LEARNERS.items() if "preferences" in method.options]
ROLES = ("--a", "left", "--b", "right", "--winner", "who won")


def write(folder, seed=0, signal=2.0, votes=260, m=24, name="votes.csv", judges=9):
    """Items, and votes about them: some repeated, a tenth of them ties."""
    rng = np.random.default_rng(seed)
    X = np.random.default_rng(99).normal(size=(m, 3))
    ids = [f"item {i}" for i in range(m)]
    table = pd.DataFrame(X, columns=["size", "price", "age"])
    table.insert(0, "name", ids)
    table.to_csv(folder / "items.csv", index=False)
    a, b = rng.integers(0, m - 1, (2, votes))  # the last item is never compared
    a, b = a[a != b], b[a != b]
    difference = signal * (X[a, 0] - X[b, 0])
    first = rng.random(len(a)) < 1 / (1 + np.exp(-difference))
    won = np.where(rng.random(len(a)) < 0.1, "tie", np.where(first, "left", "right"))
    frame = pd.DataFrame(
        {
            "judge": rng.integers(0, judges, len(a)),
            "left": np.array(ids)[a],
            "right": np.array(ids)[b],
            "who won": won,
        }
    )
    frame.to_csv(folder / name, index=False)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = write(tmp_path_factory.mktemp("votes"))
    write(folder, seed=1, name="test.csv")
    write(folder, seed=2, signal=0.0, name="noise.csv")
    return folder


def files(folder, votes="votes.csv", *more):
    return (folder / "items.csv", "--id", "name", "--preferences", folder / votes, *ROLES, *more)


@pytest.fixture(scope="module")
def models(folder):
    made = {}
    for learner in TAKERS:
        made[learner] = folder / f"{learner}.rw"
        said = run(
            "train", *files(folder), "--learner", learner, "--cv", 3, "-o", made[learner]
        ).stderr
        assert "1 item never compared" in said and "ties" in said
        assert "Share of held-out preferences in the right order" in said
    return made


@pytest.mark.parametrize("learner", TAKERS)
def test_train_and_evaluate(folder, models, learner):
    words = ("evaluate", models[learner], *files(folder, "test.csv"), "--json")
    found = json.loads(run(*words).stdout)
    assert found["resampled"] == "pairs of items" and found["ties"] > 0
    assert not found["on_training_data"]
    right = found["measures"]["preferences"]
    assert 0.6 < right["low"] < right["value"] < right["high"] < 0.95
    by_judge = json.loads(run(*words, "--judge", "judge").stdout)
    assert by_judge["resampled"] == "groups" and by_judge["units"] == 9
    assert by_judge == json.loads(run(*words, "--groups", "judge").stdout)
    shown = run("evaluate", models[learner], *files(folder, "test.csv", "--judge", "judge"))
    assert "preferences in the right order" in shown.stdout and "9 judges" in shown.stdout


def test_training_data_flatter(folder, models):
    words = ("evaluate", models["rank-rls"], *files(folder), "--json")
    assert json.loads(run(*words).stdout)["on_training_data"]


def test_probabilities_are_judged_too(folder, models):
    if "rank-logistic" not in models:
        pytest.skip("no learner tells probabilities")
    words = ("evaluate", models["rank-logistic"], *files(folder, "test.csv"), "--json")
    loss = json.loads(run(*words).stdout)["measures"]["log_loss"]
    assert loss["low"] < loss["value"] < np.log(2)


@pytest.mark.parametrize("learner", TAKERS)
def test_the_model_is_that_of_python(folder, learner):
    model = folder / "one.rw"
    run("train", *files(folder), "--learner", learner, "--alpha", 0.5, "-o", model, "-q")
    items = pd.read_csv(folder / "items.csv")
    X = items[["size", "price", "age"]].to_numpy()
    columns = {"a": "left", "b": "right", "outcome": "who won"}
    said = rankwise.datasets.read_preferences(
        folder / "votes.csv", items=items["name"], columns=columns
    )
    expected = LEARNERS[learner].estimator(0.5).fit(X, preferences=said).predict(X)
    np.testing.assert_allclose(rankwise.load(model).predict(X), expected, rtol=1e-6)


def test_crossval_compares_all_that_learn_from_preferences(folder):
    words = (*files(folder), "--alpha", "0.1,10", "--cv", 4, "--nested", 3, "--json")
    found = json.loads(run("crossval", *words).stdout)["learners"]
    assert [one["learner"] for one in found] == TAKERS
    for one in found:
        assert one["path"]["by"] == "4 folds of pairs of items"
        assert one["nested"]["measures"]["preferences"]["value"] > 0.6
    shown = run("crossval", *words[:-1], "--learner", "rank-rls", "--judge", "judge")
    assert "4 folds of groups" in shown.stdout and "preferences in the right order" in shown.stdout


@pytest.mark.parametrize("scheme", [(), ("--judge", "judge"), ("--cv", "leave-item-out")])
@pytest.mark.parametrize("learner", TAKERS)
def test_shuffled_outcomes_score_one_half(folder, learner, scheme):
    """A vote that is held out is not predicted by another one about the same two items."""
    if scheme[:1] == ("--cv",) and learner != "rank-rls":
        scheme = ("--cv", 5)
    words = (*files(folder, "noise.csv"), "--learner", learner, "--alpha", "0.1,10", *scheme)
    found = json.loads(run("crossval", *words, "--nested", 5, "--json").stdout)["learners"][0]
    right = found["nested"]["measures"]["preferences"]
    assert right["low"] < 0.5 < right["high"]
    assert max(found["path"]["score"]) < 0.6


@pytest.mark.parametrize("learner", TAKERS)
def test_report(folder, models, learner):
    page = folder / f"{learner}.html"
    more = ("--learning-curve",) if learner == "rank-rls" else ()
    run("report", models[learner], *files(folder, "test.csv"), "-o", page, *more)
    text = page.read_text(encoding="utf-8")
    assert "Better than chance" in text and "of the preferences are in the right order" in text
    assert ("Reliability" in text) == (learner == "rank-logistic")
    assert ("Learning curve" in text) == (learner == "rank-rls")
    run("report", models[learner], *files(folder), "-o", page)
    assert "Judged on the data it was trained on" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("learner", TAKERS)
def test_explain(folder, models, learner):
    words = ("--above", "item 1", "--below", "item 2")
    shown = run("explain", models[learner], *files(folder), *words).stdout
    assert "Statements about the two: for A" in shown
    found = json.loads(run("explain", models[learner], *files(folder), *words, "--json").stdout)
    assert set(found["votes"]) == {"a", "b", "ties"}


def test_winner_and_loser_with_judges(folder, tmp_path):
    votes = pd.read_csv(folder / "votes.csv")
    decided = votes[votes["who won"] != "tie"]
    left = decided["who won"] == "left"
    lines = pd.DataFrame(
        {
            "winner": decided["left"].where(left, decided["right"]),
            "rater": decided["judge"],
            "loser": decided["right"].where(left, decided["left"]),
        }
    )
    lines.to_csv(tmp_path / "wins.csv", index=False)
    words = (folder / "items.csv", "--id", "name", "--preferences", tmp_path / "wins.csv")
    found = run("train", *words, "--judge", "rater", "-o", tmp_path / "m.rw").stderr
    assert "9 judges" in found and "folds of groups" in found
    missing = run("train", *words, "--judge", "nobody", "-o", tmp_path / "m.rw", code=2).stderr
    assert "'nobody'" in missing and "winner, rater, loser" in missing


MISTAKES = {
    "wrong column": (("--a", "lefft"), "no column 'lefft'"),
    "half a vote": (("--winner", None), "--winner is missing"),
    "judge": (("--judge", "nobody"), "no column 'nobody'"),
    "both": (("--judge", "judge", "--groups", "judge"), "not both"),
    "outcomes": (("--outcomes", "x=1"), "is not like a=1,b=-1,tie=0"),
    "other outcomes": (("--outcomes", "a=1,b=2"), "is no outcome; you said"),
}


@pytest.mark.parametrize(("more", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes(folder, tmp_path, more, message):
    words = list(files(folder))
    for option, value in zip(more[::2], more[1::2]):
        if option in words:
            at = words.index(option)
            words[at : at + 2] = [] if value is None else [option, value]
        else:
            words += [option, value]
    assert message in run("train", *words, "-o", tmp_path / "m.rw", code=2).stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1,item 3,item 3,left", "line 3, column 'right': item item 3 is compared with itself"),
        ("1,item 3,item 4,drawn", "line 3, column 'who won': 'drawn' is no outcome"),
        ("1,item 3,nobody,left", "line 3, column 'right': 'nobody' is not in the table of items"),
    ],
)
def test_mistakes_in_the_file(folder, tmp_path, line, message):
    text = "judge,left,right,who won\n0,item 1,item 2,left\n" + line + "\n"
    (tmp_path / "votes.csv").write_text(text, encoding="utf-8")
    words = (folder / "items.csv", "--id", "name", "--preferences", tmp_path / "votes.csv", *ROLES)
    assert message in run("train", *words, "-o", tmp_path / "m.rw", code=2).stderr


def test_votes_without_their_file(folder, tmp_path):
    words = (folder / "items.csv", "--target", "size", "--judge", "judge")
    said = run("train", *words, "-o", tmp_path / "m.rw", code=2).stderr
    assert "--judge names a column of votes" in said


def test_options_of_scores_are_refused(folder, models):
    words = ("evaluate", models["rank-rls"], *files(folder), "--scoring", "ndcg@5")
    assert "--scoring is for scores" in run(*words, code=2).stderr


def test_effects_of_items_and_of_the_order(folder, tmp_path):
    """--item-effect and --order-effect reach rank-logistic, and other learners refuse them."""
    words = ("train", *files(folder), "--learner", "rank-logistic", "--alpha", "0.1")
    run(*words, "--item-effect", "0.5", "--order-effect", "-o", tmp_path / "m.rw")
    model = rankwise.load(tmp_path / "m.rw").ranker
    assert model.item_effect == 0.5 and model.order_effect is True and model.order_effect_ != 0
    run(*words[:-2], "--cv", "3", "--order-effect", "-o", tmp_path / "cv.rw")
    assert rankwise.load(tmp_path / "cv.rw").ranker.order_effect is True
    takers = {("--item-effect", "0.5"): "rank-logistic, conditional have it"}
    takers[("--order-effect",)] = "rank-logistic has it"
    for option, expected in takers.items():
        failed = run("train", *files(folder), *option, "-o", tmp_path / "no.rw", code=2)
        assert f"rank-rls has no {option[0]}; {expected}" in failed.stderr
    run(*words, "--item-effect", "-1", "-o", tmp_path / "n.rw", code=2)


def test_near_names_of_columns(folder, tmp_path):
    votes = ("--preferences", folder / "votes.csv", "--a", "left", "--b", "right")
    said = run(
        *("train", folder / "items.csv", "--id", "name", *votes, "--winner", "who wom"),
        *("-o", tmp_path / "m.rw"),
        code=2,
    ).stderr
    assert "Did you mean 'who won'?" in said
    said = run(
        *("train", *files(folder), "--judge", "jugde", "-o", tmp_path / "m.rw"), code=2
    ).stderr
    assert "Did you mean 'judge'?" in said
