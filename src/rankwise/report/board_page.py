"""The page of a leaderboard: standings, intervals, who would beat whom, and what to ask next."""

from __future__ import annotations

import importlib.metadata
from typing import NamedTuple

import numpy as np

from rankwise.io.plain_text import shell_line
from rankwise.report.rendering import render_page
from rankwise.report.sections import Figure, Tile
from rankwise.report.svg import intervals_across
from rankwise.workflow.ranking_data import counted
from rankwise.workflow.standings import Leaderboard, Standing

MOST_DRAWN = 60
"""The most items whose intervals are drawn."""
MOST_IN_MATRIX = 25
MOST_CATEGORIES = 12


class Cell(NamedTuple):
    """A cell of the matrix: its text, and a colour of the style sheet with its strength in %."""

    text: str
    tone: str
    share: int


class CategoryRow(NamedTuple):
    """An item with its rank in each category, and the interval of that rank."""

    name: str
    ranks: list[tuple[str, str]]


def build_board_page(board: Leaderboard, *, title: str, command: list[str]) -> str:
    """The page as text. It depends on the board alone: the same votes give the same page."""
    return render_page(
        "leaderboard.html",
        title=title,
        subtitle=f"{board.summary()}.",
        version=importlib.metadata.version("rankwise"),
        verdict=_verdict(board),
        tiles=_tiles(board),
        notes=board.notes,
        standings=board.standings,
        intervals=_intervals(board),
        matrix=_matrix(board),
        matrix_names=[one.name for one in board.standings[:MOST_IN_MATRIX]],
        questions=board.questions,
        hardest=board.hardest(),
        categories=list(board.categories)[:MOST_CATEGORIES],
        by_category=_by_category(board),
        covariates=board.covariates,
        worth=_worth(board),
        newcomers=board.newcomers,
        commands=[shell_line(command)],
        alpha=f"{board.model['alpha']:g}",
        judged=bool(board.counts["judges"]),
    )


def _verdict(board: Leaderboard) -> dict[str, str]:
    """Whether the votes tell who is first."""
    first = board.standings[0]
    if first.last_rank == 1:
        sentence = f"{first.name} is first: the votes put every other item below it."
        return {"finding": "better", "sentence": sentence}
    candidates = [one.name for one in board.standings if one.first_rank == 1]
    shown = ", ".join(candidates[:5]) + (" ..." if len(candidates) > 5 else "")
    sentence = f"It is open who is first: {counted(len(candidates), 'item')} may be ({shown})."
    return {"finding": "open", "sentence": sentence}


def _tiles(board: Leaderboard) -> list[Tile]:
    counts = board.counts
    tiles = [
        Tile("Votes", f"{counts['votes']:,}", f"{counted(counts['ties'], 'tie')} among them"),
        Tile("Items", f"{counts['items']:,}", f"{counts['without_votes']:,} more without votes"),
    ]
    about = "what intervals count" if counts["judges"] else "not told: votes count as independent"
    tiles.append(Tile("Judges", f"{counts['judges']:,}" if counts["judges"] else "–", about))
    certain = sum(one.width == 0 for one in board.standings)
    return [*tiles, Tile("Certain ranks", f"{certain:,}", f"of {len(board.standings):,} ranks")]


def _intervals(board: Leaderboard) -> Figure:
    shown = board.standings[:MOST_DRAWN]
    values = np.array([[one.strength, one.low, one.high] for one in shown]).T
    names = [f"{one.rank}  {one.name}" for one in shown]
    chart = intervals_across("Strengths with 95% intervals", names, values, "Strength (log-odds)")
    caption = (
        "Strengths around the mean of all items, each with its own 95% interval. An item that is "
        "stronger by 1 wins 73% of the votes, by 2 it wins 88%."
    )
    if len(board.standings) > MOST_DRAWN:
        caption += f" The first {MOST_DRAWN} of {len(board.standings):,} items."
    return Figure("Strengths", chart, caption)


def _matrix(board: Leaderboard) -> list[list[Cell | None]]:
    """The probability that the item of the row beats that of the column; None on the diagonal."""
    rows: list[list[Cell | None]] = []
    some = board.probabilities[:MOST_IN_MATRIX, :MOST_IN_MATRIX]
    for i, chances in enumerate(some):
        row: list[Cell | None] = []
        for j, chance in enumerate(chances):
            percent = min(max(round(100 * chance), 1), 99)
            tone = "a" if chance >= 0.5 else "b"
            cell = Cell(f"{percent}", tone, round(abs(2 * chance - 1) * 70))
            row.append(None if i == j else cell)
        rows.append(row)
    return rows


def _by_category(board: Leaderboard) -> list[CategoryRow]:
    boards = list(board.categories.items())[:MOST_CATEGORIES]
    standing = [{one.name: one for one in rows} for _, rows in boards]
    return [
        CategoryRow(one.name, [_rank_in(places.get(one.name)) for places in standing])
        for one in board.standings[:MOST_DRAWN]
    ]


def _rank_in(standing: Standing | None) -> tuple[str, str]:
    if standing is None:
        return "–", "no votes"
    return f"{standing.rank}", standing.ranks


def _worth(board: Leaderboard) -> Figure | None:
    if not board.covariates:
        return None
    shown = board.covariates[:MOST_DRAWN]
    values = np.array([[one.worth, one.low, one.high] for one in shown]).T
    names = [one.name for one in shown]
    label = "Strength for one standard deviation more"
    chart = intervals_across("What features are worth", names, values, label)
    own = board.model["own_strength_sd"]
    caption = (
        "Change of strength for one standard deviation more of a feature, all others being equal, "
        f"with 95% intervals. Features do not tell everything: items of equal features differ by "
        f"a standard deviation of {own:.2f}."
    )
    return Figure("What a feature is worth", chart, caption)
