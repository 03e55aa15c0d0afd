"""Charts: curves are whole, bands stay within the limits of their measure, texts have one size."""

import re

import numpy as np
import pytest

from rankwise.evaluation import Curve
from rankwise.report import charts
from rankwise.report.svg import BOTTOM, HEIGHT, TOP, WIDTH
from rankwise.workflow.search_path import COST, SearchPath


def drawn(svg, kind, style):
    """(n, 2) pixels of the lines or bands of a style."""
    found = re.findall(rf'class="{kind} {style}" points="([^"]*)"', svg)
    return [np.array([point.split(",") for point in one.split()], dtype=float) for one in found]


@pytest.mark.parametrize("shape", ["normal", "heavy", "outlier", "two", "constant", "sorted"])
def test_densities_are_not_cut(shape):
    rng = np.random.default_rng(0)
    s = {
        "normal": rng.normal(size=400),
        "heavy": rng.standard_t(2, size=400),
        "outlier": np.append(rng.normal(size=399), 1e3),
        "two": np.repeat([0.0, 1.0], 200),
        "constant": np.ones(400),
        "sorted": np.sort(rng.normal(size=12_000)),
    }[shape]
    y = np.repeat([0.0, 1.0], len(s) // 2)
    svg, names = charts.score_distributions(y, s)
    assert names == ["score 0", "score 1"] and "nan" not in svg
    floor = HEIGHT - BOTTOM
    for style in "ab":
        for line in drawn(svg, "line", style):
            assert np.all(floor - line[[0, -1], 1] <= 0.02 * (floor - TOP) + 0.2)
            assert line[:, 1].min() >= TOP


def test_a_band_stays_between_0_and_1():
    scores = np.array([0.6, 0.9, 0.99]), np.array([0.1, 0.2, 0.05])
    path = SearchPath("alpha", np.array([1.0, 2.0, 4.0]), *scores, 4.0, "folds", units=6)
    low, high = path.band
    assert np.all(low >= 0) and np.all(high <= 1)
    assert path.interval == (low[2], high[2])
    svg = charts.regularisation_path(path)
    labels = [float(text) for text in re.findall(r'class="tick"[^>]*end">([\d.]+)<', svg)]
    assert max(labels) <= 1.0
    for band in drawn(svg, "band", "a"):
        assert band[:, 1].min() >= TOP and band[:, 1].max() <= HEIGHT - BOTTOM
    curve = Curve("queries", [1, 2, 3], *scores)
    for band in drawn(charts.learning_curve(curve), "band", "a"):
        assert band[:, 1].min() >= TOP


def test_costs_have_no_upper_limit():
    values = np.array([1.0, 2.0]), np.array([30.0, 40.0])
    path = SearchPath("alpha", *values, None, 1.0, "pairs", COST)
    assert path.band is None
    assert ">35<" in charts.regularisation_path(path)


def test_the_roc_curve_names_its_area():
    y = np.repeat([0.0, 1.0], 50)
    s = y + np.random.default_rng(0).normal(size=100)
    svg = charts.roc(y, s)
    area = np.mean(s[50:, None] > s[:50])
    assert f"AUC {area:.3f}" in svg and "random order" in svg


def test_all_charts_have_one_width():
    y, s = np.arange(20.0), np.arange(20.0)
    for svg in (charts.roc(y > 9, s), charts.score_distributions(y, s)[0]):
        assert f'viewBox="0 0 {WIDTH} ' in svg
