"""The cyclic part of votes: against explicit projections, its level, and its power."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise import Preferences
from rankwise.datasets import make_rock_paper_scissors
from rankwise.evaluation import transitivity_test
from rankwise.exceptions import UndefinedMetric


def drawn(rng, m=6, l=120, spread=1.0):
    f = np.linspace(-spread, spread, m)
    a = rng.integers(0, m, l)
    b = (a + rng.integers(1, m, l)) % m
    won = rng.logistic(size=l) < f[a] - f[b]
    return Preferences(np.where(won, a, b), np.where(won, b, a), n_items=m)


def games(w=100, n=600):
    found = make_rock_paper_scissors(w, n_players=12, n_games=n, random_state=0)
    edges, y = found.edges[::2], found.y[::2]
    winner = np.where(y >= 0, edges[:, 0], edges[:, 1])
    return Preferences(winner, edges.sum(axis=1) - winner, n_items=12, tie=y == 0)


def test_share_by_least_squares():
    """1 − (energy of the best gradient)/(energy of the flow), by weighted least squares."""
    P = drawn(np.random.default_rng(0))
    W = np.zeros((6, 6))
    np.add.at(W, (P.winner, P.loser), 1)
    i, j = np.nonzero(np.triu(W + W.T))
    N = W[i, j] + W[j, i]
    Y = (W[i, j] - W[j, i]) / N
    D = np.eye(6)[i] - np.eye(6)[j]
    root = np.sqrt(N)[:, None]
    f = np.linalg.lstsq(root * D, root[:, 0] * Y, rcond=None)[0]
    expected = np.sum(N * (Y - D @ f) ** 2) / np.sum(N * Y**2)
    found = transitivity_test(P, n_permutations=19, random_state=0)
    assert found.cyclic_share == pytest.approx(expected)
    assert found.degrees == len(i) - 5
    assert_allclose(found.pairs, np.column_stack((i, j)))
    share, p_value = found
    assert (share, p_value) == (found.cyclic_share, found.p_value)


def test_rock_paper_scissors_has_no_order():
    found = transitivity_test(games(), random_state=0)
    assert found.p_value == 0.001 and found.cyclic_share > found.expected_share + 0.1
    judges = np.arange(600) % 30
    assert transitivity_test(games(), groups=judges, random_state=0).p_value < 0.01


def test_a_plain_cycle_and_a_plain_order():
    cycle = Preferences([0, 1, 2] * 10, [1, 2, 0] * 10)
    found = transitivity_test(cycle, random_state=0)
    assert found.cyclic_share == pytest.approx(1.0) and found.p_value < 0.01
    assert found.order_p_value > 0.5
    order = Preferences([0, 1, 0] * 10, [1, 2, 2] * 10)
    found = transitivity_test(order, random_state=0)
    assert found.p_value > 0.1 and found.order_p_value < 0.01


def test_level_in_small():
    """benchmarks/papers/votes_transitivity.py shows it with many repetitions."""
    rng = np.random.default_rng(1)
    options = {"n_permutations": 99, "random_state": 0}
    p = [transitivity_test(drawn(rng), **options).p_value for _ in range(120)]
    assert 0.01 <= np.mean(np.array(p) <= 0.1) <= 0.2
    p = [transitivity_test(drawn(rng, spread=0), **options).order_p_value for _ in range(120)]
    assert 0.01 <= np.mean(np.array(p) <= 0.1) <= 0.2


def test_weights_and_units():
    P = drawn(np.random.default_rng(3))
    scaled = Preferences(P.winner, P.loser, weight=np.full(len(P), 7.0), n_items=6)
    one, seven = (transitivity_test(Q, n_permutations=49, random_state=0) for Q in (P, scaled))
    assert seven.p_value == one.p_value
    assert seven.cyclic_share == pytest.approx(one.cyclic_share)
    mixed = Preferences(
        P.winner, P.loser, weight=np.random.default_rng(0).uniform(0.5, 2, len(P)), n_items=6
    )
    assert 0 < transitivity_test(mixed, n_permutations=49, random_state=0).p_value <= 1
    assert one.units == "statements"


def test_mistakes():
    with pytest.raises(UndefinedMetric, match="no cycle"):
        transitivity_test(Preferences([0, 1], [1, 2]))
    with pytest.raises(ValueError, match="n_permutations"):
        transitivity_test(drawn(np.random.default_rng(0)), n_permutations=0)
    with pytest.raises(ValueError, match="must be a rankwise"):
        transitivity_test([[0, 1]])
    with pytest.raises(ValueError, match="two groups"):
        P = drawn(np.random.default_rng(0))
        transitivity_test(P, groups=np.zeros(len(P)))
    with pytest.raises(ValueError, match="without weight"):
        transitivity_test(Preferences([0, 1, 2], [1, 2, 0], weight=[1, 0, 1]))
