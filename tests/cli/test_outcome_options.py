"""--time and --event: censored outcomes in every command, and what is said about odd columns."""

import json

import numpy as np
import pandas as pd
import pytest

from rankwise import Censored, RankRLS, load, metrics
from tests.cli_files import run

OUTCOME = ("--time", "days", "--event", "died", "--id", "patient")
GIVEN = ("--ignore", "centre", "--alpha", "2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outcomes")
    rng = np.random.default_rng(0)
    for name in ("train", "test"):
        X = rng.normal(size=(90, 3))
        time, lost = 100 * rng.exponential(size=(2, 90)) * np.exp([X[:, 0], np.full(90, 0.5)])
        table = pd.DataFrame(X, columns=["score", "b", "c"])  # a feature with a usual name
        table.insert(0, "patient", [f"{name}{i}" for i in range(90)])
        table["days"], table["died"] = np.minimum(time, lost).round(2), time <= lost
        table["centre"] = np.arange(90) % 6
        table.to_csv(folder / f"{name}.csv", index=False)
    run("train", folder / "train.csv", *OUTCOME, "--query", "centre", "-o", folder / "model.rw")
    run("train", folder / "train.csv", *OUTCOME, *GIVEN, "-o", folder / "given.rw")
    return folder


def test_train_learns_from_the_outcomes(folder):
    said = run("train", folder / "train.csv", *OUTCOME, *GIVEN, "-o", folder / "again.rw")
    assert "3 features, " in said.stderr and " events, times " in said.stderr
    table = pd.read_csv(folder / "train.csv")
    expected = RankRLS(2.0).fit(
        table[["score", "b", "c"]].to_numpy(), Censored(table.died, table.days)
    )
    np.testing.assert_allclose(load(folder / "given.rw").ranker.coef_, expected.coef_)


@pytest.mark.parametrize("learner", ["rank-rls", "rank-svm"])
def test_crossval_and_nested_folds(folder, learner, tmp_path):
    words = ("crossval", folder / "train.csv", *OUTCOME, "--ignore", "centre", "--nested", "3")
    page = tmp_path / "page.html"
    found = run(*words, "--learner", learner, "--alpha", "0.01,1", "--json", "--html", page)
    (one,) = json.loads(found.stdout)["learners"]
    assert 0.6 < max(one["path"]["score"]) < 0.9
    assert "comparable pairs" in one["path"]["judged"]
    assert one["nested"]["measures"]["concordance"]["low"] > 0.5
    assert "Harrell" in page.read_text(encoding="utf-8")


def test_crossval_compares_the_learners_that_take_outcomes(folder):
    found = run("crossval", folder / "train.csv", *OUTCOME, "--query", "centre")
    assert "rank-rls" in found.stdout and "rank-svm" in found.stdout
    assert "rank-boost" not in found.stdout


def test_evaluate_remembers_the_columns(folder):
    found = json.loads(run("evaluate", folder / "model.rw", folder / "test.csv", "--json").stdout)
    table = pd.read_csv(folder / "test.csv")
    s = load(folder / "model.rw").predict(table[["score", "b", "c"]].to_numpy())
    expected = metrics.concordance(Censored(table.died, table.days), s, table.centre)
    assert found["measures"]["concordance"]["value"] == pytest.approx(expected)
    assert found["strata"] == 6 and not found["on_training_data"]
    shown = run("evaluate", folder / "given.rw", folder / "test.csv").stdout
    assert "Uno's concordance up to" in shown and "Log-rank test" in shown
    on_training = run("evaluate", folder / "given.rw", folder / "train.csv").stderr
    assert "DATA are what the model was trained on" in on_training


def test_predict_explain_and_report(folder, tmp_path):
    new = pd.read_csv(folder / "test.csv").drop(columns=["days", "died"])
    new.to_csv(tmp_path / "new.csv", index=False)
    assert len(run("predict", folder / "model.rw", tmp_path / "new.csv").stdout.split()) == 90
    shown = run("explain", folder / "given.rw", folder / "test.csv", "--top", "3").stdout
    assert "time (+ censored)" in shown
    run("report", folder / "given.rw", folder / "test.csv", "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Survival by tercile" in page and "Items at risk" in page
    missing = run("evaluate", folder / "model.rw", tmp_path / "new.csv", code=2)
    assert "no scores to judge by" in missing.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--time", "days"), "--time needs --event"),
        (("--event", "died"), "--event needs --time"),
        (("--time", "died", "--event", "days"), "neither 1 (the event was seen) nor 0"),
        (("--time", "score", "--event", "died"), "it is negative"),
        (("--time", "days", "--event", "dead"), "has no column 'dead' (--event)"),
        (("--time", "days", "--event", "died", "--target", "b"), "not both"),
        ((*OUTCOME, "--learner", "mprank"), "rank-rls and rank-svm take --time and --event"),
        ((*OUTCOME, "--scoring", "ndcg"), "censored outcomes are judged by concordance"),
        ((*OUTCOME, "--baseline", "days"), "--baseline 'days' is the time"),
        ((*OUTCOME, "--baseline", "died"), "--baseline 'died' is the event"),
    ],
)
def test_mistakes_are_named(folder, words, said, tmp_path):
    words = ("--id", "patient", *words) if "--id" not in words else words
    result = run("train", folder / "train.csv", *words, "-o", tmp_path / "no.rw", code=2)
    assert said in result.stderr and not (tmp_path / "no.rw").exists()


def test_all_censored_and_missing_cells(folder, tmp_path):
    table = pd.read_csv(folder / "train.csv")
    table["died"] = 0
    table.to_csv(tmp_path / "none.csv", index=False)
    result = run("train", tmp_path / "none.csv", *OUTCOME, "-o", tmp_path / "no.rw", code=2)
    assert "every time is censored" in result.stderr
    table["days"] = table["days"].where(np.arange(90) != 4)
    table.to_csv(tmp_path / "missing.csv", index=False)
    result = run("train", tmp_path / "missing.csv", *OUTCOME, "-o", tmp_path / "no.rw", code=2)
    assert "line 6, column 'days': a value is missing" in result.stderr


def test_report_draws_the_learning_curve(folder, tmp_path):
    page = tmp_path / "page.html"
    for model in ("given.rw", "model.rw"):  # without and with strata
        run("report", folder / model, folder / "test.csv", "--learning-curve", "-o", page)
        assert "Learning curve" in page.read_text(encoding="utf-8")


def test_baseline_is_an_existing_risk_index(folder, tmp_path):
    data = {name: pd.read_csv(folder / f"{name}.csv") for name in ("train", "test")}
    for name, table in data.items():
        table["index"] = table["score"] + np.random.default_rng(0).normal(size=90)
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    model, page = tmp_path / "model.rw", tmp_path / "page.html"
    for strata in (("--query", "centre"), ("--ignore", "centre")):
        words = (tmp_path / "train.csv", *OUTCOME, *strata, "--baseline", "index", "--alpha", "2")
        said = run("train", *words, "-o", model).stderr
        assert "all choices again in 5 outer folds" in said and "Nested, 5 outer folds" in said
        trained = load(model).record
        assert trained["features"] == ["score", "b", "c"]
        assert trained["baseline"]["baseline"] == "index" and "index: share of pairs" in said
        found = json.loads(run("evaluate", model, tmp_path / "test.csv", "--json").stdout)
        test, centre = data["test"], data["test"].centre if "--query" in strata else None
        y = Censored(test.died, test.days)
        s = load(model).predict(test[["score", "b", "c"]].to_numpy())
        for kind, scores in (("model", s), ("baseline", test["index"])):
            expected = metrics.concordance(y, scores, centre)
            assert found["baseline"][f"{kind}_score"] == pytest.approx(expected)
        assert found["baseline"]["sentence"] in run("evaluate", model, tmp_path / "test.csv").stdout
        run("report", model, tmp_path / "test.csv", "-o", page)
        assert found["baseline"]["sentence"].split(":")[0] in page.read_text(encoding="utf-8")
        on_training = run("evaluate", model, tmp_path / "train.csv").stdout
        assert str(trained["baseline"]["sentence"]) in on_training
        (one,) = json.loads(run("crossval", *words, "--learner", "rank-rls", "--json").stdout)[
            "learners"
        ]
        outer = {key: one["baseline"][key] for key in ("model_score", "difference", "p_value")}
        assert outer == pytest.approx({key: trained["baseline"][key] for key in outer})


def test_strata_are_listed(folder):
    words = ("evaluate", folder / "model.rw", folder / "test.csv", "--per-query")
    record = json.loads(run(*words, "--json").stdout)
    values = [one["concordance"] for one in record["per_query"]]
    assert len(values) == 6
    assert np.mean(values) == pytest.approx(record["measures"]["concordance"]["value"])
    assert run(*words).stdout.count("\n") > 8
    for option in ("--relevant", "--scoring"):
        said = run(*words, option, "3", code=2).stderr
        assert f"{option} is for scores" in said
