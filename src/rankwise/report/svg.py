"""Charts as inline SVG that takes its colours from the page, light or dark.

A chart is a plain string; every text that comes from data is escaped here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

import numpy as np

WIDTH, HEIGHT = 480, 300
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LEFT, RIGHT, TOP, BOTTOM = 56, 14, 14, 46


def number(value: float) -> str:
    """A short label: 0.25, 12, 1.5e-05, 120k."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e6 or size < 1e-4:
        return f"{value:.2g}"
    if size >= 1e5:
        return f"{value / 1e3:.4g}k"
    return f"{value:.5g}" if size >= 1e4 else f"{value:.4g}"


@dataclass
class Axis:
    """From data to pixels; with `log` the data are positive."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __post_init__(self):
        if self.log:
            self.low, self.high = np.log2(self.low), np.log2(self.high)
        if not self.high > self.low:
            self.low, self.high = self.low - 0.5, self.high + 0.5

    def __call__(self, value):
        value = np.log2(value) if self.log else np.asarray(value, dtype=float)
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def ticks(self, most: int = 6) -> list[tuple[float, str]]:
        if self.log:
            step = max(1, int(np.ceil((self.high - self.low) / most)))
            powers = range(int(np.ceil(self.low - 1e-9)), int(np.floor(self.high + 1e-9)) + 1, step)
            return [(2.0**p, _power(p)) for p in powers]
        span = (self.high - self.low) / most
        step = 10.0 ** np.floor(np.log10(span))
        for factor in (1, 2, 5, 10):
            if step * factor >= span:
                step *= factor
                break
        first, last = np.ceil(self.low / step - 1e-9), np.floor(self.high / step + 1e-9)
        values = [float(k * step) for k in np.arange(first, last + 1)]
        return [(value, number(round(value, 12))) for value in values]


def _power(p: int) -> str:
    return number(2.0**p) if -3 <= p <= 13 else "2" + str(p).translate(_RAISED)


@dataclass
class Chart:
    """Axes with a grid; marks are added one by one, later ones on top."""

    title: str
    x: tuple[float, float]
    y: tuple[float, float]
    x_label: str = ""
    y_label: str = ""
    log_x: bool = False
    height: int = HEIGHT
    left: int = LEFT
    x_ticks: list[tuple[float, str]] | None = None
    y_ticks: list[tuple[float, str]] | None = None
    _marks: list[str] = field(default_factory=list)

    def __post_init__(self):
        self.across = Axis(*self.x, self.left, WIDTH - RIGHT, self.log_x)
        self.up = Axis(*self.y, self.height - BOTTOM, TOP)

    def line(self, x, y, style: str = "a", dashed: bool = False) -> Chart:
        points = " ".join(f"{px:.1f},{py:.1f}" for px, py in zip(self.across(x), self.up(y)))
        extra = ' stroke-dasharray="5 4"' if dashed else ""
        self._marks.append(f'<polyline class="line {style}" points="{points}"{extra}/>')
        return self

    def band(self, x, low, high, style: str = "a") -> Chart:
        forward = list(zip(self.across(x), self.up(high)))
        back = list(zip(self.across(x), self.up(low)))[::-1]
        points = " ".join(f"{px:.1f},{py:.1f}" for px, py in forward + back)
        self._marks.append(f'<polygon class="band {style}" points="{points}"/>')
        return self

    def point(self, x, y, hint: str = "", style: str = "a", radius: float = 5) -> Chart:
        place = f'cx="{self.across(x):.1f}" cy="{self.up(y):.1f}" r="{radius}"'
        self._marks.append(f'<circle class="dot {style}" {place}>{_hint(hint)}</circle>')
        return self

    def bar(self, left, right, low, high, hint: str = "", style: str = "a") -> Chart:
        """A box in data coordinates."""
        xs, ys = sorted(map(float, self.across([left, right]))), self.up([low, high])
        top, height = float(ys.min()), float(np.ptp(ys))
        box = f'x="{xs[0]:.1f}" y="{top:.1f}" width="{max(xs[1] - xs[0], 0.6):.1f}"'
        self._marks.append(
            f'<rect class="bar {style}" {box} height="{height:.1f}" rx="1.5">{_hint(hint)}</rect>'
        )
        return self

    def rule(self, x=None, y=None, label: str = "") -> Chart:
        """A thin dashed line across the chart, with a word at its end."""
        if x is not None:
            at = f"{self.across(x):.1f}"
            ends = f'x1="{at}" x2="{at}" y1="{TOP}" y2="{self.height - BOTTOM}"'
            place = f'x="{float(self.across(x)) + 5:.1f}" y="{TOP + 11}"'
        else:
            at = f"{self.up(y):.1f}"
            ends = f'x1="{self.left}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"'
            place = f'x="{WIDTH - RIGHT}" y="{float(self.up(y)) - 5:.1f}" text-anchor="end"'
        self._marks.append(f'<line class="rule" {ends}/>')
        if label:
            self._marks.append(f'<text class="note" {place}>{escape(label)}</text>')
        return self

    def text(self, x, y, words: str, anchor: str = "start", style: str = "note") -> Chart:
        place = f'x="{float(self.across(x)):.1f}" y="{float(self.up(y)):.1f}"'
        self._marks.append(
            f'<text class="{style}" {place} text-anchor="{anchor}">{escape(words)}</text>'
        )
        return self

    def svg(self) -> str:
        title = escape(self.title)
        head = (
            f'<svg class="chart" viewBox="0 0 {WIDTH} {self.height}" role="img" '
            f'aria-label="{escape(self.title, quote=True)}"><title>{title}</title>'
        )
        return "\n".join([head, *self._grid(), *self._marks, *self._labels(), "</svg>"])

    def _grid(self) -> list[str]:
        bottom = self.height - BOTTOM
        out = []
        for value, label in self.y_ticks if self.y_ticks is not None else self.up.ticks(5):
            at = float(self.up(value))
            right = WIDTH - RIGHT
            out.append(
                f'<line class="grid" x1="{self.left}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}"/>'
            )
            out.append(
                f'<text class="tick" x="{self.left - 7}" y="{at + 4:.1f}" text-anchor="end">'
                f"{escape(label)}</text>"
            )
        for value, label in self.x_ticks if self.x_ticks is not None else self.across.ticks(6):
            at = float(self.across(value))
            out.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{bottom}"/>')
            out.append(
                f'<text class="tick" x="{at:.1f}" y="{bottom + 17}" text-anchor="middle">'
                f"{escape(label)}</text>"
            )
        ends = f'x1="{self.left}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}"'
        out.append(f'<line class="axis" {ends}/>')
        return out

    def _labels(self) -> list[str]:
        out = []
        middle = (self.left + WIDTH - RIGHT) / 2
        if self.x_label:
            out.append(
                f'<text class="label" x="{middle:.1f}" y="{self.height - 8}" '
                f'text-anchor="middle">{escape(self.x_label)}</text>'
            )
        if self.y_label:
            centre = (TOP + self.height - BOTTOM) / 2
            out.append(
                f'<text class="label" transform="translate(13 {centre:.1f}) rotate(-90)" '
                f'text-anchor="middle">{escape(self.y_label)}</text>'
            )
        return out


def _hint(words: str) -> str:
    return f"<title>{escape(words)}</title>" if words else ""


def bars_across(title: str, names: list[str], values: np.ndarray, x_label: str = "") -> str:
    """Horizontal bars around zero, one a name, the first on top."""
    row, label_width = 24, 168
    low, high = min(0.0, float(np.min(values))), max(0.0, float(np.max(values)))
    margin = 0.06 * (high - low or 1.0)
    height = TOP + BOTTOM + row * len(names)
    chart = Chart(
        title,
        (low - margin * (low < 0), high + margin),
        (0.0, len(names)),
        x_label=x_label,
        height=height,
        left=label_width,
        y_ticks=[],
    )
    chart.up = Axis(0.0, float(len(names)), TOP, height - BOTTOM)
    for i, (name, value) in enumerate(zip(names, values)):
        style = "a" if value >= 0 else "b"
        chart.bar(0.0, float(value), i + 0.2, i + 0.8, f"{name}: {value:.6g}", style)
        shown = name if len(name) <= 24 else name[:23] + "…"
        at = TOP + row * (i + 0.5) + 4
        chart._marks.append(
            f'<text class="tick name" x="{label_width - 8}" y="{at:.1f}" text-anchor="end">'
            f"{_hint(name)}{escape(shown)}</text>"
        )
    return chart.svg()
