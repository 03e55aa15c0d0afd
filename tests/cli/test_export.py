"""rankwise export"""

import json

import numpy as np
import pytest

from tests.cli_files import run, scores, write_csv, write_letor
from tests.exports.readers import read_json, read_onnx


@pytest.fixture
def table(tmp_path):
    return write_csv(tmp_path / "train.csv")


def features_of(table):
    rows = [line.split(",") for line in table.read_text(encoding="utf-8").splitlines()[1:]]
    return np.array([[float(cell) for cell in row[2:5]] for row in rows])


@pytest.mark.parametrize("options", [(), ("--scale", "standard", "--kernel", "rbf")])
def test_files_score_as_the_command_does(table, tmp_path, options):
    model = tmp_path / "model.rw"
    run("train", table, "-o", model, "--alpha", "1", *options)
    expected = scores(run("predict", model, table).output)
    run("export", model, "-o", tmp_path / "model.json")
    assert np.allclose(read_json(tmp_path / "model.json", features_of(table)), expected)
    if pytest.importorskip("onnx") and pytest.importorskip("onnxruntime"):
        said = run("export", model, "-o", tmp_path / "model.onnx").stderr
        assert "(onnx, " in said
        assert np.allclose(read_onnx(tmp_path / "model.onnx", features_of(table)), expected)


def test_a_search_engine_gets_the_names_of_the_columns(table, tmp_path):
    model = tmp_path / "model.rw"
    run("train", table, "-o", model, "--alpha", "1")
    made = run("export", model, "-o", "-", "--format", "elasticsearch", "--name", "films").stdout
    assert set(json.loads(made)["model"]["model"]["definition"]) == {"a", "b", "c"}
    assert json.loads(made)["model"]["name"] == "films"


def test_refusals_are_one_line_and_write_nothing(tmp_path):
    letor, model, out = write_letor(tmp_path / "a.letor"), tmp_path / "m.rw", tmp_path / "out"
    run("train", letor, "-o", model, "--alpha", "1")
    names = ("--format", "solr", "--feature-names")
    said = run("export", model, "-o", out, *names, "a,b c,d", code=2).stderr
    assert "cannot call a feature 'b c'" in said and said.count("\n") == 1 and not out.exists()
    run("export", model, "-o", out, *names, "a, b, c")
    out.unlink()
    run("train", letor, "-o", model, "--alpha", "1", "--scale", "query")
    assert "within the query" in run("export", model, "-o", out, code=2).stderr
    assert not out.exists()
    assert "No such file" in run("export", "absent.rw", "-o", out, code=2).stderr
