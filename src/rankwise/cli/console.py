"""What goes to the terminal, and files that are there whole or not at all."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from rankwise.cli.failures import Mistake
from rankwise.io.atomic import write_atomically

WIDE = 240


def stdout() -> Console:
    """Results: as wide as they need to be where no terminal sets a width."""
    return Console(width=None if sys.stdout.isatty() else WIDE, highlight=False)


def say(words: str) -> None:
    """A line for the person, on standard error, where it does not mix with results."""
    click.echo(words, err=True)


@contextmanager
def working(what: str):
    """A spinner with the time passed, on a terminal only; warnings as one line each.

    Gives a function that changes the words beside the spinner, None without a terminal.
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
                    yield lambda words: progress.update(task, description=words)
            else:
                yield None
        finally:
            shown = dict.fromkeys(str(warning.message) for warning in caught)
            for message in shown:
                say(f"Note: {message}")


def check_writable(path: str) -> str:
    """An output that can be written, before the long work starts; "-" is standard output."""
    if path == "-":
        return path
    target = Path(path)
    if target.is_dir():
        raise Mistake(f"{path} is a folder: name a file to write.")
    folder = target.parent if str(target.parent) else Path(".")
    if not folder.is_dir():
        raise Mistake(f"{path}: the folder {folder} does not exist.")
    if not os.access(folder, os.W_OK) or (target.exists() and not os.access(target, os.W_OK)):
        raise Mistake(f"{path}: no permission to write there.")
    return path


def write_text(path: str, text: str) -> None:
    """The whole text to a file at once, or to standard output for "-"."""
    if path == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    write_atomically(path, [text.encode()])


def table(*columns: str, right: tuple[int, ...] = ()) -> Table:
    """A plain table; `right` numbers the columns of figures."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for place, name in enumerate(columns):
        made.add_column(name, justify="right" if place in right else "left")
    return made
