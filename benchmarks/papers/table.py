"""Prints our figures beside the paper's: aligned columns, two or more spaces between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def show(title: str, header: Sequence[str], rows: Iterable[Sequence]) -> None:
    """A title line, a header and one line a row; floats with three digits, None as a dash."""
    lines = [list(header)] + [[cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines)]
    print(f"\n# {title}")
    for line in lines:
        first, *others = zip(line, widths)
        print("  ".join([first[0].ljust(first[1])] + [text.rjust(width) for text, width in others]))


def beside(title: str, figures: Iterable[tuple[str, float, float | None]]) -> None:
    """(name, ours, the paper's or None where it has none), with the difference of the two."""
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
