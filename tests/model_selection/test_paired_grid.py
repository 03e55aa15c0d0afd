import numpy as np
import pytest

from rankwise.exceptions import GridWarning
from rankwise.model_selection.choosing import DefaultGrid
from rankwise.model_selection.paired_grid import search_pairs

GRID = DefaultGrid(2.0, -2, 2, 8, step=2)


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
