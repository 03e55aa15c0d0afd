"""The whole page."""

from __future__ import annotations

from html import escape
from pathlib import PurePath

import numpy as np

from rankwise.evaluation import learning_curve
from rankwise.report import sections
from rankwise.report.style import CSS
from rankwise.workflow.items import Items
from rankwise.workflow.judging import judge
from rankwise.workflow.trained_model import TrainedModel
from rankwise.workflow.training import path_of, unfitted

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
    """The page as text: the model judged on the items, which must have scores.

    `scores` are predictions already made, as of a relation's edges, whose items have no features.
    """
    if items.y is None:
        raise ValueError(f"{items.source} holds no scores to judge the model by.")
    relational = scores is not None
    if relational and with_learning_curve:
        raise ValueError("a learning curve is for items with features, not for a relation.")
    s = scores if scores is not None else model.predict(items.X, items.qid)
    judgement = judge(items.y, s, items.qid, relevant=relevant)
    queries = judgement.queries
    several = len(queries) > 1
    centred = s
    if several:
        centred = s - (np.bincount(queries.codes, s) / queries.sizes)[queries.codes]
    charts = []
    path = path_of(model)
    if path is not None:
        charts.append(sections.chosen_by(path))
    charts.append(sections.scores(items.y, s, several, centred))
    if several:
        charts.append(sections.by_query(judgement))
    if not relational:
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
    record = model.record or {}
    learner = record.get("recipe", {}).get("learner", type(model.ranker).__name__)
    version = record.get("versions", {}).get("rankwise", "")
    return PAGE.format(
        title=escape(title or f"{learner} on {PurePath(items.source).name}"),
        subtitle=escape(f"{items.describe()}."),
        css=CSS,
        tiles=sections.tiles(judgement),
        cards="\n".join(cards),
        version=escape(f" {version}" if version else ""),
    )
