"""The choice of alpha from the scores of a grid, and the extension of a default grid.

Scores that differ by no more than EQUAL are equal, and of equal scores the largest alpha wins.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankwise.exceptions import GridWarning
from rankwise.validation import check_alphas

EQUAL = 1e-12
"""Scores that differ by no more than this are equal."""

ScoreGrid = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Scores (a, k) and influence values (a, units, k) of a grid of alphas."""


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
            stacklevel=4,
        )
        return


def _extended(score: ScoreGrid, default: DefaultGrid, ceiling: float) -> ScoredGrid:
    """The default grid, and powers beyond it while the best of a column lies at an end.

    An end where scores have levelled off is crossed by scoring one power of each step only: it may
    be the plateau of almost no regularisation, with something better far out. If the scores of a
    whole column are equal, the grid says nothing, and both sides are looked at up to the limit. The
    grid stays as it was if nothing changes, and a column at the ceiling asks for nothing more.
    """
    grid = ScoredGrid(default.alphas, *score(default.alphas))
    for direction, end in ((1, default.high), (-1, default.low)):
        while abs(end) < default.limit:
            open_columns = grid.scores.max(axis=0) < ceiling - EQUAL
            level = (np.ptp(grid.scores, axis=0) <= EQUAL) & open_columns
            row = len(grid.alphas) - 1 if direction > 0 else 0
            if not (level | ((grid.best == row) & open_columns)).any():
                break
            outward = direction * np.append(
                np.arange(abs(end) + default.step, default.limit, default.step), default.limit
            )
            ahead = _where_scores_change(
                score, default, outward, grid.scores[row], bool(level.any())
            )
            if ahead is None:
                break
            beyond = default.powers(*sorted((end + direction, ahead)))
            grid = grid.joined(ScoredGrid(beyond, *score(beyond)))
            end = ahead
    return grid


def _where_scores_change(
    score: ScoreGrid,
    default: DefaultGrid,
    outward: np.ndarray,
    end_scores: np.ndarray,
    to_the_limit: bool,
) -> int | None:
    """The first of the exponents `outward` at which a score differs from `end_scores`.

    `to_the_limit`: if some exponent has a better score, the exponent after the last such one.
    """
    change = None
    for i, exponent in enumerate(outward.tolist()):
        gain = score(default.powers(exponent, exponent))[0][0] - end_scores
        if change is None and (np.abs(gain) > EQUAL).any():
            change = i
            if not to_the_limit:
                break
        if (gain > EQUAL).any():
            change = min(i + 1, len(outward) - 1)
    return None if change is None else int(outward[change])
