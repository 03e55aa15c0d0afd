"""Ids, queries, columns and files with names that try to command the terminal or the page."""

import csv
import json
import os
import re
import unicodedata

import pytest

from tests.cli_files import made_items, run

NAMES = [
    *("x[/b]", "[link=http://evil.example]y[/link]", "[red]", ":smile:", "a\\[b", "[", "[/"),
    *("\x1b[31mred", "\x1b]0;title\x07", "\x9b31m", "back\x08\x08", "nul\x7f", "bell\x07"),
    *("two\nlines", "tab\tbed", "carriage\rreturn", "\u2028line", "\u202egnp.exe", "\u2066in"),
    *("", " .", "z" * 5000, "日本 ünï 👩\u200d👧", "<script>alert(1)</script>", "\"'&<>", "%s{0}"),
]
FEATURES = ["[/b]", "\x1b[2J", "<img src=x onerror=alert(1)>"]
STYLE = re.compile(r"\x1b\[([0-9;]*m|\?25[lh]|2K|1A)|\r")
"""What rich itself writes to a terminal: styles, and the spinner."""


def write_table(path):
    X, y, _ = made_items(q=len(NAMES), size=4)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "query", *FEATURES, "score"])
        for i, row in enumerate(X):
            name = NAMES[(i // 4 + i) % len(NAMES)]
            label = NAMES[i // 4]
            writer.writerow([name, f"{label}.", *row, y[i]])
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("[b]\x1b[31m")
    write_table(folder / "da\nta.csv")
    run("train", folder / "da\nta.csv", "-o", folder / "\x1b]0;m.rw", "--alpha", 1, "-q")
    return folder


def assert_harmless(text: str) -> None:
    """Nothing but line ends is unseen, apart from what rich writes to a terminal."""
    kept = {"\n", "\u200c", "\u200d"}
    text = STYLE.sub("", text) if os.environ.get("FORCE_COLOR") else text
    left = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl")}
    assert left <= kept
    assert "]8;" not in text


def call(*arguments, code=0):
    found = run(*arguments, code=code)
    assert_harmless(found.stdout)
    assert_harmless(found.stderr)
    return found


@pytest.fixture(params=["1", ""], ids=["terminal", "pipe"])
def terminal(request, monkeypatch):
    """rich writes its styles as to a terminal if FORCE_COLOR is set."""
    if request.param:
        monkeypatch.setenv("FORCE_COLOR", "1")


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_explain(folder, terminal, name):
    model, data = folder / "\x1b]0;m.rw", folder / "da\nta.csv"
    query = f"{name}.".strip()
    call("explain", model, data, "--query", query)
    call("explain", model, data, "--query", query, "--above", name, code=None)
    call("explain", model, data, "--query", query, "--above", f"{name}?", code=2)
    call("explain", model, data, "--query", name, code=2)
    shown = json.loads(call("explain", model, data, "--query", query, "--json").stdout)
    assert {shown["a"], shown["b"]} <= {name.strip() for name in NAMES}
    assert {part["name"] for part in shown["parts"]} == set(FEATURES)


def test_predict(folder, terminal):
    model, data = folder / "\x1b]0;m.rw", folder / "da\nta.csv"
    call("predict", model, data)
    lines = call("predict", model, data, "--trec", "--tag", "\x1b t\n").stdout.splitlines()
    assert len(lines) == 4 * len(NAMES)
    assert {len(line.split(" ")) for line in lines} == {6}


def test_evaluate(folder, terminal):
    model, data = folder / "\x1b]0;m.rw", folder / "da\nta.csv"
    call("evaluate", model, data, "--per-query")
    found = json.loads(call("evaluate", model, data, "--per-query", "--json").stdout)
    assert {record["query"] for record in found["per_query"]} == {
        f"{name}.".strip() for name in NAMES
    }


def test_train_and_crossval(folder, terminal, tmp_path):
    data = folder / "da\nta.csv"
    call("train", data, "-o", tmp_path / "\x1b[2Jm.rw")
    call("crossval", data, "--learner", "rank-rls", "--path")
    call("crossval", data, "--learner", "rank-rls", "--json")


def test_report(folder, tmp_path):
    out = tmp_path / "report\x1b.html"
    model, data = folder / "\x1b]0;m.rw", folder / "da\nta.csv"
    call("report", model, data, "-o", out, "--title", "\x1b<script>[/b]")
    page = out.read_text(encoding="utf-8")
    assert_harmless(page)
    assert "<script" not in page and "<img" not in page


def test_page_of_crossval(folder, tmp_path):
    out = tmp_path / "cv\x1b<b>.html"
    words = (folder / "da\nta.csv", "--learner", "rank-rls", "--nested", "2")
    call("crossval", *words, "--html", out)
    page = out.read_text(encoding="utf-8")
    assert_harmless(page)
    assert "<script" not in page and "<img" not in page and "<b>" not in page


def test_demo(tmp_path, terminal):
    call("demo", "-o", tmp_path / "[b]\x1b[31m")


@pytest.mark.parametrize("word", ["\x1b[31m", "--\x1b[31m", "[/b]", "\u202e", "a\nb", ""])
@pytest.mark.parametrize(
    "command", ["train", "predict", "evaluate", "crossval", "explain", "report"]
)
def test_errors(folder, command, word, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = [] if command in ("train", "crossval") else [folder / "\x1b]0;m.rw"]
    output = ["-o", folder / "out"] if command in ("train", "report") else []
    call(command, *model, word, *output, code=2)
    data = folder / "da\nta.csv"
    call(command, *model, data, "--query" if command != "explain" else "--above", word, code=None)
    call(command, *model, data, word, code=2)
    call(word, code=2)


def test_errors_name_columns_and_files(folder, tmp_path):
    other = tmp_path / "\x1b[31mother.csv"
    other.write_text("id,\x1b[32m,score\na,1,2\nb,\x1b[33m,3\n", encoding="utf-8")
    call("predict", folder / "\x1b]0;m.rw", other, code=2)
    call("train", other, "-o", tmp_path / "m.rw", code=2)
    call("train", other, "--target", "[/b]\x1b", "-o", tmp_path / "m.rw", code=2)
    call("predict", other, other, code=2)
    call("train", tmp_path / "\x1bnone.csv", "-o", tmp_path / "m.rw", code=2)
