"""Choosing alpha for explicit preferences: against refits, and without leaks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold

from rankwise import Preferences, RankLogisticCV, RankRLS, RankRLSCV, RankSVM, RankSVMCV
from rankwise.model_selection.preference_folds import PreferenceFolds
from tests.problems import compared

ALPHAS = [0.1, 1.0, 10.0]


def statements(m=14, l=50, n=3, seed=0, **options):
    """Noisy statements with repetitions, contradictions and ties."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    pairs = rng.integers(0, m, (l, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    pairs = np.vstack((pairs, pairs[: l // 4]))
    better = X[pairs[:, 0], 0] - X[pairs[:, 1], 0] + rng.normal(size=len(pairs)) > 0
    winner = np.where(better, pairs[:, 0], pairs[:, 1])
    loser = np.where(better, pairs[:, 1], pairs[:, 0])
    values = (None, rng.uniform(0.5, 2, len(pairs)), m, rng.random(len(pairs)) < 0.15)
    return X, Preferences(winner, loser, *values), rng.integers(0, 5, len(pairs))


def brute_force(make, X, preferences, alpha, splits, units):
    """The share of right statements over (kept, tested) splits, and its clustered error."""
    right, counted = np.zeros(len(preferences)), np.zeros(len(preferences))
    for kept, tested in splits:
        f = make(alpha).fit(X, preferences=preferences[kept]).predict(X)
        for s in tested:
            difference = f[preferences.winner[s]] - f[preferences.loser[s]]
            right[s] += 0.5 if preferences.tie[s] else float(difference > 0)
            counted[s] += 1
    weight = preferences.weight
    share = (weight @ right) / (weight @ counted)
    units = np.atleast_2d(units)  # one row, or one for each of two units of a statement
    parts = weight * (right - share * counted)
    sums = [np.sum(parts[(units == u).any(axis=0)]) for u in np.unique(units)]
    g = len(sums)
    return share, np.sqrt(np.sum(np.square(sums)) * g / (g - 1)) / (weight @ counted)


def pairs_of(preferences):
    return preferences.unordered_pairs(preferences.n_items)[0]


def check(search, X, preferences, make, splits, units):
    for row, alpha in enumerate(ALPHAS):
        share, error = brute_force(make, X, preferences, alpha, splits, units)
        assert_allclose(search.cv_results_["score"][row], share, atol=1e-12)
        assert_allclose(search.cv_results_["score_se"][row], error, atol=1e-12)
    assert search.best_score_ == search.cv_results_["score"].max()


@pytest.mark.filterwarnings("ignore::rankwise.exceptions.GridWarning")
class TestAgainstRefits:
    def test_leave_preference_out(self):
        X, preferences, _ = statements()
        pair = pairs_of(preferences)
        splits = [(pair != p, np.flatnonzero(pair == p)) for p in np.unique(pair)]
        search = RankRLSCV(ALPHAS, kernel="rbf").fit(X, preferences=preferences)
        assert search.cv_ == "leave-preference-out"
        make = lambda alpha: RankRLS(alpha, kernel="rbf")  # noqa: E731
        check(search, X, preferences, make, splits, pair)
        again = make(search.alpha_).fit(X, preferences=preferences)
        assert_allclose(search.predict(X), again.predict(X), atol=1e-9)

    def test_leave_item_out(self):
        X, preferences, _ = statements()
        items = np.arange(preferences.n_items)
        touches = [(preferences.winner == i) | (preferences.loser == i) for i in items]
        splits = [(~touched, np.flatnonzero(touched)) for touched in touches]
        search = RankRLSCV(ALPHAS, cv="leave-item-out").fit(X, preferences=preferences)
        check(search, X, preferences, RankRLS, splits, [preferences.winner, preferences.loser])
        assert search.n_units_ == len(np.unique([preferences.winner, preferences.loser]))

    def test_leave_item_out_removes_basis_items(self):
        X, preferences, _ = statements()
        basis = [0, 3, 5, 9]
        held_out = RankRLS(basis=basis, kernel="rbf").hold_outs(X, preferences=preferences)
        found = held_out.leave_items_out([0.3])[0, :, :, 0]
        for s in (0, 7, 20):
            for side, i in enumerate((preferences.winner[s], preferences.loser[s])):
                staying = np.delete(np.arange(len(X)), i)
                kept = [int(np.flatnonzero(staying == b)[0]) for b in basis if b != i]
                model = RankRLS(0.3, basis=kept, kernel="rbf")
                f = model.fit(X[staying], preferences=preferences.take(staying)).predict(X)
                expected = f[preferences.winner[s]] - f[preferences.loser[s]]
                assert_allclose(found[s, side], expected, atol=1e-8)

    @pytest.mark.parametrize("learner", [RankRLS, RankSVM])
    def test_folds_of_judges(self, learner):
        X, preferences, judge = statements()
        splits = [(judge != j, np.flatnonzero(judge == j)) for j in np.unique(judge)]
        options = {} if learner is RankRLS else {"loss": "squared_hinge", "tol": 1e-10}
        search = {RankRLS: RankRLSCV, RankSVM: RankSVMCV}[learner](ALPHAS, cv=5, **options)
        search.fit(X, preferences=preferences, groups=judge)
        assert search.cv_ == "5 folds of groups"
        check(search, X, preferences, lambda a: learner(a, **options), splits, judge)

    def test_a_splitter_cannot_leak(self):
        X, preferences, _ = statements()
        pair, cv = pairs_of(preferences), KFold(4, shuffle=True, random_state=1)
        splits = []
        for train, test in cv.split(pair):
            splits.append((train[~np.isin(pair[train], pair[test])], test))
        search = RankRLSCV(ALPHAS, cv=cv).fit(X, preferences=preferences)
        check(search, X, preferences, RankRLS, splits, pair)

    def test_pairs_stay_together_in_a_number_of_folds(self):
        _, preferences, _ = statements()
        pair = pairs_of(preferences)
        folds = PreferenceFolds(4, compared(preferences, 14), random_state=0)
        assert str(folds) == "4 folds of pairs of items"
        tested = np.concatenate([test for _, test in folds.splits])
        assert sorted(tested) == list(range(len(preferences)))
        for held, test in folds.splits:
            np.testing.assert_array_equal(held, test)
            assert not np.isin(pair[test], np.delete(pair, test)).any()


def test_automatic_choices():
    X, preferences, judge = statements()
    svm = RankSVMCV(cv="auto", loss="squared_hinge").fit(X, preferences=preferences)
    assert svm.cv_ == "10 folds of pairs of items"
    rls = RankRLSCV().fit(X, preferences=preferences, groups=judge)
    assert rls.cv_ == "5 folds of groups"
    assert rls.alphas_[0] <= rls.alpha_ <= rls.alphas_[-1]


@pytest.mark.parametrize("cv", ["leave-preference-out", "leave-item-out", 5, KFold(5)])
def test_shuffled_outcomes_score_one_half(cv):
    """Every pair is stated four times with the same random outcome, which must not leak."""
    rng = np.random.default_rng(7)
    scores, errors = [], []
    for _ in range(12):
        X = np.eye(40)
        pairs = np.array([rng.permutation(40)[:2] for _ in range(150)])
        winner, loser = np.repeat(pairs, 4, axis=0).T
        preferences = Preferences(winner, loser, n_items=40)
        search = RankRLSCV([1.0], cv=cv).fit(X, preferences=preferences)
        scores.append(search.best_score_)
        errors.append(search.cv_results_["score_se"][0])
    assert abs(np.mean(scores) - 0.5) < 4 * np.mean(errors) / np.sqrt(len(scores))
    assert np.std(scores) < 2 * np.mean(errors), "repeated statements are no new evidence"


@pytest.mark.parametrize(
    ("options", "told", "message"),
    [
        ({"cv": "leave-pair-out"}, {}, "cv of preferences must be one of"),
        ({"cv": 1}, {}, "between 2 and the"),
        ({"cv": 10**6}, {}, "pairs of items"),
        ({"scoring": "ndcg"}, {}, "scoring must be None"),
        ({}, {"groups": [1, 2]}, "groups must hold one label per preference"),
        ({"cv": "leave-item-out"}, {"groups": "judge"}, "cannot keep groups"),
        ({"cv": 3.5}, {}, "int, a splitter or folds"),
    ],
)
def test_refusals(options, told, message):
    X, preferences, judge = statements()
    if told.get("groups") == "judge":
        told = {"groups": judge}
    for search in (RankRLSCV, RankSVMCV):
        with pytest.raises(ValueError, match=message):
            search(**options).fit(X, preferences=preferences, **told)
    with pytest.raises(ValueError, match="two or more pairs"):
        RankRLSCV().fit(X, preferences=Preferences([0, 1], [1, 0]))


def test_a_fold_of_all_statements_is_refused():
    preferences = Preferences([0, 1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="cv fold 0 leaves no statement to train on"):
        RankRLSCV([1.0], cv=[[0, 1, 2]]).fit(np.arange(4.0)[:, None], preferences=preferences)


def test_concordance_is_the_share_in_the_right_order():
    X, preferences, _ = statements()
    for search in (RankRLSCV, RankSVMCV, RankLogisticCV):
        named = search([1.0, 2.0], cv=3, scoring="concordance", random_state=0)
        plain = search([1.0, 2.0], cv=3, random_state=0)
        scores = [s.fit(X, preferences=preferences).best_score_ for s in (named, plain)]
        assert scores[0] == scores[1]
