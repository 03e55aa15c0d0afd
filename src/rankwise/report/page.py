"""The page of the report, put together from its sections."""

from __future__ import annotations

from pathlib import PurePath

import numpy as np

from rankwise.evaluation import learning_curve
from rankwise.report import sections
from rankwise.report.outcome_page import build_outcome_report
from rankwise.report.rendering import render_page
from rankwise.report.statement_page import build_statement_report
from rankwise.supervision.censored import Censored
from rankwise.workflow.judging import judge
from rankwise.workflow.ranking_data import Items
from rankwise.workflow.relation_judging import over_nodes
from rankwise.workflow.search_path import SearchPath
from rankwise.workflow.trained_model import TrainedModel
from rankwise.workflow.training import unfitted
from rankwise.workflow.verdict import (
    Verdict,
    against_baseline,
    in_one_sentence,
    trained_beside,
    verdict,
)


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
    path = SearchPath.from_record(model.training.get("path"))
    figures = [] if path is None else [sections.chosen_by(path)]
    figures.append(sections.scores(items.y, s, judgement.queries))
    if several:
        figures.append(sections.by_query(judgement))
    if not is_relation:
        figures.append(sections.what_counts(model, items))
    if with_learning_curve:
        X = model.prepared(items.X, items.qid)
        curve = learning_curve(unfitted(model), X, items.y, items.qid, groups=items.groups)
        figures.append(sections.learning(curve))
    if on_training_data is None:
        on_training_data = model.was_trained_on(items)
    learner = model.training.get("recipe", {}).get("learner", type(model.ranker).__name__)
    opening, worse = verdict(judgement, path, on_training_data=on_training_data), None
    if items.baseline is not None:
        opening, worse = _beside_baseline(model, learner, items, s, on_training_data)
    return render_page(
        "report.html",
        title=title or f"{learner} on {PurePath(items.source).name}",
        subtitle=f"{items.describe()}.",
        version=model.training.get("versions", {}).get("rankwise", ""),
        verdict=opening,
        worse=worse,
        tiles=sections.tiles(judgement, items.y),
        facts=sections.facts(model, items),
        judged_on_training_data=sections.flattered(path) if on_training_data else "",
        figures=figures,
        worst_queries=sections.worst_queries(judgement, items, s) if several else [],
        suspects=None
        if is_relation
        else sections.suspect_labels(model, items, s, on_training_data),
        reproduction=sections.reproduction(model, commands or []),
    )


def _beside_baseline(
    model: TrainedModel, learner: str, items: Items, scores: np.ndarray, on_training_data: bool
) -> tuple[Verdict, sections.WorseThanBaseline | None]:
    """The verdict about the existing ranking, and the queries on which the model is worse."""
    if on_training_data:
        return trained_beside(model.training.get("baseline"), items.baseline_name), None
    found = against_baseline(learner, scores, items)
    assert found is not None
    return in_one_sentence(found), sections.worse_than_baseline(found)
