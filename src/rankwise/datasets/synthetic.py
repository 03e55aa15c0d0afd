"""Data made to order, with the truth known."""

from __future__ import annotations

import numbers

import numpy as np
from sklearn.utils import Bunch, check_random_state

from rankwise.validation import check_positive

STRATEGY_SPREAD = 0.1
"""Standard deviation of a player's taste for each move; w sharpens it."""


def make_rock_paper_scissors(w, n_players=100, n_games=1000, random_state=None) -> Bunch:
    """Games of rock-paper-scissors between players of mixed strategies, an intransitive relation.

    A player plays move i with probability softmax(w v)_i, v ~ N(0, 0.1²) for each move: near
    uniform for w = 1, mostly one move for w = 100 (section 6.1 of Pahikkala et al. 2013).

    Returns a Bunch of X (n_players, 3) the players' strategies; edges (2 n_games, 2) and y: every
    game between two random players is an edge in each direction, +1 from the winner, −1 from the
    loser, 0 both ways in a draw; X_test (n_players, 3) new players and Y_test their probabilities
    of winning against each other, a draw counting half.
    """
    w = check_positive("w", w)
    for name, value, least in (("n_players", n_players, 2), ("n_games", n_games, 1)):
        if not isinstance(value, numbers.Integral) or value < least:
            raise ValueError(f"{name} must be an integer of at least {least}; got {value!r}.")
    rng = check_random_state(random_state)
    X, X_test = _strategies(w, n_players, rng), _strategies(w, n_players, rng)
    first = rng.randint(n_players, size=n_games)
    second = (first + rng.randint(1, n_players, size=n_games)) % n_players
    outcome = _result(_draw_moves(X[first], rng), _draw_moves(X[second], rng)).astype(float)
    edges = np.column_stack([first, second, second, first]).reshape(-1, 2)
    y = np.column_stack([outcome, -outcome]).ravel()
    moves = np.arange(3)
    gain = _result(moves[:, None], moves)
    return Bunch(X=X, edges=edges, y=y, X_test=X_test, Y_test=(1 + X_test @ gain @ X_test.T) / 2)


def _strategies(w: float, n_players: int, rng) -> np.ndarray:
    taste = w * rng.normal(scale=STRATEGY_SPREAD, size=(n_players, 3))
    odds = np.exp(taste - taste.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def _draw_moves(strategies: np.ndarray, rng) -> np.ndarray:
    """0 rock, 1 paper or 2 scissors for each row of probabilities."""
    thresholds = strategies.cumsum(axis=1)[:, :2]
    return (rng.uniform(size=(len(strategies), 1)) > thresholds).sum(axis=1)


def _result(mine, other) -> np.ndarray:
    """1 where my move beats the other (each beats the one before it), −1 where it loses, else 0."""
    return np.array([0, 1, -1])[(mine - other) % 3]
