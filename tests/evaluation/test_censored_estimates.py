"""Estimates from censored outcomes: equal to refits, with strata and groups, without leaks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator
from sklearn.model_selection import GroupKFold

from rankwise import RLS, Censored, GreedyRankRLS, RankRLS, RankRLSCV, RankSVM, metrics
from rankwise.evaluation import (
    compare,
    learning_curve,
    leave_pair_out_interval,
    nested_score,
    permutation_test,
    regularisation_curve,
    selection_curve,
    selection_stability,
    suspects,
)

RNG = np.random.default_rng(0)
M = 48
X = RNG.normal(size=(M, 3))


def outcomes(rng, risk, censoring=0.7):
    time, lost = rng.exponential(size=(2, len(risk)))
    time, lost = time * np.exp(-risk), lost / censoring
    return Censored(time <= lost, np.minimum(time, lost).round(2))


Y = outcomes(RNG, -X[:, 0])
STRATA = np.arange(M) % 4
GROUPS = np.arange(M) // 2


class Refitted(BaseEstimator):
    """RankRLS without its closed form."""

    def __init__(self, alpha=1.0, loss="unit"):
        self.alpha, self.loss = alpha, loss

    def fit(self, X, y, qid=None):
        self.model_ = RankRLS(self.alpha, loss=self.loss).fit(X, y, qid=qid)
        return self

    def predict(self, X):
        return self.model_.predict(X)


def shared(by):
    return {"plain": {}, "strata": {"qid": STRATA}, "groups": {"groups": GROUPS}}[by]


@pytest.mark.parametrize("by", ["plain", "strata", "groups"])
@pytest.mark.parametrize("loss", ["unit", "magnitude"])
def test_compare_equals_refits(by, loss):
    models = {"closed": RankRLS(loss=loss), "refitted": Refitted(loss=loss), "x": X[:, 0]}
    found = compare(models, X, Y, **shared(by))
    closed, refitted = (found.names.index(name) for name in ("closed", "refitted"))
    assert_allclose(found.score[closed], found.score[refitted])
    same = next(d for d in found.differences if {d.first, d.second} == {"closed", "refitted"})
    assert same.difference == 0 and same.p_value == 1.0
    expected = metrics.concordance(Y, X[:, 0], STRATA) if by == "strata" else None
    if expected is not None:
        assert found.score[found.names.index("x")] == pytest.approx(expected)
        assert found.by_query.shape == (4, 3)


@pytest.mark.parametrize("groups", [None, GROUPS])
def test_leave_pair_out_of_every_comparable_pair(groups):
    """By refitting without both items, or without the groups of both."""
    few = np.arange(16)
    y, labels = Y[few], None if groups is None else groups[few]
    right = counted = 0.0
    for i in few:
        for j in few:
            above = y.event[j] and (
                y.time[i] > y.time[j] or (y.time[i] == y.time[j] and not y.event[i])
            )
            if not above:
                continue
            held = np.array([i, j]) if labels is None else np.isin(labels, labels[[i, j]])
            train = np.setdiff1d(few, few[held])
            s = RankRLS(loss="unit").fit(X[train], Y[train]).predict(X[[i, j]])
            right, counted = right + (s[0] > s[1]) + 0.5 * (s[0] == s[1]), counted + 1
    models = [RankRLS(loss="unit"), X[few, 0]]
    found = compare(models, X[few], y, cv="leave-pair-out", groups=labels)
    assert found.score[found.names.index("RankRLS")] == pytest.approx(right / counted)
    low, high = leave_pair_out_interval(RankRLS(loss="unit"), X[few], y, groups=labels)
    assert 0 <= low < right / counted < high <= 1


@pytest.mark.parametrize("by", ["plain", "strata", "groups"])
def test_permutations_equal_refits(by):
    cv = GroupKFold(4) if by == "groups" else 4
    options = {"cv": cv, "n_permutations": 12, "random_state": 0, **shared(by)}
    closed = permutation_test(RankRLS(loss="unit"), X, Y, **options)
    refitted = permutation_test(Refitted(), X, Y, **options)
    assert closed.score == pytest.approx(refitted.score)
    assert_allclose(closed.null, refitted.null)
    assert closed.p_value == refitted.p_value and closed.permuted == refitted.permuted


def test_permutations_move_time_and_event_together():
    """A permuted outcome is one of the outcomes that there are, and strata stay."""
    seen = []

    class Listening(Refitted):
        def fit(self, X, y, qid=None):
            seen.append((np.asarray(y), qid))
            return super().fit(X, y, qid)

    permutation_test(Listening(), X, Y, qid=STRATA, cv=2, n_permutations=3, random_state=0)
    known = {(int(q), *o.tolist()) for q, o in zip(STRATA, np.asarray(Y))}
    for y, qid in seen:
        assert {(int(q), *o.tolist()) for q, o in zip(qid, y)} <= known


@pytest.mark.parametrize("by", ["plain", "strata", "groups"])
def test_curves_equal_refits(by):
    options = {"cv": 4, **shared(by)}
    closed = regularisation_curve(RankRLS(loss="unit"), X, Y, alphas=[0.1, 10.0], **options)
    refitted = regularisation_curve(Refitted(), X, Y, alphas=[0.1, 10.0], **options)
    tolerance = 1e-9 if by == "strata" else 0.03  # shares of all pairs, or means of folds
    assert_allclose(closed.score, refitted.score, atol=tolerance)
    first, second = (
        learning_curve(model, X, Y, sizes=[0.5, 1.0], random_state=0, **shared(by))
        for model in (RankRLS(loss="unit"), Refitted())
    )
    assert_allclose(first.score, second.score)


@pytest.mark.parametrize("by", ["plain", "strata", "groups"])
def test_nested_scores(by):
    found = nested_score(RankRLSCV([0.1, 10.0], loss="unit", cv=3), X, Y, cv=4, **shared(by))
    low, high = found.interval
    assert 0.5 < found.score < 0.85 and low < found.score < high
    assert len(found.chosen) == 4 and set(found.chosen) <= {0.1, 10.0}


@pytest.mark.parametrize("by", ["plain", "strata", "groups"])
def test_selections(by):
    noise = np.random.default_rng(1).normal(size=(M, 5))
    wide = np.column_stack((noise, 2 * X[:, 0]))
    est = GreedyRankRLS(2, loss="unit", cv="auto" if by == "strata" else 4)
    curve = selection_curve(est, wide, Y, cv=3, **shared(by))
    assert curve.selected[0] == 5 and 0.55 < curve.score[0] < 0.95 and curve.nested[0] < 1.0
    found = selection_stability(est, wide, Y, n_resamples=5, random_state=0, **shared(by))
    assert found.frequency[5] >= 0.8


def test_shuffled_outcomes_score_one_half():
    """The mean over many data sets, of closed forms, searches and refits."""
    models = {"fixed": RankRLS(loss="unit"), "search": RankRLSCV([1.0, 100.0], loss="unit")}
    scores = {name: [] for name in (*models, "strata", "patients")}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        features, y = rng.normal(size=(30, 3)), outcomes(rng, np.zeros(30))
        for name, model in models.items():
            scores[name].append(nested_score(model, features, y, cv=5).score)
        by_stratum = nested_score(models["fixed"], features, y, np.arange(30) % 4)
        scores["strata"].append(by_stratum.score)
        twice = np.repeat(np.arange(15), 2)  # two visits of a patient, with the same outcome
        visits = features[twice] + 0.01 * rng.normal(size=(30, 3))
        both = nested_score(models["search"], visits, y[twice], cv=5, groups=twice)
        scores["patients"].append(both.score)
    for name, values in scores.items():
        error = np.std(values) / np.sqrt(len(values))
        assert abs(np.mean(values) - 0.5) < 3 * error + 0.005, name


def test_p_values_of_no_signal():
    """Of 40 data sets without signal about 2 have p ≤ 0.05, of compare and of permutations."""
    small = np.zeros(2)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        features, y = rng.normal(size=(25, 2)), outcomes(rng, np.zeros(25))
        found = compare([RankRLS(), RankRLS(kernel="poly", degree=2)], features, y, cv=5)
        test = permutation_test(RankRLS(), features, y, cv=5, n_permutations=39, random_state=seed)
        small += [found.differences[0].p_value <= 0.05, test.p_value <= 0.05]
    assert (small <= 6).all()


def test_kernels_are_compared_by_folds():
    """Leave-pair-out of a kernel matrix would be a refit for every pair."""
    found = compare([RankRLS(kernel="rbf"), RankRLS(kernel="rbf", gamma=0.1)], X, Y)
    assert found.how.startswith("10 folds")
    assert compare([RankRLS(), RankRLS(9.0)], X, Y).how.startswith("leave-pair-out")


def test_structured_arrays_are_the_same():
    for function in (
        lambda y: compare([RankRLS(), RankSVM()], X, y, cv=3).score,
        lambda y: nested_score(RankRLS(), X, y, cv=3).score,
        lambda y: permutation_test(RankRLS(), X, y, cv=3, n_permutations=3, random_state=0).null,
        lambda y: learning_curve(RankRLS(), X, y, sizes=[20]).score,
        lambda y: regularisation_curve(RankRLS(), X, y, alphas=[1.0]).score,
    ):
        assert_allclose(function(Y), function(np.asarray(Y)))


def test_a_measure_of_your_own_gets_the_outcomes():
    def early(y, s):
        return metrics.uno_concordance(Y, y, s, tau=1.0)

    found = nested_score(RankRLS(), X, Y, cv=4, scoring=early)
    assert 0.4 < found.score < 0.9


@pytest.mark.parametrize("scoring", ["ndcg@5", "map", "tau", "auc"])
def test_measures_of_scores_are_refused(scoring):
    for function in (compare, nested_score, regularisation_curve, learning_curve):
        models = [RankRLS(), RankSVM()] if function is compare else RankRLS()
        with pytest.raises(ValueError, match="judged by concordance"):
            function(models, X, Y, scoring=scoring)


def test_what_cannot_be_judged_is_refused():
    with pytest.raises(ValueError, match="censored outcomes"):
        compare([RLS(), RankRLS()], X, Y)
    with pytest.raises(ValueError, match="tells no value that a prediction could contradict"):
        suspects(RankRLS(), X, Y)
    nobody = Censored(np.zeros(M, dtype=bool), Y.time)
    for function in (nested_score, permutation_test, learning_curve, regularisation_curve):
        with pytest.raises(ValueError):
            function(RankRLS(), X, nobody)


def test_hold_outs_that_teach_nothing():
    """One event: whoever leaves it out has no comparable pair left."""
    event = np.zeros(12, dtype=bool)
    event[0] = True
    y = Censored(event, np.arange(1.0, 13))
    with pytest.raises(ValueError, match="comparable pair"):
        compare([RankRLS(), X[:12, 0]], X[:12], y, cv="leave-pair-out")
