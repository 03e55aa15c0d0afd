"""Suspicious labels: exact hold-outs, p-values that are uniform if labels are right, and flips."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.linear_model import Ridge
from sklearn.svm import SVR

from rankwise import RLS, Preferences, RankRLS, RankRLSCV, RankSVM
from rankwise.evaluation import suspects
from rankwise.evaluation.label_audit import _as_improbable
from rankwise.exceptions import EstimateWarning

RNG = np.random.default_rng(8)


def drawn(m=60, n=3, noise=0.5, rng=RNG):
    X = rng.normal(size=(m, n))
    return X, X @ np.linspace(1.0, 0.2, n) + noise * rng.normal(size=m)


def plainly(y, s, qid):
    """The error of each item beside the others of its query, by loops."""
    told, predicted = np.zeros(len(y)), np.zeros(len(y))
    for i in range(len(y)):
        others = [j for j in range(len(y)) if qid[j] == qid[i] and j != i]
        scale = np.sqrt(len(others) / (len(others) + 1))
        told[i] = scale * (y[i] - y[others].mean())
        predicted[i] = scale * (s[i] - s[others].mean())
    b = told @ predicted / (predicted @ predicted)
    error = told - b * predicted
    return error / np.sqrt(error @ error / (len(y) - 2))


@pytest.mark.parametrize("with_queries", [False, True])
def test_items_are_judged_by_models_without_them(with_queries):
    X, y = drawn(36)
    qid = np.repeat(np.arange(6), 6) if with_queries else np.zeros(36)
    given = qid if with_queries else None
    refitted = np.empty(36)
    for i in range(36):
        rest = np.delete(np.arange(36), i)
        labels = None if given is None else qid[rest]
        refitted[i] = RankRLS(2.0).fit(X[rest], y[rest], qid=labels).predict(X[[i]])[0]
    found = suspects(RankRLS(2.0), X, y, given)
    z = plainly(y, refitted, qid)
    assert_allclose(found.p_value, np.sort(2 * stats.t.sf(np.abs(z), 34)), rtol=1e-6)
    assert found.index[0] == np.argmax(np.abs(z)) and found.how == "leave-one-out"
    assert_allclose(found.told, y[found.index])
    assert np.all(np.diff(found.p_value) >= 0)


def test_searches_and_other_estimators():
    X, y = drawn(40)
    chosen = RankRLSCV().fit(X, y).alpha_
    same = suspects(RankRLS(chosen), X, y)
    assert_allclose(suspects(RankRLSCV(), X, y).p_value, same.p_value)
    assert suspects(Ridge(), X, y).how == "leave-one-out"
    X, y = drawn(150)
    assert suspects(SVR(), X, y).how == "10 folds"
    assert suspects(RankSVM(), X, y, cv=5).how == "5 folds"
    assert suspects(RLS(), X, y, groups=np.repeat(np.arange(50), 3)).how == "leave-group-out"


def test_groups_leave_together():
    """A twin of the item must not speak for its label."""
    X, y = drawn(30)
    X, y, who = np.repeat(X, 2, axis=0), np.repeat(y, 2), np.repeat(np.arange(30), 2)
    y[6:8] += 5.0
    memory = RankRLS(1e-3, kernel="rbf", gamma=3.0)
    with pytest.warns(EstimateWarning, match="occur more than once"):
        assert not {6, 7} <= set(suspects(memory, X, y).index[:2])
    assert set(suspects(memory, X, y, groups=who).index[:2]) == {6, 7}


def p_values(repetitions, kind):
    rng, all_p = np.random.default_rng(4), []
    for _ in range(repetitions):
        X, y = drawn(120, 4, 1.0, rng)
        if kind == "items":
            found = suspects(RankRLS(1.0), X, y)
        elif kind == "queries":
            found = suspects(RankRLS(1.0), X, y, np.repeat(np.arange(15), 8))
        else:
            a = rng.integers(0, 120, 400)
            b = (a + rng.integers(1, 120, 400)) % 120
            wins = rng.random(400) < 1 / (1 + np.exp(-2 * (y[a] - y[b])))
            won, lost = np.where(wins, a, b), np.where(wins, b, a)
            found = suspects(RankRLS(1.0), X, preferences=Preferences(won, lost, n_items=120))
        all_p.append(found.p_value)
    return np.concatenate(all_p)


@pytest.mark.parametrize("kind", ["items", "queries", "statements"])
def test_p_values_are_uniform_if_all_labels_are_right(kind):
    """benchmarks/papers/label_audit.py has a wider table."""
    p = p_values(30, kind)
    assert stats.kstest(p, "uniform").statistic < 0.03
    for level in (0.01, 0.05, 0.2):
        share = np.mean(p <= level)
        assert share == pytest.approx(level, abs=4 * np.sqrt(level / len(p)) + 0.1 * level)


def test_flipped_labels_are_found():
    X, y = drawn(200, 4, 0.3)
    wrong = np.argsort(-np.abs(y))[:20:2]
    y[wrong] = -y[wrong]
    found = suspects(RankRLSCV(), X, y)
    assert np.isin(found.index[:10], wrong).mean() >= 0.9
    flagged = found.flagged()
    assert len(flagged) >= 8 and np.isin(flagged, wrong).mean() >= 0.8
    assert str(found).startswith(f"{len(flagged)} of 200 items contradict the model")
    worst = found.index[0]
    assert np.sign(found.expected[0]) == -np.sign(y[worst])


def test_wrong_statements_are_found_and_ties_are_not_judged():
    X, y = drawn(50, 3, 0.1)
    a = RNG.integers(0, 50, 400)
    b = (a + RNG.integers(1, 50, 400)) % 50
    winner, loser = np.where(y[a] > y[b], a, b), np.where(y[a] > y[b], b, a)
    wrong = np.argsort(-np.abs(y[a] - y[b]))[:40:4]
    winner[wrong], loser[wrong] = loser[wrong].copy(), winner[wrong].copy()
    tie = np.zeros(400, dtype=bool)
    tie[np.setdiff1d(np.arange(400), wrong)[:5]] = True
    preferences = Preferences(winner, loser, n_items=50, tie=tie)
    found = suspects(RankRLS(), X, preferences=preferences)
    assert found.kind == "statements" and found.how == "leave-preference-out"
    assert np.isin(found.index[:10], wrong).mean() >= 0.9
    assert np.all(found.p_value[np.isin(found.index, np.flatnonzero(tie))] == 1.0)
    assert found.expected[0] < 0.1


def test_the_share_of_statements_at_most_as_probable():
    right = np.array([0.9, 0.2, 0.6])
    for value, p in zip(right, _as_improbable(right)):
        either = [(q, q) for q in right] + [(1 - q, 1 - q) for q in right]
        assert_allclose(p, sum(q for q, u in either if u <= value + 1e-12) / 3)


def test_a_model_that_learnt_nothing_accuses_nobody():
    X, _ = drawn(40)
    with pytest.warns(EstimateWarning, match="has not learnt anything"):
        found = suspects(RankRLS(), X, np.arange(40) % 2.0)
    assert len(found.flagged()) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give scores y"),
        ({"y": np.arange(5.0), "preferences": Preferences([0], [1])}, "not both"),
        ({"y": np.zeros(5)}, "no pair to order"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        suspects(RankRLS(), np.eye(5), **arguments)
    with pytest.raises(ValueError, match="RankRLS and RankRLSCV"):
        suspects(RankSVM(), np.eye(5), preferences=Preferences([0], [1]))


def test_items_alone_in_their_query_are_not_judged():
    X, y = drawn(21)
    qid = np.append(np.repeat(np.arange(5), 4), 99)
    y[20] = 1000.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = suspects(RankRLS(), X, y, qid)
    assert found.index[-1] == 20 and found.p_value[-1] == 1.0
