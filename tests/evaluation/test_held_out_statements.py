"""Estimates from explicit preferences: against refits, without leaks, and by simulation."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import (
    Preferences,
    RankLogistic,
    RankLogisticCV,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
)
from rankwise.evaluation import (
    confidence_interval,
    learning_curve,
    nested_score,
    permutation_test,
)
from rankwise.evaluation.held_out_statements import (
    Statements,
    held_out_share,
    hold_outs_of,
)
from rankwise.exceptions import EstimateWarning

pytestmark = pytest.mark.filterwarnings("ignore::rankwise.exceptions.GridWarning")


def votes(m=16, l=90, seed=0, *, signal=2.0, judges=6, ties=0.1):
    """Votes about random pairs, some of them repeated, contradicted or tied; and their judges."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 4))
    pairs = rng.integers(0, m, (l, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    pairs = np.vstack((pairs, pairs[: l // 3]))
    difference = signal * (X[pairs[:, 0], 0] - X[pairs[:, 1], 0])
    first = rng.random(len(pairs)) < 1 / (1 + np.exp(-difference))
    winner, loser = np.where(first, pairs.T, pairs.T[::-1])
    tie = rng.random(len(pairs)) < ties
    preferences = Preferences(winner, loser, n_items=m, tie=tie)
    return X, preferences, rng.integers(0, judges, len(pairs))


def shares(make, X, preferences, splits):
    """The share of right statements by plain refits over (kept, tested) splits."""
    right = counted = 0.0
    for kept, tested in splits:
        f = make().fit(X, preferences=preferences[kept]).predict(X)
        for s in tested:
            difference = f[preferences.winner[s]] - f[preferences.loser[s]]
            right += 0.5 if preferences.tie[s] else float(difference > 0)
            counted += 1
    return right / counted


def splits_by(labels):
    return [(labels != one, np.flatnonzero(labels == one)) for one in np.unique(labels)]


class TestAgainstRefits:
    @pytest.mark.parametrize("make", [RankRLS, lambda: RankSVM(0.01)], ids=["rls", "svm"])
    def test_leave_preference_out(self, make):
        X, preferences, _ = votes()
        data = Statements.checked(X, None, None, preferences, None)
        share, influence = held_out_share(make(), data, data.folds("leave-preference-out"))
        pair = preferences.unordered_pairs(len(X))[0]
        assert_allclose(share, shares(make, X, preferences, splits_by(pair)), atol=1e-12)
        assert len(influence) == pair.max() + 1

    @pytest.mark.parametrize("make", [RankRLS, lambda: RankSVM(0.01)], ids=["rls", "svm"])
    def test_leave_item_out(self, make):
        X, preferences, _ = votes()
        data = Statements.checked(X, None, None, preferences, None)
        share, _ = held_out_share(make(), data, data.folds("leave-item-out"))
        touched = [(preferences.winner == i) | (preferences.loser == i) for i in range(len(X))]
        splits = [(~one, np.flatnonzero(one)) for one in touched if one.any()]
        assert_allclose(share, shares(make, X, preferences, splits), atol=1e-12)

    def test_judges_leave_together(self):
        X, preferences, judge = votes()
        found = nested_score(RankRLS(), X, preferences=preferences, groups=judge, cv=6)
        assert_allclose(found.score, shares(RankRLS, X, preferences, splits_by(judge)), atol=1e-12)
        assert found.how == "6 folds of groups; interval over 6 groups"

    def test_closed_form_and_refits_agree(self):
        X, preferences, _ = votes()
        data = Statements.checked(X, None, None, preferences, None)
        folds = data.folds(5)
        closed = held_out_share(RankRLS(3.0), data, folds)
        refitted = held_out_share(make_pipeline(RankRLS(3.0)), data, folds)
        assert_allclose(closed[0], refitted[0], atol=1e-12)
        assert_allclose(closed[1], refitted[1], atol=1e-12)
        assert type(hold_outs_of(RankRLS(), data)) is not type(hold_outs_of(RankRLSCV(), data))


LEARNERS = {
    "RankRLS": RankRLS(),
    "RankRLS rbf": RankRLS(0.1, kernel="rbf"),
    "RankRLSCV": RankRLSCV([0.1, 10.0]),
    "RankSVM": RankSVM(),
    "RankSVMCV": RankSVMCV([1e-3, 0.1]),
    "RankLogistic": RankLogistic(0.1),
    "RankLogistic own strengths": RankLogistic(0.1, item_effect=1.0),
    "RankLogisticCV": RankLogisticCV([0.1, 10.0]),
    "pipeline": make_pipeline(StandardScaler(), RankRLS()),
}


@pytest.mark.parametrize("scheme", ["auto", 4, "leave-item-out", "judges"])
@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_shuffled_outcomes_score_one_half(learner, scheme):
    """No fold sees a statement about the pair that it tests, so noise cannot be predicted."""
    if scheme == "leave-item-out" and "CV" in type(learner).__name__:
        pytest.skip("costs a search for each item; the outer folds are those of the learner")
    values = []
    for seed in range(3):
        X, preferences, judge = votes(m=14, l=240, seed=seed, signal=0.0, judges=8)
        groups = judge if scheme == "judges" else None
        cv = 4 if scheme == "judges" else scheme
        found = nested_score(learner, X, preferences=preferences, groups=groups, cv=cv)
        values.append((found.score - 0.5) / found.score_se)
    assert abs(np.mean(values)) < 3 / np.sqrt(3)


@pytest.mark.parametrize("scheme", ["auto", 4, "leave-preference-out"])
def test_items_without_features(scheme):
    """Strengths alone predict pairs that were never compared, but not noise."""
    for signal, low, high in ((3.0, 0.6, 0.95), (0.0, 0.3, 0.62)):
        _, preferences, _ = votes(m=14, l=160, signal=signal, ties=0.0)
        found = nested_score(RankLogistic(0.1), None, preferences=preferences, cv=scheme)
        assert low < found.score < high


class TestPermutations:
    def test_signal_and_noise(self):
        X, preferences, judge = votes()
        for learner in (RankRLS(), RankRLSCV()):
            found = permutation_test(
                learner, X, preferences=preferences, n_permutations=99, random_state=0
            )
            assert found.p_value == 0.01 and found.permuted.endswith("within pairs of items")
        found = permutation_test(
            RankSVM(), X, preferences=preferences, groups=judge, n_permutations=5, random_state=0
        )
        assert found.permuted.endswith("within groups") and len(found.null) == 5

    def test_new_items_exchange_items(self):
        X, preferences, _ = votes()
        found = permutation_test(
            RankRLS(),
            X,
            preferences=preferences,
            cv="leave-item-out",
            n_permutations=19,
            random_state=0,
        )
        assert found.permuted == "items" and found.p_value == 0.05

    @pytest.mark.parametrize("scheme", ["auto", "leave-item-out"])
    def test_p_values_are_uniform_without_signal(self, scheme):
        p_values = []
        repetitions = 60 if scheme == "auto" else 25
        for seed in range(repetitions):
            X, preferences, _ = votes(m=8, l=24, seed=seed, signal=0.0)
            found = permutation_test(
                RankRLS(),
                X,
                preferences=preferences,
                cv=scheme,
                n_permutations=19,
                random_state=seed,
            )
            p_values.append(found.p_value)
        low = int(np.sum(np.array(p_values) <= 0.1))
        assert stats.binomtest(low, repetitions, 0.1).pvalue > 0.001


class TestIntervals:
    def test_it_says_what_is_resampled(self):
        X, preferences, judge = votes(judges=20)
        by_pair = confidence_interval(preferences, X[:, 0], random_state=0)
        by_judge = confidence_interval(
            None, X[:, 0], preferences=preferences, groups=judge, random_state=0
        )
        assert by_pair.resampled == "pairs of items" and by_judge.resampled == "groups"
        share = 1 - np.mean(X[preferences.winner, 0] < X[preferences.loser, 0])
        assert by_pair[0] < share < by_pair[1]

    @pytest.mark.parametrize("clustered", [False, True])
    def test_coverage(self, clustered):
        """Votes of one judge depend on each other: only resampling judges covers then."""
        rng = np.random.default_rng(0)
        m, judges, each, hits = 30, 25, 8, 0
        f = rng.normal(size=m)
        for _ in range(120):
            a, b = rng.integers(0, m, (2, judges * each))
            a, b = a[a != b], b[a != b]
            judge = rng.integers(0, judges, len(a))
            careful = rng.random(judges) < 0.5 if clustered else np.full(judges, True)
            chance = np.where(careful[judge], 0.9, 0.5)
            right = rng.random(len(a)) < chance
            better, worse = np.where(f[a] > f[b], (a, b), (b, a))
            winner, loser = np.where(right, (better, worse), (worse, better))
            said = Preferences(winner, loser, n_items=m)
            groups = judge if clustered else None
            low, high = confidence_interval(said, f, groups=groups, random_state=0)
            hits += low <= (0.7 if clustered else 0.9) <= high
        assert 0.89 <= hits / 120 <= 0.995

    def test_everything_right(self):
        low, high = confidence_interval(Preferences([0, 1, 2, 3], [1, 2, 3, 4]), [5, 4, 3, 2, 1.0])
        assert 0.3 < low < 0.8 and high == 1.0

    def test_few_judges_warn(self):
        X, preferences, judge = votes(judges=2)
        with pytest.warns(EstimateWarning, match="2 groups"):
            confidence_interval(preferences, X[:, 0], groups=judge)


def test_learning_curve_grows_by_pairs():
    X, preferences, judge = votes(l=200)
    curve = learning_curve(RankRLS(), X, preferences=preferences, sizes=[5, 40])
    assert curve.name == "training pairs of items" and list(curve.x) == [5, 40]
    assert curve.score[1] > curve.score[0] > 0.4 and curve.training is not None
    by_judge = learning_curve(RankRLS(), X, preferences=preferences, groups=judge, folds=3)
    assert by_judge.name == "training groups"


def test_bad_input_is_refused_in_words():
    X, preferences, judge = votes()
    with pytest.raises(ValueError, match="Ridge does not learn from preferences"):
        nested_score(Ridge(), X, preferences=preferences)
    with pytest.raises(ValueError, match="either y or preferences"):
        nested_score(RankRLS(), X, np.zeros(len(X)), preferences=preferences)
    with pytest.raises(ValueError, match="16 items but X has 15 rows"):
        nested_score(RankRLS(), X[:15], preferences=preferences)
    with pytest.raises(ValueError, match="one label per preference"):
        nested_score(RankRLS(), X, preferences=preferences, groups=judge[:3])
    with pytest.raises(ValueError, match="scoring must be None"):
        nested_score(RankRLS(), X, preferences=preferences, scoring="ndcg@10")
    with pytest.raises(ValueError, match="give the scores y"):
        nested_score(RankRLS(), X)
    with pytest.raises(ValueError, match="resampled"):
        confidence_interval(preferences, X[:, 0], method="delong")
    with pytest.raises(ValueError, match="leave y and qid out"):
        confidence_interval(X[:, 0], X[:, 0], preferences=preferences)


def test_nested_score_of_a_search_says_how_optimistic_it_was():
    X, preferences, _ = votes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = nested_score(RankRLSCV(), X, preferences=preferences)
    assert found.selected_score is not None and len(found.chosen) == 10
    assert found.interval[0] < found.score < found.interval[1]
