"""The sections of the report as HTML. Every text that comes from data or options is escaped."""

from __future__ import annotations

import json
import shlex
from html import escape
from typing import Any

import numpy as np

from rankwise.evaluation import Curve
from rankwise.report import charts
from rankwise.supervision.queries import Queries
from rankwise.workflow.explaining import importance
from rankwise.workflow.judging import Judgement, Measure
from rankwise.workflow.ranking_data import Items
from rankwise.workflow.recipe import LEARNERS
from rankwise.workflow.search import SearchPath
from rankwise.workflow.trained_model import TrainedModel

WORST = 10
"""The number of queries in the list of the worst."""
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


def section(title: str, body: str, wide: bool = False) -> str:
    kind = ' class="wide"' if wide else ""
    return f"<section{kind}><h2>{escape(title)}</h2>{body}</section>"


def figure(svg: str, caption: str, legend: str = "") -> str:
    """The caption is HTML: the caller escapes what comes from data."""
    return f"<figure>{svg}{legend}<figcaption>{caption}</figcaption></figure>"


def tiles(judgement: Judgement) -> str:
    """The measures; the ranking error as the share of pairs in the right order."""
    error = judgement["ranking_error"]
    low, high = (None if end is None else 1 - end for end in (error.high, error.low))
    right = Measure("ranking_error", 1 - (error.value or 0.0), low, high, error.reason)
    shown = [("pairs in the right order", right)]
    shown += [(m.name, m) for m in judgement.measures if m.key != "ranking_error"]
    cells = []
    for name, measure in shown:
        value, interval = measure.cells(digits=3)
        below = escape(interval) if measure.low is None else f"95%: {interval}"
        head = f"<span>{escape(name)}</span><b>{value}</b>"
        cells.append(f'<div class="tile">{head}<span>{below}</span></div>')
    return f'<div class="tiles">{"".join(cells)}</div>'


def _facts(rows: list[tuple[str, str]]) -> str:
    cells = (f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows)
    return f'<table class="facts"><tbody>{"".join(cells)}</tbody></table>'


def what_was_trained(model: TrainedModel, items: Items) -> str:
    record: Any = model.training
    recipe, trained, found = (record.get(key) or {} for key in ("recipe", "trained", "found"))
    name = recipe.get("learner", type(model.ranker).__name__)
    rows = [("Learner", f"{name}: {LEARNERS[name].summary}" if name in LEARNERS else name)]
    if "kernel" in recipe:
        kernel = recipe["kernel"]
        if "gamma" in found:
            kernel += f", width by the median heuristic (gamma {found['gamma']:.4g})"
        basis = found.get("basis", recipe.get("basis"))
        if isinstance(basis, int):
            kernel += f", {basis} basis items"
        rows.append(("Kernel", kernel))
    rows.append(("Loss", str(recipe.get("loss", "–"))))
    path = record.get("path")
    parameter = "rounds" if "rounds" in recipe else "alpha"
    chosen = f"{parameter} {recipe.get(parameter, '–')}, as given"
    if path:
        chosen = f"{path['parameter']} {path['chosen']:.6g}, by {path['by']}"
    rows += [("Regularisation", chosen), ("Scaling", _scaling(recipe))]
    rows.append(("Trained on", f"{trained.get('source', 'unknown')}: {trained.get('summary', '')}"))
    rows.append(("Judged on", f"{items.source}: {items.describe()}"))
    if "seconds" in record:
        rows.append(("Training took", f"{record['seconds']:.2f} s, {record.get('created', '')}"))
    body = _facts(rows)
    if trained.get("source") == items.source and trained.get("summary") == items.describe():
        body += (
            '<p class="warning">Judged on the data it was trained on: all figures except the '
            "cross-validation look better than they are.</p>"
        )
    return section("How the model was trained", body, wide=True)


def _scaling(recipe: dict[str, Any]) -> str:
    words = {"none": "features as they are", "standard": "standardised over all items"}
    text = words.get(recipe.get("scale", "none"), "standardised within each query")
    return text + (", missing values by medians" if recipe.get("missing") == "median" else "")


def chosen_by(path: SearchPath) -> str:
    score, error = path.at_chosen
    caption = f"{len(path.value)} candidates judged by {escape(path.by)}; the chosen one has "
    caption += f"{score:.4f}."
    if error is not None:
        caption = caption[:-1] + f"{path.spread}. The band is a 95% interval."
    caption += " Lower is better." if path.lower_is_better else ""
    if path.needs_wider_grid:
        caption += (
            ' <span class="warning">The smallest or largest candidate won: give --alpha a wider '
            "list.</span>"
        )
    return section("Regularisation path", figure(charts.regularisation_path(path), caption))


def scores(y: np.ndarray, s: np.ndarray, queries: Queries) -> str:
    """The ROC curve if y has two values and there is one list, else distributions of scores."""
    several = len(queries) > 1
    if len(np.unique(y)) == 2 and not several:
        caption = "Share of the better items that are found, against the share of the others."
        return section("ROC curve", figure(charts.roc(y, s), caption))
    caption = "Predicted scores, one curve per group of true scores."
    if several:
        s = s - (np.bincount(queries.codes, s) / queries.sizes)[queries.codes]
        caption = caption.replace(".", "; the mean of each query is subtracted.")
    svg, names = charts.score_distributions(y, s)
    swatches = "".join(
        f'<li style="--swatch: var(--{style})">{escape(name)}</li>'
        for name, style in zip(names, charts.STYLES)
    )
    return section("Scores", figure(svg, caption, f'<ul class="legend">{swatches}</ul>'))


def by_query(judgement: Judgement) -> str:
    errors = judgement.by_query["ranking_error"]
    order = judgement.worst_first()
    svg = charts.errors_by_query(errors[order], judgement.queries.labels[order])
    skipped = len(errors) - len(order)
    note = f" {skipped} queries have no two items of different score." if skipped else ""
    caption = f"Share of pairs in the wrong order; a random order has ½.{note}"
    return section("Error by query", figure(svg, caption))


def worst_queries(judgement: Judgement, items: Items, s: np.ndarray) -> str:
    rows = []
    for number in judgement.worst_first()[:WORST]:
        members = judgement.queries.members(number)
        first = members[np.argmax(s[members])]
        best = members[np.argmax(items.y[members])]
        rank = int((s[members] > s[best]).sum()) + 1
        ndcg = judgement.by_query["ndcg@10"][number]
        rows.append(
            f"<tr><th>{escape(str(judgement.queries.labels[number]))}</th>"
            f'<td class="n">{len(members)}</td>'
            f'<td class="n">{judgement.by_query["ranking_error"][number]:.3f}</td>'
            f'<td class="n">{"–" if np.isnan(ndcg) else f"{ndcg:.3f}"}</td>'
            f"<td>{escape(str(items.names[first]))} (score {items.y[first]:g})</td>"
            f"<td>{escape(str(items.names[best]))} (score {items.y[best]:g}), "
            f"ranked {rank} of {len(members)}</td></tr>"
        )
    head = (
        '<thead><tr><th>query</th><th class="n">items</th><th class="n">error</th>'
        '<th class="n">NDCG@10</th><th>ranked first</th><th>truly best</th></tr></thead>'
    )
    table = f'<div class="scroll"><table>{head}<tbody>{"".join(rows)}</tbody></table></div>'
    return section("The worst queries", table, wide=True)


def learning(curve: Curve) -> str:
    caption = (
        "Held-out pairs in the right order after training on growing parts of these data, with "
        "the regularisation of the model; 95% intervals over folds. Dashed: on the training data."
    )
    return section("Learning curve", figure(charts.learning_curve(curve), caption))


def what_counts(model: TrainedModel, items: Items) -> str:
    most = importance(model, items.X, items.qid)
    if not np.any(most.amounts):
        return section("Top features", "<p>Every weight is zero: all items score alike.</p>")
    label, caption = IMPORTANCE[most.kind]
    heading = "Supporting items" if most.kind == "items" else "Top features"
    return section(heading, figure(charts.largest_amounts(heading, label, most), caption))


def reproduce(model: TrainedModel, commands: list[list[str]]) -> str:
    record = model.training
    lines = "\n".join(shlex.join(command) for command in commands)
    versions = ", ".join(f"{k} {v}" for k, v in record.get("versions", {}).items())
    recipe = escape(json.dumps(record.get("recipe", {}), indent=2, ensure_ascii=False))
    body = (
        f"<pre><code>{escape(lines)}</code></pre>"
        f'<p class="muted">{escape(versions)}; every random choice depends only on the seed.</p>'
        f"<details><summary>The complete recipe</summary><pre><code>{recipe}</code></pre></details>"
    )
    return section("How to reproduce it", body, wide=True)
