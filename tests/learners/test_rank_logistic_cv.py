"""RankLogisticCV against refitting for every fold and alpha."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import GroupKFold, KFold

from rankwise import Preferences, RankLogistic, RankLogisticCV, RankRLSCV, RankSVMCV
from rankwise.exceptions import GridWarning, PreferenceWarning

RNG = np.random.default_rng(3)
M, L = 14, 90
X = RNG.normal(size=(M, 3))
A = RNG.integers(0, M, L)
B = (A + RNG.integers(1, M, L)) % M
D = X[A, 0] - X[B, 0]
SAID = np.where(RNG.uniform(size=L) < 0.15, "tie", np.where(RNG.logistic(size=L) < D, "a", "b"))
NAMES = [f"i{i:02d}" for i in range(M)]
VOTES = Preferences.from_votes(
    [NAMES[i] for i in A], [NAMES[i] for i in B], SAID, NAMES, RNG.uniform(0.5, 2, L)
)
JUDGES = RNG.integers(0, 6, L)
ALPHAS = [0.1, 1.0, 10.0]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GridWarning)
        warnings.simplefilter("ignore", PreferenceWarning)
        yield


def folds_of_pairs(n):
    pair_of, pairs = VOTES.unordered_pairs(M)
    for _, test in KFold(n, shuffle=True, random_state=0).split(pairs):
        held = np.isin(pair_of, test)
        yield np.flatnonzero(~held), np.flatnonzero(held)


def refitted(items, alpha, options, splits):
    """The weighted share in the right order, and the mean log-probability, by refits."""
    right, logs, total = 0.0, 0.0, 0.0
    for train, test in splits:
        model = RankLogistic(alpha, **options).fit(items, preferences=VOTES[train])
        f = model.predict(items)
        for s in test:
            w, l, tie = VOTES.winner[s], VOTES.loser[s], VOTES.tie[s]
            weight = VOTES.weight[s]
            right += weight * (0.5 if tie else float(f[w] > f[l]) + 0.5 * (f[w] == f[l]))
            first, second = (w, l) if VOTES.winner_first[s] else (l, w)
            P = model.preference_proba(items, [[first, second]])[0]
            if np.ndim(P):
                chances = {"first": P[0], "second": 1 - P.sum(), "tie": P[1]}
            else:
                chances = {"first": P, "second": 1 - P, "tie": np.sqrt(P * (1 - P))}
            name = "tie" if tie else ("first" if first == w else "second")
            logs += weight * np.log(chances[name])
            total += weight
    return right / total, logs / total


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": "rbf", "item_effect": 0.5},
        {"order_effect": True, "ties": "davidson"},
        {"kernel": "rbf", "basis": np.array([1, 5, 9])},
    ],
    ids=["linear", "own strengths", "effects", "basis"],
)
def test_equals_refits(options):
    expected = np.array([refitted(X, a, options, folds_of_pairs(4)) for a in ALPHAS])
    share = RankLogisticCV(ALPHAS, cv=4, **options).fit(X, preferences=VOTES)
    assert_allclose(share.cv_results_["score"], expected[:, 0], rtol=1e-9)
    logs = RankLogisticCV(ALPHAS, cv=4, scoring="log-loss", **options).fit(X, preferences=VOTES)
    assert_allclose(logs.cv_results_["score"], expected[:, 1], rtol=1e-6)
    assert logs.best_score_ == expected[:, 1].max() or logs.best_score_ == pytest.approx(
        expected[:, 1].max()
    )
    alone = RankLogistic(share.alpha_, **options).fit(X, preferences=VOTES)
    assert_allclose(share.predict(X), alone.predict(X), rtol=1e-5, atol=1e-8)
    assert_allclose(share.score_covariance(), alone.score_covariance(), rtol=1e-5, atol=1e-9)


def test_without_features():
    expected = [refitted(None, a, {}, folds_of_pairs(10)) for a in ALPHAS]
    search = RankLogisticCV(ALPHAS).fit(None, preferences=VOTES)
    assert_allclose(search.cv_results_["score"], np.array(expected)[:, 0], rtol=1e-9)
    assert search.cv_ == "10 folds of pairs of items"
    assert search.predict(None).shape == (M,)


@pytest.mark.parametrize("scoring", [None, "log-loss"])
def test_leave_item_out(scoring):
    search = RankLogisticCV(ALPHAS, cv="leave-item-out", scoring=scoring, item_effect=0.5)
    search.fit(X, preferences=VOTES)
    values = []
    for alpha in ALPHAS:
        splits = []
        for i in range(M):
            touched = (VOTES.winner == i) | (VOTES.loser == i)
            splits.append((np.flatnonzero(~touched), np.flatnonzero(touched)))
        found = refitted(X, alpha, {"item_effect": 0.5}, splits)
        values.append(found[scoring is not None])
    assert_allclose(search.cv_results_["score"], values, rtol=1e-6)


def test_same_folds_as_the_other_searches():
    splits = list(folds_of_pairs(5))
    given = RankLogisticCV(ALPHAS, cv=splits).fit(X, preferences=VOTES)
    own = RankLogisticCV(ALPHAS, cv=5).fit(X, preferences=VOTES)
    assert_allclose(given.cv_results_["score"], own.cv_results_["score"])
    for search in (RankRLSCV(ALPHAS, cv=5), RankSVMCV(ALPHAS, cv=5)):
        assert search.fit(X, preferences=VOTES).cv_ == own.cv_


def test_groups_leave_together():
    search = RankLogisticCV(ALPHAS, cv=3).fit(X, preferences=VOTES, groups=JUDGES)
    splits = GroupKFold(3).split(X[A], groups=JUDGES)
    by_splitter = RankLogisticCV(ALPHAS, cv=GroupKFold(3)).fit(X, preferences=VOTES, groups=JUDGES)
    expected = [refitted(X, a, {}, list(GroupKFold(3).split(X[A], groups=JUDGES))) for a in ALPHAS]
    assert_allclose(by_splitter.cv_results_["score"], np.array(expected)[:, 0], rtol=1e-9)
    assert search.cv_ == "3 folds of groups" and search.n_units_ == 6
    assert len(list(splits)) == 3
    assert search.score_covariance().shape == (M, M)


def test_shuffled_outcomes_score_half():
    scores = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        turned = VOTES.exchanged(rng.uniform(size=L) < 0.5)
        scores.append(RankLogisticCV([1.0], item_effect=1.0).fit(X, preferences=turned).best_score_)
    assert abs(np.mean(scores) - 0.5) < 4 * np.std(scores) / np.sqrt(12) + 0.02


def test_mistakes():
    with pytest.raises(ValueError, match="scoring must be None"):
        RankLogisticCV(scoring="ndcg").fit(X, preferences=VOTES)
    with pytest.raises(ValueError, match="from_scores"):
        RankLogisticCV().fit(X, np.arange(M))
    with pytest.raises(ValueError, match="cv of preferences"):
        RankLogisticCV(cv="leave-pair-out").fit(X, preferences=VOTES)


def test_default_grid_grows():
    search = RankLogisticCV().fit(X * 1e4, preferences=VOTES)
    assert len(search.alphas_) >= 11
    with pytest.warns(GridWarning):
        warnings.simplefilter("always", GridWarning)
        RankLogisticCV([1e5, 1e6], scoring="log-loss").fit(X, preferences=VOTES)
