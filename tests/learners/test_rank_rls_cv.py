"""RankRLSCV against a double loop of refits, one for every alpha and hold-out.

Then its choice of alpha, its defaults, and what it refuses.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
)

from rankwise import RankRLS, RankRLSCV, UndefinedMetric, metrics

RNG = np.random.default_rng(11)
M = 18
X = RNG.normal(size=(M, 4))
Y = np.column_stack((X[:, 0] + RNG.normal(size=M), RNG.integers(0, 3, M), RNG.normal(size=M)))
QID = RNG.permutation(np.repeat(["p", "q", "r", "s", "t"], [5, 4, 4, 3, 2]))
ALPHAS = [30.0, 0.01, 1.0]
SETTINGS = [
    {},
    {"kernel": "rbf", "gamma": 0.2},
    {"kernel": "rbf", "basis": [1, 5, 6, 12, 2]},
    {"loss": "unit"},
    {"loss": "relative", "query_weight": "queries"},
    {"ties": "drop", "kernel": "poly"},
]


def predict_without(train, test, y, alpha, qid, options):
    """By refitting; basis items outside `train` are removed; nothing to learn from gives zeros."""
    options = dict(options)
    if "basis" in options:
        options["basis"] = [list(train).index(i) for i in options["basis"] if i in set(train)]
        if not options["basis"]:
            return np.zeros(len(test))
    model = RankRLS(alpha, **options)
    try:
        model.fit(X[train], y[train], qid=None if qid is None else qid[train])
    except ValueError as error:
        assert "no single preference" in str(error)
        return np.zeros(len(test))
    return model.predict(X[test])


def agreement(y, s):
    """Share of pairs with different y that s orders alike, ½ for ties; None without a pair."""
    right = [
        0.5 if abs(s[i] - s[j]) < 1e-12 else float((s[i] > s[j]) == (y[i] > y[j]))
        for i in range(len(y))
        for j in range(i)
        if y[i] != y[j]
    ]
    return np.mean(right) if right else None


def mean_and_error(values):
    values = np.array([value for value in values if value is not None])
    return values.mean(), values.std(ddof=1) / np.sqrt(len(values))


def naive_folds(folds, y, alpha, qid, options, judge=agreement):
    """Mean over folds, or over the queries of every fold, of what the refits get right."""
    values = []
    for train, test in folds:
        s = predict_without(np.asarray(train), test, y, alpha, qid, options)
        labels = np.zeros(len(test)) if qid is None else qid[test]
        values += [judge(y[test][labels == a], s[labels == a]) for a in np.unique(labels)]
    return mean_and_error(values)


def complement(test):
    return np.setdiff1d(np.arange(M), test)


def check(model, expected, y=Y[:, 0], qid=None):
    model.fit(X, y, qid=qid)
    expected = np.array([expected(alpha) for alpha in ALPHAS])
    assert_array_equal(model.cv_results_["alpha"], ALPHAS)
    assert_allclose(model.cv_results_["score"], expected[:, 0], atol=1e-9)
    assert_allclose(model.cv_results_["score_se"], expected[:, 1], atol=1e-9)
    best = expected[:, 0].max()
    assert model.best_score_ == pytest.approx(best)
    assert model.alpha_ == max(a for a, s in zip(ALPHAS, expected[:, 0]) if s > best - 1e-9)
    refit = RankRLS(model.alpha_, **{k: v for k, v in model.get_params().items() if k in PASSED})
    refit.fit(X, y, qid=qid)
    assert_allclose(model.predict(X), refit.predict(X), rtol=1e-7, atol=1e-9)


PASSED = ("loss", "kernel", "gamma", "basis", "ties", "query_weight")


@pytest.mark.parametrize("options", SETTINGS, ids=str)
class TestAgainstRefits:
    def test_leave_pair_out(self, options):
        """The U-statistic: influence of an item = (its hits − score × its pairs)/all pairs."""
        y = Y[:, 1]

        def expected(alpha):
            hits, pairs = np.zeros(M), np.zeros(M)
            for i in range(M):
                for j in range(i):
                    if y[i] != y[j]:
                        s = predict_without(complement([i, j]), [i, j], y, alpha, None, options)
                        right = agreement(y[[i, j]], s)
                        hits[[i, j]] += right
                        pairs[[i, j]] += 1
            score = hits.sum() / pairs.sum()
            return score, np.sqrt((((hits - score * pairs) / (pairs.sum() / 2)) ** 2).sum())

        check(RankRLSCV(ALPHAS, cv="leave-pair-out", **options), expected, y)
        auto = RankRLSCV(ALPHAS, **options).fit(X, y).cv_results_["score"]
        assert_allclose(auto, [expected(alpha)[0] for alpha in ALPHAS[:1]] + list(auto[1:]))

    def test_leave_pair_out_by_query(self, options):
        y = Y[:, 0]

        def expected(alpha):
            means = []
            for label in np.unique(QID):
                items = np.flatnonzero(label == QID)
                right = []
                for a, i in enumerate(items):
                    for j in items[:a]:
                        held = [j, i]
                        s = predict_without(complement(held), held, y, alpha, QID, options)
                        right.append(agreement(y[held], s))
                means.append(np.mean(right))
            return mean_and_error(means)

        check(RankRLSCV(ALPHAS, cv="leave-pair-out", **options), expected, y, QID)

    @pytest.mark.parametrize("cv", ["leave-query-out", "auto"])
    def test_leave_query_out(self, options, cv):
        tests = [np.flatnonzero(label == QID) for label in np.unique(QID)]
        folds = [(complement(test), test) for test in tests]
        check(
            RankRLSCV(ALPHAS, cv=cv, **options),
            lambda alpha: naive_folds(folds, Y[:, 0], alpha, QID, options),
            qid=QID,
        )

    def test_leave_one_out_pools(self, options):
        y = Y[:, 0]

        def expected(alpha):
            s = [
                predict_without(complement([i]), [i], y, alpha, None, options)[0] for i in range(M)
            ]
            sign = np.sign(y[:, None] - y) * np.sign(np.subtract.outer(s, s))
            hits, pairs = ((1 + sign) / 2 * (y[:, None] != y)).sum(axis=1), M - 1
            score = hits.mean() / pairs
            return score, np.sqrt((((hits - score * pairs) / (M * pairs / 2)) ** 2).sum())

        check(RankRLSCV(ALPHAS, cv="leave-one-out", **options), expected)

    @pytest.mark.parametrize(
        "cv",
        [
            KFold(3),
            RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
            ShuffleSplit(4, test_size=0.4, random_state=1),
        ],
        ids=["KFold", "RepeatedKFold", "ShuffleSplit"],
    )
    @pytest.mark.parametrize("qid", [None, QID], ids=["one query", "queries"])
    def test_splitters(self, options, cv, qid):
        folds = list(cv.split(X))
        check(
            RankRLSCV(ALPHAS, cv=cv, **options),
            lambda alpha: naive_folds(folds, Y[:, 0], alpha, qid, options),
            qid=qid,
        )

    def test_folds_by_query(self, options):
        codes = np.unique(QID, return_inverse=True)[1]
        folds = list(GroupKFold(3).split(X, groups=codes))

        def expected(alpha):
            return naive_folds(folds, Y[:, 0], alpha, QID, options)

        for cv in (3, GroupKFold(3)):
            check(RankRLSCV(ALPHAS, cv=cv, **options), expected, qid=QID)

    def test_training_subsets_are_honoured(self, options):
        folds = [
            (np.arange(5, 14), np.arange(3)),
            (np.array([0, 3, 9, 10, 11, 17]), np.arange(4, 8)),
        ]
        for cv in (folds, iter(folds), [(list(a), list(b)) for a, b in folds]):
            check(
                RankRLSCV(ALPHAS, cv=cv, **options),
                lambda alpha: naive_folds(folds, Y[:, 0], alpha, None, options),
            )


@pytest.mark.parametrize("kind", [np.array, list, tuple])
def test_test_arrays_alone(kind):
    """Training items are all others; a tuple of row numbers is a test set as a list is."""
    tests = [np.arange(0, 5), np.arange(5, 11), np.array([17, 12])]
    folds = [(complement(test), test) for test in tests]
    check(
        RankRLSCV(ALPHAS, cv=[kind(test.tolist()) for test in tests]),
        lambda alpha: naive_folds(folds, Y[:, 0], alpha, None, {}),
    )


def test_two_test_items_are_not_a_training_and_a_test_item():
    tests = [(0, 1), (2, 3), (4, 5)]
    found = RankRLSCV(ALPHAS, cv=tests).fit(X, Y[:, 0]).cv_results_
    same = RankRLSCV(ALPHAS, cv=[list(test) for test in tests]).fit(X, Y[:, 0]).cv_results_
    assert_allclose(found["score"], same["score"])


def test_integer_folds_shuffle_by_random_state():
    for state in (None, 5):
        seed = 0 if state is None else state
        folds = list(KFold(4, shuffle=True, random_state=seed).split(X))
        check(
            RankRLSCV(ALPHAS, cv=4, random_state=state),
            lambda alpha, folds=folds: naive_folds(folds, Y[:, 0], alpha, None, {}),
        )


def test_splitters_see_y_and_groups():
    y = (Y[:, 1] > 0).astype(float)
    folds = list(StratifiedKFold(3).split(X, y))
    check(
        RankRLSCV(ALPHAS, cv=StratifiedKFold(3)),
        lambda alpha: naive_folds(folds, y, alpha, None, {}),
        y,
    )
    by_group = RankRLSCV(ALPHAS, cv=LeaveOneGroupOut()).fit(X, Y[:, 0], qid=QID)
    by_query = RankRLSCV(ALPHAS, cv="leave-query-out").fit(X, Y[:, 0], qid=QID)
    assert_allclose(by_group.cv_results_["score"], by_query.cv_results_["score"])


def test_few_groups_of_single_items_are_held_out_in_pairs():
    few = RankRLSCV(ALPHAS).fit(X[:4], np.arange(4.0), groups=np.arange(4))
    pairs = RankRLSCV(ALPHAS, cv="leave-pair-out").fit(X[:4], np.arange(4.0))
    assert few.cv_ == "leave-pair-out of groups"
    assert_allclose(few.cv_results_["score"], pairs.cv_results_["score"])


@pytest.mark.parametrize("options", SETTINGS, ids=str)
@pytest.mark.parametrize("cv", ["leave-pair-out", "leave-query-out", "leave-one-out", 3])
def test_alpha_per_target(options, cv):
    model = RankRLSCV(ALPHAS, cv=cv, alpha_per_target=True, **options).fit(X, Y, qid=QID)
    together = RankRLSCV(ALPHAS, cv=cv, **options).fit(X, Y, qid=QID)
    alone = [RankRLSCV(ALPHAS, cv=cv, **options).fit(X, y, qid=QID) for y in Y.T]
    for name in ("score", "score_se"):
        expected = np.column_stack([one.cv_results_[name] for one in alone])
        assert_allclose(model.cv_results_[name], expected, atol=1e-9)
    scores = model.cv_results_["score"]
    assert_allclose(together.cv_results_["score"], scores.mean(axis=1), atol=1e-12)
    assert_allclose(model.alpha_, [one.alpha_ for one in alone])
    assert_allclose(model.best_score_, [one.best_score_ for one in alone])
    predictions = np.column_stack([one.predict(X) for one in alone])
    assert_allclose(model.predict(X), predictions, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    ("scoring", "judge"),
    [
        ("concordance", metrics.concordance),
        ("kendall_tau_b", metrics.kendall_tau_b),
        ("ranking_error", lambda y, s: -metrics.ranking_error(y, s)),
        (
            metrics.scorer("ndcg", k=2, gain="linear"),
            lambda y, s: metrics.ndcg(y, s, k=2, gain="linear"),
        ),
        (lambda y, s: -np.abs(y - s).mean(), lambda y, s: -np.abs(y - s).mean()),
    ],
    ids=["concordance", "tau", "error", "scorer", "callable"],
)
@pytest.mark.parametrize("qid", [None, QID], ids=["one query", "queries"])
def test_scoring(scoring, judge, qid):
    y = np.abs(Y[:, 0])
    folds = list(KFold(4).split(X)) if qid is None else None
    if folds is None:
        folds = [(complement(np.flatnonzero(qid == a)), np.flatnonzero(qid == a)) for a in set(qid)]
    cv = KFold(4) if qid is None else "leave-query-out"
    check(
        RankRLSCV(ALPHAS, cv=cv, scoring=scoring),
        lambda alpha: naive_folds(folds, y, alpha, qid, {}, judge),
        y,
        qid,
    )


def test_auc_scoring_is_scikit_learns():
    y = np.array([0.0, 1.0] * 9)
    folds = list(KFold(3).split(X))
    check(
        RankRLSCV(ALPHAS, cv=KFold(3), scoring="auc", loss="unit"),
        lambda alpha: naive_folds(folds, y, alpha, None, {"loss": "unit"}, roc_auc_score),
        y,
    )


def test_largest_alpha_wins_ties():
    x = np.arange(8.0)[:, None]
    for grid in ([1.0, 100.0, 10.0], [100.0, 1.0], [1e-3, 1e-2, 100.0]):
        for cv in ("leave-pair-out", "leave-one-out", 2):
            model = RankRLSCV(grid, cv=cv).fit(x, 2 * x[:, 0])
            if np.ptp(model.cv_results_["score"]) < 1e-12:
                assert model.alpha_ == 100.0
        assert RankRLSCV(grid).fit(x, 2 * x[:, 0]).alpha_ == 100.0
        assert RankRLSCV(grid).fit(x, 2 * x[:, 0]).best_score_ == 1.0


def test_default_grid():
    model = RankRLSCV().fit(X, Y[:, 0])
    assert_array_equal(model.cv_results_["alpha"], 2.0 ** np.arange(-15, 16))
    assert model.alphas is None


def test_standard_errors_are_never_nan():
    for scoring in (None, "kendall_tau_b"):
        for cv in ([np.arange(9)], "leave-one-out"):
            found = RankRLSCV(ALPHAS, cv=cv, scoring=scoring)
            try:
                found.fit(X, Y[:, 0])
            except ValueError as error:
                assert "scor" in str(error) or "fold" in str(error)
                continue
            assert np.isfinite(found.cv_results_["score_se"]).all()


def test_precomputed_kernel():
    K = rbf_kernel(X, gamma=0.2)
    for cv in ("leave-pair-out", 3, "leave-one-out"):
        given = RankRLSCV(ALPHAS, cv=cv, kernel="precomputed").fit(K, Y)
        computed = RankRLSCV(ALPHAS, cv=cv, kernel="rbf", gamma=0.2).fit(X, Y)
        assert_allclose(given.cv_results_["score"], computed.cv_results_["score"])
        assert_allclose(given.predict(K), computed.predict(X))


def test_nothing_to_judge():
    qid = np.repeat(np.arange(3), 6)
    y = np.where(qid == 0, Y[:, 0], 0.0)
    with pytest.raises(UndefinedMetric, match="nothing to judge"):
        RankRLSCV(ALPHAS, cv=[[7, 8], [13, 14]]).fit(X, y, qid=qid)
    found = RankRLSCV(ALPHAS, cv="leave-pair-out").fit(X, y, qid=qid)
    assert 0 <= found.best_score_ <= 1


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ("leave-two-out", "leave-pair-out"),
        ("leave-query-out", "qid"),
        (1, "cv=1"),
        (19, "cv=19"),
        (None, "cv"),
        (2.5, "cv"),
        ([], "cv"),
        ([([0, 1], [1, 2])], "fold 0 trains on items that it tests"),
        ([[0, 99]], "fold 0.*99"),
    ],
)
def test_bad_cv(cv, message):
    with pytest.raises(ValueError, match=message):
        RankRLSCV(ALPHAS, cv=cv).fit(X, Y[:, 0])


@pytest.mark.parametrize("scoring", ["nope", 3, metrics.scorer("ndcg"), lambda y, s: 0.0])
def test_bad_scoring(scoring):
    with pytest.raises(ValueError, match=r"scoring|name"):
        cv = "leave-pair-out" if callable(scoring) else 3
        RankRLSCV(ALPHAS, cv=cv, scoring=scoring).fit(X, Y[:, 0])


def test_scoring_that_returns_nan_is_refused():
    def broken(y, s):
        return np.nan

    with pytest.raises(ValueError, match="scoring"):
        RankRLSCV(ALPHAS, cv=3, scoring=broken).fit(X, Y[:, 0])


class TestWhatIsHeldOut:
    """cv="auto" by what the loss costs, and `cv_` in words."""

    @pytest.mark.parametrize(
        ("m", "options", "expected"),
        [
            (33, {}, "leave-pair-out"),
            (33, {"loss": "unit"}, "leave-pair-out"),
            (33, {"ties": "drop"}, "leave-pair-out"),
            (32, {"loss": "relative"}, "leave-pair-out"),
            (33, {"loss": "relative"}, "10 folds"),
            (33, {"cv": 4}, "4 folds"),
        ],
    )
    def test_in_words(self, m, options, expected):
        rng = np.random.default_rng(0)
        model = RankRLSCV([1.0], **options).fit(rng.normal(size=(m, 2)), rng.permutation(m))
        assert model.cv_ == expected

    def test_weights_that_all_differ_need_one_matrix_for_each_pair(self):
        rng = np.random.default_rng(0)
        X, y, weight = rng.normal(size=(60, 2)), rng.permutation(60), rng.uniform(1, 2, 60)
        assert RankRLSCV([1.0]).fit(X, y, sample_weight=weight).cv_ == "10 folds"
        rounded = RankRLSCV([1.0]).fit(X, y, sample_weight=np.round(weight))
        assert rounded.cv_ == "leave-pair-out"

    def test_queries_leave_whole(self):
        model = RankRLSCV([1.0]).fit(X, Y[:, 0], qid=QID)
        assert model.cv_ == "leave-query-out"
