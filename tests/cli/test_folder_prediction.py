"""rankwise predict over a folder: one whole file of predictions for each data file."""

import gzip
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from rankwise.cli.folder_prediction import Folder
from tests.cli_files import run, write_csv, write_letor


@pytest.fixture
def parts(folder, tmp_path):
    """Files of several kinds, one of them in a folder below, beside files that are no data."""
    parts = tmp_path / "parts"
    (parts / "below").mkdir(parents=True)
    shutil.copy(folder / "new.csv", parts / "a.csv")
    (parts / "b.tsv").write_text(
        (folder / "new.csv").read_text(encoding="utf-8").replace(",", "\t"), encoding="utf-8"
    )
    packed = gzip.compress((folder / "new.csv").read_bytes())
    (parts / "below" / "c.csv.gz").write_bytes(packed)
    (parts / ".hidden.csv").write_text("no data", encoding="utf-8")
    (parts / "empty.csv").write_text("", encoding="utf-8")
    return parts


def listed(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def finished(folder):
    return [name for name in listed(folder) if not name.startswith(".")]


@pytest.mark.parametrize("kind, ending", [("scores", "txt"), ("csv", "csv"), ("trec", "run")])
def test_each_file_gets_its_predictions(folder, parts, tmp_path, kind, ending):
    out = tmp_path / "out"
    said = run("predict", folder / "model.rw", parts, "-o", out, "--as", kind).stderr
    assert "Wrote predictions of 3 files" in said
    assert listed(out) == [f"a.{ending}", f"b.{ending}", f"below/c.{ending}"]
    expected = run("predict", folder / "model.rw", folder / "new.csv", "--as", kind).stdout
    for name in listed(out):
        assert (out / name).read_text(encoding="utf-8") == expected


def test_workers_write_the_same(folder, parts, tmp_path):
    pytest.importorskip("distributed")
    here, there = tmp_path / "here", tmp_path / "there"
    run("predict", folder / "model.rw", parts, "-o", here)
    run("predict", folder / "model.rw", parts, "-o", there, "--workers", "1")
    assert listed(here) == listed(there)
    for name in listed(here):
        assert (here / name).read_bytes() == (there / name).read_bytes()


@pytest.mark.parametrize("workers", [(), ("--workers", "1")])
def test_a_bad_file_is_named_and_the_others_are_written(folder, parts, tmp_path, workers):
    (parts / "bad.csv").write_text("id,query,a,b\nx,q,1,2\n", encoding="utf-8")
    out = tmp_path / "out"
    found = run("predict", folder / "model.rw", parts, "-o", out, *workers, code=2)
    assert "bad.csv" in found.stderr and "'c'" in found.stderr
    assert "1 of 4 files could not be predicted" in found.stderr
    assert listed(out) == ["a.txt", "b.txt", "below/c.txt"]


def test_resume_leaves_what_is_up_to_date(folder, parts, tmp_path):
    out = tmp_path / "out"
    call = ("predict", folder / "model.rw", parts, "-o", out, "--resume")
    run(*call)
    (out / "a.txt").write_text("kept", encoding="utf-8")
    (out / "b.txt").unlink()
    os.utime(out / "below" / "c.txt", (1, 1))
    run(*call)
    assert (out / "a.txt").read_text(encoding="utf-8") == "kept"
    assert (
        (out / "b.txt").read_text(encoding="utf-8")
        == (out / "below" / "c.txt").read_text(encoding="utf-8")
        != "kept"
    )
    run(*call[:-1])
    assert (out / "a.txt").read_text(encoding="utf-8") != "kept"


def test_mistakes(folder, parts, tmp_path):
    call = ("predict", folder / "model.rw")
    assert "-o" in run(*call, parts, code=2).stderr
    assert "would become data" in run(*call, parts, "-o", parts / "out", code=2).stderr
    assert "is a file" in run(*call, parts, "-o", folder / "new.csv", code=2).stderr
    both = ("--workers", "1", "--scheduler", "tcp://127.0.0.1:9")
    assert "one of them" in run(*call, parts, "-o", tmp_path / "o", *both, code=2).stderr
    for words in (("--workers", "1"), ("--resume",), ("--scheduler", "tcp://127.0.0.1:9")):
        assert words[0] in run(*call, folder / "new.csv", *words, code=2).stderr
    wrong = run("predict", folder / "new.csv", parts, "-o", tmp_path / "o", code=2)
    assert "new.csv" in wrong.stderr and "a.csv" not in wrong.stderr
    shutil.copy(parts / "a.csv", parts / "a.tab")
    assert "would both be written" in run(*call, parts, "-o", tmp_path / "o", code=2).stderr
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    assert "no file" in run(*call, nothing, "-o", tmp_path / "o", code=2).stderr


@pytest.mark.parametrize(
    "name, kind, expected",
    [
        ("a.csv", "csv", "a.csv"),
        ("part-1.csv.gz", "scores", "part-1.txt"),
        ("MSLR.fold1.txt", "trec", "MSLR.fold1.run"),
        ("part.00017", "jsonl", "part.00017.jsonl"),
        ("x.parquet", "parquet", "x.parquet"),
    ],
)
def test_names_of_predictions(tmp_path, name, kind, expected):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / name).write_text("1", encoding="utf-8")
    task = type("Task", (), {"data_path": str(tmp_path / "data")})()
    (target,) = Folder(task, tmp_path / "out", kind, "").targets().values()
    assert target == tmp_path / "out" / expected


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for single processes")
@pytest.mark.parametrize("workers", [(), ("--workers", "1")], ids=["here", "workers"])
def test_ctrl_c_keeps_finished_files(folder, tmp_path, workers):
    parts, out = tmp_path / "parts", tmp_path / "out"
    parts.mkdir()
    write_csv(parts / "first.csv", q=4, target=False)
    for i in range(60):
        write_letor(parts / f"then-{i:02}.letor", q=400)
    run("train", parts / "then-00.letor", "-o", tmp_path / "m.rw", "-q", "--alpha", "1")
    (parts / "first.csv").unlink()
    command = [sys.executable, "-m", "rankwise.cli", "predict", "m.rw", "parts", "-o", "out"]
    process = subprocess.Popen(
        [*command, *workers], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    try:
        for _ in range(600):
            if out.exists() and len(finished(out)) > 1:
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    if process.returncode == 0:
        pytest.skip("the machine was faster than the signal")
    assert process.returncode == 130
    assert "files are written" in said and "Traceback" not in said
    done = finished(out)
    assert 1 < len(done) < 60
    sizes = {len((out / name).read_text(encoding="utf-8").splitlines()) for name in done}
    assert sizes == {3200}
