"""--groups: samples of a patient are held out together, and the column is no feature."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.cli_files import run


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """20 patients with 3 almost equal samples each, and no signal."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(20), 3)
    sick = rng.permutation(np.arange(20) % 2)[who]
    X = rng.normal(size=(20, 6))[who] + 0.02 * rng.normal(size=(60, 6))
    table = pd.DataFrame(X, columns=list("abcdef"))
    table["patient"], table["score"] = [f"p{i}" for i in who], sick
    path = tmp_path_factory.mktemp("groups") / "samples.csv"
    table.to_csv(path, index=False)
    return path


WORDS = ("--kernel", "rbf", "--gamma", "0.5", "--alpha", "0.01,1,100")


@pytest.mark.parametrize("learner", ["rank-rls", "rank-svm"])
def test_crossval_is_not_deceived(samples, learner):
    def held_out(*more):
        words = ("crossval", samples, "--learner", learner, *WORDS, "--json", *more)
        path = json.loads(run(*words).stdout)["learners"][0]["path"]
        return max(path["score"])

    assert held_out("--ignore", "patient") > 0.95
    assert held_out("--groups", "patient") < 0.85


def test_train_and_predict_know_the_column(samples, tmp_path):
    model = tmp_path / "model.rw"
    said = run("train", samples, *WORDS, "--groups", "patient", "-o", model).stderr
    assert "20 groups" in said
    assert len(run("predict", model, samples).stdout.split()) >= 60


def test_nested_folds_keep_groups(samples):
    words = ("--learner", "rank-boost", "--groups", "patient", "--nested", "3", "--json")
    found = json.loads(run("crossval", samples, *words).stdout)
    assert found["learners"][0]["nested"] is not None


def test_learners_that_refit_keep_groups_too(samples):
    words = ("--learner", "svrank", "--groups", "patient", "--alpha", "0.1,10", "--json")
    (one,) = json.loads(run("crossval", samples, *words).stdout)["learners"]
    assert max(one["path"]["score"]) < 0.85


def test_a_column_of_names_that_is_no_group_is_pointed_out(samples, tmp_path):
    """Numbers of patients among the features: the note names the column and the option."""
    table = pd.read_csv(samples)
    number = {name: 7 * i % 20 for i, name in enumerate(sorted(set(table["patient"])))}
    table["patient"] = [number[name] for name in table["patient"]]
    path = tmp_path / "numbers.csv"
    table.to_csv(path, index=False)
    said = run("crossval", path, "--learner", "rank-rls", "--alpha", "1").stderr
    assert "Note: column 'patient' looks like the name" in said and "--groups 'patient'" in said
    said = run("train", path, "--alpha", "0.1,1", "-o", tmp_path / "m.rw").stderr
    assert said.count("looks like the name") == 1
    quiet = run("crossval", path, "--learner", "rank-rls", "--groups", "patient").stderr
    assert "looks like" not in quiet
    twice = pd.concat([table.drop(columns="patient")] * 2)
    twice.to_csv(path, index=False)
    assert "120 of 120 rows occur more than once" in run("crossval", path, "--alpha", "1").stderr
