"""--scoring: candidates chosen, and models judged, by a measure of one's choice."""

import json

import numpy as np
import pandas as pd
import pytest

from rankwise import metrics
from tests.cli_files import run

LEARNERS = ("rank-rls", "rank-svm", "mprank", "svrank", "rank-boost")


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    table["qid"] = np.repeat([f"q{i}" for i in range(10)], 6)
    noisy = table["a"] + 0.5 * rng.normal(size=60)
    table["score"] = np.clip(np.round(noisy + 1), 0, 3).astype(int)
    path = tmp_path_factory.mktemp("graded") / "graded.csv"
    table.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("learner", LEARNERS)
def test_candidates_are_chosen_by_it(graded, learner):
    words = ("crossval", graded, "--learner", learner, "--scoring", "ndcg@3", "--json")
    grid = () if learner == "rank-boost" else ("--alpha", "0.01,1")
    (found,) = json.loads(run(*words, *grid).stdout)["learners"]
    path = found["path"]
    assert path["judged"] == "held-out NDCG@3" and path["scoring"] == "ndcg@3"
    assert 0.5 < max(path["score"]) <= 1 and path["units"] == 10
    pairs = json.loads(run(*words[:4], *grid, "--json").stdout)["learners"][0]["path"]
    assert pairs["score"] != path["score"]


def test_map_takes_grades_and_a_model_file_keeps_it(graded, tmp_path):
    model = tmp_path / "model.rw"
    said = run("train", graded, "--scoring", "map", "--alpha", "0.1,10", "-o", model).stderr
    assert "Held-out MAP: 0." in said and "±" in said
    assert len(run("predict", model, graded).stdout.split()) >= 60


def test_nested_shows_the_measure_first(graded):
    words = ("crossval", graded, "--learner", "rank-rls", "--scoring", "err@2", "--nested", "3")
    found = run(*words).stdout
    assert "ERR@2" in found and "ranking error" in found


def test_evaluate_takes_several(graded, tmp_path):
    model = tmp_path / "model.rw"
    run("train", graded, "--alpha", "1", "-o", model)
    words = ("evaluate", model, graded, "--scoring", "ndcg@2,ndcg@4,err@2,tau,auc")
    record = json.loads(run(*words, "--json").stdout)["measures"]
    assert list(record) == ["ndcg@2", "ndcg@4", "err@2", "tau", "auc"]
    assert record["auc"]["value"] is None and "two values" in record["auc"]["reason"]
    assert record["ndcg@2"]["low"] < record["ndcg@2"]["value"] < record["ndcg@2"]["high"]
    assert "NDCG@4" in run(*words, "--per-query").stdout


def test_a_name_that_means_nothing(graded):
    result = run("crossval", graded, "--scoring", "recall", code=None)
    assert result.exit_code != 0 and "is no measure; the names are" in result.stderr


def test_two_queries_are_too_few(tmp_path):
    """Both queries are ordered without a mistake, which is no certainty."""
    rows = [f"q{q},{x},{x}" for q in range(2) for x in range(4)]
    path = tmp_path / "two.csv"
    path.write_text("qid,a,score\n" + "\n".join(rows), encoding="utf-8")
    model = tmp_path / "model.rw"
    said = run("train", path, "-o", model).stderr
    assert "± 0.0000" not in said and "2 queries or folds are too few" in said
    shown = run("crossval", path, "--learner", "rank-rls").stdout
    assert "1.0000 to 1.0000" not in shown and "too few" in " ".join(shown.split())
    judged = json.loads(run("evaluate", model, path, "--json").stdout)["measures"]
    for measure in judged.values():
        assert measure["high"] - measure["low"] > 0.5
        assert "too few" in measure["reason"]


def test_relevance_by_a_threshold():
    y, s = np.array([0.0, 2, 1, 3]), np.array([1.0, 3, 2, 0])
    expected = metrics.average_precision((y >= 2).astype(float), s)
    assert metrics.average_precision(y, s, relevant=2) == expected
    assert metrics.scorer("map", relevant=2).measure(y, s) == expected


@pytest.mark.parametrize("learner", ["rank-rls", "rank-svm", "rank-boost"])
def test_map_of_real_scores_asks_for_the_lowest_relevant_one(graded, learner, tmp_path):
    table = pd.read_csv(graded)
    table["score"] = table["score"] + 0.5
    table.to_csv(tmp_path / "real.csv", index=False)
    words = ("crossval", tmp_path / "real.csv", "--learner", learner, "--scoring", "map")
    grid = () if learner == "rank-boost" else ("--alpha", "0.1,1")
    assert "give --relevant" in run(*words, *grid, code=2).stderr
    options = (*grid, "--relevant", "2", "--nested", "3", "--json")
    (found,) = json.loads(run(*words, *options).stdout)["learners"]
    assert 0.3 < max(found["path"]["score"]) < 1 and found["nested"]["relevant"] == 2
    model = tmp_path / "m.rw"
    said = run("train", *words[1:], *grid, "--relevant", "2", "-o", model).stderr
    assert "Held-out MAP" in said
