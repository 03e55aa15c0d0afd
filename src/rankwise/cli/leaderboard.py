"""rankwise leaderboard"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from rankwise.cli.console import (
    Mistake,
    cells,
    check_writable,
    say,
    say_json,
    stdout,
    table,
    working,
    write_text,
)
from rankwise.cli.data_options import OUTCOMES, vote_option
from rankwise.cli.recipe_options import words_of_the_command

if TYPE_CHECKING:
    from rich.table import Table

    from rankwise.workflow.ranking_data import Items
    from rankwise.workflow.standings import Leaderboard


@click.command()
@click.argument("votes")
@vote_option("a", required=True)
@vote_option("b", required=True)
@vote_option("winner", required=True)
@OUTCOMES
@vote_option("judge")
@click.option("--weight", metavar="COLUMN", help="Votes: how often a row counts.")
@click.option("--category", metavar="COLUMN", help="Votes: also a board for each category.")
@click.option(
    "--items",
    metavar="TABLE",
    help="Features of the items: what they are worth, and what items without votes would do.",
)
@click.option(
    "--id", "name", metavar="COLUMN", help="TABLE: the column of names; default: the first."
)
@click.option(
    "--ignore", metavar="COLUMN", multiple=True, help="TABLE: leave a column out (repeatable)."
)
@click.option(
    "--alpha",
    type=click.FloatRange(min=0, min_open=True),
    default=0.01,
    show_default=True,
    help="The prior pulls strengths to 0, more so the larger alpha is.",
)
@click.option("--order-effect", is_flag=True, help="The item of --a may have an advantage.")
@click.option(
    "--ties",
    type=click.Choice(["half", "davidson"]),
    default="half",
    show_default=True,
    help="A tie is half a win for both, or has a probability of its own.",
)
@click.option(
    "--next", "n_next", type=click.IntRange(0), default=10, show_default=True, help="Pairs to ask."
)
@click.option("-o", "--output", metavar="BOARD", help="HTML page to write.")
@click.option("--title", default="Leaderboard", show_default=True, help="Heading of the page.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def leaderboard(ctx: click.Context, /, votes: str, as_json: bool, **options: Any) -> None:
    """Turn VOTES into a leaderboard with intervals for strengths and ranks.

    \b
    Examples:
      rankwise leaderboard votes.csv --a left --b right --winner won -o board.html
      rankwise leaderboard votes.csv --a left --b right --winner won --judge voter
      rankwise leaderboard games.csv --a home --b away --winner result --outcomes a=1,b=-1,tie=0
      rankwise leaderboard fights.csv --a winner --b loser --winner winner
      rankwise leaderboard votes.csv --a left --b right --winner won --items models.csv

    The column of --winner holds the name of the winner, a or b, 1 or 0, the name of a's or b's
    column, or tie or 0.5. Strengths are log-odds: an item that is stronger by 1 wins 73% of the
    votes. The intervals of ranks hold for all items together. With --judge, intervals count judges
    and not votes.
    """
    output = options["output"]
    if output is not None:
        check_writable(output)
    if output == "-" and as_json:
        raise Mistake("standard output takes the page or JSON, not both.")
    with working("reading") as report:
        board = _board(votes, options, report or (lambda text: None))
    if output is not None:
        from rankwise.report import build_board_page

        command = words_of_the_command(ctx)
        write_text(output, build_board_page(board, title=options["title"], command=command))
    if as_json:
        say_json(board.record())
    elif output != "-":
        _show(board)
    if output not in (None, "-"):
        say(f"Wrote {output}.")


def _board(path: str, options: dict[str, Any], progress: Any) -> Leaderboard:
    from rankwise.io.vote_tables import read_vote_table
    from rankwise.workflow.board_building import build_board
    from rankwise.workflow.standings import BoardOptions

    columns = {"a": options["a"], "b": options["b"], "outcome": options["winner"]}
    columns |= {role: options[role] for role in ("judge", "weight") if options[role] is not None}
    cast = read_vote_table(path, columns, options["outcomes"])
    category = None
    if options["category"] is not None:
        category = cast.labels(cast.table.require(options["category"], "--category"))
    items = None
    if options["items"] is not None:
        items = _competitors(options["items"], options["name"], options["ignore"])
    elif options["name"] is not None or options["ignore"]:
        raise Mistake("--id and --ignore are about the table of items: give --items.")
    votes = cast.preferences(None if items is None else items.names)
    names = ("alpha", "order_effect", "ties", "n_next")
    how = BoardOptions(**{name: options[name] for name in names})
    return build_board(votes, how, items=items, category=category, progress=progress)


def _competitors(path: str, name: str | None, ignore: tuple[str, ...]) -> Items:
    """The items of a table with their columns of numbers; columns of text are left out."""
    from rankwise.io.source import read_source
    from rankwise.io.tables import read_columns
    from rankwise.workflow.ranking_data import Items

    columns = read_columns(read_source(path))
    name = next(iter(columns.values)) if name is None else columns.require(name, "--id")
    for one in ignore:
        columns.require(one, "--ignore")
    names = columns.text(name)
    seen, counts = np.unique(names.astype(str), return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"{columns.name}: two rows are called {str(seen[np.argmax(counts)])!r}.")
    others = [one for one in columns.values if one != name and one not in ignore]
    numbers = {one: columns.numbers(one) for one in others}
    words = [one for one, values in numbers.items() if values is None]
    if words:
        say(f"Note: {columns.name}: columns of text are left out: {', '.join(words[:8])}.")
    kept = {one: values for one, values in numbers.items() if values is not None}
    if not kept:
        raise ValueError(f"{columns.name} has no column of numbers besides {name!r}.")
    X = np.column_stack(list(kept.values()))
    return Items(X, names=names, features=list(kept), source=columns.name)


def _show(board: Leaderboard) -> None:
    console = stdout()
    say(f"{board.summary()}.")
    console.print(_standings(board))
    for name, rows in board.categories.items():
        best = ", ".join(f"{one.rank} {one.name}" for one in rows[:5])
        console.print(f"\n{cells(name)[0]}: {cells(best)[0]}")
    if board.covariates:
        console.print()
        console.print(_covariates(board))
    if board.newcomers:
        console.print()
        console.print(_newcomers(board))
    if board.questions:
        console.print()
        console.print(_questions(board))
    sys.stdout.flush()
    for note in board.notes:
        say(f"Note: {note}")


def _standings(board: Leaderboard) -> Table:
    columns = ("rank", "name", "strength", "95% interval", "ranks", "votes", "wins")
    shown = table(*columns, right=(0, 2, 3, 4, 5, 6))
    for one in board.standings:
        interval = f"{one.low:+.2f} to {one.high:+.2f}"
        numbers = (f"{one.strength:+.2f}", interval, one.ranks, f"{one.votes:g}", f"{one.wins:g}")
        shown.add_row(str(one.rank), *cells(one.name), *numbers)
    return shown


def _covariates(board: Leaderboard) -> Table:
    shown = table("feature", "one deviation", "worth", "95% interval", "wins", right=(1, 2, 3, 4))
    for one in board.covariates:
        interval = f"{one.low:+.2f} to {one.high:+.2f}"
        worth = (f"{one.deviation:.4g}", f"{one.worth:+.2f}", interval, f"{one.chance:.0%}")
        shown.add_row(*cells(one.name), *worth)
    return shown


def _newcomers(board: Leaderboard) -> Table:
    shown = table("without votes", "expected", "95% interval", "ranks", right=(1, 2, 3))
    for one in board.newcomers:
        interval = f"{one.low:+.2f} to {one.high:+.2f}"
        ranks = f"{one.first_rank} to {one.last_rank}"
        shown.add_row(*cells(one.name), f"{one.strength:+.2f}", interval, ranks)
    return shown


def _questions(board: Leaderboard) -> Table:
    shown = table("ask next", "against", "votes so far", "chance to win", right=(2, 3))
    for one in board.questions:
        shown.add_row(*cells(one.a, one.b), f"{one.votes:g}", f"{one.probability:.0%}")
    return shown
