"""Prints our figures beside the paper's, in aligned columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def show(title: str, header: Sequence[str], rows: Iterable[Sequence]) -> None:
    """Print a title, a header and one line per row; floats have three digits, None is a dash."""
    lines = [list(header)] + [[cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines)]
    print(f"\n# {title}")
    for line in lines:
        first, *others = zip(line, widths)
        print("  ".join([first[0].ljust(first[1])] + [text.rjust(width) for text, width in others]))


def beside(title: str, figures: Iterable[tuple[str, float, float | None]]) -> None:
    """Print name, our figure, the paper's figure (or None) and the difference of the two."""
    rows = [
        (name, ours, paper, None if paper is None else f"{ours - paper:+.3f}")
        for name, ours, paper in figures
    ]
    show(title, ("", "ours", "paper", "difference"), rows)


def interval(estimate: float, low: float, high: float) -> str:
    return f"{estimate:.3f} ({low:.3f}-{high:.3f})"


def cell(value) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
