import warnings

import numpy as np
import pytest

from rankwise.exceptions import GridWarning
from rankwise.model_selection.choosing import (
    POWERS_OF_TWO,
    DefaultGrid,
    largest_of_best,
    search_grid,
    search_pairs,
)

GRID = DefaultGrid(2.0, -2, 2, 8, step=2)


@pytest.mark.parametrize(
    ("alphas", "scores", "best"),
    [
        ([1.0, 2.0, 3.0], [0.5, 0.7, 0.6], 1),
        ([1.0, 3.0, 2.0], [0.7, 0.7, 0.7], 1),
        ([3.0, 1.0, 2.0], [0.7, 0.7, 0.7 + 1e-13], 0),
        ([3.0, 1.0, 2.0], [0.7, 0.7, 0.7 + 1e-9], 2),
    ],
)
def test_largest_of_equal_scores(alphas, scores, best):
    assert largest_of_best(np.array(alphas), np.array(scores)) == best


def searched(measure, given=None, **options):
    """search_grid with the score measure(log2 alpha), and every exponent that was asked for."""
    asked = []

    def score(alphas):
        asked.extend(np.log2(alphas).round().astype(int).tolist())
        scores = np.array([[measure(np.log2(alpha))] for alpha in alphas])
        return scores, np.zeros((len(alphas), 1, 1))

    return search_grid(score, given, **options), asked


def exponents(grid):
    return np.log2(grid.alphas).round().astype(int).tolist()


@pytest.mark.parametrize("peak", [-44, -16, -15, 0, 14, 15, 16, 20, 37, 60])
def test_the_default_grid_reaches_a_peak_beyond_its_ends(peak):
    grid, _ = searched(lambda x: -abs(x - peak))
    assert np.log2(grid.alphas[grid.best[0]]) == peak
    assert exponents(grid) == list(range(exponents(grid)[0], exponents(grid)[-1] + 1))
    inside = exponents(grid)[0] < peak < exponents(grid)[-1]
    assert inside or peak == 60


@pytest.mark.parametrize("where", [-38, 36])
def test_a_level_grid_is_left_in_search_of_something_better(where):
    """Scores may fall before they rise."""
    grid, _ = searched(lambda x: np.interp(abs(x - where), [0, 9, 15, 20], [0.8, 0.5, 0.5, 0.6]))
    assert np.log2(grid.alphas[grid.best[0]]) == where


@pytest.mark.parametrize("where", [-38, 36])
def test_it_crosses_a_plateau_of_equal_scores(where):
    """Features in other units shift all scores along the axis of alpha."""
    grid, asked = searched(lambda x: 0.8 if abs(x - where) < 3 else 0.6)
    assert np.log2(grid.alphas[grid.best[0]]) == where + 2
    assert len(asked) < 2 * 61


def test_it_ends_where_it_began_if_nothing_changes():
    grid, asked = searched(lambda x: 0.7)
    assert exponents(grid) == list(range(-15, 16))
    assert len(asked) == 31 + 6 + 6
    grid, asked = searched(lambda x: 0.7 if x < 0 else 0.8)
    assert exponents(grid) == list(range(-15, 16))
    assert len(asked) == 31 + 5


def test_an_end_that_has_levelled_off_is_not_crossed():
    """Far out, rounding alone may change the score of a ranking that has become constant."""
    grid, _ = searched(lambda x: 0.9 if x > 50 else min(x, 18) / 100)
    assert np.log2(grid.alphas[grid.best[0]]) == 20
    assert exponents(grid) == list(range(-15, 21))


def test_nothing_is_better_than_the_ceiling():
    _, asked = searched(lambda x: 1.0, ceiling=1.0)
    assert len(asked) == 31


def test_it_stops_at_the_limit():
    grid, _ = searched(lambda x: x)
    assert exponents(grid)[-1] == 60
    grid, _ = searched(lambda x: -x)
    assert exponents(grid)[0] == -60
    assert grid.alphas[grid.best[0]] == 2.0**-60


def test_each_output_may_ask_for_more():
    def score(alphas):
        x = np.log2(alphas)[:, None]
        return -np.abs(x - np.array([[-20.0, 0.0, 22.0]])), np.zeros((len(alphas), 1, 3))

    grid = search_grid(score, None, POWERS_OF_TWO)
    assert np.log2(grid.alphas[grid.best]).tolist() == [-20.0, 0.0, 22.0]


def test_a_scaled_grid_of_another_base():
    grid, _ = searched(
        lambda x: -abs(x * np.log10(2) - 5.3), default=DefaultGrid(10.0, -4, 2, 10, 2, 2.0)
    )
    assert grid.alphas[grid.best[0]] == pytest.approx(2e5)


@pytest.mark.parametrize(
    ("grid", "words"),
    [([4.0, 1.0, 2.0], "largest of alphas, 4"), ([16.0, 8.0, 32.0], "smallest of alphas, 8")],
)
def test_a_given_grid_warns_at_its_end(grid, words):
    with pytest.warns(GridWarning, match=words):
        searched(lambda x: -abs(x - np.log2(7)), grid)


@pytest.mark.parametrize("grid", [[1.0, 8.0, 64.0], [8.0], [8.0, 8.0]])
def test_a_given_grid_around_the_best_does_not_warn(grid):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        searched(lambda x: -abs(x - 3), grid)
        searched(lambda x: 1.0, grid, ceiling=1.0)


def peak_at(row, column, calls=None):
    """Scores with one peak, by the exponents of 2."""

    def score(rows, columns):
        if calls is not None:
            calls.append((len(rows), len(columns)))
        distance = np.abs(np.log2(rows)[:, None] - row) + np.abs(np.log2(columns) - column)
        return 1 / (1 + distance), np.zeros((len(rows), len(columns)))

    return score


@pytest.mark.parametrize("row, column", [(0, 1), (5, 0), (-6, 7), (8, -8), (1, -5)])
def test_the_grid_grows_until_it_holds_the_peak(row, column):
    calls = []
    grid = search_pairs(peak_at(row, column, calls), None, (GRID, GRID))
    assert grid.alphas == (2.0**row, 2.0**column)
    assert grid.scores.shape == (len(grid.rows), len(grid.columns))
    assert sum(a * b for a, b in calls) == grid.scores.size
    np.testing.assert_allclose(grid.scores, peak_at(row, column)(grid.rows, grid.columns)[0])
    assert (np.diff(grid.rows) > 0).all() and (np.diff(grid.columns) > 0).all()


def test_beyond_the_limit_nothing_is_asked():
    grid = search_pairs(peak_at(30, 0), None, (GRID, GRID))
    assert grid.alphas == (2.0**8, 1.0)


def test_level_scores_take_the_largest_alphas_and_stop():
    calls = []

    def level(rows, columns):
        calls.append(1)
        return np.full((len(rows), len(columns)), 0.5), np.zeros((len(rows), len(columns)))

    assert search_pairs(level, None, (GRID, GRID)).alphas == (4.0, 4.0)
    assert len(calls) == 1


def test_a_perfect_score_at_an_end_asks_for_nothing_more():
    grid = search_pairs(peak_at(2, 2), None, (GRID, GRID), ceiling=1.0)
    assert len(grid.rows) == len(grid.columns) == 5


def test_the_end_of_a_given_grid_warns():
    given = np.array([0.5, 1.0]), np.array([0.25, 1.0, 4.0])
    with pytest.warns(GridWarning, match="largest of the alphas of the rows, 1: a larger"):
        search_pairs(peak_at(3, 0), given, (GRID, GRID))
    with pytest.warns(GridWarning, match=r"smallest of the alphas of the columns, 0\.25"):
        search_pairs(peak_at(-0.1, -4), (np.array([1.0]), given[1]), (GRID, GRID))
