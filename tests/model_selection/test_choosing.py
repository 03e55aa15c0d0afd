import warnings

import numpy as np
import pytest

from rankwise.exceptions import GridWarning
from rankwise.model_selection.choosing import (
    POWERS_OF_TWO,
    DefaultGrid,
    largest_of_best,
    search_grid,
)


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
