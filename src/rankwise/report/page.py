"""The page of the report, put together from its sections."""

from __future__ import annotations

from html import escape
from pathlib import PurePath

import numpy as np

from rankwise.evaluation import learning_curve
from rankwise.io.plain_text import plain
from rankwise.report import sections
from rankwise.report.style import CSS
from rankwise.workflow.judging import judge
from rankwise.workflow.ranking_data import Items
from rankwise.workflow.search import SearchPath
from rankwise.workflow.trained_model import TrainedModel
from rankwise.workflow.training import unfitted

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{css}</style>
</head>
<body>
<main>
<header>
<h1>{title}</h1>
<p class="sub">{subtitle}</p>
</header>
{tiles}
<div class="cards">
{cards}
</div>
<footer>Made by rankwise{version}. This file is complete: it loads nothing from elsewhere.</footer>
</main>
</body>
</html>
"""


def build_report(
    model: TrainedModel,
    items: Items,
    *,
    title: str | None = None,
    relevant: float | None = None,
    with_learning_curve: bool = False,
    scores: np.ndarray | None = None,
    commands: list[list[str]] | None = None,
) -> str:
    """The page as text. It judges the model on the items, which must have scores y.

    If the items are the edges of a relation, they have no features, and their predictions must be
    given as `scores`. `commands` are shown as the way to reproduce the page.
    """
    if items.y is None:
        raise ValueError(f"{items.source} holds no scores to judge the model by.")
    is_relation = scores is not None
    if is_relation and with_learning_curve:
        raise ValueError("a learning curve is for items with features, not for a relation.")
    s = scores if scores is not None else model.predict(items.X, items.qid)
    judgement = judge(items.y, s, items.qid, relevant=relevant)
    several = len(judgement.queries) > 1
    path = SearchPath.from_record(model.training.get("path"))
    charts = [] if path is None else [sections.chosen_by(path)]
    charts.append(sections.scores(items.y, s, judgement.queries))
    if several:
        charts.append(sections.by_query(judgement))
    if not is_relation:
        charts.append(sections.what_counts(model, items))
    if with_learning_curve:
        X = model.prepared(items.X, items.qid)
        curve = learning_curve(unfitted(model), X, items.y, items.qid)
        charts.append(sections.learning(curve))
    if len(charts) % 2:
        charts[-1] = charts[-1].replace("<section>", '<section class="last">', 1)
    cards = [sections.what_was_trained(model, items), *charts]
    if several:
        cards.append(sections.worst_queries(judgement, items, s))
    cards.append(sections.reproduce(model, commands or []))
    learner = model.training.get("recipe", {}).get("learner", type(model.ranker).__name__)
    version = model.training.get("versions", {}).get("rankwise", "")
    page = PAGE.format(
        title=escape(title or f"{learner} on {PurePath(items.source).name}"),
        subtitle=escape(f"{items.describe()}."),
        css=CSS,
        tiles=sections.tiles(judgement),
        cards="\n".join(cards),
        version=escape(f" {version}" if version else ""),
    )
    return plain(page, keep="\n")
