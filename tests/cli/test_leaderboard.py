"""rankwise leaderboard: the table, JSON, the page, and mistakes in words."""

import csv
import json
import re

import numpy as np
import pytest

from tests.cli.test_hostile_names import NAMES, assert_harmless
from tests.cli_files import run

ROLES = ("--a", "left", "--b", "right", "--winner", "won")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("leaderboard")
    rng = np.random.default_rng(0)
    names = [f"s{i}" for i in range(8)]
    size = rng.normal(size=8)
    with open(folder / "votes.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["voter", "topic", "left", "right", "won", "times"])
        for _ in range(400):
            a, b = rng.choice(6, 2, replace=False)
            first = rng.random() < 1 / (1 + np.exp(size[b] - size[a]))
            won = "tie" if rng.random() < 0.1 else "left" if first else "right"
            row = [f"v{rng.integers(15)}", rng.choice(["code", "prose"]), names[a], names[b], won]
            writer.writerow([*row, rng.integers(1, 3)])
    lines = [f"{n},{x:.4f},kind {i % 2}" for i, (n, x) in enumerate(zip(names, size))]
    (folder / "items.csv").write_text(
        "name,size,kind\n" + "\n".join(lines) + "\n", encoding="utf-8"
    )
    return folder


def test_the_terminal(folder):
    found = run("leaderboard", folder / "votes.csv", *ROLES)
    head, *rows = found.stdout.splitlines()[:7]
    assert head.split() == ["rank", "name", "strength", "95%", "interval", "ranks", "votes", "wins"]
    assert [row.split()[0] for row in rows] == ["1", "2", "3", "4", "5", "6"]
    assert "ask next" in found.stdout
    assert "400 votes, 6 items" in found.stderr and "give --judge" in found.stderr


def test_filled_features_are_named_on_terminal_and_page(folder, tmp_path):
    lines = [f"s{i},{i},{'' if i in (1, 7) else i * i % 5}" for i in range(8)]
    (tmp_path / "items.csv").write_text(
        "name,size,age\n" + "\n".join(lines) + "\n", encoding="utf-8"
    )
    words = ("--items", tmp_path / "items.csv", "-o", tmp_path / "board.html")
    found = run("leaderboard", folder / "votes.csv", *ROLES, *words)
    assert "the median of the items that have votes: 2 of 'age'." in " ".join(found.stderr.split())
    assert "Missing features count as the median" in (tmp_path / "board.html").read_text(
        encoding="utf-8"
    )


def test_everything_on_one_page(folder, tmp_path):
    page = tmp_path / "board.html"
    more = ("--judge", "voter", "--category", "topic", "--weight", "times", "--order-effect")
    words = (folder / "votes.csv", *ROLES, *more, "--items", folder / "items.csv", "-o", page)
    found = run("leaderboard", *words)
    assert "columns of text are left out: kind" in found.stderr
    assert "without votes" in found.stdout and "one deviation" in found.stdout
    text = page.read_text(encoding="utf-8")
    for heading in (
        *("Standings", "Strengths", "Who would win", "Which pairs to ask next", "Hardest to place"),
        *("By category", "What a feature is worth", "Without votes", "How to reproduce it"),
    ):
        assert f"<h2>{heading}</h2>" in text
    assert "<svg" in text and "15 judges" in text and "s7" in text
    assert not re.search(r"<script|<link[^>]+href=\"(?!data:)|src=|@import|url\(|https?://", text)
    run("leaderboard", *words[:-1], tmp_path / "again.html")
    again = (tmp_path / "again.html").read_text(encoding="utf-8")
    assert again.replace("again.html", "board.html") == text


def test_json(folder):
    words = (folder / "votes.csv", *ROLES, "--judge", "voter", "--next", 3, "--json")
    found = run("leaderboard", *words)
    board = json.loads(found.stdout)
    assert board["votes"] == 400 and board["judges"] == 15 and len(board["next"]) == 3
    assert len(board["board"]) == 6 and len(board["probabilities"]) == 6
    assert found.stdout == run("leaderboard", *words).stdout
    assert "Wrote" not in found.stderr


def test_the_page_on_standard_output(folder):
    found = run("leaderboard", folder / "votes.csv", *ROLES, "-o", "-")
    assert found.stdout.startswith("<!doctype html>") and "rank " not in found.stdout[:200]
    run("leaderboard", folder / "votes.csv", *ROLES, "-o", "-", "--json", code=2)


def test_winners_and_losers(tmp_path):
    (tmp_path / "fights.csv").write_text("winner,loser\nx,y\ny,z\nx,z\nz,x\n", encoding="utf-8")
    roles = ("--a", "winner", "--b", "loser", "--winner", "winner")
    found = run("leaderboard", tmp_path / "fights.csv", *roles)
    assert found.stdout.splitlines()[1].split()[1] == "x"
    assert "--order-effect" not in found.stderr


def test_results_of_games(tmp_path):
    (tmp_path / "games.csv").write_text(
        "home,away,result\nA,B,1\nB,C,0\nC,A,-1\nB,A,-1\nA,C,0\n", encoding="utf-8"
    )
    words = ("leaderboard", tmp_path / "games.csv", "--a", "home", "--b", "away")
    words = (*words, "--winner", "result")
    assert "line 4, column 'result': '-1' is no outcome" in run(*words, code=2).stderr
    page = tmp_path / "board.html"
    found = run(*words, "--outcomes", "a=1,b=-1,tie=0", "-o", page)
    assert found.stdout.splitlines()[1].split()[1] == "A"
    assert "--outcomes a=1,b=-1,tie=0" in page.read_text(encoding="utf-8")


def test_components_and_constant_winners(tmp_path):
    (tmp_path / "v.csv").write_text(
        "left,right,won\nx,y,left\ny,z,left\np,q,right\n", encoding="utf-8"
    )
    said = run("leaderboard", tmp_path / "v.csv", *ROLES, "-o", tmp_path / "b.html").stderr
    page = (tmp_path / "b.html").read_text(encoding="utf-8")
    for words in ("2 components that no vote connects", "q, x won every vote"):
        assert words in said and words in page


MISTAKES = {
    "column": (("--a", "lefft"), "has no column 'lefft'"),
    "judge": (("--judge", "nobody"), "has no column 'nobody'"),
    "category": (("--category", "nobody"), "no column 'nobody' (--category)"),
    "items": (("--items", "none.csv"), "none.csv: No such file"),
    "id": (("--id", "name"), "give --items"),
    "same": (("--a", "right"), "a and b are both the column 'right'"),
    "alpha": (("--alpha", "0"), "--alpha"),
    "folder": (("-o", "none/board.html"), "does not exist"),
}


@pytest.mark.parametrize(("more", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes(folder, tmp_path, monkeypatch, more, message):
    monkeypatch.chdir(tmp_path)
    found = run("leaderboard", folder / "votes.csv", *ROLES, *more, code=2)
    assert message in found.stderr and not found.stdout


def test_an_item_that_is_not_in_the_table(folder, tmp_path):
    (tmp_path / "items.csv").write_text("name,size\ns0,1\ns1,2\n", encoding="utf-8")
    words = (folder / "votes.csv", *ROLES, "--items", tmp_path / "items.csv")
    assert "is not in the table of items" in run("leaderboard", *words, code=2).stderr
    (tmp_path / "items.csv").write_text("name,size\ns0,1\ns0,2\n", encoding="utf-8")
    assert "two rows are called 's0'" in run("leaderboard", *words, code=2).stderr
    (tmp_path / "items.csv").write_text("name,kind\ns0,a\ns1,b\n", encoding="utf-8")
    assert "no column of numbers" in run("leaderboard", *words, code=2).stderr


@pytest.mark.parametrize("terminal", ["1", ""], ids=["terminal", "pipe"])
def test_hostile_names(tmp_path, monkeypatch, terminal):
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    rng = np.random.default_rng(0)
    names = [name for name in dict.fromkeys(NAMES) if name.strip()]
    path, page = tmp_path / "votes.csv", tmp_path / "board.html"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["left", "right", "won", "topic", "voter"])
        for _ in range(300):
            a, b, c, v = rng.integers(len(names), size=4)
            if names[a].strip() != names[b].strip():
                won = str(rng.choice(["a", "b", "tie"]))
                writer.writerow([names[a], names[b], won, names[c % 4], names[v]])
    more = ("--category", "topic", "--judge", "voter", "--title", "\x1b<script>[/b]", "-o", page)
    found = run("leaderboard", path, *ROLES, *more)
    assert_harmless(found.stdout)
    assert_harmless(found.stderr)
    text = page.read_text(encoding="utf-8")
    assert_harmless(text)
    assert "<script" not in text and "<img" not in text and "&lt;script&gt;" in text
    assert_harmless(run("leaderboard", path, *ROLES, "--json").stdout)
