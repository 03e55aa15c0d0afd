"""Errors as one line instead of a traceback, exit codes, and Ctrl-C at any moment."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

MISTAKE, INTERRUPTED = 2, 130


class Mistake(click.ClickException):
    """An error that the user can correct; exit code 2."""

    exit_code = MISTAKE

    def show(self, file: Any = None) -> None:
        click.echo(f"Error: {self.format_message()}", err=True)


class Commands(click.Group):
    """The group of commands, which turns errors into one line.

    RANKWISE_TRACEBACK=1 shows where an error came from.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which they are used, not of the alphabet."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            detail = f" {error}" if str(error) else ""
            click.echo(f"Interrupted: nothing was written.{detail}", err=True)
            leave(INTERRUPTED, ctx)
        except BrokenPipeError:
            raise
        except (ValueError, OSError, MemoryError, ImportError) as error:
            if os.environ.get("RANKWISE_TRACEBACK"):
                raise
            raise Mistake(_in_words(error)) from error


def leave(code: int, ctx: click.Context) -> None:
    """End the process at once, so that no thread and no exit handler can delay it."""
    if ctx.find_root().obj == "testing" or not _is_own_process():
        ctx.exit(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _is_own_process() -> bool:
    """Whether this process is the command itself, not a program that calls it."""
    return os.path.basename(sys.argv[0]) in ("rankwise", "rankwise.exe", "__main__.py")


def _in_words(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        file = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return f"{file}{error.strerror}"
    if isinstance(error, MemoryError):
        return str(error) or "not enough memory: use fewer items, or --basis."
    return str(error) or type(error).__name__
