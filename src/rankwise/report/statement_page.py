"""The report of a model that is judged by explicit preferences."""

from __future__ import annotations

import numpy as np

from rankwise.evaluation import reliability_curve
from rankwise.report import sections
from rankwise.report.model_page import ModelPage
from rankwise.report.sections import Figure, Tile
from rankwise.report.svg import Chart
from rankwise.workflow.judged_statements import (
    StatementJudgement,
    judge_statements,
    probabilities,
)
from rankwise.workflow.ranking_data import Items, counted
from rankwise.workflow.trained_model import TrainedModel


def build_statement_report(
    model: TrainedModel,
    items: Items,
    title: str | None,
    with_learning_curve: bool,
    commands: list[list[str]],
) -> str:
    """The page as text; the items must have preferences."""
    preferences = items.preferences
    assert preferences is not None
    s, said = model.predict(items.X, items.qid), probabilities(model, items)
    judgement = judge_statements(preferences, s, said)
    page = ModelPage(model, items, title, commands)
    figures = [] if page.path is None else [sections.chosen_by(page.path)]
    if said is not None and not preferences.tie.all():
        figures.append(reliability(said[~preferences.tie], preferences.weight[~preferences.tie]))
    figures.append(sections.what_counts(model, items))
    if with_learning_curve:
        figures.append(page.learning(preferences=preferences, groups=preferences.judge))
    return page.render(
        "report.html",
        verdict=page.verdict(judgement),
        tiles=_tiles(judgement),
        figures=figures,
        worst_queries=[],
    )


ABOUT = {
    "preferences": "share of statements whose winner has the higher score; ties count ½",
    "log_loss": "mean −ln of the probability of what happened; a coin has 0.693",
}
"""What the measures mean."""


def _tiles(judgement: StatementJudgement) -> list[Tile]:
    tiles = []
    for measure in judgement.measures:
        value, interval = measure.cells(digits=3)
        note = interval if measure.low is None else f"95%: {interval}"
        tiles.append(Tile(measure.name, value, ABOUT[measure.key], note))
    preferences = judgement.preferences
    assert preferences is not None
    what = "judges" if judgement.resampled == "groups" else judgement.resampled
    about = f"{counted(preferences.n_ties, 'tie')} among them"
    tiles.append(Tile("preferences", f"{len(preferences):,}", about))
    return [*tiles, Tile(what, f"{judgement.units:,}", "what the intervals count")]


def reliability(probability: np.ndarray, weight: np.ndarray) -> Figure:
    """Whether statements come out as often as the model says; `probability` is of the winner."""
    predicted, share, error = reliability_curve(probability, weight)
    chart = Chart(
        "Reliability",
        (0.5, 1.0),
        (min(0.4, float((share - 1.96 * error).min())), 1.0),
        "Probability of the likelier item",
        "Share in which it won",
    )
    chart.line([0.5, 1.0], [0.5, 1.0], "m", dashed=True)
    chart.band(predicted, np.maximum(share - 1.96 * error, 0), np.minimum(share + 1.96 * error, 1))
    chart.line(predicted, share)
    for p, observed in zip(predicted, share):
        chart.point(p, observed, f"said {p:.3f}, came out {observed:.3f}", radius=3.5)
    caption = (
        "How often the likelier item won, against what the model said; points on the dashed line "
        "are right. The band is a 95% interval that takes statements as independent."
    )
    return Figure("Reliability", chart.svg(), caption)
