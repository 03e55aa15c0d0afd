"""Every command prints on consoles with small alphabets, and spawned processes can use models."""

import io
import multiprocessing
import os
import subprocess
import sys

import numpy as np
import pytest

import rankwise
from rankwise.cli import COMMANDS
from rankwise.cli.console import PLAIN_FORMS, print_anything_on
from tests.cli_files import write_csv

NAME = "Zürich 中 ½ → −"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encodings")
    write_csv(folder / "train.csv")
    text = (folder / "train.csv").read_text(encoding="utf-8").replace("d3,", f"{NAME},")
    (folder / "named.csv").write_text(text, encoding="utf-8", newline="\n")
    votes = "a,b,winner\nx,y,x\ny,Δ,y\nx,Δ,x\nΔ,x,Δ\n"
    (folder / "votes.csv").write_text(votes, encoding="utf-8")
    command(folder, "utf-8", "train", "named.csv", "-o", "model.rw", "-q")
    return folder


def command(folder, encoding, *words, code=0):
    """What the command prints, as bytes, in a process whose console has this encoding."""
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    run = subprocess.run(
        [sys.executable, "-m", "rankwise.cli", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
    )
    assert run.returncode == code, run.stderr.decode(encoding)
    assert b"Traceback" not in run.stderr and b"UnicodeEncodeError" not in run.stderr
    return run.stdout.decode(encoding), run.stderr.decode(encoding)


CALLS = {
    "train": ("train", "named.csv", "-o", "again.rw"),
    "predict": ("predict", "model.rw", "named.csv", "--as", "csv"),
    "evaluate": ("evaluate", "model.rw", "named.csv"),
    "crossval": ("crossval", "named.csv", "--learner", "rank-rls"),
    "explain": ("explain", "model.rw", "named.csv", "--query", "q0"),
    "leaderboard": ("leaderboard", "votes.csv", "--a", "a", "--b", "b", "--winner", "winner"),
}


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8"])
@pytest.mark.parametrize("name", CALLS)
def test_output(folder, name, encoding):
    out, said = command(folder, encoding, *CALLS[name])
    assert out or said
    if name == "predict":
        shown = NAME if encoding == "utf-8" else "Zürich \\u4e2d ½ -> -"
        assert shown in out


def test_help_in_ascii():
    code = (
        "from click.testing import CliRunner; from rankwise.cli import main, COMMANDS\n"
        "import sys\n"
        "for name in ['', *COMMANDS]:\n"
        "    try: main([*name.split(), '--help'], standalone_mode=False)\n"
        "    except SystemExit: pass\n"
    )
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.decode("ascii").split("Usage:")) == len(COMMANDS) + 2


def test_an_error_about_an_unseen_name(folder):
    _, said = command(folder, "cp1252", "evaluate", "model.rw", "中.csv", code=2)
    assert "u4e2d" in said


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_characters(encoding):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    print_anything_on(stream)
    stream.write("".join(PLAIN_FORMS) + NAME)
    stream.flush()
    shown = raw.getvalue().decode(encoding)
    assert ("→" in shown) == (encoding == "utf-8")
    assert ("±" in shown) == (encoding != "ascii")


def fitted_scores(path, X):
    """In a new process: a loaded model predicts, and another one is fitted there."""
    model = rankwise.load(path)
    again = rankwise.RankSVM(0.1).fit(X, X[:, 0])
    return model.predict(X), again.coef_


def test_spawned_processes(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 3))
    model = rankwise.RankRLS().fit(X, X[:, 0])
    rankwise.save(model, tmp_path / "model.rw")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        scores, coef = pool.apply(fitted_scores, (str(tmp_path / "model.rw"), X))
    assert np.array_equal(scores, model.predict(X))
    assert np.array_equal(coef, rankwise.RankSVM(0.1).fit(X, X[:, 0]).coef_)
