"""--select: train and compare models of few features."""

import json

import numpy as np
import pandas as pd
import pytest

import rankwise
from tests.cli_files import run


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(60, 12)), columns=[f"f{j}" for j in range(12)])
    table["score"] = (2 * table["f3"] - table["f7"] + 0.5 * rng.normal(size=60)).round(2)
    table["qid"] = np.repeat([f"q{i}" for i in range(10)], 6)
    path = tmp_path_factory.mktemp("wide") / "wide.csv"
    table.to_csv(path, index=False)
    return path


def test_train_selects_and_names_features(wide, tmp_path):
    model = tmp_path / "model.rw"
    said = run("train", wide, "--select", "2", "-o", model).stderr
    assert "Selected 2 of 12 features: f3, f7." in said
    assert "held-out squared error left" in said and "leave-query-out" in said
    ranker = rankwise.load(model).ranker
    assert ranker.selected_.tolist() == [3, 7]
    assert len(run("predict", model, wide).stdout.split()) >= 60
    given = run("train", wide, "--select", "12", "--alpha", "1", "-o", model).stderr
    assert "f3, f7" in given and "and 2 more." in given


def test_crossval_compares_few_features_with_all(wide):
    words = ("crossval", wide, "--select", "2", "--alpha", "0.1,1", "--nested", "3", "--json")
    found = json.loads(run(*words).stdout)["learners"]
    assert [one["learner"] for one in found][:2] == ["greedy-rank-rls", "rank-rls"]
    assert 0 < min(found[0]["path"]["score"]) < 0.5 and found[0]["nested"]


def test_options_without_a_meaning_are_refused(wide, tmp_path):
    model = tmp_path / "model.rw"
    for words, reason in (
        (("--learner", "rank-svm"), "rank-svm has no --select"),
        (("--kernel", "rbf"), "greedy-rank-rls has no --kernel"),
        (("--scoring", "map"), "give --relevant"),
    ):
        failed = run("train", wide, "--select", "2", *words, "-o", model, code=2)
        assert reason in failed.stderr


def test_a_measure_and_groups(wide, tmp_path):
    """With --scoring alpha is chosen by folds that select again; groups leave together."""
    table = pd.read_csv(wide).drop(columns="qid")
    table["patient"] = np.arange(60) // 3
    table.to_csv(tmp_path / "samples.csv", index=False)
    words = ("--select", "2", "--alpha", "0.1,10", "--groups", "patient", "--json")
    plain = run("crossval", tmp_path / "samples.csv", "--learner", "greedy-rank-rls", *words)
    (one,) = json.loads(plain.stdout)["learners"]
    assert one["path"]["by"] == "10 folds of groups"
    scored = (*words, "--scoring", "tau")
    found = run("crossval", tmp_path / "samples.csv", "--learner", "greedy-rank-rls", *scored)
    (one,) = json.loads(found.stdout)["learners"]
    assert one["path"]["judged"] == "held-out Kendall's τ_b" and 0.4 < max(one["path"]["score"]) < 1
    said = run("train", wide, "--select", "2", "--scoring", "tau", "-o", tmp_path / "m.rw")
    assert "Held-out Kendall's τ_b: 0." in said.stderr and "f3, f7" in said.stderr


def test_outcomes(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 5)), columns=list("abcde"))
    table["days"] = (100 * rng.exponential(size=60) * np.exp(1.5 * table["c"])).round(1)
    table["died"] = rng.random(60) < 0.7
    table.to_csv(tmp_path / "patients.csv", index=False)
    words = ("--time", "days", "--event", "died", "--select", "1", "--cv", "4")
    said = run("train", tmp_path / "patients.csv", *words, "-o", tmp_path / "m.rw").stderr
    assert "Selected 1 of 5 features: c." in said
    found = run("crossval", tmp_path / "patients.csv", *words, "--nested", "3").stdout
    assert "greedy-rank-rls" in found and "rank-svm" in found
