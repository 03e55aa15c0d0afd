"""The report's sections as HTML; every word that comes from data or options is escaped."""

from __future__ import annotations

import json
import shlex
from html import escape

import numpy as np

from rankwise.learners.rank_boost import RankBoost
from rankwise.report import pictures
from rankwise.workflow.explaining import importance
from rankwise.workflow.items import Items
from rankwise.workflow.judging import Judgement, Measure
from rankwise.workflow.recipe import LEARNERS
from rankwise.workflow.search import Path
from rankwise.workflow.trained_model import TrainedModel

WORST = 10


def section(title: str, body: str, wide: bool = False) -> str:
    kind = ' class="wide"' if wide else ""
    return f"<section{kind}><h2>{escape(title)}</h2>{body}</section>"


def figure(svg: str, caption: str, legend: str = "") -> str:
    """The caption is HTML of ours; what comes from data in it is escaped by its author."""
    return f"<figure>{svg}{legend}<figcaption>{caption}</figcaption></figure>"


def tiles(judgement: Judgement) -> str:
    error = judgement["ranking_error"]
    low, high = (None if end is None else 1 - end for end in (error.high, error.low))
    right = Measure("ranking_error", 1 - (error.value or 0.0), low, high, error.reason)
    shown = [("pairs in the right order", right)]
    shown += [(m.name, m) for m in judgement.measures if m.key != "ranking_error"]
    cells = []
    for name, measure in shown:
        value = "–" if measure.value is None else f"{measure.value:.3f}"
        spread = escape(measure.reason)
        if measure.low is not None:
            spread = f"95%: {measure.low:.3f} to {measure.high:.3f}"
        cells.append(
            f'<div class="tile"><span>{escape(name)}</span><b>{value}</b>'
            f"<span>{spread}</span></div>"
        )
    return f'<div class="tiles">{"".join(cells)}</div>'


def facts(rows: list[tuple[str, str]]) -> str:
    cells = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows
    )
    return f'<table class="facts"><tbody>{cells}</tbody></table>'


def what_was_trained(model: TrainedModel, items: Items) -> str:
    record = model.record or {}
    recipe, trained = record.get("recipe", {}), record.get("trained", {})
    name = recipe.get("learner", type(model.ranker).__name__)
    rows = [("Learner", f"{name}: {LEARNERS[name].summary}" if name in LEARNERS else name)]
    if "kernel" in recipe:
        kernel = recipe["kernel"]
        if "gamma" in record.get("found", {}):
            kernel += f", width by the median heuristic (gamma {record['found']['gamma']:.4g})"
        basis = record.get("found", {}).get("basis", recipe.get("basis"))
        if isinstance(basis, int):
            kernel += f", {basis} basis items"
        rows.append(("Kernel", kernel))
    rows.append(("Loss", str(recipe.get("loss", "–"))))
    path = record.get("path")
    if path:
        chosen = f"{path['parameter']} {path['chosen']:.6g}, by {path['by']}"
    else:
        chosen = f"alpha {recipe.get('alpha', recipe.get('rounds', '–'))}, as given"
    rows.append(("Regularisation", chosen))
    rows.append(("Scaling", _scaling(recipe)))
    rows.append(("Trained on", f"{trained.get('source', 'unknown')}: {trained.get('summary', '')}"))
    rows.append(("Judged on", f"{items.source}: {items.describe()}"))
    seconds = record.get("seconds")
    if seconds is not None:
        rows.append(("Training took", f"{seconds:.2f} s, {record.get('created', '')}"))
    body = facts(rows)
    if trained.get("source") == items.source and trained.get("summary") == items.describe():
        body += (
            '<p class="warning">Judged on the data it was trained on: all figures here but the '
            "cross-validation flatter the model.</p>"
        )
    return section("What was trained on what", body, wide=True)


def _scaling(recipe: dict) -> str:
    words = {"none": "features as they are", "standard": "standardised over all items"}
    scale = recipe.get("scale", "none")
    text = words.get(scale, "standardised within each query")
    return text + (", missing values by medians" if recipe.get("missing") == "median" else "")


def chosen_by(path: Path) -> str:
    score, error = path.at_chosen
    spread = "" if error is None else f" ± {error:.4f} (standard error)"
    better = "Less is better." if path.lower_is_better else ""
    caption = (
        f"{len(path.value)} candidates judged by {escape(path.by)}; at the chosen one "
        f"{score:.4f}{spread}. The band is a 95% interval. {better}"
    )
    if path.score_se is None:
        caption = caption.replace(" The band is a 95% interval.", "")
    if path.at_edge and path.parameter == "alpha":
        caption += (
            ' <span class="warning">The best candidate is the outermost one that was tried: '
            "give --alpha a wider list.</span>"
        )
    return section("Regularisation path", figure(pictures.regularisation_path(path), caption))


def scores(y, s, qid_given: bool, centred) -> str:
    """ROC for two levels in one list, else the distributions of scores."""
    if len(np.unique(y)) == 2 and not qid_given:
        caption = "Share of the better items found against the share of the others that come along."
        return section("ROC curve", figure(pictures.roc(y, s), caption))
    svg, names = pictures.score_distributions(y, centred)
    swatches = "".join(
        f'<li style="--swatch: var(--{style})">{escape(name)}</li>'
        for name, style in zip(names, pictures.STYLES)
    )
    caption = "Predicted scores, one curve a group of true scores" + (
        "; every query's mean is subtracted." if qid_given else "."
    )
    legend = f'<ul class="legend">{swatches}</ul>'
    return section("Scores", figure(svg, caption, legend))


def by_query(judgement: Judgement) -> str:
    errors = judgement.by_query["ranking_error"]
    judged = np.flatnonzero(~np.isnan(errors))
    labels = [str(label) for label in judgement.queries.labels[judged]]
    svg = pictures.errors_by_query(errors[judged], labels, float(errors[judged].mean()))
    skipped = len(errors) - len(judged)
    note = f" {skipped} have no two items of different score." if skipped else ""
    caption = f"A share of pairs in the wrong order; ½ is what a coin would do.{note}"
    return section("Error by query", figure(svg, caption))


def worst_queries(judgement: Judgement, items: Items, s: np.ndarray) -> str:
    rows = []
    for number in judgement.worst_first()[:WORST]:
        members = judgement.queries.members(number)
        first = members[np.argmax(s[members])]
        best = members[np.argmax(items.y[members])]
        place = int((s[members] > s[best]).sum()) + 1
        ndcg = judgement.by_query["ndcg@10"][number]
        rows.append(
            f"<tr><th>{escape(str(judgement.queries.labels[number]))}</th>"
            f'<td class="n">{len(members)}</td>'
            f'<td class="n">{judgement.by_query["ranking_error"][number]:.3f}</td>'
            f'<td class="n">{"–" if np.isnan(ndcg) else f"{ndcg:.3f}"}</td>'
            f"<td>{escape(str(items.names[first]))} (score {items.y[first]:g})</td>"
            f"<td>{escape(str(items.names[best]))} (score {items.y[best]:g}), "
            f"placed {place} of {len(members)}</td></tr>"
        )
    head = (
        '<thead><tr><th>query</th><th class="n">items</th><th class="n">error</th>'
        '<th class="n">NDCG@10</th><th>ranked first</th><th>truly best</th></tr></thead>'
    )
    table = f'<div class="scroll"><table>{head}<tbody>{"".join(rows)}</tbody></table></div>'
    return section("The worst queries", table, wide=True)


def learning(curve) -> str:
    caption = (
        "Held-out pairs in the right order after training on ever more of these data, with the "
        "regularisation of the model; 95% intervals over folds, dashed on the training data."
    )
    return section("Learning curve", figure(pictures.learning_curve(curve), caption))


def what_counts(model: TrainedModel, items: Items) -> str:
    kind, amounts, names = importance(model, items.X, items.qid)
    if not np.any(amounts):
        return section("What counts", "<p>Every weight is zero: all items score alike.</p>")
    svg = pictures.top_parts(kind, amounts, names)
    if isinstance(model.ranker, RankBoost):
        title, caption = "Top features", "Sum of the absolute weights of a feature's thresholds."
        svg = svg.replace("Effect of one standard deviation", "Sum of absolute weights")
    elif kind == "features":
        title = "Top features"
        caption = "How far the score moves when the feature grows by its standard deviation."
    else:
        title = "Supporting items"
        caption = (
            "Training items of the largest coefficients: items like them score higher (right) or "
            "lower (left)."
        )
    return section(title, figure(svg, caption))


def reproduce(model: TrainedModel, commands: list[list[str]]) -> str:
    record = model.record or {}
    lines = "\n".join(shlex.join(command) for command in commands)
    versions = ", ".join(f"{k} {v}" for k, v in record.get("versions", {}).items())
    recipe = escape(json.dumps(record.get("recipe", {}), indent=2, ensure_ascii=False))
    body = (
        f"<pre><code>{escape(lines)}</code></pre>"
        f'<p class="muted">{escape(versions)}; every random choice follows the seed.</p>'
        f"<details><summary>The whole recipe</summary><pre><code>{recipe}</code></pre></details>"
    )
    return section("How to reproduce it", body, wide=True)
