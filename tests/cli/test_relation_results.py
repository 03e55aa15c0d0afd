"""Relations in crossval, evaluate, predict and report: what is new, top-k, and what flatters."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import rankwise
from tests.cli.relation_files_made import write_relation
from tests.cli.test_hostile_names import NAMES, assert_harmless
from tests.cli_files import run, scores

POSIX = pytest.mark.skipif(os.name == "nt", reason="needs a shell and signals of POSIX")

NODES = ("--row-nodes", "drugs.csv", "--column-nodes", "targets.csv")
KERNELS = ("--row-nodes", "kd.csv", "--column-nodes", "kt.csv")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("relation")
    found = write_relation(folder)
    files = [folder / word if word.endswith(".csv") else word for word in NODES]
    train = ("train", folder / "known.csv", "--learner", "conditional", "--alpha", "0.1,1,10", "-q")
    run(*train, *files, "-o", folder / "m.rw")
    files = [folder / word if word.endswith(".csv") else word for word in KERNELS]
    run(*train, *files, "--kernel", "precomputed", "-o", folder / "k.rw")
    return folder, found


@pytest.fixture
def folder(made, monkeypatch):
    monkeypatch.chdir(made[0])
    return made[0]


def judged(*words):
    return json.loads(run("evaluate", *words, "--json").stdout)


def test_edges_are_judged_apart_by_what_is_new(folder):
    found = judged("m.rw", "all.csv", *NODES)
    n_seen = len((folder / "known.csv").read_text(encoding="utf-8").splitlines()) - 1
    assert {kind: one["edges"] for kind, one in found["by_kind"].items()} == {
        "seen": n_seen,
        "edges": 16 * 13 - n_seen,
        "rows": 4 * 13,
        "columns": 16 * 3,
        "both": 4 * 3,
    }
    assert not found["on_training_data"]
    shown = run("evaluate", "m.rw", "all.csv", *NODES)
    assert f"{n_seen} edges of 320 were in the training data" in shown.stderr
    assert "new rows and new columns" in shown.stdout
    for kind, one in found["by_kind"].items():
        if kind != "seen":
            part = judged("m.rw", "all.csv", *NODES, "--new", kind)
            assert part["items"] == one["edges"]
            error = part["measures"]["ranking_error"]["value"]
            assert 1 - error == pytest.approx(one["concordance"])


def test_training_data_are_marked_and_held_out(folder):
    said = run("evaluate", "m.rw", "known.csv", *NODES)
    assert "ON TRAINING DATA" in said.stderr and "value on training data" in said.stdout
    path = rankwise.load("m.rw").record["path"]
    chosen = path["score"][path["value"].index(path["chosen"])]
    assert "Cross-validated (folds of rows held out)" in said.stderr
    assert f"{chosen:.4f}" in said.stderr
    shown = judged("m.rw", "known.csv", *NODES)
    assert shown["on_training_data"]
    (folder / "half.csv").write_text(
        "\n".join((folder / "known.csv").read_text(encoding="utf-8").splitlines()[:60]) + "\n",
        encoding="utf-8",
    )
    assert judged("m.rw", "half.csv", *NODES)["on_training_data"]
    for new in ("edges", "rows", "columns", "both"):
        found = judged("m.rw", "known.csv", *NODES, "--new", new)
        assert "folds" in found["held_out"] and not found["on_training_data"]
        of_kernels = judged("k.rw", "known.csv", *KERNELS, "--new", new)
        assert of_kernels["items"] == found["items"]
        assert of_kernels["measures"]["ranking_error"]["value"] == pytest.approx(
            found["measures"]["ranking_error"]["value"], abs=0.02
        )


def test_rows_held_out_are_scored_by_models_without_them(folder, made):
    A, B, _ = made[1]
    from rankwise import ConditionalRanker
    from rankwise.workflow.ranking_data import Items, Relation
    from rankwise.workflow.relation_judging import judged_edges

    model = rankwise.load("m.rw")
    names = [[f"{side}{i}" for i in range(n)] for side, n in (("d", 16), ("t", 13))]
    sides = [Items(X, names=np.array(each)) for X, each in zip((A[:16], B[:13]), names)]
    lines = [
        line.split(",")
        for line in (folder / "known.csv").read_text(encoding="utf-8").splitlines()[1:]
    ]
    edges = np.array([[int(a[1:]), int(b[1:])] for a, b, _ in lines])
    y = np.array([float(value) for *_, value in lines])
    found = judged_edges(model, Relation(*sides, edges, y), "rows")
    fold = {tuple(edge): s for edge, s in zip(found.items.X.astype(int).tolist(), found.scores)}
    from rankwise.selection import RowSplit

    for train, test in RowSplit(5, 0).split(edges):
        refit = ConditionalRanker(model.ranker.alpha).fit(
            (A[:16], B[:13]), y[train], edges=edges[train]
        )
        expected = refit.predict_edges(A[:16], B[:13], edges[test])
        assert np.allclose([fold[tuple(e)] for e in edges[test].tolist()], expected, atol=1e-5)


def test_a_setting_that_the_data_do_not_have(folder):
    (folder / "rows.csv").write_text("compound,protein,pKi\nd18,t1,1\nd18,t2,2\n", encoding="utf-8")
    said = run("evaluate", "m.rw", "rows.csv", *NODES, "--new", "both", code=2).stderr
    assert "has no edge with new rows and new columns: it has 2 new rows" in said
    (folder / "bare.csv").write_text("compound,protein\nd18,t1\nd18,t2\n", encoding="utf-8")
    assert "give --value" in run("evaluate", "m.rw", "bare.csv", *NODES, code=2).stderr


@pytest.mark.parametrize(("model", "nodes"), [("m.rw", NODES), ("k.rw", KERNELS)])
def test_the_best_of_new_nodes(folder, made, model, nodes):
    A, B, _ = made[1]
    ranker = rankwise.load("m.rw").ranker
    found = list(csv.DictReader(io.StringIO(run("predict", model, *nodes, "--top", "3").stdout)))
    S = ranker.predict(A, B)
    for i in range(20):
        mine = [row for row in found if row["row"] == f"d{i}"]
        best = np.argsort(-S[i], kind="stable")[:3]
        assert [row["column"] for row in mine] == [f"t{j}" for j in best]
        assert [row["rank"] for row in mine] == ["1", "2", "3"]
        assert np.allclose([float(row["score"]) for row in mine], S[i][best], atol=1e-4)
    run("predict", model, *nodes, "-o", "pairs.json")
    assert len(json.loads((folder / "pairs.json").read_text(encoding="utf-8"))) == 320
    assert run("predict", model, *nodes, "--top", "1", "--trec").stdout.startswith("d0 Q0 t")
    assert "DATA" in run("predict", model, *nodes, "--as", "scores", code=2).stderr
    assert "--top" in run("predict", model, "all.csv", *nodes, "--top", "2", code=2).stderr


def test_crossval_in_four_settings(folder):
    words = ("crossval", "known.csv", *NODES, "--alpha", "0.1,10")
    said = run(*words)
    for new in ("edges", "rows", "columns", "both"):
        assert f"conditional new {new}" in said.stdout
    assert "folds of rows and columns held out" in said.stdout
    found = json.loads(run(*words, "--new", "rows", "--json").stdout)["learners"]
    assert [one["learner"] for one in found][:1] == ["conditional"]
    assert "0 of" not in said.stderr
    run(*words, "--new", "columns", "--html", "cv.html")
    assert "conditional" in (folder / "cv.html").read_text(encoding="utf-8")
    said = run(
        "crossval", "known.csv", *NODES, "--learner", "rank-rls", "--learner", "conditional", code=2
    )
    assert "cannot be compared" in said.stderr
    assert (
        "--new"
        in run("crossval", "known.csv", "--learner", "rank-rls", "--new", "rows", code=2).stderr
    )


def test_a_report_in_each_setting(folder):
    run("report", "m.rw", "known.csv", *NODES, "-o", "r.html")
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert (
        "Judged on the data it was trained on" in page and "Cross-validated (folds of rows" in page
    )
    run("report", "m.rw", "known.csv", *NODES, "-o", "r.html", "--new", "both")
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "Judged on the data" not in page and "folds of rows and columns held out" in page
    assert "--new both" in page
    run("report", "m.rw", "all.csv", *NODES, "-o", "r.html", "--new", "rows")
    assert "52 edges with new rows" in (folder / "r.html").read_text(encoding="utf-8")


@POSIX
def test_what_is_printed_in_the_report_runs_in_a_shell(folder, tmp_path):
    import html
    import re

    run(
        "train",
        "known.csv",
        "--learner",
        "conditional",
        *NODES,
        "-o",
        "again.rw",
        "-q",
        "--alpha",
        "1,2",
    )
    run("report", "again.rw", "known.csv", *NODES, "-o", "again.html")
    page = (folder / "again.html").read_text(encoding="utf-8")
    block = re.search(r"How to reproduce it</h2>\s*<pre><code>(.*?)</code></pre>", page, re.S)
    lines = html.unescape(block.group(1)).splitlines()
    assert all("--row-nodes drugs.csv --column-nodes targets.csv" in line for line in lines)
    for name in ("again.rw", "again.html"):
        (folder / name).unlink()
    script = "\n".join(
        line.replace("rankwise", f"{sys.executable} -m rankwise.cli", 1) for line in lines
    )
    subprocess.run(["sh", "-e", "-c", script], cwd=folder, check=True, capture_output=True)
    assert "known.csv" in (folder / "again.html").read_text(encoding="utf-8")


def test_progress_is_told(folder, monkeypatch):
    monkeypatch.setattr("rankwise.cli.console.PATIENCE", 0.0)
    said = run("evaluate", "m.rw", "known.csv", *NODES, "--new", "both").stderr
    assert "evaluating: folds 3 of 5" in said
    said = run("crossval", "known.csv", *NODES, "--new", "both").stderr
    assert "folds 2 of 5, alphas" in said
    said = run("report", "m.rw", "known.csv", *NODES, "--new", "rows", "-o", "p.html").stderr
    assert "writing the report: folds 5 of 5" in said


@POSIX
def test_ctrl_c_keeps_the_old_model(folder):
    rng = np.random.default_rng(0)
    n = 500
    np.savez("big_a.npz", X=rng.normal(size=(n, n)))
    np.savez("big.npz", edges=rng.integers(0, n, size=(150_000, 2)), y=rng.normal(size=150_000))
    (folder / "kept.rw").write_bytes((folder / "m.rw").read_bytes())
    command = [sys.executable, "-m", "rankwise.cli", "train", "big.npz", "--nodes", "big_a.npz"]
    command += ["--learner", "conditional", "--kernel", "rbf", "-o", "kept.rw", "--new", "edges"]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    try:
        assert "edges" in process.stderr.readline()
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130 and "nothing was written" in said
    assert (folder / "kept.rw").read_bytes() == (folder / "m.rw").read_bytes()
    assert not [name for name in os.listdir(folder) if name.endswith(".part")]


def test_names_that_try_to_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [name for name in dict.fromkeys(name.strip() for name in NAMES) if name][:14]
    rng = np.random.default_rng(0)
    with open("nodes.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "\x1b[31mx", "y"])
        writer.writerows([name, *rng.normal(size=2)] for name in names)
    with open("edges.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["\x1b[2Ja", "<b>", "value"])
        writer.writerows([a, b, rng.normal()] for a in names for b in names if a != b)
    nodes = ("--nodes", "nodes.csv")

    def call(*words, code=0):
        found = run(*words, code=code)
        assert_harmless(found.stderr)
        assert_harmless(found.stdout)
        return found

    call("train", "edges.csv", "--learner", "conditional", *nodes, "-o", "m.rw", "--alpha", "1")
    call("evaluate", "m.rw", "edges.csv", *nodes, "--per-query")
    call("evaluate", "m.rw", "edges.csv", *nodes, "--new", "edges", "--per-query")
    call("crossval", "edges.csv", *nodes, "--new", "edges", "--alpha", "1,2")
    run("report", "m.rw", "edges.csv", *nodes, "-o", "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert_harmless(page)
    assert "<script" not in page and "<img" not in page
    found = run("predict", "m.rw", *nodes, "--top", "1")
    assert {row["row"] for row in csv.DictReader(io.StringIO(found.stdout))} <= set(names)
    (tmp_path / "odd.csv").write_text("a,b,value\n\x1b[31mzz,x,1\n", encoding="utf-8")
    call("evaluate", "m.rw", "odd.csv", *nodes, code=2)
    assert len(scores(run("predict", "m.rw", "edges.csv", *nodes).stdout)) == 14 * 13
