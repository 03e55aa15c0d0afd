"""The page of the report, put together from its sections."""

from __future__ import annotations

import numpy as np

from rankwise.report import sections
from rankwise.report.model_page import ModelPage
from rankwise.report.outcome_page import build_outcome_report
from rankwise.report.statement_page import build_statement_report
from rankwise.supervision.censored import Censored
from rankwise.workflow.judging import judge
from rankwise.workflow.ranking_data import Items
from rankwise.workflow.relation_judging import over_nodes
from rankwise.workflow.trained_model import TrainedModel


def build_report(
    model: TrainedModel,
    items: Items,
    *,
    title: str | None = None,
    relevant: float | None = None,
    with_learning_curve: bool = False,
    scores: np.ndarray | None = None,
    on_training_data: bool | None = None,
    interval: tuple[float, float] | None = None,
    commands: list[list[str]] | None = None,
) -> str:
    """The page as text. It judges the model on the items, which must have scores or preferences.

    If the items are the edges of a relation, they have no features, and their predictions must be
    given as `scores`. `on_training_data` says whether the model was trained on them; None finds it
    out. `interval` is that of the share of pairs, if it is known better than from the queries.
    `commands` are shown as the way to reproduce the page.
    """
    if items.preferences is not None:
        options = (with_learning_curve, commands or [])
        return build_statement_report(model, items, title, *options)
    if isinstance(items.y, Censored):
        options = (with_learning_curve, commands or [])
        return build_outcome_report(model, items, title, *options)
    if items.y is None:
        raise ValueError(f"{items.source} holds no scores to judge the model by.")
    is_relation = scores is not None
    if is_relation and with_learning_curve:
        raise ValueError("a learning curve is for items with features, not for a relation.")
    s = scores if scores is not None else model.predict(items.X, items.qid)
    judgement = over_nodes(judge(items.y, s, items.qid, relevant=relevant), interval)
    several = len(judgement.queries) > 1
    page = ModelPage(model, items, title, commands or [], on_training_data)
    figures = [] if page.path is None else [sections.chosen_by(page.path)]
    figures.append(sections.scores(items.y, s, judgement.queries))
    if several:
        figures.append(sections.by_query(judgement))
    if not is_relation:
        figures.append(sections.what_counts(model, items))
    if with_learning_curve:
        figures.append(page.learning(items.y, groups=items.groups))
    trained = page.on_training_data
    opening, worse = page.opening(judgement, s)
    return page.render(
        "report.html",
        verdict=opening,
        worse=worse,
        tiles=sections.tiles(judgement, items.y),
        figures=figures,
        worst_queries=sections.worst_queries(judgement, items, s) if several else [],
        suspects=None if is_relation else sections.suspect_labels(model, items, s, trained),
    )
