"""The page of `rankwise crossval`: what learners chose, and how well they order unseen data."""

from __future__ import annotations

import importlib.metadata
from pathlib import PurePath
from typing import NamedTuple

import numpy as np

from rankwise.evaluation import BaselineVerdict
from rankwise.io.plain_text import shell_line
from rankwise.report import charts
from rankwise.report.rendering import render_page
from rankwise.report.sections import Figure
from rankwise.report.svg import intervals_across
from rankwise.workflow.judging import Judgement, Measure
from rankwise.workflow.ranking_data import Items
from rankwise.workflow.search_path import SearchPath
from rankwise.workflow.verdict import (
    Verdict,
    against_chance,
    held_out_share,
    in_one_sentence,
    judged_share,
)


class Candidate(NamedTuple):
    """A learner that was cross-validated.

    `path` is None if its parameter was given, and `nested` is None without outer folds. `beside` is
    the verdict about an existing ranking.
    """

    name: str
    path: SearchPath | None
    nested: Judgement | None
    seconds: float
    beside: BaselineVerdict | None = None


class Row(NamedTuple):
    """A row of the table of learners."""

    name: str
    chosen: str
    held_out: str
    interval: str
    by: str
    seconds: str


def build_crossval_page(
    candidates: list[Candidate], items: Items, *, folds: int | None = None, command: list[str]
) -> str:
    """The page as text. With `folds`, the learners were also judged by nested cross-validation."""
    nested = [(one.name, one.nested) for one in candidates if one.nested is not None]
    figures = [_side_by_side(candidates)] if len(candidates) > 1 else []
    figures = [figure for figure in figures if figure is not None]
    figures += [_path(one.name, one.path) for one in candidates if one.path is not None]
    return render_page(
        "crossval.html",
        title=f"Cross-validation on {PurePath(items.source).name}",
        subtitle=f"{items.describe()}.",
        version=importlib.metadata.version("rankwise"),
        verdict=_verdict(candidates),
        rows=[_row(one) for one in candidates],
        folds=folds,
        nested_names=_measured(nested),
        nested=[(name, _nested_cells(judgement)) for name, judgement in nested],
        figures=figures,
        commands=[shell_line(command)],
    )


def _verdict(candidates: list[Candidate]) -> Verdict:
    """The verdict about the best learner: by outer folds if there are some, else as it was chosen.

    The best of several learners looks a little better than it is, which the sentence says.
    """
    compared = [one.beside for one in candidates if one.beside is not None]
    if compared:
        winner = max(compared, key=lambda found: found.model_score)
        return _as_best_of(in_one_sentence(winner), winner.model, len(compared))
    shares = []
    for one in candidates:
        share = None if one.path is None else held_out_share(one.path)
        share = share if one.nested is None else judged_share(one.nested)
        if share is not None:
            shares.append((share.value, one.name, share))
    if not shares:
        return Verdict(
            "open", "Nothing was held out to compare with chance: --nested 5 judges on outer folds."
        )
    _, name, best = max(shares, key=lambda found: found[0])
    return _as_best_of(against_chance(best), name, len(shares))


def _as_best_of(found: Verdict, name: str, number: int) -> Verdict:
    if number == 1:
        return found
    note = f"This is {name}, the best of {number} learners, so it looks a little too good."
    return Verdict(found.finding, f"{found.sentence} {note}")


def _row(one: Candidate) -> Row:
    seconds = f"{one.seconds:.1f} s"
    if one.path is None:
        return Row(one.name, "as given", "–", "–", "–", seconds)
    path, interval = one.path, "–"
    if path.interval is not None:
        interval = f"{path.interval[0]:.3f} to {path.interval[1]:.3f}"
    by = path.by + (" (squared error)" if path.lower_is_better else "")
    chosen = f"{path.parameter} {path.chosen:.5g}"
    return Row(one.name, chosen, f"{path.at_chosen[0]:.4f}", interval, by, seconds)


def _side_by_side(candidates: list[Candidate]) -> Figure | None:
    """The held-out score of each learner with its interval, if all are shares of pairs."""
    found = []
    for one in candidates:
        share = None if one.path is None else held_out_share(one.path)
        if one.nested is not None:
            share = judged_share(one.nested)
        if share is not None:
            ends = (share.value if end is None else end for end in (share.low, share.high))
            found.append((one.name, share.value, *ends))
    if len(found) < 2:
        return None
    names, values, low, high = zip(*found)
    label = "Pairs in the right order"
    chart = intervals_across(
        "Learners side by side", list(names), np.array([values, low, high]), label
    )
    caption = (
        "Held-out pairs in the right order with 95% intervals. Learners are judged on the same "
    )
    caption += "data, so two intervals that overlap can still differ: rankwise.evaluation.compare."
    return Figure("Learners side by side", chart, caption)


def _path(name: str, path: SearchPath) -> Figure:
    score, _ = path.at_chosen
    caption = f"{len(path.value)} candidates judged by {path.by}; the chosen one has {score:.4f}."
    caption += " Lower is better." if path.lower_is_better else ""
    caption += " The band is a 95% interval." if path.score_se is not None else ""
    warning = path.wider_grid_hint if path.needs_wider_grid else ""
    return Figure(f"{name}: {path.parameter}", charts.regularisation_path(path), caption, warning)


def _measured(nested: list[tuple[str, Judgement]]) -> list[str]:
    return [_title(one) for one in nested[0][1].measures] if nested else []


def _title(measure: Measure) -> str:
    return "pairs in the wrong order" if measure.key == "ranking_error" else measure.name


def _nested_cells(judgement: Judgement) -> list[str]:
    cells = []
    for measure in judgement.measures:
        value, interval = measure.cells(digits=3)
        cells.append(f"{value} ({interval})" if interval else value)
    return cells
