"""Output: tables and messages on the terminal, and files that are complete or not there."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from rankwise.cli.failures import Mistake
from rankwise.io.atomic import write_atomically

WIDE = 240
"""Characters per line where no terminal sets a width."""


def stdout() -> Console:
    """A console for results; if no terminal sets the width, lines are as long as needed."""
    return Console(width=None if sys.stdout.isatty() else WIDE, highlight=False)


def say(message: str) -> None:
    """Print a message on standard error, where it does not mix with results."""
    click.echo(message, err=True)


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None] | None]:
    """On a terminal, show a spinner with the elapsed time; print each warning as one line.

    Yields a function that changes the text beside the spinner, or None without a terminal.
    """
    console = Console(stderr=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        try:
            if console.is_terminal:
                from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

                columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
                with Progress(*columns, console=console, transient=True) as progress:
                    task = progress.add_task(what, total=None)
                    yield lambda text: progress.update(task, description=text)
            else:
                yield None
        finally:
            for message in dict.fromkeys(str(warning.message) for warning in caught):
                say(f"Note: {message}")


def check_writable(path: str) -> None:
    """Raise an error if the output cannot be written, before the long work starts."""
    if path == "-":
        return
    target = Path(path)
    if target.is_dir():
        raise Mistake(f"{path} is a folder: name a file to write.")
    folder = target.parent if str(target.parent) else Path(".")
    if not folder.is_dir():
        raise Mistake(f"{path}: the folder {folder} does not exist.")
    if not os.access(folder, os.W_OK) or (target.exists() and not os.access(target, os.W_OK)):
        raise Mistake(f"{path}: no permission to write there.")


def write_text(path: str, text: str) -> None:
    """Write the text to a file in one step, or to standard output for "-"."""
    if path == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    write_atomically(path, [text.encode()])


def table(*columns: str, right: tuple[int, ...] = ()) -> Table:
    """A table without lines; the columns with the numbers `right` are aligned to the right."""
    empty = Table(box=None, pad_edge=False, header_style="bold")
    for number, name in enumerate(columns):
        empty.add_column(name, justify="right" if number in right else "left")
    return empty
