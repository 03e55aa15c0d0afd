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
        (("--scoring", "map"), "omit --scoring"),
    ):
        failed = run("train", wide, "--select", "2", *words, "-o", model, code=2)
        assert reason in failed.stderr
