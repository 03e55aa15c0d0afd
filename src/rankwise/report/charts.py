"""The charts of the report, drawn from arrays."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from scipy.stats import gaussian_kde
from sklearn.metrics import roc_curve

from rankwise.evaluation import Curve
from rankwise.metrics.scorers import read_scoring
from rankwise.report.svg import Chart, bars_across, number
from rankwise.workflow.explaining import Importance
from rankwise.workflow.search_path import SearchPath

STYLES = "abcde"
REACH = 1.96
"""A 95% interval reaches this many standard errors to each side."""
POINTS = 160
"""The number of points of a density curve."""
MOST_VALUES = 5000
"""A density curve is computed from at most this many scores."""
CUT = 0.01
"""A density below this share of the highest one looks like zero."""


def _padded(low: float, high: float, share: float = 0.06) -> tuple[float, float]:
    margin = share * (high - low) or 0.05
    return low - margin, high + margin


class Points(NamedTuple):
    """Scores at x with the ends of their intervals, or None, and the limits of the measure."""

    x: np.ndarray
    score: np.ndarray
    band: tuple[np.ndarray, np.ndarray] | None
    limits: tuple[float, float] = (0.0, 1.0)


def _curve(title: str, points: Points, labels: Any, log_x: bool, also: Any = ()) -> Chart:
    """A chart of scores with the band of their 95% intervals; `also` must fit into it too.

    Neither the band nor the axis leaves the limits of the measure.
    """
    x, score, band, limits = points
    low, high = (np.clip(end, *limits) for end in (band or (score, score)))
    values = np.concatenate([low, high, also])
    bottom, top = _padded(float(values.min()), float(values.max()))
    y_range = (max(bottom, limits[0]), min(top, limits[1]))
    chart = Chart(title, (float(x.min()), float(x.max())), y_range, labels[0], labels[1], log_x)
    if band is not None:
        chart.band(x, low, high)
    return chart.line(x, score)


def regularisation_path(path: SearchPath) -> Markup:
    """Held-out score of each candidate with its 95% interval; the chosen one is marked."""
    order = np.argsort(path.value)
    x, band = path.value[order], path.band
    if band is not None:
        band = (band[0][order], band[1][order])
    judged = path.judged.removeprefix("share of ")
    labels = (path.parameter, judged[0].upper() + judged[1:])
    title, log_x = f"Cross-validation over {path.parameter}", path.parameter != "rounds"
    limits = (0.0, np.inf) if path.lower_is_better else read_scoring(path.scoring).range
    chart = _curve(title, Points(x, path.score[order], band, limits), labels, log_x)
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
    area = float(np.trapezoid(tpr, fpr))
    if len(fpr) > 400:
        kept = np.unique(np.linspace(0, len(fpr) - 1, 400).astype(int))
        fpr, tpr = fpr[kept], tpr[kept]
    labels = ("False positive rate", "True positive rate")
    chart = Chart(f"ROC curve, AUC {area:.3f}", (0.0, 1.0), (0.0, 1.0), *labels)
    chart.line([0, 1], [0, 1], "m", dashed=True)
    chart.band(fpr, np.zeros(len(fpr)), tpr).line(fpr, tpr)
    chart.text(0.97, 0.06, f"AUC {area:.3f}", "end")
    return chart.text(0.52, 0.47, "random order").svg()


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
    values = [_thinned(s[group == g]) for g in range(len(names))]
    x, densities = _whole_densities(values, s)
    top = max((float(d.max()) for d in densities), default=1.0) or 1.0
    chart = Chart(
        "Predicted scores by true score",
        (float(x[0]), float(x[-1])),
        (0.0, 1.08 * top),
        x_label="Predicted score",
        y_label="Density",
        ticks="x",
        left=30,
    )
    for density, style in zip(densities, STYLES):
        chart.band(x, np.zeros(POINTS), density, style).line(x, density, style)
    return chart.svg(), names


def _thinned(values: np.ndarray) -> np.ndarray:
    """At most 5000 of the values, evenly spaced in their order."""
    if len(values) <= MOST_VALUES:
        return values
    return np.sort(values)[np.linspace(0, len(values) - 1, MOST_VALUES).astype(int)]


def _whole_densities(
    values: list[np.ndarray], s: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The densities on a range at whose ends all of them are close to zero.

    It begins with nearly all scores and grows until no curve is cut, or all scores lie far inside.
    """
    spread = float(s.std())
    low, high = (float(np.quantile(s, share)) for share in (0.002, 0.998))
    low, high = _padded(low, high, 0.1)
    least, most = float(s.min()) - 3 * spread, float(s.max()) + 3 * spread
    while True:
        x = np.linspace(low, high, POINTS)
        densities = [_density(one, x, spread) for one in values]
        top = max(float(one.max()) for one in densities)
        cut_below = any(one[0] > CUT * top for one in densities) and low > least
        cut_above = any(one[-1] > CUT * top for one in densities) and high < most
        if not (cut_below or cut_above):
            return x, densities
        step = 0.08 * (high - low)
        low, high = low - step * cut_below, high + step * cut_above


def _density(values: np.ndarray, x: np.ndarray, spread: float) -> np.ndarray:
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
    reach = REACH * np.nan_to_num(curve.score_se)
    points = Points(x, curve.score, (curve.score - reach, curve.score + reach))
    chart = _curve("Learning curve", points, labels, log_x, training[known])
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
