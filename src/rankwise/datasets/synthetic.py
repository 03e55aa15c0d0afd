"""Generated data whose true model is known."""

from __future__ import annotations

import numbers

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch, check_random_state

from rankwise.validation import check_positive

Seed = int | np.random.RandomState | None

STRATEGY_SPREAD = 0.1
"""Standard deviation of a player's preference for each move, before it is multiplied by w."""


def make_ranking(
    n_queries: int = 100,
    n_items: int | tuple[int, int] = 20,
    n_features: int = 10,
    *,
    n_informative: int | None = None,
    grades: int | None = None,
    signal_to_noise: float = 3.0,
    query_shift: float = 1.0,
    density: float | None = None,
    random_state: Seed = None,
) -> Bunch:
    """Queries of items whose scores are a linear function of the features, plus noise.

    y = X w + shift of the query + noise, where w is standard normal for the first n_informative
    features and 0 for the others. The shift matters to regression, but not to rankers.

    Parameters
    ----------
    n_queries
        Number of queries.
    n_items
        Number of items per query, or (least, most) to draw it for every query.
    n_features, n_informative
        Numbers of features; by default all are informative.
    grades
        None for real scores; an integer g ≥ 2 for grades 0 … g − 1, each of which is about half as
        frequent as the one before, as in judgements of relevance.
    signal_to_noise
        Variance of X w divided by the variance of the noise; inf for no noise.
    query_shift
        Standard deviation of the shifts, divided by that of X w.
    density
        None for a dense array of standard normal features; a number in (0, 1] for CSR in which this
        share of the values is positive and the rest 0.
    random_state
        Seed of all random numbers.

    Returns
    -------
    Bunch
        With X (m, n); y (m,); qid (m,) integers from 0; coef (n,) the true w.

    Examples
    --------
    >>> from rankwise.datasets import make_ranking
    >>> data = make_ranking(n_queries=3, n_items=4, n_features=2, grades=3, random_state=0)
    >>> data.X.shape, data.y[:6]
    ((12, 2), array([2., 0., 2., 0., 0., 0.]))
    """
    least, most = n_items if isinstance(n_items, tuple) else (n_items, n_items)
    informative = n_features if n_informative is None else n_informative
    for name, value in (("n_queries", n_queries), ("n_items", least), ("n_features", n_features)):
        _check_integer(name, value, 1)
    _check_integer("the second number of n_items", most, least)
    _check_integer("n_informative", informative, 1)
    if informative > n_features:
        raise ValueError(f"n_informative must be at most n_features; got {informative!r}.")
    if grades is not None:
        _check_integer("grades", grades, 2)
    if signal_to_noise != np.inf:
        signal_to_noise = check_positive("signal_to_noise", signal_to_noise)
    query_shift = check_positive("query_shift", query_shift, zero=True)
    if density is not None and check_positive("density", density) > 1:
        raise ValueError(f"density must be at most 1; got {density!r}.")
    rng = check_random_state(random_state)
    qid = np.repeat(np.arange(n_queries), rng.randint(least, most + 1, size=n_queries))
    shape = (len(qid), n_features)
    if density is None:
        X = rng.normal(size=shape)
    else:
        X = sparse.random(*shape, density, "csr", random_state=rng)
    coef = np.where(np.arange(n_features) < informative, rng.normal(size=n_features), 0.0)
    signal = np.asarray(X @ coef)
    deviation = signal.std() or 1.0
    shift = rng.normal(scale=query_shift * deviation, size=n_queries)[qid]
    y = signal + rng.normal(scale=deviation / np.sqrt(signal_to_noise), size=len(qid))
    if grades is None:
        return Bunch(X=X, y=y + shift, qid=qid, coef=coef)
    shares = 0.5 ** np.arange(1, int(grades))
    cuts = np.quantile(y, np.cumsum(shares))
    return Bunch(X=X, y=np.searchsorted(cuts, y).astype(float), qid=qid, coef=coef)


def make_rock_paper_scissors(
    w: float, n_players: int = 100, n_games: int = 1000, random_state: Seed = None
) -> Bunch:
    """Games of rock-paper-scissors between players with mixed strategies, an intransitive relation.

    A player plays move i with probability softmax(w v)_i, where v ~ N(0, 0.1²) for each move. The
    strategies are almost uniform for w = 1, and mostly one move for w = 100 (section 6.1 of
    Pahikkala et al. 2013).

    Parameters
    ----------
    w : float
        How much players prefer one move.
    n_players, n_games : int
        Numbers of players and of games.
    random_state
        Seed of all random numbers.

    Returns
    -------
    Bunch
        X (n_players, 3) the strategies of the players; edges (2 n_games, 2) and y: each game
        between two random players gives one edge per direction, +1 from the winner, −1 from the
        loser, 0 in a draw; X_test (n_players, 3) new players, and Y_test (n_players, n_players)
        their probabilities of winning against each other, where a draw counts half.

    Examples
    --------
    >>> from rankwise.datasets import make_rock_paper_scissors
    >>> games = make_rock_paper_scissors(w=100, n_players=4, n_games=3, random_state=0)
    >>> games.edges.tolist(), games.y
    ([[3, 0], [0, 3], [0, 1], [1, 0], [2, 3], [3, 2]], array([-1.,  1.,  0., -0.,  1., -1.]))
    """
    w = check_positive("w", w)
    _check_integer("n_players", n_players, 2)
    _check_integer("n_games", n_games, 1)
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


def _check_integer(name: str, value: object, least: int) -> None:
    if not isinstance(value, numbers.Integral) or int(value) < least:
        raise ValueError(f"{name} must be an integer of at least {least}; got {value!r}.")


def _strategies(w: float, n_players: int, rng: np.random.RandomState) -> np.ndarray:
    preference = w * rng.normal(scale=STRATEGY_SPREAD, size=(n_players, 3))
    odds = np.exp(preference - preference.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def _draw_moves(strategies: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """One move for each row of probabilities: 0 rock, 1 paper or 2 scissors."""
    thresholds = strategies.cumsum(axis=1)[:, :2]
    return (rng.uniform(size=(len(strategies), 1)) > thresholds).sum(axis=1)


def _result(move: np.ndarray, other: np.ndarray) -> np.ndarray:
    """1 if the move wins (each beats the one before it), −1 if it loses, 0 in a draw."""
    return np.array([0, 1, -1])[(move - other) % 3]
