"""rankwise train: every learner and kind of data, and the models that it writes."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import rankwise
from rankwise import RankRLSCV
from rankwise.cli import main
from tests.cli_files import made_items, run, scores, write_csv

LEARNERS = ("rank-rls", "rank-svm", "mprank", "svrank", "rank-boost")


def test_the_defaults_are_the_library_with_exact_cross_validation(folder):
    X, y, qid = made_items()
    expected = RankRLSCV().fit(X, y, qid=qid)
    found = run("predict", folder / "model.rw", folder / "train.csv")
    np.testing.assert_allclose(scores(found.stdout), expected.predict(X), rtol=1e-12)
    model = rankwise.load(folder / "model.rw")
    assert model.record["path"]["chosen"] == expected.alpha_
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=1e-12)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("options", [(), ("--scale", "query"), ("--kernel", "rbf")])
def test_every_learner_trains_predicts_and_evaluates(folder, tmp_path, learner, options):
    if learner == "rank-boost" and "--kernel" in options:
        return
    model = tmp_path / "m.rw"
    found = run("train", folder / "train.csv", "--learner", learner, "-o", model, *options)
    assert "Wrote" in found.stderr and learner in found.stderr
    judged = json.loads(run("evaluate", model, folder / "test.csv", "--json").stdout)
    error = judged["measures"]["ranking_error"]
    assert error["low"] <= error["value"] <= error["high"] < 0.35


def test_preferences_and_ratings(folder, tmp_path):
    X, y, _ = made_items()
    pairs = [f"d{i},d{j}" for i in range(30) for j in range(30) if y[i] > y[j]]
    (tmp_path / "wins.csv").write_text("winner,loser\n" + "\n".join(pairs) + "\n", encoding="utf-8")
    items = tmp_path / "items.csv"
    write_csv(items, target=False)
    model = tmp_path / "m.rw"
    for learner in ("rank-rls", "rank-svm"):
        options = ("--preferences", tmp_path / "wins.csv", "--learner", learner, "-o", model)
        found = run("train", items, "--ignore", "query", *options)
        assert "preferences" in found.stderr
        found = scores(run("predict", model, items).stdout)
        assert rankwise.metrics.concordance(y, found) > 0.8
    films = "film,x,z\n" + "\n".join(f"f{i},{a},{b}" for i, (a, b, _) in enumerate(X[:20]))
    (tmp_path / "films.csv").write_text(films, encoding="utf-8")
    rated = [f"u{u},f{i},{X[i, 0] + u}" for u in range(5) for i in range(20) if (i + u) % 2]
    (tmp_path / "ratings.csv").write_text("user,film,rating\n" + "\n".join(rated), encoding="utf-8")
    files = (tmp_path / "ratings.csv", "--items", tmp_path / "films.csv")
    run("train", *files, "-o", model, "-q")
    judged = json.loads(run("evaluate", model, *files, "--json").stdout)
    assert judged["queries"] == 5
    assert judged["measures"]["ranking_error"]["value"] < 0.05


def test_conditional_ranking_of_one_and_two_domains(tmp_path):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(12, 2)), rng.normal(size=(10, 2))
    for name, nodes in (("a", A), ("b", B)):
        lines = [f"{name}{i},{x:.4f},{z:.4f}" for i, (x, z) in enumerate(nodes)]
        (tmp_path / f"{name}.csv").write_text("name,x,z\n" + "\n".join(lines), encoding="utf-8")
    edges = [f"a{i},b{j},{A[i] @ B[j]:.5f}" for i in range(12) for j in range(10)]
    (tmp_path / "edges.csv").write_text("row,column,value\n" + "\n".join(edges), encoding="utf-8")
    nodes = ("--row-nodes", tmp_path / "a.csv", "--column-nodes", tmp_path / "b.csv")
    model, data = tmp_path / "m.rw", tmp_path / "edges.csv"
    run("train", data, "--learner", "conditional", *nodes, "-o", model, "-q")
    judged = json.loads(run("evaluate", model, data, *nodes, "--json").stdout)
    assert judged["measures"]["ranking_error"]["value"] < 0.02
    assert len(run("predict", model, data, *nodes).stdout.split()) == 120
    run("report", model, data, *nodes, "-o", tmp_path / "r.html")
    for options in ((), ("--kernel", "rbf"), ("--condition", "column", "--kernel", "rbf")):
        run("train", data, "--learner", "conditional", *nodes, "-o", model, "-q", *options)
        query = "b3" if "column" in options else "a3"
        found = run("explain", model, data, *nodes, "--query", query, "--json", "--top", "2")
        record = json.loads(found.stdout)
        total = sum(part["amount"] for part in record["parts"]) + record["rest"]
        assert total == pytest.approx(record["difference"]) and record["difference"] >= 0
    games = [f"a{i},a{j},{A[i, 0] - A[j, 0]:.5f}" for i in range(12) for j in range(12) if i != j]
    (tmp_path / "games.csv").write_text("row,column,value\n" + "\n".join(games), encoding="utf-8")
    options = ("--nodes", tmp_path / "a.csv", "--relation", "reciprocal", "-o", model, "-q")
    run("train", tmp_path / "games.csv", "--learner", "conditional", *options)
    found = run("predict", model, tmp_path / "games.csv", "--nodes", tmp_path / "a.csv", "--trec")
    assert found.stdout.startswith("a0 Q0 a")


def test_alpha_takes_a_value_or_candidates(folder, tmp_path):
    model = tmp_path / "m.rw"
    run("train", folder / "train.csv", "--alpha", "2.5", "-o", model, "-q")
    assert rankwise.load(model).ranker.alpha == 2.5
    run("train", folder / "train.csv", "--alpha", "1,10,100", "-o", model, "-q")
    assert rankwise.load(model).record["path"]["value"] == [1.0, 10.0, 100.0]
    run("train", folder / "train.csv", "--learner", "mprank", "--alpha", "0.5", "-o", model, "-q")
    assert rankwise.load(model).ranker.C == 2.0


def test_missing_values_by_median_or_by_boosting(folder, tmp_path):
    text = (folder / "train.csv").read_text(encoding="utf-8").splitlines()
    cells = text[3].split(",")
    text[3] = ",".join([*cells[:3], "", *cells[4:]])
    (tmp_path / "holes.csv").write_text("\n".join(text), encoding="utf-8")
    model = tmp_path / "m.rw"
    found = run("train", tmp_path / "holes.csv", "-o", model, code=2)
    assert "--missing median" in found.stderr
    for options in (("--missing", "median"), ("--learner", "rank-boost")):
        run("train", tmp_path / "holes.csv", "-o", model, "-q", *options)
        found = scores(run("predict", model, tmp_path / "holes.csv").stdout)
        assert np.isfinite(found).all()


@pytest.mark.parametrize("learner", LEARNERS)
def test_tiny_data_train_or_say_why_not(tmp_path, learner):
    for rows in (["1,1", "2,2"], ["1,1", "2,2", "3,1", "4,5"], [f"{i},{i % 3}" for i in range(12)]):
        data, model = tmp_path / "tiny.csv", tmp_path / "m.rw"
        data.write_text("\n".join(["x,score", *rows]), encoding="utf-8")
        command = ("train", data, "--learner", learner, "-o", model, "-q")
        found = CliRunner().invoke(main, [str(word) for word in command])
        assert found.exit_code in (0, 2)
        if found.exit_code == 2:
            assert "Error: " in found.stderr
            continue
        path = rankwise.load(model).record["path"]
        assert np.isfinite(path["score"]).all()
        run("report", model, data, "-o", tmp_path / "r.html")


@pytest.mark.parametrize("learner", ["rank-rls", "rank-svm"])
def test_query_weights_are_those_of_the_library(folder, tmp_path, learner):
    X, y, qid = made_items()
    estimator = {"rank-rls": rankwise.RankRLS, "rank-svm": rankwise.RankSVM}[learner]
    options = ("--learner", learner, "--alpha", "0.5", "-o", tmp_path / "m.rw")
    for name in ("pairs", "size", "queries"):
        run("train", folder / "train.csv", *options, "--query-weight", name)
        expected = estimator(0.5, query_weight=name).fit(X, y, qid=qid).predict(X)
        found = scores(run("predict", tmp_path / "m.rw", folder / "train.csv").stdout)
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    arguments = ["train", folder / "train.csv", "--learner", "mprank", "--query-weight", "size"]
    refused = CliRunner().invoke(main, [*map(str, arguments), "-o", str(tmp_path / "m.rw")])
    assert refused.exit_code and "rank-rls, rank-svm have it" in refused.output


def test_preferences_stay_within_queries(folder, tmp_path):
    """A table with a query column: statements across queries are refused, the others weigh."""
    X, _, qid = made_items()
    inside = [
        (i, j) for i in range(30) for j in range(30) if qid[i] == qid[j] and X[i, 0] > X[j, 0]
    ]
    write_csv(tmp_path / "items.csv", target=False)
    (tmp_path / "wins.csv").write_text(
        "\n".join(f"d{i},d{j}" for i, j in inside) + "\n", encoding="utf-8"
    )
    model = tmp_path / "m.rw"
    options = ("--preferences", tmp_path / "wins.csv", "--learner", "rank-svm", "--alpha", "0.1")
    run("train", tmp_path / "items.csv", *options, "-o", model)
    statements = rankwise.Preferences(*np.transpose(inside), n_items=len(X))
    expected = rankwise.RankSVM(0.1).fit(X, preferences=statements, qid=qid).predict(X)
    found = scores(run("predict", model, tmp_path / "items.csv").stdout)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    across = next(j for j in range(len(X)) if qid[j] != qid[0])
    (tmp_path / "wins.csv").write_text(f"d0,d{across}\n", encoding="utf-8")
    arguments = ["train", tmp_path / "items.csv", *options, "-o", model]
    refused = CliRunner().invoke(main, [str(part) for part in arguments])
    assert refused.exit_code and "different queries" in refused.output
