"""The report of a model that is judged by censored outcomes: survival by predicted tercile."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankwise.report import sections
from rankwise.report.charts import STYLES
from rankwise.report.model_page import ModelPage
from rankwise.report.sections import Figure, Tile
from rankwise.report.svg import Chart, number
from rankwise.supervision.censored import Censored
from rankwise.workflow.judged_outcomes import (
    OutcomeJudgement,
    Terciles,
    calibration_of_order,
    judge_outcomes,
    terciles,
)
from rankwise.workflow.ranking_data import Items
from rankwise.workflow.trained_model import TrainedModel

RISK_TIMES = 6
"""The number of times in the table of items at risk."""
MOST_STEPS = 400
"""A curve is drawn with at most this many steps."""
ABOUT = {
    "concordance": "share of comparable pairs in which the item that lived longer scores higher",
    "uno_concordance": "the same, corrected for items that were lost",
    "dynamic_auc": "events until then against items that are followed beyond",
}
"""What the measures mean."""


class RiskTable(NamedTuple):
    """How many items of each group are still followed at some times."""

    times: list[str]
    rows: list[tuple[str, list[int]]]


def build_outcome_report(
    model: TrainedModel,
    items: Items,
    title: str | None,
    with_learning_curve: bool,
    commands: list[list[str]],
) -> str:
    """The page as text; y of the items must be a Censored."""
    outcome = items.y
    assert isinstance(outcome, Censored)
    s = model.predict(items.X, items.qid)
    judgement = judge_outcomes(outcome, s, items.qid)
    page = ModelPage(model, items, title, commands)
    groups = terciles(outcome, s)
    figures = [survival_by_tercile(groups), order_calibration(outcome, s)]
    figures += [] if page.path is None else [sections.chosen_by(page.path)]
    if len(judgement.queries) > 1:
        figures.append(sections.by_query(judgement))
    figures.append(sections.what_counts(model, items))
    if with_learning_curve:
        figures.append(page.learning(outcome, groups=items.groups))
    opening, worse = page.opening(judgement, s)
    return page.render(
        "outcomes.html",
        verdict=opening,
        worse=worse,
        tiles=_tiles(judgement),
        figures=figures,
        risk=risk_table(groups, outcome),
        worst_queries=[],
    )


def _tiles(judgement: OutcomeJudgement) -> list[Tile]:
    tiles = []
    for measure in judgement.measures:
        about = ABOUT[measure.key]
        if measure.value is None:
            tiles.append(Tile(measure.name, "", about, f"Not judged: {measure.reason}."))
            continue
        value, interval = measure.cells(digits=3)
        tiles.append(
            Tile(
                measure.name, value, about, interval if measure.low is None else f"95%: {interval}"
            )
        )
    assert judgement.outcome is not None
    events, m = int(judgement.outcome.event.sum()), len(judgement.outcome)
    return [*tiles, Tile("events", f"{events:,}", f"of {m:,} items; the others were censored")]


def survival_by_tercile(found: Terciles) -> Figure:
    """Kaplan–Meier curves of thirds of the items by predicted score, with the log-rank test."""
    last = max(group.curve.last for group in found.groups)
    chart = Chart("Survival by predicted tercile", (0.0, last), (0.0, 1.0), "Time", "Surviving")
    styles = _styles(found)
    for group, style in zip(found.groups, styles):
        chart.line(*_steps(group.curve.times, group.curve.survival, group.curve.last), style)
    caption = (
        "Kaplan–Meier curves of the items in thirds of their predicted scores. A good order keeps "
        "the curves apart."
    )
    if found.p_value is not None:
        caption += f" Log-rank test for equal survival: p {_p_value(found.p_value)}."
    names = [f"{group.name} ({len(group.outcome)})" for group in found.groups]
    return Figure("Survival by tercile", chart.svg(), caption, legend=tuple(zip(names, styles)))


def _styles(found: Terciles) -> list[str]:
    return ["b", "c", "a"] if len(found.groups) == 3 else list(STYLES[: len(found.groups)])


def _p_value(p: float) -> str:
    return "< 0.0001" if p < 1e-4 else f"= {p:.4f}" if p < 0.1 else f"= {p:.2f}"


def _steps(times: np.ndarray, survival: np.ndarray, last: float) -> tuple[np.ndarray, np.ndarray]:
    """The corners of a step function from 0 to `last`."""
    if len(times) > MOST_STEPS:
        kept = np.unique(np.linspace(0, len(times) - 1, MOST_STEPS).astype(int))
        times, survival = times[kept], survival[kept]
    x = np.concatenate(([0.0], np.repeat(times, 2), [last]))
    return x, np.concatenate(([1.0, 1.0], np.repeat(survival, 2)))


def order_calibration(outcome: Censored, s: np.ndarray) -> Figure:
    """The share that survives the median time of events, against the predicted score."""
    found = calibration_of_order(outcome, s)
    low, high = float(found.score.min()), float(found.score.max())
    margin = 0.06 * (high - low or 1.0)
    chart = Chart(
        "Calibration of order",
        (low - margin, high + margin),
        (0.0, 1.0),
        "Predicted score",
        f"Surviving {number(found.horizon)}",
    )
    chart.band(found.score, found.low, found.high).line(found.score, found.survived)
    for x, y in zip(found.score, found.survived):
        chart.point(x, y, f"score {x:.4g}: {y:.3f} survive", radius=3.5)
    caption = (
        f"Share of items that survive {found.horizon:.4g}, the median time of events, in groups of "
        "similar predicted score; it should rise from left to right. Scores are an order, not "
        "times. The band is a 95% interval."
    )
    return Figure("Calibration of order", chart.svg(), caption)


def risk_table(found: Terciles, outcome: Censored) -> RiskTable:
    """Items of each group that are still followed at evenly spaced times."""
    times = np.linspace(0.0, float(outcome.time.max()), RISK_TIMES)
    rows = [(group.name, group.at_risk(times).tolist()) for group in found.groups]
    return RiskTable([f"{t:.4g}" for t in times], rows)
