"""The report: complete, escaped, and looked at in a real browser."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest

from rankwise.report import build_report
from rankwise.report.sections import readable_time
from rankwise.workflow.ranking_data import Items
from rankwise.workflow.recipe import Recipe
from rankwise.workflow.training import train
from tests.cli_files import made_items

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NASTY = '<script>alert("x")</script>&'


def items(**changes) -> Items:
    X, y, qid = made_items()
    values = {"X": X, "y": y.astype(float), "qid": qid, "source": "made.csv"} | changes
    return Items(**values)


@pytest.fixture(scope="module")
def page():
    nasty = items(
        names=np.array([NASTY] * 96),
        features=[NASTY, "b", "c"],
        qid=np.array([f"{NASTY}{i}" for i in np.repeat(np.arange(12), 8)]),
        source=NASTY,
    )
    model = train(Recipe(), nasty)
    return build_report(
        model, nasty, title=NASTY, with_learning_curve=True, commands=[["rankwise", NASTY]]
    )


class Balanced(HTMLParser):
    VOID = ("meta", "link", "line", "rect", "circle", "polyline", "polygon", "br")

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag in self.VOID:
            return
        assert self.open.pop() == tag


def test_the_page_is_well_formed_complete_and_escaped(page):
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    tags = [tag for tag, _ in parser.seen]
    assert "script" not in tags and "img" not in tags
    assert tags.count("svg") == 5
    links = [a for _, attributes in parser.seen for a in attributes if a in ("src", "href")]
    assert links == ["href"] and 'href="data:,"' in page
    assert "http" not in page and "@import" not in page and "nan" not in page.lower()
    for heading in ("How the model was trained", "Regularisation path", "Scores", "Error by query"):
        assert f"<h2>{heading}</h2>" in page
    for heading in ("The worst queries", "Top features", "Learning curve", "How to reproduce it"):
        assert f"<h2>{heading}</h2>" in page
    assert "Judged on the data it was trained on" in page
    assert re.search(r'<p class="verdict better">Better than chance: .* \(leave-query-out\)', page)


@pytest.mark.parametrize(
    ("recipe", "changes", "heading"),
    [
        (Recipe(kernel="rbf", scale="standard"), {"qid": None}, "Supporting items"),
        (Recipe(learner="rank-boost"), {}, "Top features"),
        (Recipe(learner="mprank", alpha=2.0), {}, "Top features"),
        (Recipe(learner="rank-svm"), {"y": (made_items()[1] > 0) * 1.0, "qid": None}, "ROC curve"),
        (Recipe(learner="svrank", alpha=1e-3), {"y": made_items()[0][:, 0] - 3}, "Scores"),
    ],
)
def test_every_kind_of_model_and_scores(recipe, changes, heading):
    data = items(**changes)
    page = build_report(train(recipe, data), data, with_learning_curve=recipe.learner == "mprank")
    Balanced().feed(page)
    assert f"<h2>{heading}</h2>" in page


def test_a_report_needs_scores():
    data = items()
    model = train(Recipe(alpha=1.0), data)
    with pytest.raises(ValueError, match="no scores"):
        build_report(model, items(y=None))


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize("width", [1200, 390])
def test_a_browser_shows_it_without_errors(page, tmp_path, width):
    probe = (
        "<script>addEventListener('load', () => { const charts = [...document.querySelectorAll("
        "'svg.chart')].map(c => c.getBoundingClientRect()); document.title = JSON.stringify({"
        "charts: charts.length, smallest: Math.min(...charts.map(c => Math.min(c.width, c.height)))"
        ", wide: document.documentElement.scrollWidth, inner: innerWidth, requests: "
        "performance.getEntriesByType('resource').length}) })</script>"
    )
    path = tmp_path / "report.html"
    path.write_text(page.replace("</body>", probe + "</body>"), encoding="utf-8")
    command = [
        CHROMIUM,
        *FLAGS,
        f"--user-data-dir={tmp_path / 'profile'}",
        f"--window-size={width},1400",
        "--enable-logging=stderr",
        "--virtual-time-budget=2000",
        "--dump-dom",
        path.as_uri(),
    ]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ":CONSOLE" not in found.stderr
    seen = json.loads(re.search(r"<title>(\{.*?\})</title>", found.stdout).group(1))
    assert seen["charts"] == 5 and seen["smallest"] > 50
    assert seen["wide"] <= seen["inner"] and seen["requests"] == 0


def test_measures_explain_themselves():
    real = items(y=made_items()[0][:, 0] - 3, qid=None)
    page = build_report(train(Recipe(alpha=1.0), real), real)
    assert "Not judged: give --relevant" in page and "mean average precision" in page
    assert "<h2>Pairs right</h2>" in page and ">–<" not in page
    two = items(y=(made_items()[1] > 0) * 1.0)
    page = build_report(train(Recipe(alpha=1.0), two), two)
    assert "<h2>AUC, mean over queries</h2>" in page
    page = build_report(train(Recipe(alpha=1.0), two), items(y=two.y, qid=None, source="other"))
    assert "<h2>AUC</h2>" in page and "<h2>ROC curve</h2>" in page


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2026-11-18T06:05:59+00:00", "18 November 2026, 06:05 UTC"),
        ("2026-01-01T23:00:00", "1 January 2026, 23:00"),
        ("once", "once"),
    ],
)
def test_dates_can_be_read(text, shown):
    assert readable_time(text) == shown
