"""The commands under "How to reproduce it" run as they are printed, and give the same page."""

import html
import re
import shlex

import numpy as np
import pytest

from rankwise.workflow.recipe import LEARNERS
from tests.cli_files import made_items, run, write_csv

OF_ITEMS = [
    name
    for name, method in LEARNERS.items()
    if not (method.learns_relations or method.needs_preferences)
]
OF_PREFERENCES = [name for name in OF_ITEMS if "preferences" in LEARNERS[name].options]
FAST = {"rank-boost": ("--rounds", "5"), "svrank": ("--alpha", "0.01,0.1", "--cv", "2")}


def printed(page: str) -> list[list[str]]:
    """The words of the commands on a page."""
    block = re.search(r"How to reproduce it</h2>\s*<pre><code>(.*?)</code></pre>", page, re.S)
    lines = html.unescape(block.group(1)).splitlines()
    commands = [shlex.split(line) for line in lines]
    assert all(words[0] == "rankwise" for words in commands)
    return [words[1:] for words in commands]


def without_times(page: str) -> str:
    return re.sub(r"\d+\.\d+ s\b|\d+ \w+ \d{4}, \d\d:\d\d UTC", "", page)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Training and test data of every kind, in the current folder."""
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "train.csv", q=6)
    write_csv(tmp_path / "te st.csv", q=5, seed=1)
    _, y, _ = made_items(q=5)
    pairs = [(i, j) for i in range(40) for j in range(i) if y[i] > y[j] and i // 8 == j // 8]
    (tmp_path / "wins.csv").write_text(
        "winner,loser\n" + "\n".join(f"d{i},d{j}" for i, j in pairs) + "\n",
        encoding="utf-8",
    )
    rng = np.random.default_rng(0)
    for side in "ab":
        lines = [f"{side}{i},{x:.3f},{z:.3f}" for i, (x, z) in enumerate(rng.normal(size=(8, 2)))]
        (tmp_path / f"{side}.csv").write_text(
            "name,x,z\n" + "\n".join(lines) + "\n", encoding="utf-8"
        )
    for name, columns in (("edges", "b"), ("games", "a")):
        pairs = [(f"a{i}", f"{columns}{j}") for i in range(8) for j in range(8) if i != j]
        values = [f"{a},{b},{v:.3f}" for (a, b), v in zip(pairs, rng.normal(size=len(pairs)))]
        (tmp_path / f"{name}.csv").write_text(
            "row,column,value\n" + "\n".join(values) + "\n", encoding="utf-8"
        )
    return tmp_path


def check(folder, train, report, says=""):
    run("train", *train, "-o", "m.rw", "-q")
    run("report", "m.rw", *report, "-o", "the report.html")
    page = (folder / "the report.html").read_text(encoding="utf-8")
    assert says in page
    commands = printed(page)
    assert [words[0] for words in commands] == ["train", "report"]
    for name in ("m.rw", "the report.html"):
        (folder / name).unlink()
    for words in commands:
        run(*words)
    assert without_times((folder / "the report.html").read_text(encoding="utf-8")) == without_times(
        page
    )


@pytest.mark.parametrize("learner", OF_ITEMS)
def test_scores_with_and_without_queries(folder, learner):
    options = ("--learner", learner, *FAST.get(learner, ()))
    check(folder, ("train.csv", *options), ("te st.csv", "--title", "it's <a> title"))
    table = ("--ignore", "query", "--seed", "3")
    check(folder, ("train.csv", *options, *table), ("te st.csv", "--relevant", "1"))


@pytest.mark.parametrize("learner", OF_PREFERENCES)
def test_preferences(folder, learner):
    train = ("train.csv", "--preferences", "wins.csv", "--learner", learner, "--alpha", "0.1,1")
    check(folder, train, ("te st.csv",))
    check(folder, train, ("train.csv",), says="Judged on the data it was trained on")


@pytest.mark.parametrize(
    ("data", "nodes"),
    [
        ("edges.csv", ("--row-nodes", "a.csv", "--column-nodes", "b.csv")),
        ("games.csv", ("--nodes", "a.csv")),
    ],
)
def test_relations(folder, data, nodes):
    train = (data, "--learner", "conditional", *nodes, "--alpha", "0.1,10", "--condition", "column")
    check(folder, train, (data, *nodes), says="Judged on the data it was trained on")
    lines = (folder / data).read_text(encoding="utf-8").splitlines()
    (folder / data).write_text("\n".join([lines[0], *lines[1::2]]) + "\n", encoding="utf-8")
    (folder / "other.csv").write_text("\n".join([lines[0], *lines[2::2]]) + "\n", encoding="utf-8")
    check(folder, (*train, "--cv", "2"), ("other.csv", *nodes))
    page = (folder / "the report.html").read_text(encoding="utf-8")
    assert "Judged on the data it was trained on" not in page


def test_options_of_every_kind_are_repeated(folder):
    options = ("--alpha", "0.12345678901,1", "--kernel", "rbf", "--gamma", "0.3", "--basis", "9")
    more = ("--scale", "query", "--cv", "3", "--scoring", "ndcg@3", "--ignore", "c")
    check(folder, ("train.csv", *options, *more), ("te st.csv", "--learning-curve"))


def test_the_same_data_under_another_name_are_recognised(folder):
    run("train", "train.csv", "-o", "m.rw", "-q")
    (folder / "copy.csv").write_bytes((folder / "train.csv").read_bytes())
    assert "looks better than it is" in run("evaluate", "m.rw", "copy.csv").stderr
    assert '"on_training_data": true' in run("evaluate", "m.rw", "copy.csv", "--json").stdout
    assert "looks better" not in run("evaluate", "m.rw", "te st.csv").stderr


def test_the_page_of_crossval(folder):
    words = ("train.csv", "--learner", "rank-rls", "--learner", "mprank", "--nested", "2")
    found = run("crossval", *words, "--html", "cv.html")
    assert "Wrote cv.html." in found.stderr
    page = (folder / "cv.html").read_text(encoding="utf-8")
    for text in ("rank-rls", "mprank", "leave-query-out", "Nested, 2 outer folds", "the best of 2"):
        assert text in page
    (words,) = printed(page)
    run(*words)
    assert without_times((folder / "cv.html").read_text(encoding="utf-8")) == without_times(page)
    run("crossval", "train.csv", "--learner", "rank-rls", "--alpha", "1", "--html", "cv.html")
    assert "Nothing was held out" in (folder / "cv.html").read_text(encoding="utf-8")
    found = run("crossval", "train.csv", "--html", "nowhere/cv.html", code=2)
    assert "does not exist" in found.stderr


def test_long_work_says_how_far_it_is(folder, monkeypatch):
    monkeypatch.setattr("rankwise.cli.console.PATIENCE", 0.0)
    said = run("crossval", "train.csv", "--learner", "rank-svm", "--learner", "rank-boost").stderr
    assert "cross-validating rank-svm (1 of 2): folds 2 of 5" in said
    assert "cross-validating rank-boost (2 of 2): folds 5 of 5" in said
    nodes = ("--row-nodes", "a.csv", "--column-nodes", "b.csv", "-o", "m.rw")
    train = ("train", "edges.csv", "--learner", "conditional", *nodes)
    assert "training conditional: folds 2 of 5" in run(*train, "--new", "edges").stderr
    assert "training" not in run(*train, "-q").stderr
