"""Charts as inline SVG that takes its colours from the page, light or dark.

A chart is Markup, which templates take as it is: every text that comes from data is escaped here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from markupsafe import Markup

WIDTH, HEIGHT = 420, 280
LEFT, RIGHT, TOP, BOTTOM = 56, WIDTH - 14, 14, 46
"""Margins of the plot; RIGHT is where it ends. All charts have the same width, so that the page
shows their texts in the same size."""
ROW = 36
"""The height of a row with a name above its mark."""
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float) -> str:
    """A short label: 0.25, 12, 1.5e-05, 120k."""
    value = value or 0.0  # not -0.0
    size = abs(value)
    if size >= 1e6 or size < 1e-4:
        return f"{value:.2g}"
    if size >= 1e5:
        return f"{value / 1e3:.4g}k"
    return f"{value:.5g}" if size >= 1e4 else f"{value:.4g}"


@dataclass
class Axis:
    """A map from data to pixels; with `log` the data must be positive."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __post_init__(self) -> None:
        if self.log:
            self.low, self.high = np.log2(self.low), np.log2(self.high)
        if not self.high > self.low:
            self.low, self.high = self.low - 0.5, self.high + 0.5

    def __call__(self, value: Any) -> Any:
        value = np.log2(value) if self.log else np.asarray(value, dtype=float)
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def ticks(self, most: int = 6) -> list[tuple[float, str]]:
        """Round values with their labels, about `most` of them."""
        if self.log:
            step = max(1, int(np.ceil((self.high - self.low) / most)))
            powers = range(int(np.ceil(self.low - 1e-9)), int(np.floor(self.high + 1e-9)) + 1, step)
            return [(2.0**p, _power_of_two(p)) for p in powers]
        span = (self.high - self.low) / most
        unit = 10.0 ** np.floor(np.log10(span))
        step = next(unit * factor for factor in (1, 2, 5, 10, 20) if unit * factor >= span)
        first, last = np.ceil(self.low / step - 1e-9), np.floor(self.high / step + 1e-9)
        values = [float(k * step) for k in np.arange(first, last + 1)]
        return [(value, number(round(value, 12))) for value in values]


def _power_of_two(p: int) -> str:
    return number(2.0**p) if -3 <= p <= 13 else "2" + str(p).translate(_RAISED)


@dataclass
class Chart:
    """Axes with a grid. Marks are added one by one; a later mark covers earlier ones."""

    title: str
    x: tuple[float, float]
    y: tuple[float, float]
    x_label: str = ""
    y_label: str = ""
    log_x: bool = False
    height: int = HEIGHT
    left: int = LEFT
    ticks: str = "xy"
    _marks: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bottom = self.height - BOTTOM
        self.across = Axis(*self.x, self.left, RIGHT, self.log_x)
        self.up = Axis(*self.y, self.bottom, TOP)

    def line(self, x: Any, y: Any, style: str = "a", dashed: bool = False) -> Chart:
        extra = ' stroke-dasharray="5 4"' if dashed else ""
        points = _points(self.across(x), self.up(y))
        return self._add(f'<polyline class="line {style}" points="{points}"{extra}/>')

    def band(self, x: Any, low: Any, high: Any, style: str = "a") -> Chart:
        there, back = _points(self.across(x), self.up(high)), _points(self.across(x), self.up(low))
        back = " ".join(back.split(" ")[::-1])
        return self._add(f'<polygon class="band {style}" points="{there} {back}"/>')

    def point(self, x: float, y: float, hint: str = "", radius: float = 5) -> Chart:
        centre = f'cx="{self.across(x):.1f}" cy="{self.up(y):.1f}" r="{radius}"'
        return self._add(f'<circle class="dot a" {centre}>{_hint(hint)}</circle>')

    def bar(
        self, x: tuple[float, float], y: tuple[float, float], hint: str = "", style: str = "a"
    ) -> Chart:
        """A box between two values of x and two values of y."""
        xs, ys = np.sort(self.across(x)), np.sort(self.up(y))
        box = f'x="{xs[0]:.1f}" y="{ys[0]:.1f}" width="{max(xs[1] - xs[0], 0.6):.1f}"'
        box += f' height="{ys[1] - ys[0]:.1f}" rx="1.5"'
        return self._add(f'<rect class="bar {style}" {box}>{_hint(hint)}</rect>')

    def rule(self, x: float | None = None, y: float | None = None, label: str = "") -> Chart:
        """A thin dashed line across the whole chart at x, or at y with a label at its end."""
        if x is not None:
            return self._add(_segment("rule", (self.across(x),) * 2, (TOP, self.bottom)))
        self._add(_segment("rule", (self.left, RIGHT), (self.up(y),) * 2))
        return self._add(_text("note", RIGHT, self.up(y) - 5, label, "end")) if label else self

    def text(self, x: float, y: float, words: str, anchor: str = "start") -> Chart:
        return self._add(_text("note", self.across(x), self.up(y), words, anchor))

    def row_name(self, row: int, words: str, most: int = 48) -> Chart:
        """A name above the marks of a row, cut after `most` letters; a tooltip shows all."""
        shown = words if len(words) <= most else words[: most - 1] + "…"
        return self._add(_text("name", self.left, self.up(row + 0.44), shown, "start", hint=words))

    def _add(self, mark: str) -> Chart:
        self._marks.append(mark)
        return self

    def svg(self) -> Markup:
        head = (
            f'<svg class="chart" viewBox="0 0 {WIDTH} {self.height}" role="img" '
            f'aria-label="{escape(self.title, quote=True)}"><title>{escape(self.title)}</title>'
        )
        parts = [head, *self._grid(), *self._marks, *self._labels(), "</svg>"]
        return Markup("\n".join(parts))

    def _grid(self) -> list[str]:
        parts = []
        for value, label in self.up.ticks(5) if "y" in self.ticks else ():
            y = self.up(value)
            parts.append(_segment("grid", (self.left, RIGHT), (y, y)))
            parts.append(_text("tick", self.left - 7, y + 4, label, "end"))
        for value, label in self.across.ticks(6) if "x" in self.ticks else ():
            x = self.across(value)
            parts.append(_segment("grid", (x, x), (TOP, self.bottom)))
            parts.append(_text("tick", x, self.bottom + 17, label, "middle"))
        return [*parts, _segment("axis", (self.left, RIGHT), (self.bottom, self.bottom))]

    def _labels(self) -> list[str]:
        turned = f"translate(13 {(TOP + self.bottom) / 2:.1f}) rotate(-90)"
        across = _text("label", (self.left + RIGHT) / 2, self.height - 8, self.x_label, "middle")
        up = _text("label", 0, 0, self.y_label, "middle")
        parts = ((across, self.x_label), (f'<g transform="{turned}">{up}</g>', self.y_label))
        return [part for part, label in parts if label]


def bars_across(title: str, names: list[str], values: np.ndarray, x_label: str = "") -> Markup:
    """Horizontal bars that start at zero, one per name, with the first name on top."""
    low, high = min(0.0, float(np.min(values))), max(0.0, float(np.max(values)))
    margin = 0.06 * (high - low or 1.0)
    chart = Chart(
        title,
        (low - margin * (low < 0), high + margin),
        (0.0, len(names)),
        x_label=x_label,
        height=TOP + BOTTOM + ROW * len(names),
        left=14,
        ticks="x",
    )
    chart.up = Axis(0.0, len(names), TOP, chart.bottom)
    for i, (name, value) in enumerate(zip(names, values)):
        hint, style = f"{name}: {value:.6g}", "a" if value >= 0 else "b"
        chart.row_name(i, name).bar((0.0, float(value)), (i + 0.54, i + 0.86), hint, style)
    return chart.svg()


def intervals_across(title: str, names: list[str], values: np.ndarray, x_label: str) -> Markup:
    """Points with horizontal intervals, one per name: `values` (3, n) are values, lows, highs."""
    low, high = float(np.min(values)), float(np.max(values))
    margin = 0.06 * (high - low or 1.0)
    chart = Chart(
        title,
        (low - margin, high + margin),
        (0.0, len(names)),
        x_label=x_label,
        height=TOP + BOTTOM + ROW * len(names),
        left=14,
        ticks="x",
    )
    chart.up = Axis(0.0, len(names), TOP, chart.bottom)
    for i, (name, value, start, end) in enumerate(zip(names, *values)):
        hint = f"{name}: {value:.4f}, 95% interval {start:.4f} to {end:.4f}"
        chart.row_name(i, name).line([start, end], [i + 0.7, i + 0.7]).point(value, i + 0.7, hint)
    return chart.svg()


def _points(x: np.ndarray, y: np.ndarray) -> str:
    return " ".join(f"{px:.1f},{py:.1f}" for px, py in zip(x, y))


def _segment(style: str, x: tuple[float, float], y: tuple[float, float]) -> str:
    return (
        f'<line class="{style}" x1="{x[0]:.1f}" x2="{x[1]:.1f}" y1="{y[0]:.1f}" y2="{y[1]:.1f}"/>'
    )


def _text(style: str, x: float, y: float, words: str, anchor: str, hint: str = "") -> str:
    where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{style}" {where}>{_hint(hint)}{escape(words)}</text>'


def _hint(words: str) -> str:
    return f"<title>{escape(words)}</title>" if words else ""
