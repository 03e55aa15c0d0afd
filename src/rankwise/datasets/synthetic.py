"""Data made to order, with the truth known."""

from __future__ import annotations

import numbers

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch, check_random_state

from rankwise.validation import check_positive

STRATEGY_SPREAD = 0.1
"""Standard deviation of a player's taste for each move; w sharpens it."""


def make_ranking(
    n_queries=100,
    n_items=20,
    n_features=10,
    *,
    n_informative=None,
    grades=None,
    signal_to_noise=3.0,
    query_shift=1.0,
    density=None,
    random_state=None,
) -> Bunch:
    """Queries of items whose scores are a linear function of the features, plus noise.

    y = X w + shift of the query + noise, w standard normal on the first n_informative features and
    0 on the others. Rankers never see the shift, regression does.

    Parameters
    ----------
    n_queries, n_items : queries, and items of each; two integers (least, most) draw each size
    n_features, n_informative : default: all are informative
    grades : None for real scores; an integer g ≥ 2 cuts them into grades 0 … g − 1, each next one
        about half as frequent, as judges of relevance do
    signal_to_noise : variance of X w over that of the noise; inf for no noise
    query_shift : standard deviation of the queries' shifts, in units of that of X w
    density : None for a dense array of standard normal features; a share in (0, 1] for CSR with so
        many positive values
    random_state : draws everything

    Returns a Bunch of X, y (m,), qid (m,) integers from 0, and coef (n,) the true w.
    """
    least, most = n_items if isinstance(n_items, tuple) else (n_items, n_items)
    informative = n_features if n_informative is None else n_informative
    sizes = {"n_queries": n_queries, "n_items": least, "n_features": n_features}
    for name, value in {**sizes, "n_items, the most,": most, "n_informative": informative}.items():
        if not isinstance(value, numbers.Integral) or value < 1:
            raise ValueError(f"{name} must be a positive integer; got {value!r}.")
    if most < least or informative > n_features:
        raise ValueError("n_items must be (least, most), and n_informative at most n_features.")
    if grades is not None and (not isinstance(grades, numbers.Integral) or grades < 2):
        raise ValueError(f"grades must be None or an integer of at least 2; got {grades!r}.")
    if signal_to_noise != np.inf:
        signal_to_noise = check_positive("signal_to_noise", signal_to_noise)
    query_shift = check_positive("query_shift", query_shift, zero=True)
    if density is not None and check_positive("density", density) > 1:
        raise ValueError(f"density must be at most 1; got {density!r}.")
    rng = check_random_state(random_state)
    qid = np.repeat(np.arange(n_queries), rng.randint(least, most + 1, size=n_queries))
    m = len(qid)
    if density is None:
        X = rng.normal(size=(m, n_features))
    else:
        X = sparse.random(m, n_features, density, "csr", random_state=rng)
    coef = np.where(np.arange(n_features) < informative, rng.normal(size=n_features), 0.0)
    signal = np.asarray(X @ coef)
    deviation = signal.std() or 1.0
    shift = rng.normal(scale=query_shift * deviation, size=n_queries)[qid]
    y = signal + rng.normal(scale=deviation / np.sqrt(signal_to_noise), size=m)
    if grades is None:
        return Bunch(X=X, y=y + shift, qid=qid, coef=coef)
    shares = 0.5 ** np.arange(1, int(grades))
    cuts = np.quantile(y, np.cumsum(shares))
    return Bunch(X=X, y=np.searchsorted(cuts, y).astype(float), qid=qid, coef=coef)


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
