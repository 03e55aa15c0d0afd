"""The command as a process: interrupted, killed, piped; nothing half-written, nothing loud."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import rankwise
from tests.cli_files import write_csv

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the signals are those of POSIX")
COMMAND = [sys.executable, "-m", "rankwise.cli"]
LONG = ("--learner", "rank-svm", "--tol", "1e-14", "--max-iter", "1000000")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("process")
    write_csv(folder / "train.csv")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 30)), rng.normal(size=4000)
    rows = [",".join(f"{v:.4f}" for v in (*row, score)) for row, score in zip(X, y)]
    header = ",".join([*(f"f{j}" for j in range(30)), "score"])
    (folder / "large.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    subprocess.run([*COMMAND, "train", "train.csv", "-o", "model.rw", "-q"], cwd=folder, check=True)
    return folder


def start(folder, *arguments):
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("alpha", ["auto", "1e-9"])
def test_ctrl_c_ends_training_at_once_and_keeps_the_old_model(folder, alpha):
    old = (folder / "model.rw").read_bytes()
    process = start(folder, "train", "large.csv", "-o", "model.rw", "--alpha", alpha, *LONG)
    try:
        assert "4,000 items" in process.stderr.readline()
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Interrupted: nothing was written." in said and "Traceback" not in said
    assert (folder / "model.rw").read_bytes() == old
    assert sorted(os.listdir(folder)) == ["large.csv", "model.rw", "train.csv"]


def test_ctrl_c_during_nested_folds_keeps_the_model(folder, tmp_path):
    """The model is trained already: it is written without the nested estimate."""
    rng = np.random.default_rng(0)
    rows = [",".join(f"{v:.4f}" for v in row) for row in rng.normal(size=(1500, 6))]
    (tmp_path / "train.csv").write_text(
        "\n".join(["a,b,c,d,e,score", *rows]) + "\n", encoding="utf-8"
    )
    options = ("--kernel", "rbf", "--basis", "all", "--cv", "leave-pair-out", "--alpha", "1,10")
    process = start(tmp_path, "train", "train.csv", "-o", "m.rw", *options, "--nested", "200")
    try:
        for line in process.stderr:
            if "outer folds" in line:
                break
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, said
    assert "interrupted: the model is written without it" in said and "Traceback" not in said
    model = rankwise.load(tmp_path / "m.rw")
    assert "nested" not in model.record
    assert sorted(os.listdir(tmp_path)) == ["m.rw", "train.csv"]


def test_ctrl_c_during_crossval_writes_nothing(folder, tmp_path):
    options = ("--learner", "rank-svm", "--alpha", "1e-3", "--nested", "50", "--html", "page.html")
    process = start(folder, "crossval", "large.csv", *options)
    try:
        for line in process.stderr:
            if "outer folds" in line:
                break
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130 and "Traceback" not in said
    assert not (folder / "page.html").exists()


TRAIN_FOR_EVER = """
import itertools, sys
from rankwise.cli import main
for alpha in itertools.count(1):
    command = ["train", sys.argv[1], "-o", sys.argv[2], "-q", "--alpha", str(alpha)]
    main(command, standalone_mode=False)
    print(alpha, flush=True)
"""


def test_a_kill_at_any_moment_leaves_the_old_model_or_the_new(folder, tmp_path):
    target = tmp_path / "model.rw"
    rng = np.random.default_rng(1)
    command = [sys.executable, "-c", TRAIN_FOR_EVER, str(folder / "train.csv"), str(target)]
    for _ in range(3):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "1\n"
        time.sleep(rng.uniform(0.0, 0.3))
        process.kill()
        done = len(process.communicate()[0].split()) + 1
        model = rankwise.load(target)
        assert model.ranker.alpha in (done, done + 1)
        assert np.isfinite(model.predict(np.ones((2, 3)))).all()


def test_a_closed_pipe_is_quiet(folder):
    command = f"{' '.join(COMMAND)} predict model.rw large_scores.csv | head -1"
    text = (folder / "train.csv").read_text(encoding="utf-8").splitlines()
    (folder / "large_scores.csv").write_text(
        "\n".join([text[0], *(text[1:] * 400)]) + "\n", encoding="utf-8"
    )
    found = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
    (folder / "large_scores.csv").unlink()
    assert len(found.stdout.split()) == 1
    assert found.stderr == ""


def test_models_and_data_go_through_pipes(folder):
    command = (
        f"cat train.csv | {' '.join(COMMAND)} train - -q -o - "
        f"| {' '.join(COMMAND)} predict - train.csv"
    )
    found = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert len(found.stdout.split()) == 96


def test_results_are_plain_where_no_terminal_is(folder):
    write_csv(folder / "test.csv", seed=1)
    command = [*COMMAND, "evaluate", "model.rw", "test.csv"]
    found = subprocess.run(command, cwd=folder, capture_output=True)
    assert b"\x1b" not in found.stdout + found.stderr
    assert found.stderr == b""
