"""The choice of alpha from the scores of a grid, and the extension of a default grid.

A relation may have a pair of alphas, one for each side: their grid is a grid of pairs.

Scores that differ by no more than EQUAL are equal, and of equal scores the largest alpha wins.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankwise.exceptions import GridWarning
from rankwise.validation import check_alphas

EQUAL = 1e-12
"""Scores that differ by no more than this are equal."""

ScoreGrid = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Scores (a, k) and influence values (a, units, k) of a grid of alphas."""
ScorePairs = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Scores (a, b) and their standard errors (a, b) for alphas of the rows and of the columns."""
SIDES = ("rows", "columns")


def largest_of_best(alphas: np.ndarray, scores: np.ndarray) -> int:
    """The index of the largest alpha among those whose score equals the best one."""
    best = np.flatnonzero(scores >= scores.max() - EQUAL)
    return int(best[np.argmax(alphas[best])])


class ScoredGrid(NamedTuple):
    """Alphas (a,) with scores (a, k), higher is better, and influence values (a, units, k)."""

    alphas: np.ndarray
    scores: np.ndarray
    influence: np.ndarray

    @property
    def best(self) -> np.ndarray:
        """(k,) the index of the chosen alpha for each column of scores."""
        return np.array([largest_of_best(self.alphas, column) for column in self.scores.T])

    @property
    def errors(self) -> np.ndarray:
        """(a, k) standard errors of the scores."""
        return np.sqrt((self.influence**2).sum(axis=1))

    def tell(self, search: Any, by_column: bool = False) -> None:
        """Set what a search tells of its choice; arrays over the columns of scores if asked."""
        scores, errors, best = self.scores, self.errors, self.best
        chosen, best_scores = self.alphas[best], scores[best, np.arange(scores.shape[1])]
        if not by_column:
            chosen, best_scores = float(chosen[0]), float(best_scores[0])
            scores, errors = scores[:, 0], errors[:, 0]
        search.alphas_, search.alpha_, search.best_score_ = self.alphas, chosen, best_scores
        search.cv_results_ = {"alpha": self.alphas, "score": scores, "score_se": errors}

    def joined(self, other: ScoredGrid) -> ScoredGrid:
        """Both grids in ascending order of alpha; they share no alpha."""
        order = np.argsort(np.concatenate([self.alphas, other.alphas]))
        return ScoredGrid(*(np.concatenate(both)[order] for both in zip(self, other)))


class DefaultGrid(NamedTuple):
    """The powers base^low … base^high times `scale`, which may grow by steps to base^±limit."""

    base: float
    low: int
    high: int
    limit: int
    step: int = 5
    scale: float = 1.0

    @property
    def alphas(self) -> np.ndarray:
        return self.powers(self.low, self.high)

    def powers(self, low: int, high: int) -> np.ndarray:
        return self.scale * self.base ** np.arange(low, high + 1)


POWERS_OF_TWO = DefaultGrid(2.0, -15, 15, 60)


def search_grid(
    score: ScoreGrid,
    given: ArrayLike | None,
    default: DefaultGrid = POWERS_OF_TWO,
    *,
    ceiling: float = np.inf,
) -> ScoredGrid:
    """The given grid with its scores, or the default grid, extended while the best is at an end.

    `score` must be cheap to call again: the caller keeps the decompositions. No score is greater
    than `ceiling`. A choice at the end of a given grid warns.
    """
    if given is None:
        return _extended(score, default, ceiling)
    alphas = check_alphas(given)
    grid = ScoredGrid(alphas, *score(alphas))
    warn_at_end(alphas, grid.scores, ceiling=ceiling)
    return grid


def warn_at_end(
    values: np.ndarray,
    scores: np.ndarray,
    *,
    argument: str = "alphas",
    ceiling: float = np.inf,
    less: bool = False,
) -> None:
    """Warn if the choice lies at an end of the grid, unless its score has reached the ceiling.

    `argument` is the name of the grid. With `less` the smallest of equally good values wins.
    """
    order = -values if less else values
    ends = {float(values.min()): "smallest", float(values.max()): "largest"}
    for column in scores.T:
        best = float(values[largest_of_best(order, column)])
        if len(ends) < 2 or best not in ends or column.max() >= ceiling - EQUAL:
            continue
        beyond = "smaller" if ends[best] == "smallest" else "larger"
        warnings.warn(
            f"the best candidate is the {ends[best]} of {argument}, {best:g}: a {beyond} one may "
            f"be better. Add {beyond} candidates, or leave {argument} out, which searches as far "
            "as needed.",
            GridWarning,
            stacklevel=5,
        )
        return


def _extended(score: ScoreGrid, default: DefaultGrid, ceiling: float) -> ScoredGrid:
    """The default grid, and further steps beyond it while the best of a column lies at an end.

    A step whose scores all equal that of the end is dropped: there the scores have levelled off. If
    the scores of a whole column are equal, the grid says nothing, because the features have a very
    large or a very small scale, or because nothing matters. Then both sides are looked at, one
    power in each step, for something better. A column at the ceiling asks for nothing more.
    """
    grid = ScoredGrid(default.alphas, *score(default.alphas))
    for direction, end in ((1, default.high), (-1, default.low)):
        level = (np.ptp(grid.scores, axis=0) <= EQUAL) & (grid.scores[0] < ceiling - EQUAL)
        if level.any():
            reach = _reach_of_better(score, default, end, grid.scores[0], level)
            grid, end = _joined(score, default, grid, end, reach)
        while abs(end) < default.limit:
            row = len(grid.alphas) - 1 if direction > 0 else 0
            asks = (grid.best == row) & (grid.scores.max(axis=0) < ceiling - EQUAL)
            asks &= np.ptp(grid.scores, axis=0) > EQUAL
            if not asks.any():
                break
            further = end + direction * min(default.step, default.limit - abs(end))
            longer, end = _joined(score, default, grid, end, further)
            beyond = longer.scores[len(grid.alphas) :] if direction > 0 else longer.scores
            beyond = beyond[: len(longer.alphas) - len(grid.alphas)]
            if not (np.abs(beyond - grid.scores[row]) > EQUAL)[:, asks].any():
                break
            grid = longer
    return grid


def _joined(
    score: ScoreGrid, default: DefaultGrid, grid: ScoredGrid, end: int, further: int
) -> tuple[ScoredGrid, int]:
    """The grid with all powers from its end to `further`, and its new end."""
    if further == end:
        return grid, end
    direction = 1 if further > end else -1
    beyond = default.powers(*sorted((end + direction, further)))
    return grid.joined(ScoredGrid(beyond, *score(beyond))), further


def _reach_of_better(
    score: ScoreGrid, default: DefaultGrid, end: int, scores: np.ndarray, level: np.ndarray
) -> int:
    """The exponent one step beyond the last one at which a level column is better, or `end`.

    It looks as far as three quarters of the limit: further out, predictions for held-out items are
    differences of numbers that agree in almost all digits.
    """
    direction = 1 if end > 0 else -1
    farthest = max(abs(end), 3 * default.limit // 4)
    reach = end
    for size in range(abs(end) + default.step, farthest + 1, default.step):
        found, _ = score(default.powers(direction * size, direction * size))
        if (found[0] - scores > EQUAL)[level].any():
            reach = direction * min(size + default.step, default.limit)
    return reach


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
