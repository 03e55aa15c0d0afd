"""rankwise evaluate --run and rankwise table: from runs to a model and back to a run."""

import json

import numpy as np
import pytest

from rankwise.datasets import read_run
from tests.cli_files import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(0)
    qrels, runs = [], {"bm25": [], "dense": []}
    for q in range(20):
        for d in range(8):
            relevance = int(rng.integers(0, 3))
            qrels.append(f"q{q} 0 d{d} {relevance}")
            for lines in runs.values():
                lines.append(f"q{q} Q0 d{d} 0 {relevance + rng.normal():.3f} t")
    (folder / "qrels.txt").write_text("\n".join(qrels) + "\n", encoding="utf-8")
    for name, lines in runs.items():
        (folder / f"{name}.run").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_runs_are_judged_and_compared(folder):
    both = ("--run", folder / "bm25.run", "--run", f"other={folder / 'dense.run'}")
    found = run("evaluate", *both, "--qrels", folder / "qrels.txt", "--per-query")
    assert "bm25 − other" in found.stdout and "ndcg_cut_10" in found.stdout
    options = ("--scoring", "map", "--json", "--per-query")
    record = json.loads(run("evaluate", *both, "--qrels", folder / "qrels.txt", *options).stdout)
    assert record["num_q"] == 20 and set(record["runs"]) == {"bm25", "other"}
    values = [one["map"]["bm25"] for one in record["per_query"]]
    assert record["runs"]["bm25"]["map"]["value"] == pytest.approx(np.mean(values))
    assert 0 < record["differences"][0]["p_randomisation"] <= 1


def test_a_table_a_model_and_a_new_run(folder, tmp_path):
    both = ("--run", folder / "bm25.run", "--run", folder / "dense.run")
    table, model, out = tmp_path / "t.csv", tmp_path / "m.rw", tmp_path / "new.run"
    run("table", *both, "--qrels", folder / "qrels.txt", "-o", table)
    assert (
        table.read_text(encoding="utf-8").splitlines()[0]
        == "qid,docid,bm25,bm25 rr,dense,dense rr,relevance"
    )
    run("train", table, "--scale", "standard", "-o", model, "-q")
    run("table", *both, "-o", tmp_path / "new.parquet")
    run("predict", model, tmp_path / "new.parquet", "--trec", "-o", out)
    assert len(read_run(out).score) == 160
    judged = ("--qrels", folder / "qrels.txt", "--scoring", "map", "--json")
    record = json.loads(run("evaluate", *both, "--run", out, *judged).stdout)
    values = {name: one["map"]["value"] for name, one in record["runs"].items()}
    assert values["new"] > max(values["bm25"], values["dense"])


def test_a_table_with_features(folder, tmp_path):
    (tmp_path / "f.csv").write_text(
        "docid,len\n" + "".join(f"d{d},{d}\n" for d in range(8)), encoding="utf-8"
    )
    options = ("--table", tmp_path / "f.csv", "--qrels", folder / "qrels.txt", "--depth", 2)
    shown = run("table", "--run", folder / "bm25.run", *options).stdout.splitlines()
    assert shown[0] == "qid,docid,bm25,bm25 rr,len,relevance" and len(shown) == 41


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("evaluate --run {}/bm25.run", "both --run and --qrels"),
        ("evaluate --qrels {}/qrels.txt", "both --run and --qrels"),
        ("evaluate m.rw d.csv --run {}/bm25.run --qrels {}/qrels.txt", "leave these out"),
        ("evaluate", "Missing argument"),
        ("evaluate m.rw", "Missing argument 'DATA'"),
        (
            "evaluate --run {}/bm25.run --run {}/bm25.run --qrels {}/qrels.txt",
            "two runs are called 'bm25'",
        ),
        ("evaluate --run {}/bm25.run --qrels {}/qrels.txt --scoring tau", "no measure of runs"),
        ("evaluate --run {}/qrels.txt --qrels {}/qrels.txt", "line 1: expected 6 columns"),
        ("evaluate --run {}/bm25.run --qrels {}/bm25.run", "line 1: expected 4 columns"),
        ("evaluate --run {}/no.run --qrels {}/qrels.txt", "No such file"),
        ("table --qrels {}/qrels.txt", "give --run"),
        ("table --run {}/bm25.run -o {}/absent/t.csv", "does not exist"),
    ],
)
def test_mistakes(folder, words, expected):
    found = run(*(word.replace("{}", str(folder)) for word in words.split()), code=2)
    assert expected in found.stderr
