"""Every command on small files, and what it writes."""

import gzip
import json

import numpy as np
import pytest
from click.testing import CliRunner

import rankwise
from rankwise import RankRLSCV
from rankwise.cli import main
from tests.cli_files import made_items, run, write_csv, write_letor

LEARNERS = ("rank-rls", "rank-svm", "mprank", "svrank", "rank-boost")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    write_csv(folder / "train.csv")
    write_csv(folder / "test.csv", q=6, seed=1)
    write_csv(folder / "new.csv", q=4, seed=2, target=False)
    write_letor(folder / "train.letor")
    run("train", folder / "train.csv", "-o", folder / "model.rw", "-q")
    return folder


def scores(text: str) -> np.ndarray:
    return np.array([float(line) for line in text.split()])


@pytest.mark.parametrize("command", [None, *main.commands])
def test_help_shows_examples(command):
    text = run(*([command] if command else []), "--help").output
    assert "rankwise" in text
    assert ("Five minutes" if command is None else "Examples:") in text


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


def test_scaling_by_query_sees_only_the_query(folder, tmp_path):
    model = tmp_path / "m.rw"
    run("train", folder / "train.csv", "--scale", "query", "--kernel", "rbf", "-o", model, "-q")
    whole = (folder / "new.csv").read_text().splitlines()
    part = [line for line in whole if line.startswith("id") or ",q2," in line]
    (tmp_path / "part.csv").write_text("\n".join(part) + "\n")
    every = scores(run("predict", model, folder / "new.csv").stdout)
    alone = scores(run("predict", model, tmp_path / "part.csv").stdout)
    np.testing.assert_allclose(alone, every[16:24], rtol=1e-12)


def test_columns_may_come_in_any_order_and_scores_be_absent(folder, tmp_path):
    rows = [line.split(",") for line in (folder / "new.csv").read_text().split()]
    turned = "\n".join(",".join(row[::-1]) for row in rows)
    (tmp_path / "turned.csv").write_text(turned)
    first = run("predict", folder / "model.rw", folder / "new.csv").stdout
    assert run("predict", folder / "model.rw", tmp_path / "turned.csv").stdout == first


@pytest.mark.parametrize("kind", ["tsv", "gz", "parquet", "stdin"])
def test_kinds_of_tables_give_the_same_scores(folder, tmp_path, kind):
    text = (folder / "new.csv").read_text()
    expected = run("predict", folder / "model.rw", folder / "new.csv").stdout
    path, given = tmp_path / f"new.{kind}", None
    if kind == "tsv":
        path.write_text(text.replace(",", "\t"))
    elif kind == "gz":
        path = tmp_path / "new.csv.gz"
        path.write_bytes(gzip.compress(text.encode()))
    elif kind == "parquet":
        pytest.importorskip("pyarrow")
        frame = pytest.importorskip("pandas").read_csv(folder / "new.csv")
        frame.to_parquet(path)
    else:
        path, given = "-", text
    assert run("predict", folder / "model.rw", path, input=given).stdout == expected


def test_letor_files_and_run_files_keep_docids(folder, tmp_path):
    model, out = tmp_path / "m.rw", tmp_path / "run.txt"
    run("train", folder / "train.letor", "-o", model, "-q")
    run("predict", model, folder / "train.letor", "--trec", "--tag", "mine", "-o", out)
    lines = [line.split() for line in out.read_text().splitlines()]
    assert len(lines) == 96 and {line[1] for line in lines} == {"Q0"}
    first = [line for line in lines if line[0] == "0"]
    assert [int(line[3]) for line in first] == list(range(1, 9))
    assert {line[2] for line in first} == {f"D{i}" for i in range(8)}
    values = [float(line[4]) for line in first]
    assert values == sorted(values, reverse=True) and first[0][5] == "mine"
    text = (folder / "train.letor").read_text()
    from_stdin = run("predict", model, "-", input=text).stdout
    assert from_stdin == run("predict", model, folder / "train.letor").stdout


def test_evaluate_shows_measures_and_queries(folder):
    found = run("evaluate", folder / "model.rw", folder / "test.csv", "--per-query").stdout
    for word in ("ranking error", "NDCG@10", "MAP", "τ_b", "95% interval", "q5"):
        assert word in found
    record = json.loads(
        run("evaluate", folder / "model.rw", folder / "test.csv", "--json", "--per-query").stdout
    )
    each = [row["ranking_error"] for row in record["per_query"]]
    np.testing.assert_allclose(np.mean(each), record["measures"]["ranking_error"]["value"])


def test_crossval_compares_and_nests(folder):
    found = run("crossval", folder / "train.csv", "--nested", "3", "--path").stdout
    for word in ("rank-rls", "rank-svm", "rank-boost", "leave-query-out", "Nested, 3"):
        assert word in found
    record = json.loads(
        run("crossval", folder / "train.csv", "--learner", "mprank", "--json").stdout
    )
    assert record["learners"][0]["path"]["parameter"] == "alpha"


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--kernel", "rbf", "--scale", "query"),
        ("--learner", "rank-boost"),
        ("--learner", "rank-svm", "--kernel", "poly", "--basis", "20"),
    ],
)
def test_explanations_add_up(folder, tmp_path, options):
    model = tmp_path / "m.rw"
    run("train", folder / "train.csv", "-o", model, "-q", *options)
    query = ("explain", model, folder / "test.csv", "--query", "q3")
    record = json.loads(run(*query, "--json", "--top", "5").stdout)
    total = sum(part["amount"] for part in record["parts"]) + record["rest"]
    assert record["difference"] >= 0
    np.testing.assert_allclose(total, record["difference"], rtol=1e-9, atol=1e-12)
    shown = run(*query, "--above", "d25", "--below", "4").stdout
    assert "d25 (A)" in shown and "which is the sum of" in shown


def test_preferences_and_ratings(folder, tmp_path):
    X, y, _ = made_items()
    pairs = [f"d{i},d{j}" for i in range(30) for j in range(30) if y[i] > y[j]]
    (tmp_path / "wins.csv").write_text("winner,loser\n" + "\n".join(pairs) + "\n")
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
    (tmp_path / "films.csv").write_text(films)
    rated = [f"u{u},f{i},{X[i, 0] + u}" for u in range(5) for i in range(20) if (i + u) % 2]
    (tmp_path / "ratings.csv").write_text("user,film,rating\n" + "\n".join(rated))
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
        (tmp_path / f"{name}.csv").write_text("name,x,z\n" + "\n".join(lines))
    edges = [f"a{i},b{j},{A[i] @ B[j]:.5f}" for i in range(12) for j in range(10)]
    (tmp_path / "edges.csv").write_text("row,column,value\n" + "\n".join(edges))
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
    (tmp_path / "games.csv").write_text("row,column,value\n" + "\n".join(games))
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
    text = (folder / "train.csv").read_text().splitlines()
    cells = text[3].split(",")
    text[3] = ",".join([*cells[:3], "", *cells[4:]])
    (tmp_path / "holes.csv").write_text("\n".join(text))
    model = tmp_path / "m.rw"
    found = run("train", tmp_path / "holes.csv", "-o", model, code=2)
    assert "--missing median" in found.stderr
    for options in (("--missing", "median"), ("--learner", "rank-boost")):
        run("train", tmp_path / "holes.csv", "-o", model, "-q", *options)
        found = scores(run("predict", model, tmp_path / "holes.csv").stdout)
        assert np.isfinite(found).all()


def test_demo_writes_a_report_and_files_to_go_on_with(tmp_path):
    found = run("demo", "-o", tmp_path / "tour").stdout
    assert "report.html" in found and "95% interval" in found
    page = (tmp_path / "tour" / "report.html").read_text()
    assert page.startswith("<!doctype html>") and "<svg" in page
    run("explain", tmp_path / "tour" / "model.rw", tmp_path / "tour" / "unseen.csv")


def test_a_model_saved_from_python_is_taken_too(folder, tmp_path):
    X, y, qid = made_items()
    rankwise.save(rankwise.RankRLS(4.0).fit(X, y, qid=qid), tmp_path / "m.rw")
    found = scores(run("predict", tmp_path / "m.rw", folder / "train.letor").stdout)
    assert len(found) == 96
    run("explain", tmp_path / "m.rw", folder / "train.letor", "--query", "3")
    run("report", tmp_path / "m.rw", folder / "train.letor", "-o", tmp_path / "r.html")


@pytest.mark.parametrize("learner", LEARNERS)
def test_tiny_data_train_or_say_why_not(tmp_path, learner):
    for rows in (["1,1", "2,2"], ["1,1", "2,2", "3,1", "4,5"], [f"{i},{i % 3}" for i in range(12)]):
        data, model = tmp_path / "tiny.csv", tmp_path / "m.rw"
        data.write_text("\n".join(["x,score", *rows]))
        command = ("train", data, "--learner", learner, "-o", model, "-q")
        found = CliRunner().invoke(main, [str(word) for word in command])
        assert found.exit_code in (0, 2)
        if found.exit_code == 2:
            assert "Error: " in found.stderr
            continue
        path = rankwise.load(model).record["path"]
        assert np.isfinite(path["score"]).all()
        run("report", model, data, "-o", tmp_path / "r.html")
