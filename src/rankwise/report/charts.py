"""The charts of the report, drawn from arrays."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from markupsafe import Markup
from scipy.stats import gaussian_kde
from sklearn.metrics import roc_curve

from rankwise.evaluation import Curve
from rankwise.report.svg import Chart, bars_across, number
from rankwise.workflow.explaining import Importance
from rankwise.workflow.search import SearchPath

STYLES = "abcde"
REACH = 1.96
"""A 95% interval reaches this many standard errors to each side."""
POINTS = 160
"""The number of points of a density curve."""


def _padded(low: float, high: float, share: float = 0.06) -> tuple[float, float]:
    margin = share * (high - low) or 0.05
    return low - margin, high + margin


def _curve(
    title: str, x: Any, score: Any, error: Any, labels: Any, log_x: bool, also: Any = ()
) -> Chart:
    """A chart of scores with the band of their 95% intervals; `also` must fit into it too."""
    reach = 0.0 if error is None else REACH * np.nan_to_num(error)
    low, high = score - reach, score + reach
    values = np.concatenate([low, high, also])
    y_range = _padded(float(values.min()), float(values.max()))
    chart = Chart(title, (float(x.min()), float(x.max())), y_range, labels[0], labels[1], log_x)
    if error is not None:
        chart.band(x, low, high)
    return chart.line(x, score)


def regularisation_path(path: SearchPath) -> Markup:
    """Held-out score of each candidate with its 95% interval; the chosen one is marked."""
    order = np.argsort(path.value)
    x, error = path.value[order], None if path.score_se is None else path.score_se[order]
    labels = (path.parameter, path.judged[0].upper() + path.judged[1:])
    title, log_x = f"Cross-validation over {path.parameter}", path.parameter != "rounds"
    chart = _curve(title, x, path.score[order], error, labels, log_x)
    value, _ = path.at_chosen
    chart.rule(x=path.chosen)
    in_right_half = chart.across(path.chosen) > np.mean(chart.across([x.min(), x.max()]))
    gap = 1.02 if chart.log_x else 1.0
    label_x = path.chosen / gap if in_right_half else path.chosen * gap
    words = f"chosen: {number(path.chosen)}"
    words, anchor = (f"{words} ", "end") if in_right_half else (f" {words}", "start")
    chart.text(label_x, chart.y[1], words, anchor)
    chart.point(path.chosen, value, f"{path.parameter} {path.chosen:g}: {value:.4f}")
    return chart.svg()


def roc(y: np.ndarray, s: np.ndarray) -> Markup:
    """The ROC curve, if the true scores y have two values."""
    fpr, tpr, _ = roc_curve(y == y.max(), s, drop_intermediate=False)
    if len(fpr) > 400:
        kept = np.unique(np.linspace(0, len(fpr) - 1, 400).astype(int))
        fpr, tpr = fpr[kept], tpr[kept]
    labels = ("False positive rate", "True positive rate")
    chart = Chart("ROC curve", (0.0, 1.0), (0.0, 1.0), *labels)
    chart.line([0, 1], [0, 1], "m", dashed=True)
    chart.band(fpr, np.zeros(len(fpr)), tpr)
    return chart.line(fpr, tpr).svg()


def score_levels(y: np.ndarray) -> tuple[list[str], np.ndarray]:
    """At most five groups of true scores, low to high: their names, and the group of each item."""
    levels = np.unique(y)
    if len(levels) <= len(STYLES):
        return [f"score {level:g}" for level in levels], np.searchsorted(levels, y)
    cuts = np.unique(np.quantile(y, [0.25, 0.5, 0.75]))
    edges = [y.min(), *cuts, y.max()]
    names = [f"{a:.3g} to {b:.3g}" for a, b in pairwise(edges)]
    return names, np.searchsorted(cuts, y, side="left")


def score_distributions(y: np.ndarray, s: np.ndarray) -> tuple[Markup, list[str]]:
    """Density of the predicted scores of each group of true scores, and the names of the groups."""
    names, group = score_levels(y)
    low, high = _padded(float(np.quantile(s, 0.002)), float(np.quantile(s, 0.998)), 0.1)
    x = np.linspace(low, high, POINTS)
    densities = [_density(s[group == g], x, float(s.std())) for g in range(len(names))]
    top = max((float(d.max()) for d in densities), default=1.0) or 1.0
    chart = Chart(
        "Predicted scores by true score",
        (low, high),
        (0.0, 1.08 * top),
        x_label="Predicted score",
        y_label="Density",
        ticks="x",
        left=30,
    )
    for density, style in zip(densities, STYLES):
        chart.band(x, np.zeros(POINTS), density, style).line(x, density, style)
    return chart.svg(), names


def _density(values: np.ndarray, x: np.ndarray, spread: float) -> np.ndarray:
    values = values[:5000]
    if not len(values) or spread == 0:
        return np.zeros(len(x))
    if len(values) < 5 or values.std() < 1e-3 * spread:
        width = 0.35 * spread
        return np.exp(-0.5 * ((x[:, None] - values) / width) ** 2).mean(axis=1) / width / 2.5066
    return gaussian_kde(values)(x)


def errors_by_query(errors: np.ndarray, labels: np.ndarray) -> Markup:
    """Ranking error of each query; the errors must be sorted, largest first."""
    q, mean = len(errors), float(errors.mean())
    chart = Chart(
        "Ranking error by query, worst first",
        (0.0, float(q)),
        (0.0, max(float(errors.max()) * 1.08, 0.05)),
        x_label=f"{q} queries, worst first",
        y_label="Ranking error",
        ticks="y",
    )
    if q <= 300:
        for i, (label, error) in enumerate(zip(labels, errors)):
            style = "b" if error > 0.5 else "a"
            chart.bar((i + 0.1, i + 0.9), (0.0, error), f"query {label}: {error:.3f}", style)
    else:
        x = np.linspace(0, q - 1, 300)
        curve = np.interp(x, np.arange(q), errors)
        chart.band(x + 0.5, np.zeros(len(x)), curve).line(x + 0.5, curve)
    chart.rule(y=mean, label=f"mean {mean:.3f}")
    if errors.max() > 0.5:
        chart.rule(y=0.5, label="random order" if abs(mean - 0.5) > 0.05 else "")
    return chart.svg()


def learning_curve(curve: Curve) -> Markup:
    """Held-out concordance for each size of the training set, with 95% intervals."""
    x = np.asarray(curve.x, dtype=float)
    training = np.asarray([] if curve.training is None else curve.training, dtype=float)
    known = np.isfinite(training)
    labels = (curve.name[0].upper() + curve.name[1:], "Pairs in the right order")
    log_x = curve.log_base is not None
    chart = _curve("Learning curve", x, curve.score, curve.score_se, labels, log_x, training[known])
    if len(training) and known.all():
        chart.line(x, training, "m", dashed=True)
    for size, score in zip(x, curve.score):
        chart.point(size, score, f"{size:g}: {score:.4f}", radius=3.5)
    return chart.svg()


def largest_amounts(title: str, label: str, importance: Importance, most: int = 15) -> Markup:
    """Bars of the amounts that are largest in absolute value."""
    amounts = importance.amounts
    order = np.argsort(-np.abs(amounts), kind="stable")[:most]
    order = order[amounts[order] != 0]
    return bars_across(title, [importance.names[i] for i in order], amounts[order], label)
