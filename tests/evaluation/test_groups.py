"""Groups of items that belong together always leave together, in every estimate."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold

from rankwise import RLS, MPRankCV, RankRLS, RankRLSCV, RankSVM, RankSVMCV
from rankwise.evaluation import (
    compare,
    cross_val_auc,
    learning_curve,
    leave_pair_out_interval,
    lpo_roc,
    nested_score,
    permutation_test,
    tournament,
)
from rankwise.exceptions import EstimateWarning

RNG = np.random.default_rng(0)
GROUPS = RNG.permutation(np.repeat(list("abcdefgh"), [1, 2, 3, 3, 4, 2, 1, 4]))
M = len(GROUPS)
X = RNG.normal(size=(M, 4))
Y = (X[:, 0] + RNG.normal(size=M) > 0).astype(float)
MODELS = [
    RankRLS(),
    RLS(0.1),
    RankRLS(kernel="rbf", gamma=0.3),
    RankRLS(basis=[0, 3, 7, 9]),
    Ridge(),
]


def patients(seed, n_patients=20, samples=3, signal=0.0):
    """Samples of a patient are almost the same, and share the diagnosis."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(n_patients), samples)
    sick = rng.permutation(np.arange(n_patients) % 2).astype(float)
    traits = rng.normal(size=(n_patients, 10))
    traits[:, 0] += signal * sick
    return traits[who] + 0.05 * rng.normal(size=(len(who), 10)), sick[who], who


def without(model, held, test):
    """Scores of `test` by a refit without `held`."""
    train = np.setdiff1d(np.arange(M), held)
    model = type(model)(**model.get_params())
    if getattr(model, "basis", None) is not None:
        model.set_params(basis=[list(train).index(i) for i in model.basis if i in set(train)])
    return model.fit(X[train], Y[train]).predict(X[test])


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_leave_pair_out_leaves_the_groups_of_both_items_out(model):
    right = []
    for i in np.flatnonzero(Y == 1):
        for j in np.flatnonzero(Y == 0):
            held = np.flatnonzero(np.isin(GROUPS, [GROUPS[i], GROUPS[j]]))
            s_i, s_j = without(model, held, [i, j])
            right.append(s_i > s_j)
    found = cross_val_auc(model, X, Y, groups=GROUPS)
    assert_allclose(found, np.mean(right))
    result = tournament(model, X, Y, groups=GROUPS)
    assert_allclose(result.pair_auc, found)
    assert_allclose(lpo_roc(model, X, Y, groups=GROUPS)[2], result.auc)
    low, high = leave_pair_out_interval(model, X, Y, groups=GROUPS)
    assert 0 <= low <= found <= high <= 1


def test_each_item_its_own_group_changes_nothing():
    for model in (RankRLS(), Ridge()):
        assert_allclose(cross_val_auc(model, X, Y, groups=np.arange(M)), cross_val_auc(model, X, Y))


@pytest.mark.filterwarnings("ignore::rankwise.exceptions.EstimateWarning")
def test_folds_keep_groups_whole():
    for folds in (3, 8):
        found = cross_val_auc(RankRLS(), X, Y, method="averaged", folds=folds, groups=GROUPS)
        assert 0 <= found <= 1
    with pytest.raises(ValueError, match="the 8 groups"):
        cross_val_auc(RankRLS(), X, Y, method="averaged", folds=9, groups=GROUPS)
    with pytest.raises(ValueError, match="groups must hold one label"):
        cross_val_auc(RankRLS(), X, Y, groups=GROUPS[:-1])


@pytest.mark.parametrize("search", [RankRLSCV([0.1, 1.0, 10.0]), RankSVMCV([0.01, 0.1], cv=3)])
def test_searches_hold_whole_groups_out(search):
    found = search.set_params(cv=3).fit(X, Y, groups=GROUPS)
    tests = [np.flatnonzero(np.isin(GROUPS, part)) for part in _parts(3)]
    by_hand = type(search)(search.alphas, cv=tests).fit(X, Y)
    assert_allclose(found.cv_results_["score"], by_hand.cv_results_["score"])


@pytest.mark.parametrize("options", [{}, {"loss": "unit"}, {"kernel": "rbf", "basis": [0, 3, 9]}])
@pytest.mark.parametrize("qid", [None, np.arange(M) % 2])
def test_a_search_leaves_pairs_of_groups_out(options, qid):
    alphas = [0.1, 10.0]
    both = np.column_stack([Y, X[:, 1] + X[:, 2] ** 2])
    found = RankRLSCV(alphas, cv="leave-pair-out", alpha_per_target=True, **options)
    scores = found.fit(X, both, qid=qid, groups=GROUPS).cv_results_["score"]
    queries = np.zeros(M) if qid is None else qid
    for a, alpha in enumerate(alphas):
        for output, y in enumerate(both.T):
            right = {query: [] for query in np.unique(queries)}
            problem = RankRLS(alpha, **options).fit(X, y, qid=qid)
            for i in range(M):
                for j in range(i):
                    if y[i] == y[j] or queries[i] != queries[j]:
                        continue
                    held = np.flatnonzero(np.isin(GROUPS, [GROUPS[i], GROUPS[j]]))
                    s = problem.holdout(held)[np.searchsorted(held, [i, j])]
                    tie = abs(s[0] - s[1]) < 1e-12
                    right[queries[i]].append(0.5 if tie else (s[0] > s[1]) == (y[i] > y[j]))
            expected = np.mean([np.mean(values) for values in right.values()])
            assert_allclose(scores[a, output], expected)


def test_groups_that_cross_queries_are_refused_or_leave_alone():
    qid, groups = np.tile(np.arange(3), 20), np.repeat(np.arange(20), 3)
    rng = np.random.default_rng(0)
    items = rng.normal(size=(60, 3))
    y = items @ [1.0, -1.0, 0.5] + 0.1 * rng.normal(size=60)
    with pytest.raises(ValueError, match="groups cross queries"):
        MPRankCV([0.1, 1.0, 10.0]).fit(items, y, qid=qid, groups=groups)
    for search in (RankRLSCV([0.1, 1.0, 10.0]), RankSVMCV([0.01, 0.1, 1.0])):
        with pytest.raises(ValueError, match=r"groups cross queries.*nothing to train on"):
            search.fit(items, y, qid=qid, groups=groups)
        found = search.set_params(cv=GroupKFold(5)).fit(items, y, qid=qid, groups=groups)
        assert found.best_score_ > 0.9 and found.cv_ == "5 folds of groups"
    with pytest.raises(ValueError, match="groups cross queries"):
        compare({"a": RankRLS(), "b": RankRLS(2.0)}, items, y, qid, groups=groups)


def test_a_search_on_patients_is_not_deceived():
    data, sick, who = patients(3)
    found = RankRLSCV([0.01, 1.0, 100.0], kernel="rbf", gamma=0.5).fit(data, sick, groups=who)
    assert found.cv_ == "leave-pair-out of groups"
    assert abs(found.best_score_ - 0.5) < 0.35
    assert RankRLSCV([0.01], kernel="rbf", gamma=0.5).fit(data, sick).best_score_ > 0.99


def _parts(folds):
    from sklearn.model_selection import GroupKFold

    splits = GroupKFold(folds).split(X, Y, GROUPS)
    return [np.unique(GROUPS[test]) for _, test in splits]


def test_without_signal_patients_are_not_recognised():
    """20 patients with 3 samples each: without groups the estimate is nearly 1."""
    aucs, covered, naive = [], 0, []
    for seed in range(20):
        data, sick, who = patients(seed)
        model = RankRLS(kernel="rbf", gamma=0.5, alpha=0.01)
        aucs.append(cross_val_auc(model, data, sick, groups=who))
        low, high = leave_pair_out_interval(model, data, sick, groups=who)
        covered += low <= 0.5 <= high
        naive.append(cross_val_auc(model, data, sick))
    assert np.mean(naive) > 0.99
    assert abs(np.mean(aucs) - 0.5) < 0.08
    assert covered >= 18


def test_with_signal_patients_are_recognised():
    data, sick, who = patients(0, n_patients=40, signal=3.0)
    assert cross_val_auc(RankRLS(), data, sick, groups=who) > 0.85
    assert (
        permutation_test(
            RankRLS(), data, sick, groups=who, n_permutations=99, random_state=0
        ).p_value
        < 0.05
    )


@pytest.mark.parametrize("model", [RankRLS(kernel="rbf", gamma=0.5, alpha=0.01), Ridge()])
def test_permutations_exchange_whole_groups(model):
    n = 59 if isinstance(model, RankRLS) else 9
    p = []
    for seed in range(8 if n == 59 else 1):
        data, sick, who = patients(seed)
        test = permutation_test(model, data, sick, groups=who, n_permutations=n, random_state=0)
        _, null, p_value = test
        assert len(null) == n and test.permuted == "whole groups"
        p.append(p_value)
    assert np.mean(np.array(p) <= 0.05) <= 0.25


def test_permutations_within_groups_where_labels_vary():
    test = permutation_test(RankRLS(), X, Y, groups=GROUPS, n_permutations=5, random_state=0)
    assert test.permuted == "items within groups"
    assert permutation_test(RankRLS(), X, Y, n_permutations=5, random_state=0).permuted == "items"


def test_nested_scores_and_comparisons_keep_groups_together():
    data, sick, who = patients(1)
    nested = nested_score(RankRLSCV(kernel="rbf", gamma=0.5), data, sick, groups=who)
    low, high = nested.interval
    assert low <= 0.5 <= high
    models = {"a": RankRLS(kernel="rbf", gamma=0.5, alpha=0.01), "b": RankRLS(alpha=1e6)}
    found = compare(models, data, sick, groups=who)
    assert found.differences[0].p_value > 0.05
    assert abs(found.score[0] - 0.5) < 0.35


def test_a_learning_curve_grows_by_whole_groups():
    data, sick, who = patients(2)
    curve = learning_curve(
        RankRLS(kernel="rbf", gamma=0.5, alpha=0.01), data, sick, groups=who, sizes=[8, 16]
    )
    assert curve.name == "training groups"
    assert np.all(np.abs(curve.score - 0.5) < 0.35)


def test_repeated_rows_are_pointed_out():
    data, sick, who = patients(0)
    data = np.repeat(data[::3], 3, axis=0)
    with pytest.warns(EstimateWarning, match="60 of 60 rows of X occur more than once.*groups="):
        cross_val_auc(RankRLS(), data, sick)
    with warnings.catch_warnings():
        warnings.simplefilter("error", EstimateWarning)
        cross_val_auc(RankRLS(), data, sick, groups=who)
        cross_val_auc(RankRLS(), np.sign(data), sick)


@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.parametrize(
    "est",
    [RankRLS(0.01, kernel="rbf", gamma=0.3), RankRLS(loss="unit"), RLS(0.1, kernel="laplacian")],
)
def test_patients_without_signal_in_other_shapes(est, unequal):
    """Kernels, losses and unequal groups: ½ lies within the interval, and p is not small."""
    rng = np.random.default_rng(2)
    who = np.repeat(np.arange(20), rng.integers(1, 6, 20) if unequal else 3)
    sick = rng.permutation(np.arange(20) % 2)[who].astype(float)
    X = rng.normal(size=(20, 8))[who] + 0.05 * rng.normal(size=(len(who), 8))
    low, high = leave_pair_out_interval(est, X, sick, groups=who)
    assert low < 0.5 < high
    whole = permutation_test(est, X, sick, groups=who, n_permutations=99, random_state=0)
    assert whole.permuted == "whole groups" and whole.p_value > 0.05
    within = permutation_test(
        est, X, rng.normal(size=len(who)), groups=who, n_permutations=99, random_state=0
    )
    assert within.permuted == "items within groups" and within.p_value > 0.01


def test_patients_without_signal_and_a_refitted_model():
    rng = np.random.default_rng(3)
    who = np.repeat(np.arange(10), 3)
    sick = rng.permutation(np.arange(10) % 2)[who].astype(float)
    X = rng.normal(size=(10, 5))[who] + 0.05 * rng.normal(size=(30, 5))
    low, high = leave_pair_out_interval(RankSVM(0.1), X, sick, groups=who)
    assert low < 0.5 < high
    found = permutation_test(
        RankSVM(0.1), X, sick, groups=who, n_permutations=19, cv=5, random_state=0
    )
    assert found.permuted == "whole groups" and found.p_value > 0.05
