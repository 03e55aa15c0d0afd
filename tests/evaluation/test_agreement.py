"""Agreement of judges against a loop over all pairs of statements."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise import Preferences
from rankwise.evaluation import judge_agreement
from rankwise.exceptions import UndefinedMetric

RNG = np.random.default_rng(0)
L, M = 80, 5
WINNER = RNG.integers(0, M, L)
LOSER = (WINNER + RNG.integers(1, M, L)) % M
TIE = RNG.uniform(size=L) < 0.2
WEIGHT = RNG.uniform(0.5, 2.0, L)
JUDGE = RNG.integers(0, 6, L)
VOTES = Preferences(WINNER, LOSER, weight=WEIGHT, tie=TIE, n_items=M)


def outcome(s):
    return 0.5 if TIE[s] else float(WINNER[s] < LOSER[s])


def plain():
    across, own, by_judge = np.zeros(2), np.zeros(2), np.zeros((6, 2))
    for s, t in itertools.combinations(range(L), 2):
        if {WINNER[s], LOSER[s]} != {WINNER[t], LOSER[t]}:
            continue
        weight = WEIGHT[s] * WEIGHT[t]
        value = np.array([weight * (1 - abs(outcome(s) - outcome(t))), weight])
        if JUDGE[s] == JUDGE[t]:
            own += value
        else:
            across += value
            by_judge[JUDGE[s]] += value
            by_judge[JUDGE[t]] += value
    return across[0] / across[1], own[0] / own[1], by_judge[:, 0] / by_judge[:, 1]


def test_against_all_pairs_of_statements():
    found = judge_agreement(VOTES, JUDGE, n_permutations=49, random_state=0)
    agreement, consistency, by_judge = plain()
    assert found.agreement == pytest.approx(agreement)
    assert found.u == pytest.approx(2 * agreement - 1)
    assert found.consistency == pytest.approx(consistency)
    assert_allclose(found.by_judge, by_judge)
    assert found.low <= found.agreement <= found.high


def test_jackknife_by_leaving_judges_out():
    found = judge_agreement(VOTES, JUDGE, n_permutations=9)
    without = [
        judge_agreement(VOTES[k != JUDGE], JUDGE[k != JUDGE], n_permutations=9).agreement
        for k in range(6)
    ]
    error = np.sqrt(5 / 6 * np.sum((without - np.mean(without)) ** 2))
    assert found.high - found.agreement == pytest.approx(2.570582 * error, rel=1e-5)


def test_unanimous_and_random_judges():
    same = Preferences(np.tile([0, 1, 0], 8), np.tile([1, 2, 2], 8))
    judges = np.repeat([f"j{k}" for k in range(8)], 3)
    found = judge_agreement(same, judges, random_state=0)
    assert found.u == 1.0 and found.p_value <= 0.01 and np.isnan(found.consistency)
    assert found.judges.tolist() == [f"j{k}" for k in range(8)]
    rng, p = np.random.default_rng(0), []
    for seed in range(100):
        tossed = same.exchanged(rng.uniform(size=24) < 0.5)
        p.append(judge_agreement(tossed, judges, n_permutations=49, random_state=seed).p_value)
    assert np.mean(np.array(p) <= 0.1) < 0.2


def test_one_odd_judge_is_seen():
    same = Preferences(np.tile([0, 1, 0], 8), np.tile([1, 2, 2], 8))
    judges = np.repeat(np.arange(8), 3)
    odd = same.exchanged(judges == 5)
    found = judge_agreement(odd, judges, n_permutations=19)
    assert found.by_judge[5] == 0.0 and (np.delete(found.by_judge, 5) > 0.8).all()


def test_mistakes():
    with pytest.raises(UndefinedMetric, match="no two judges"):
        judge_agreement(Preferences([0, 1], [1, 2]), [0, 1])
    with pytest.raises(ValueError, match="judge"):
        judge_agreement(VOTES, JUDGE[:-1])
    with pytest.raises(ValueError, match="n_permutations"):
        judge_agreement(VOTES, JUDGE, n_permutations=0)
    with pytest.raises(ValueError, match="must be a rankwise"):
        judge_agreement([[0, 1]], [0])
