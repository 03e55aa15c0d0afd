"""The sections of the report as values: texts, numbers and charts, which the templates place."""

from __future__ import annotations

import json
import warnings
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from rankwise.evaluation import BaselineVerdict, Curve, suspects
from rankwise.evaluation.estimators import has_closed_form
from rankwise.evaluation.label_audit import suspects_of_scores
from rankwise.exceptions import EstimateWarning
from rankwise.io.plain_text import shell_line
from rankwise.report import charts
from rankwise.supervision.queries import Queries
from rankwise.workflow.explaining import importance
from rankwise.workflow.judging import Judgement, Measure
from rankwise.workflow.nested_judging import beside
from rankwise.workflow.ranking_data import Items, counted
from rankwise.workflow.recipe import LEARNERS
from rankwise.workflow.search_path import SearchPath
from rankwise.workflow.trained_model import TrainedModel
from rankwise.workflow.training import unfitted

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
FEWEST_TO_AUDIT = 10
"""With fewer items, no score is called surprising."""
WORST = 10
"""The number of queries in the list of the worst."""
MEANINGS = {
    "ndcg@10": "gain of the first 10 ranks; 1 is the best order",
    "tau_b": "rank correlation, from −1 to 1; 0 is a random order",
}
IMPORTANCE = {
    "weights": (
        "Effect of one standard deviation",
        "How much the score changes if the feature grows by its standard deviation.",
    ),
    "thresholds": (
        "Sum of absolute weights",
        "Sum of the absolute weights of the thresholds of a feature.",
    ),
    "items": (
        "Dual coefficient",
        "Training items with the largest coefficients: similar items score higher (right) or "
        "lower (left).",
    ),
}
"""Label of the axis and caption for each kind of Importance."""


class Tile(NamedTuple):
    """A number that is seen first: its name, what it means, and its interval.

    Without a value, `note` says why and what to do.
    """

    name: str
    value: str
    about: str = ""
    note: str = ""


class Figure(NamedTuple):
    """A card with a chart. The legend holds pairs of a name and a style of rankwise.report.svg."""

    title: str
    chart: Markup
    caption: str
    warning: str = ""
    legend: tuple[tuple[str, str], ...] = ()


class SuspectLabels(NamedTuple):
    """The items whose scores the model contradicts most, as rows of a table."""

    summary: str
    rows: list[tuple[str, str, str, str, str]]


class WorseThanBaseline(NamedTuple):
    """The queries on which an existing ranking is better, the largest loss first."""

    baseline: str
    summary: str
    queries: list[tuple[str, str, str]]


class WorstQuery(NamedTuple):
    """A row of the table of the worst queries."""

    label: str
    items: int
    error: str
    ndcg: str
    first: str
    best: str
    rank: int


class Reproduction(NamedTuple):
    """How to make the page again: lines of a shell, versions of packages, the recipe as JSON."""

    commands: list[str]
    versions: str
    recipe: str


def tiles(judgement: Judgement, y: np.ndarray) -> list[Tile]:
    """The measures; the ranking error as the share of pairs in the right order.

    If the true scores have two values, that share is the AUC and is called so.
    """
    error = judgement["ranking_error"]
    low, high = (None if end is None else 1 - end for end in (error.high, error.low))
    right = Measure("ranking_error", 1 - (error.value or 0.0), low, high, error.reason)
    shown = [(name_of_pair_share(judgement, y), "share of pairs in the right order", right)]
    for measure in judgement.measures:
        if measure.key != "ranking_error":
            relevant = None if measure.value is None else judgement.relevant
            shown.append((measure.name, _meaning(measure.key, relevant), measure))
    cells = []
    for name, about, measure in shown:
        if measure.value is None:
            cells.append(Tile(name, "", about, f"Not judged: {measure.reason}."))
            continue
        value, interval = measure.cells(digits=3)
        note = interval if measure.low is None else f"95%: {interval}"
        cells.append(Tile(name, value, about, note))
    return cells


def name_of_pair_share(judgement: Judgement, y: np.ndarray) -> str:
    """What a reader calls the share of pairs: AUC if there are two classes."""
    if len(np.unique(y)) != 2:
        return "Pairs right"
    return "AUC, mean over queries" if len(judgement.queries) > 1 else "AUC"


def _meaning(key: str, relevant: float | None) -> str:
    if key == "map":
        which = (
            "relevant items" if relevant is None else f"items with a score of {relevant:g} or more"
        )
        return f"mean average precision for {which}"
    return MEANINGS.get(key, "")


def facts(model: TrainedModel, items: Items) -> list[tuple[str, str]]:
    """How the model was trained, as names and values."""
    record: Any = model.training
    recipe, trained, found = (record.get(key) or {} for key in ("recipe", "trained", "found"))
    name = recipe.get("learner", type(model.ranker).__name__)
    rows = [("Learner", f"{name}: {LEARNERS[name].summary}" if name in LEARNERS else name)]
    if "kernel" in recipe:
        kernel = recipe["kernel"]
        if recipe.get("column_kernel"):
            kernel = f"{kernel} of rows, {recipe['column_kernel']} of columns"
        widths = [f"{found[name]:.4g}" for name in ("gamma", "column_gamma") if name in found]
        if widths:
            kernel += f", width by the median heuristic (gamma {' and '.join(widths)})"
        basis = found.get("basis", recipe.get("basis"))
        if isinstance(basis, int):
            kernel += f", {basis} basis items"
        rows.append(("Kernel", kernel))
    rows.append(("Loss", str(recipe.get("loss", "–"))))
    path = record.get("path")
    parameter = LEARNERS[name].parameter if name in LEARNERS else "alpha"
    chosen = f"{parameter} {recipe.get(parameter, '–')}, as given"
    if path:
        chosen = f"{path['parameter']} {path['chosen']:.6g}, by {path['by']}"
    of_what = "Regularisation" if parameter in ("alpha", "rounds") else "Parameter"
    rows += [(of_what, chosen), ("Scaling", _scaling(recipe))]
    if "nested" in record:
        rows.append(("Judged by", beside(SearchPath.from_record(path), record["nested"])))
    rows.append(("Trained on", f"{trained.get('source', 'unknown')}: {trained.get('summary', '')}"))
    rows.append(("Judged on", f"{items.source}: {items.describe()}"))
    if "seconds" in record:
        rows.append(("Training took", f"{record['seconds']:.2f} s"))
    if record.get("created"):
        rows.append(("Trained at", readable_time(record["created"])))
    return rows


def readable_time(text: str) -> str:
    """A time as ISO 8601 writes it, in words: 18 November 2026, 06:05 UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    zone = f" {moment.tzname()}" if moment.tzinfo else ""
    return f"{moment.day} {MONTHS[moment.month - 1]} {moment.year}, {moment:%H:%M}{zone}"


def _scaling(recipe: dict[str, Any]) -> str:
    words = {"none": "features as they are", "standard": "standardised over all items"}
    text = words.get(recipe.get("scale", "none"), "standardised within each query")
    missing = recipe.get("missing")
    return text + (f", missing values by {missing}s" if missing in ("mean", "median") else "")


def flattered(path: SearchPath | None) -> str:
    """The warning about figures on training data, with the cross-validated one beside them."""
    said = (
        "Judged on the data it was trained on: all figures except the cross-validation look better "
        "than they are."
    )
    if path is None or path.lower_is_better:
        return said
    return f"{said} Cross-validated ({path.by}), {path.judged}: {path.at_chosen[0]:.3f}."


def chosen_by(path: SearchPath) -> Figure:
    score, error = path.at_chosen
    caption = f"{len(path.value)} candidates judged by {path.by}; the chosen one has {score:.4f}."
    if error is not None:
        caption = caption[:-1] + f"{path.spread}. The band is a 95% interval."
    caption += " Lower is better." if path.lower_is_better else ""
    warning = ""
    if path.needs_wider_grid:
        warning = "The smallest or largest candidate won: give --alpha a wider list."
    return Figure("Regularisation path", charts.regularisation_path(path), caption, warning)


def scores(y: np.ndarray, s: np.ndarray, queries: Queries) -> Figure:
    """The ROC curve if y has two values and there is one list, else distributions of scores."""
    several = len(queries) > 1
    if len(np.unique(y)) == 2 and not several:
        low, high = np.unique(y)
        caption = (
            f"ROC curve: of the items with score {high:g} the share that is ranked above a "
            f"threshold, against that share of the items with score {low:g}. The area below it is "
            "the AUC; the dashed line is a random order."
        )
        return Figure("ROC curve", charts.roc(y, s), caption)
    caption = "Predicted scores, one curve per group of true scores."
    if several:
        s = s - (np.bincount(queries.codes, s) / queries.sizes)[queries.codes]
        caption = caption.replace(".", "; the mean of each query is subtracted.")
    chart, names = charts.score_distributions(y, s)
    return Figure("Scores", chart, caption, legend=tuple(zip(names, charts.STYLES)))


def by_query(judgement: Judgement) -> Figure:
    errors = judgement.by_query["ranking_error"]
    order = judgement.worst_first()
    chart = charts.errors_by_query(errors[order], judgement.queries.labels[order])
    skipped = len(errors) - len(order)
    note = f" {skipped} queries have no two items of different score." if skipped else ""
    caption = f"Share of pairs in the wrong order; a random order has ½.{note}"
    return Figure("Error by query", chart, caption)


def worst_queries(judgement: Judgement, items: Items, s: np.ndarray) -> list[WorstQuery]:
    rows = []
    for number in judgement.worst_first()[:WORST]:
        members = judgement.queries.members(number)
        first = members[np.argmax(s[members])]
        best = members[np.argmax(items.y[members])]
        ndcg = judgement.by_query["ndcg@10"][number]
        rows.append(
            WorstQuery(
                label=str(judgement.queries.labels[number]),
                items=len(members),
                error=f"{judgement.by_query['ranking_error'][number]:.3f}",
                ndcg="–" if np.isnan(ndcg) else f"{ndcg:.3f}",
                first=f"{items.names[first]} (score {items.y[first]:g})",
                best=f"{items.names[best]} (score {items.y[best]:g})",
                rank=int((s[members] > s[best]).sum()) + 1,
            )
        )
    return rows


def learning(curve: Curve) -> Figure:
    caption = (
        "Held-out pairs in the right order after training on growing parts of these data, with "
        "the regularisation of the model; 95% intervals over folds. Dashed: on the training data."
    )
    return Figure("Learning curve", charts.learning_curve(curve), caption)


def what_counts(model: TrainedModel, items: Items) -> Figure:
    most = importance(model, items.X, items.qid)
    if not np.any(most.amounts):
        return Figure("Top features", Markup(), "Every weight is zero: all items score alike.")
    label, caption = IMPORTANCE[most.kind]
    heading = "Supporting items" if most.kind == "items" else "Top features"
    return Figure(heading, charts.largest_amounts(heading, label, most), caption)


def reproduction(model: TrainedModel, commands: list[list[str]]) -> Reproduction:
    record = model.training
    return Reproduction(
        [shell_line(command) for command in commands],
        ", ".join(f"{name} {version}" for name, version in record.get("versions", {}).items()),
        json.dumps(record.get("recipe", {}), indent=2, ensure_ascii=False),
    )


def worse_than_baseline(found: BaselineVerdict) -> WorseThanBaseline | None:
    """None if the model is worse on no query."""
    if not found.worse:
        return None
    summary = (
        f"Better on {found.wins} queries, equal on {found.ties}, worse on {len(found.worse)}"
        f"{f', of which the {WORST} worst are listed' if len(found.worse) > WORST else ''}."
    )
    rows = [
        (str(one.query), f"{one.model:.3f}", f"{one.baseline:.3f}") for one in found.worse[:WORST]
    ]
    return WorseThanBaseline(found.baseline, summary, rows)


def suspect_labels(
    model: TrainedModel, items: Items, scores: np.ndarray, on_training_data: bool
) -> SuspectLabels | None:
    """The scores that the model contradicts most; None for few items and for slow hold-outs.

    On the training data each item is judged by the model without it, else by the model itself.
    """
    if len(items) < FEWEST_TO_AUDIT:
        return None
    y, queries = np.asarray(items.y, dtype=float), items.queries
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EstimateWarning)
        if on_training_data:
            learner = unfitted(model)
            if not has_closed_form(learner):
                return None
            found = suspects(learner, model.prepared(items.X, items.qid), y, items.qid)
        else:
            found = suspects_of_scores(y, scores, queries, "unseen items")
    if found.p_value[0] == 1.0:
        return None
    flagged = len(found.flagged())
    summary = (
        f"The model expects other scores for these items ({found.how}). p is the probability of "
        "so large an error if the score is right. "
        + (
            f"{counted(flagged, 'score')} of {len(found):,} should be checked: at most one in "
            "twenty of them is a false alarm on average."
            if flagged
            else "None of them is surprising among so many items."
        )
    )
    labels = [str(label) for label in queries.labels] if len(queries) > 1 else None
    rows = [
        (
            str(items.names[i]),
            labels[queries.codes[i]] if labels else "",
            f"{told:.4g}",
            f"{expected:.4g}",
            f"{p:.2g}",
        )
        for i, told, expected, p in zip(
            found.index[:WORST], found.told, found.expected, found.p_value
        )
    ]
    return SuspectLabels(summary, rows)
