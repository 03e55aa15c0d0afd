"""Our figures beside the paper's, as Markdown: printed, and collected for the pages.

While a script runs under `collecting`, all its tables and notes are kept as parts, in order. The
runner writes them into benchmarks/papers/tables, from where `pages` copies them into the pages.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_PARTS: list[list[str]] = []
"""The parts of every script that is running, the innermost last."""


@contextmanager
def collecting() -> Iterator[list[str]]:
    """The Markdown of each table that is shown inside, with its notes."""
    parts: list[str] = []
    _PARTS.append(parts)
    try:
        yield parts
    finally:
        _PARTS.remove(parts)


def show(title: str, header: Sequence[str], rows: Iterable[Sequence]) -> None:
    """A table under its title; floats have three digits, None is a dash."""
    lines = [list(map(str, header))] + [[cell(value) for value in row] for row in rows]
    columns = max(map(len, lines))
    lines = [line + [""] * (columns - len(line)) for line in lines]
    widths = [max(3, *map(len, column)) for column in zip(*lines)]
    lines.insert(1, ["-" * width for width in widths])
    text = "\n".join(
        "| " + " | ".join(c.ljust(width) for c, width in zip(line, widths)) + " |" for line in lines
    )
    text = f"**{title}**\n\n{text}\n" if title else f"{text}\n"
    print(f"\n{text}", flush=True)
    if _PARTS:
        _PARTS[-1].append(text)


def note(text: str) -> None:
    """A paragraph below the last table."""
    print(text, flush=True)
    if _PARTS and _PARTS[-1]:
        _PARTS[-1][-1] += f"\n{text}\n"


def beside(title: str, figures: Iterable[tuple[str, float, float | None]]) -> None:
    """Name, our figure, the paper's figure (or None) and the difference of the two."""
    rows = [
        (name, ours, paper, None if paper is None else signed(ours - paper))
        for name, ours, paper in figures
    ]
    show(title, ("", "ours", "paper", "difference"), rows)


def interval(estimate: float, low: float, high: float) -> str:
    return f"{estimate:.3f} ({low:.3f}–{high:.3f})"


def signed(value: float, digits: int = 3) -> str:
    """With its sign; zero, as rounded, has none."""
    text = f"{value:+.{digits}f}"
    return text[1:] if not float(text) else text.replace("-", "−")


def cell(value) -> str:
    if value is None:
        return "–"
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|").strip()


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(name).chmod(0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
