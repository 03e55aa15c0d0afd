"""The choice of a pair of alphas, one for each side of a relation, from a grid of pairs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rankwise.exceptions import GridWarning
from rankwise.model_selection.choosing import EQUAL, DefaultGrid

ScorePairs = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Scores (a, b) and their standard errors (a, b) for alphas of the rows and of the columns."""
SIDES = ("rows", "columns")


class PairedGrid(NamedTuple):
    """Alphas of the rows (a,) and of the columns (b,) in ascending order, with scores (a, b)."""

    rows: np.ndarray
    columns: np.ndarray
    scores: np.ndarray
    errors: np.ndarray

    @property
    def best(self) -> tuple[int, int]:
        """The pair of indices with the best score; of equal ones that of the largest alphas."""
        at = np.argwhere(self.scores >= self.scores.max() - EQUAL)
        size = np.log(self.rows[at[:, 0]]) + np.log(self.columns[at[:, 1]])
        row, column = at[int(np.argmax(size))]
        return int(row), int(column)

    @property
    def alphas(self) -> tuple[float, float]:
        row, column = self.best
        return float(self.rows[row]), float(self.columns[column])

    def ends(self) -> list[tuple[int, int]]:
        """(side, direction) of every end of the grid that the best pair lies at."""
        found = []
        for side, (index, alphas) in enumerate(zip(self.best, (self.rows, self.columns))):
            if len(alphas) > 1 and index in (0, len(alphas) - 1):
                found.append((side, 1 if index else -1))
        return found

    def joined(self, other: PairedGrid, side: int) -> PairedGrid:
        """With further alphas of one side, for the same alphas of the other."""
        alphas = np.concatenate([self[side], other[side]])
        order = np.argsort(alphas)
        scores, errors = (
            np.take(np.concatenate(both, axis=side), order, axis=side)
            for both in ((self.scores, other.scores), (self.errors, other.errors))
        )
        if side == 0:
            return PairedGrid(alphas[order], self.columns, scores, errors)
        return PairedGrid(self.rows, alphas[order], scores, errors)


def search_pairs(
    score: ScorePairs,
    given: tuple[np.ndarray, np.ndarray] | None,
    defaults: tuple[DefaultGrid, DefaultGrid],
    *,
    ceiling: float = np.inf,
) -> PairedGrid:
    """The given grid of pairs, or the default one, extended while the best lies at an end of it.

    `score` must be cheap to call again: the caller keeps the decompositions. A choice at the end of
    a given grid warns. A step beyond an end that changes no score is dropped.
    """
    if given is not None:
        grid = PairedGrid(*given, *score(*given))
        _warn_at_end(grid, ceiling)
        return grid
    alphas = defaults[0].alphas, defaults[1].alphas
    grid = PairedGrid(*alphas, *score(*alphas))
    reach = {(side, sign): 0 for side in (0, 1) for sign in (-1, 1)}
    closed: set[tuple[int, int]] = set()
    while np.ptp(grid.scores) > EQUAL and grid.scores.max() < ceiling - EQUAL:
        open_ends = [end for end in grid.ends() if end not in closed]
        if not open_ends:
            break
        side, direction = open_ends[0]
        default = defaults[side]
        end = (default.high if direction > 0 else default.low) + reach[side, direction]
        further = min(default.step, default.limit - abs(end))
        if further <= 0:
            closed.add((side, direction))
            continue
        beyond = default.powers(*sorted((end + direction, end + direction * further)))
        asked = (beyond, grid.columns) if side == 0 else (grid.rows, beyond)
        strip = PairedGrid(*asked, *score(*asked))
        last = np.take(grid.scores, [-1 if direction > 0 else 0], axis=side)
        if np.abs(strip.scores - last).max() <= EQUAL:
            closed.add((side, direction))
            continue
        reach[side, direction] += direction * further
        grid = grid.joined(strip, side)
    return grid


def _warn_at_end(grid: PairedGrid, ceiling: float) -> None:
    if grid.scores.max() >= ceiling - EQUAL:
        return
    for side, direction in grid.ends():
        end, beyond = ("largest", "larger") if direction > 0 else ("smallest", "smaller")
        warnings.warn(
            f"the best candidate is the {end} of the alphas of the {SIDES[side]}, "
            f"{grid.alphas[side]:g}: a {beyond} one may be better. Add {beyond} candidates, or "
            "leave alphas out, which searches as far as needed.",
            GridWarning,
            stacklevel=4,
        )
        return
