"""The report of censored outcomes holds its curves, its table and its figures."""

import numpy as np

from rankwise.report import build_report
from rankwise.workflow.recipe import Recipe
from rankwise.workflow.training import train
from tests.workflow.test_judged_outcomes import patients


def test_the_page_shows_survival_by_tercile():
    model = train(Recipe(alpha="auto", scale="standard"), patients())
    page = build_report(model, patients(seed=1), commands=[["rankwise", "report"]])
    for words in (
        "Survival by tercile",
        "Log-rank test for equal survival: p &lt; 0.0001",
        "Items at risk",
        "Calibration of order",
        "Harrell&#39;s concordance",
        "Uno&#39;s concordance up to",
        "Better than chance",
        "of the comparable pairs",
        "longest survival predicted (40)",
    ):
        assert words in page
    assert page.count("<svg") == 4


def test_the_page_of_strata_and_of_training_data():
    items = patients()
    items.qid = np.arange(120) % 6
    model = train(Recipe(alpha=1.0, kernel="rbf", gamma=0.1, basis=20), items)
    page = build_report(model, items)
    assert "Error by query" in page and "Judged on the data it was trained on" in page


def test_names_from_data_are_escaped():
    items = patients()
    items.features = ["<b>", "b", "c"]
    page = build_report(train(Recipe(alpha=1.0), items), items, title="<script>alert(1)</script>")
    assert "<script>alert" not in page and "<b></text>" not in page


def test_a_learning_curve():
    items = patients()
    page = build_report(train(Recipe(alpha=1.0), items), items, with_learning_curve=True)
    assert "Learning curve" in page
