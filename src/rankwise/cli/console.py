"""What the user sees: tables, messages, errors as one line, exit codes; and files of results.

Names of items, queries, columns and files come from data. Whatever is printed passes `plain` here
or in the command, and rich reads no markup in it: data cannot command the terminal.
"""

from __future__ import annotations

import codecs
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from rankwise.io.plain_text import one_line, plain
from rankwise.numerics.import_paths import imported

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MISTAKE, INTERRUPTED = 2, 130
WIDE = 240
"""Characters per line where no terminal sets a width."""
LONGEST = 120
"""Characters of a cell of a table."""


def stdout() -> Console:
    """A console for results; if no terminal sets the width, lines are as long as needed."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else WIDE
    return Console(width=width, highlight=False, markup=False, emoji=False)


def say(message: str) -> None:
    """Print a message as one line on standard error, where it does not mix with results."""
    click.echo(one_line(message), err=True)


def say_json(record: Any) -> None:
    """Print JSON on standard output, in ASCII, so that no character of the data is unseen."""
    click.echo(json.dumps(record, indent=2))


PATIENCE = 10.0
"""Seconds between two lines about progress, where no terminal shows a spinner."""


@contextmanager
def working(what: str, quiet: bool = False) -> Iterator[Callable[[str], None] | None]:
    """On a terminal, show a spinner with the elapsed time; print each warning as one line.

    The loops inside tell how far they are: beside the spinner, or else as a line every ten seconds
    unless `quiet`. Yields a function that changes the text beside the spinner, or None without a
    terminal.
    """
    from rich.console import Console

    from rankwise.numerics.progress import progress_told_to

    console = Console(stderr=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        try:
            if console.is_terminal:
                from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

                description = TextColumn("{task.description}", markup=False)
                columns = (SpinnerColumn(), description, TimeElapsedColumn())
                with Progress(*columns, console=console, transient=True) as progress:
                    task = progress.add_task(one_line(what), total=None)

                    def show(text: str) -> None:
                        progress.update(task, description=one_line(text))

                    with progress_told_to(lambda words: show(f"{what}: {words}")):
                        yield show
            else:
                with progress_told_to(_lines_about(what, quiet)):
                    yield None
        finally:
            for message in dict.fromkeys(str(warning.message) for warning in caught):
                say(f"Note: {message}")


def _lines_about(what: str, quiet: bool) -> Callable[[str], None]:
    """A listener that prints progress as a line, but not more often than a reader wants."""
    started = time.monotonic()
    last = started

    def tell(words: str) -> None:
        nonlocal last
        now = time.monotonic()
        if not quiet and now - last >= PATIENCE:
            last = now
            say(f"{what}: {words}, {now - started:.0f} s")

    return tell


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
    from rankwise.io.atomic import write_atomically

    write_atomically(path, [text.encode()])


def cells(*texts: str) -> list[str]:
    """Texts for a row of a table: plain, and not longer than a table can show."""
    return [
        text if len(text) <= LONGEST else text[: LONGEST - 1] + "…" for text in map(plain, texts)
    ]


def table(*columns: str, right: tuple[int, ...] = ()) -> Table:
    """A table without lines; the columns with the numbers `right` are aligned to the right.

    Texts from data pass `cells` before they are added.
    """
    from rich.table import Table

    empty = Table(box=None, pad_edge=False, header_style="bold")
    for number, name in enumerate(columns):
        empty.add_column(name, justify="right" if number in right else "left")
    return empty


class Mistake(click.ClickException):
    """An error that the user can correct; exit code 2."""

    exit_code = MISTAKE

    def show(self, file: Any = None) -> None:
        say(f"Error: {self.format_message()}")


PLAIN_FORMS = {
    "−": "-",  # a minus sign
    "→": "->",
    "←": "<-",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "≈": "~",
    "×": "x",
    "±": "+-",
    "½": "1/2",
    "τ": "tau",
    "λ": "lambda",
    "–": "-",  # a dash between numbers
    "…": "...",
    "‖": "||",
}
"""What takes the place of a character that the console cannot show."""


def _in_plain_form(error: UnicodeError) -> tuple[str, int]:
    """For codecs: plain forms of our own characters, and escapes such as \\u4e2d for others."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    shown = (
        PLAIN_FORMS.get(character, character.encode("ascii", "backslashreplace").decode())
        for character in lost
    )
    return "".join(shown), error.end


def print_anything_on(stream: Any) -> None:
    """Let a console with a small alphabet (cp1252, ASCII) show every text, never an error."""
    codecs.register_error("rankwise", _in_plain_form)
    encoding = str(getattr(stream, "encoding", "") or "").lower().replace("-", "")
    if hasattr(stream, "reconfigure") and not encoding.startswith(("utf8", "utf16", "utf32")):
        stream.reconfigure(errors="rankwise")


class PartlyDone(KeyboardInterrupt):
    """Ctrl-C after some of several files were written; the text says which."""


class Commands(click.Group):
    """The group of commands, which imports a command when it is called, and turns errors into
    one line. RANKWISE_TRACEBACK=1 shows where an error came from.

    `summaries` says what each command does, in the order in which they are used.
    """

    def __init__(self, *args: Any, summaries: dict[str, str], **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.summaries = summaries

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.summaries:
            return None
        return imported(f"rankwise.cli.{cmd_name}:{cmd_name}")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        options = click.Command.shell_complete(self, ctx, incomplete)
        names = [name for name in self.summaries if name.startswith(incomplete)]
        return [*(CompletionItem(name, help=self.summaries[name]) for name in names), *options]

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        for stream in (sys.stdout, sys.stderr):
            print_anything_on(stream)
        with _mistakes_in_plain_words():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _mistakes_in_plain_words():
                return super().invoke(ctx)
        except KeyboardInterrupt as error:
            written = "" if isinstance(error, PartlyDone) else " nothing was written."
            detail = f" {error}" if str(error) else ""
            say(f"Interrupted:{written}{detail}")
            leave(INTERRUPTED, ctx)
        except BrokenPipeError:
            raise
        except (ValueError, OSError, MemoryError, ImportError) as error:
            if os.environ.get("RANKWISE_TRACEBACK"):
                raise
            raise Mistake(in_words(error)) from error


@contextmanager
def _mistakes_in_plain_words() -> Iterator[None]:
    """click repeats the words of the call in its errors, and a shell may have put in file names."""
    try:
        yield
    except click.ClickException as error:
        vars(error).update(message=plain(error.message, keep="\n"))
        raise


def leave(code: int, ctx: click.Context) -> None:
    """End the process at once, so that no thread and no exit handler can delay it."""
    program = os.path.basename(sys.argv[0])
    if program not in ("rankwise", "rankwise.exe", "__main__.py"):  # another program calls main
        ctx.exit(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def in_words(error: BaseException) -> str:
    """An error as one sentence for the user."""
    if isinstance(error, OSError) and error.strerror:
        file = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return f"{file}{error.strerror}"
    if isinstance(error, MemoryError):
        return str(error) or "not enough memory: use fewer items, or --basis."
    return str(error) or type(error).__name__
