"""A user's mistakes: exit code 2, one line that names the way out, and no file half-written."""

import os

import pytest

from tests.cli_files import run, write_csv, write_letor


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mistakes")
    write_csv(folder / "train.csv")
    write_csv(folder / "other.csv", columns=("x", "y1", "z"))
    write_letor(folder / "train.letor")
    (folder / "empty.csv").write_text("", encoding="utf-8")
    (folder / "header.csv").write_text("query,a,score\n", encoding="utf-8")
    (folder / "constant.csv").write_text("query,a,score\nq,1,2\nq,2,2\n", encoding="utf-8")
    (folder / "words.csv").write_text(
        "query,a,city,score\nq,1,Bonn,2\nq,2,Rome,3\n", encoding="utf-8"
    )
    (folder / "bad_score.csv").write_text("query,a,score\nq,1,2\nq,2,high\n", encoding="utf-8")
    (folder / "ragged.csv").write_text("query,a,score\nq,1,2\nq,2\n", encoding="utf-8")
    (folder / "bad.letor").write_text("1 qid:1 1:0.5\n0 qid:1 1:zero\n", encoding="utf-8")
    (folder / "wide.letor").write_text("1 qid:1 1:0.5 9:1\n0 qid:1 1:0.2\n", encoding="utf-8")
    (folder / "noise.rw").write_bytes(b"no model at all")
    (folder / "wins.csv").write_text("winner,loser\nd1,d2\nd3,unknown\n", encoding="utf-8")
    run("train", folder / "train.csv", "-o", folder / "model.rw", "-q")
    run("train", folder / "train.letor", "-o", folder / "letor.rw", "-q")
    return folder


MISTAKES = {
    "no such data": ("train {}/absent.csv -o {}/m.rw", "No such file"),
    "empty data": ("train {}/empty.csv -o {}/m.rw", "empty"),
    "no rows": ("train {}/header.csv -o {}/m.rw", "no rows"),
    "no order to learn": ("train {}/constant.csv -o {}/m.rw", "same score"),
    "unknown target": ("train {}/train.csv --target points -o {}/m.rw", "'score'"),
    "unknown query column": ("train {}/train.csv --query user -o {}/m.rw", "'query'"),
    "unknown ignored column": ("train {}/train.csv --ignore zip -o {}/m.rw", "--ignore"),
    "text as feature": ("train {}/words.csv -o {}/m.rw", "--ignore 'city'"),
    "text as score": ("train {}/bad_score.csv -o {}/m.rw", "line 3, column 'score'"),
    "ragged": ("train {}/ragged.csv -o {}/m.rw", "line 3"),
    "bad letor": ("train {}/bad.letor -o {}/m.rw", "line 2, column 11"),
    "unknown learner": ("train {}/train.csv --learner forest -o {}/m.rw", "rank-rls"),
    "loss of another": ("train {}/train.csv --loss hinge -o {}/m.rw", "magnitude"),
    "alpha of rank-boost": (
        "train {}/train.csv --learner rank-boost --alpha 1 -o {}/m.rw",
        "--rounds",
    ),
    "negative alpha": ("train {}/train.csv --alpha -1 -o {}/m.rw", "positive"),
    "alpha in words": ("train {}/train.csv --alpha big -o {}/m.rw", "'auto'"),
    "basis too large": ("train {}/train.csv --kernel rbf --basis 999 -o {}/m.rw", "96 items"),
    "folder absent": ("train {}/train.csv -o {}/absent/m.rw", "does not exist"),
    "output is a folder": ("train {}/train.csv -o {}", "is a folder"),
    "unknown preference": ("train {}/train.csv --preferences {}/wins.csv -o {}/m.rw", "'unknown'"),
    "preferences for boosting": (
        "train {}/train.csv --learner rank-boost --preferences {}/wins.csv -o {}/m.rw",
        "rank-rls",
    ),
    "conditional without nodes": (
        "train {}/train.csv --learner conditional -o {}/m.rw",
        "--nodes",
    ),
    "no such model": ("predict {}/absent.rw {}/train.csv", "No such file"),
    "foreign model": ("predict {}/noise.rw {}/train.csv", "noise.rw"),
    "model of other features": ("predict {}/model.rw {}/other.csv", "lacks 3"),
    "too many features": ("predict {}/letor.rw {}/wide.letor", "feature number 9"),
    "empty to predict": ("predict {}/model.rw {}/empty.csv", "empty"),
    "unwritable scores": ("predict {}/model.rw {}/train.csv -o {}/absent/s.txt", "does not exist"),
    "evaluate constant": ("evaluate {}/model.rw {}/constant.csv", "lacks 2"),
    "evaluate absent": ("evaluate {}/model.rw {}/absent.csv", "No such file"),
    "crossval empty": ("crossval {}/empty.csv", "empty"),
    "crossval one query": ("crossval {}/constant.csv", "same score"),
    "explain which query": ("explain {}/model.rw {}/train.csv", "--query"),
    "explain unknown query": ("explain {}/model.rw {}/train.csv --query zz", "no query 'zz'"),
    "explain unknown item": (
        "explain {}/model.rw {}/train.csv --query q1 --above d999",
        "no item 'd999'",
    ),
    "explain one item twice": (
        "explain {}/model.rw {}/train.csv --query q1 --above d8 --below d8",
        "two different",
    ),
    "report absent": ("report {}/model.rw {}/absent.csv -o {}/r.html", "No such file"),
    "report unwritable": ("report {}/model.rw {}/train.csv -o {}/absent/r.html", "does not exist"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_told_in_one_line(folder, name):
    command, expected = MISTAKES[name]
    before = sorted(os.listdir(folder))
    found = run(*(word.replace("{}", str(folder)) for word in command.split()), code=2)
    assert expected in found.stderr
    assert sorted(os.listdir(folder)) == before


def test_a_file_without_permission(folder):
    if os.name == "posix" and os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    locked = folder / "locked.rw"
    locked.write_text("old", encoding="utf-8")
    locked.chmod(0o400)
    assert "permission" in run("train", folder / "train.csv", "-o", locked, code=2).stderr


def test_unknown_commands_and_options_are_usage_errors():
    assert "No such command" in run("trian", code=2).stderr
    assert "No such option" in run("train", "--alhpa", "1", code=2).stderr
