"""rankwise predict: scores of files in every format, and run files."""

import gzip

import numpy as np
import pytest

import rankwise
from tests.cli_files import made_items, run, scores


def test_scaling_by_query_sees_only_the_query(folder, tmp_path):
    model = tmp_path / "m.rw"
    run("train", folder / "train.csv", "--scale", "query", "--kernel", "rbf", "-o", model, "-q")
    whole = (folder / "new.csv").read_text(encoding="utf-8").splitlines()
    part = [line for line in whole if line.startswith("id") or ",q2," in line]
    (tmp_path / "part.csv").write_text("\n".join(part) + "\n", encoding="utf-8")
    every = scores(run("predict", model, folder / "new.csv").stdout)
    alone = scores(run("predict", model, tmp_path / "part.csv").stdout)
    np.testing.assert_allclose(alone, every[16:24], rtol=1e-12)


def test_columns_may_come_in_any_order_and_scores_be_absent(folder, tmp_path):
    rows = [line.split(",") for line in (folder / "new.csv").read_text(encoding="utf-8").split()]
    turned = "\n".join(",".join(row[::-1]) for row in rows)
    (tmp_path / "turned.csv").write_text(turned, encoding="utf-8")
    first = run("predict", folder / "model.rw", folder / "new.csv").stdout
    assert run("predict", folder / "model.rw", tmp_path / "turned.csv").stdout == first


@pytest.mark.parametrize("kind", ["tsv", "gz", "parquet", "stdin"])
def test_kinds_of_tables_give_the_same_scores(folder, tmp_path, kind):
    text = (folder / "new.csv").read_text(encoding="utf-8")
    expected = run("predict", folder / "model.rw", folder / "new.csv").stdout
    path, given = tmp_path / f"new.{kind}", None
    if kind == "tsv":
        path.write_text(text.replace(",", "\t"), encoding="utf-8")
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
    lines = [line.split() for line in out.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 96 and {line[1] for line in lines} == {"Q0"}
    first = [line for line in lines if line[0] == "0"]
    assert [int(line[3]) for line in first] == list(range(1, 9))
    assert {line[2] for line in first} == {f"D{i}" for i in range(8)}
    values = [float(line[4]) for line in first]
    assert values == sorted(values, reverse=True) and first[0][5] == "mine"
    text = (folder / "train.letor").read_text(encoding="utf-8")
    from_stdin = run("predict", model, "-", input=text).stdout
    assert from_stdin == run("predict", model, folder / "train.letor").stdout


def test_a_model_saved_from_python_is_taken_too(folder, tmp_path):
    X, y, qid = made_items()
    rankwise.save(rankwise.RankRLS(4.0).fit(X, y, qid=qid), tmp_path / "m.rw")
    found = scores(run("predict", tmp_path / "m.rw", folder / "train.letor").stdout)
    assert len(found) == 96
    run("explain", tmp_path / "m.rw", folder / "train.letor", "--query", "3")
    run("report", tmp_path / "m.rw", folder / "train.letor", "-o", tmp_path / "r.html")


@pytest.mark.parametrize("kind", ["csv", "tsv", "json", "jsonl", "parquet"])
def test_tables_of_predictions_keep_ids(folder, tmp_path, kind):
    out = tmp_path / f"ranking.{kind}"
    run("predict", folder / "model.rw", folder / "new.csv", "-o", out)
    pd = pytest.importorskip("pandas")
    read = {
        "csv": pd.read_csv,
        "tsv": lambda path: pd.read_csv(path, sep="\t"),
        "json": pd.read_json,
        "jsonl": lambda path: pd.read_json(path, lines=True),
        "parquet": pd.read_parquet,
    }
    frame = read[kind](out)
    assert list(frame.columns) == ["query", "id", "score", "rank"] and len(frame) == 32
    expected = scores(run("predict", folder / "model.rw", folder / "new.csv").stdout)
    np.testing.assert_allclose(frame["score"], expected, rtol=1e-12)
    assert list(frame["id"][:2]) == ["d0", "d1"]
    for _, part in frame.groupby("query"):
        best = part.sort_values("score", ascending=False)
        assert list(best["rank"]) == list(range(1, 9))
    if kind in ("csv", "json"):
        shown = run("predict", folder / "model.rw", folder / "new.csv", "--as", kind).stdout
        assert shown == out.read_text(encoding="utf-8")


def test_run_files_keep_queries_apart(folder, tmp_path):
    lines = (
        (folder / "new.csv")
        .read_text(encoding="utf-8")
        .replace(",q0,", ",a b,")
        .replace(",q1,", ",a_b,")
    )
    (tmp_path / "new.csv").write_text(lines, encoding="utf-8")
    found = run("predict", folder / "model.rw", tmp_path / "new.csv", "--trec").stdout
    queries = [line.split(" ")[0] for line in found.splitlines()]
    assert queries.count("a%20b") == queries.count("a_b") == 8
    (tmp_path / "twice.csv").write_text(lines.replace("d1,", "d0,"), encoding="utf-8")
    told = run("predict", folder / "model.rw", tmp_path / "twice.csv", "--trec", code=2).stderr
    assert "'d0' occurs twice in query 'a b'" in told
    told = run("predict", folder / "model.rw", folder / "new.csv", "--trec", "--as", "csv", code=2)
    assert "give one of them" in told.stderr
