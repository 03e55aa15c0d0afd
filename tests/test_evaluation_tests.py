"""Tournament, permutation test, comparison, nested selection and curves."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import t as student
from sklearn import config_context
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import RLS, RankRLS, RankRLSCV, RankSVM, metrics
from rankwise.evaluation import (
    compare,
    cross_val_auc,
    learning_curve,
    lpo_roc,
    nested_score,
    permutation_test,
    regularisation_curve,
    tournament,
)
from rankwise.evaluation.comparison import holm, sign_flip_p
from rankwise.holdout.pair_systems import agree
from rankwise.holdout.small_holdouts import SmallHoldouts
from rankwise.learners.quadratic import pairs_within
from tests import reference_evaluation as reference

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 4))
Y = X[:, 0] + RNG.normal(size=24)
B = (Y > 0.2).astype(float)
QID = np.array(list("abcdef") * 4)


@pytest.mark.parametrize("estimator", [RankRLS(0.5, kernel="rbf"), RLS(), RidgeClassifier()])
def test_tournament_against_a_loop(estimator):
    x, y = X[:12], B[:12]
    beats = np.full((12, 12), np.nan)
    for i in range(12):
        for j in range(i):
            a, b = reference.refit(estimator, x, y, np.array([i, j]))
            beats[i, j], beats[j, i] = a > b, b > a
    wins = np.nansum(beats, axis=1)
    found = tournament(estimator, x, y)
    assert_allclose(found.wins, wins)
    assert_allclose(found.auc, roc_auc_score(y, wins))
    assert_allclose(found.pair_auc, reference.leave_pair_out_auc(estimator, x, y))
    cycles = sum(
        beats[i, j] and beats[j, k] and beats[k, i]
        for i in range(12)
        for j in range(12)
        for k in range(12)
        if len({i, j, k}) == 3
    )
    assert found.cycles == cycles // 3
    fpr, tpr, area = lpo_roc(estimator, x, y)
    assert (fpr[0], tpr[0], fpr[-1], tpr[-1]) == (0, 0, 1, 1)
    assert_allclose(np.trapezoid(tpr, fpr), area)
    assert_allclose(area, found.auc)


def test_a_tournament_without_an_order():
    """Rock, paper, scissors is as inconsistent as can be; a line has no cycle."""
    line = tournament(RLS(1e-3), np.arange(12.0)[:, None], (np.arange(12) >= 6) * 1.0)
    assert (line.cycles, line.inconsistency, line.auc) == (0, 0.0, 1.0)
    with pytest.raises(ValueError, match="only one value"):
        lpo_roc(RLS(), X, np.ones(24))


def by_hand(estimator, x, y, qid, cv):
    """best_score_ of RankRLSCV with a grid of one."""
    options = {k: v for k, v in estimator.get_params().items() if k != "alpha"}
    return RankRLSCV([estimator.alpha], cv=cv, **options).fit(x, y, qid=qid).best_score_


@pytest.mark.parametrize("qid", [None, QID], ids=["one query", "queries"])
@pytest.mark.parametrize("options", [{}, {"loss": "unit"}, {"kernel": "rbf", "basis": 9}], ids=str)
def test_permuted_targets_are_columns(options, qid):
    """Every null value is that of a model cross-validated on that permutation alone."""
    estimator = RankRLS(0.7, random_state=0, **options)
    score, null, p = permutation_test(
        estimator, X, Y, qid=qid, n_permutations=5, random_state=np.random.RandomState(3)
    )
    assert_allclose(score, by_hand(estimator, X, Y, qid, "auto"), atol=1e-12)
    rng = np.random.RandomState(3)
    codes = np.zeros(24, dtype=int) if qid is None else np.unique(qid, return_inverse=True)[1]
    for value in null:
        permuted = np.empty(24)
        permuted[np.argsort(codes, kind="stable")] = Y[np.lexsort((rng.random_sample(24), codes))]
        for q in range(codes.max() + 1):
            assert sorted(permuted[codes == q]) == sorted(Y[codes == q])
        assert_allclose(value, by_hand(estimator, X, permuted, qid, "auto"), atol=1e-12)
    assert_allclose(p, (np.sum(null >= score - 1e-12) + 1) / 6)


@pytest.mark.parametrize("qid", [None, QID], ids=["one query", "queries"])
def test_permutations_choose_alpha_anew(qid):
    search = RankRLSCV([0.1, 10.0, 1000.0])
    score, null, _ = permutation_test(search, X, Y, qid=qid, n_permutations=40, random_state=0)
    assert_allclose(score, search.fit(X, Y, qid=qid).best_score_, atol=1e-12)
    single = [
        permutation_test(RankRLS(a), X, Y, qid=qid, n_permutations=40, random_state=0)[1]
        for a in (0.1, 10.0, 1000.0)
    ]
    assert_allclose(null, np.max(single, axis=0), atol=1e-12)


def test_permutation_by_refitting_is_the_closed_form():
    """The same model inside a pipeline is refitted."""
    for qid, cv in ((None, 4), (QID, GroupKFold(3)), (QID, "leave-query-out")):
        closed = permutation_test(RankRLS(), X, Y, qid=qid, cv=cv, n_permutations=6, random_state=1)
        slow = permutation_test(
            make_pipeline(RankRLS()), X, Y, qid=qid, cv=cv, n_permutations=6, random_state=1
        )
        assert_allclose(closed[1], slow[1], atol=1e-12)
        assert_allclose((closed[0], closed[2]), (slow[0], slow[2]), atol=1e-12)
    closed = permutation_test(RLS(), X[:9], B[:9], n_permutations=3, random_state=1)
    slow = permutation_test(
        make_pipeline(RLS()), X[:9], B[:9], cv="leave-pair-out", n_permutations=3, random_state=1
    )
    assert_allclose(closed[1], slow[1], atol=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("alpha", [1e-5, 0.1, 10.0])
def test_compiled_pairs_of_a_pointwise_loss(kernel, alpha):
    rng = np.random.default_rng(7)
    for features, weight in ((4, None), (30, None), (4, rng.integers(1, 3, 24).astype(float))):
        x = rng.normal(size=(24, features)).round(1)
        targets = np.column_stack((Y, B))
        model = RLS(alpha, kernel=kernel).fit(x, targets, sample_weight=weight)
        ((_, fit),) = model._decomposed()
        counted, right = SmallHoldouts(fit, alpha).judge_pairs()
        pairs = pairs_within(fit.supervision.queries)
        f = model.leave_pair_out(pairs)
        gap = targets[pairs[:, 0]] - targets[pairs[:, 1]]
        agreed = agree(f[:, 0] - f[:, 1], gap)
        for j in range(2):
            both = pairs.ravel()
            assert_allclose(counted[:, j], np.bincount(both, np.repeat(gap[:, j] != 0, 2)))
            assert_allclose(right[:, j], np.bincount(both, np.repeat(agreed[:, j], 2)))


def test_frames_lists_and_kernels():
    frame, K = pd.DataFrame(X, index=np.arange(24)[::-1]), X @ X.T
    for runs in (
        [cross_val_auc(RankRLS(), x, B) for x in (X, frame, X.tolist())],
        [nested_score(Ridge(), x, Y, cv=3).score for x in (X, frame, X.tolist())],
        [
            nested_score(RankRLS(kernel="precomputed"), x, Y, QID).score
            for x in (K, pd.DataFrame(K), K.tolist())
        ],
    ):
        assert_allclose(runs, runs[0])
    sizes = learning_curve(RankRLS(kernel="rbf", basis=10), X, Y, folds=2)
    assert np.isfinite(sizes.score).all()


def test_signal_and_none():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(80, 3))
    assert permutation_test(RankRLS(), x, x[:, 0], n_permutations=99, random_state=0)[2] == 0.01
    p = [
        permutation_test(RankRLS(), x, rng.normal(size=80), n_permutations=99, random_state=s)[2]
        for s in range(30)
    ]
    assert 0.25 < np.mean(p) < 0.75
    labels = np.where(B == 1, "yes", "no")
    assert 0 < permutation_test(LogisticRegression(), X, labels, n_permutations=3)[2] <= 1


def test_queries_must_stay_whole():
    for run in (permutation_test, compare, nested_score, regularisation_curve):
        models = [RankRLS(), RLS()] if run is compare else RankRLS()
        with pytest.raises(ValueError, match=r"of the 4 items of query [a-f]: queries must stay"):
            run(models, X, Y, qid=QID, cv=list(KFold(3).split(X)))
    with pytest.raises(ValueError, match="splits queries"):
        permutation_test(RankRLS(), X, Y, qid=QID, cv="leave-pair-out")


def test_sign_flips_are_exact():
    rng = np.random.default_rng(7)
    d = np.array([0.3, 0.1, -0.05, 0.2])
    flips = np.array(np.meshgrid(*[[1, -1]] * 4)).reshape(4, -1).T
    expected = np.mean(np.abs(flips @ d) >= abs(d.sum()) - 1e-12)
    assert_allclose(sign_flip_p(d, None), expected)
    assert sign_flip_p(np.zeros(5), None) == 1.0
    many = rng.normal(size=40) + 0.35
    t = many.mean() / many.std(ddof=1) * np.sqrt(40)
    assert_allclose(
        sign_flip_p(many, np.random.RandomState(0)), 2 * student.sf(abs(t), 39), atol=0.02
    )


def test_holm():
    assert_allclose(holm([0.01, 0.02, 0.03, 0.5]), [0.04, 0.06, 0.06, 0.5])
    assert_allclose(holm([0.4, 0.6]), [0.8, 0.8])


def test_compare_by_query():
    models = {"right": RankRLS(), "wrong": RankRLS(kernel="rbf", gamma=1.0)}
    found = compare(models, X, Y, QID, random_state=0)
    assert found.how.startswith("leave-query-out, 6 queries")
    for name, column in zip(found.names, found.by_query.T):
        s = models[name].fit(X, Y, qid=QID).leave_query_out()
        expected = [metrics.concordance(Y[q == QID], s[q == QID]) for q in "abcdef"]
        assert_allclose(column, expected, atol=1e-12)
    assert_allclose(found.score, found.by_query.mean(axis=0))
    assert found.score[0] >= found.score[1] and found.best == found.names[0]
    one = found.differences[0]
    assert_allclose(one.difference, found.score[0] - found.score[1])
    assert one.p_value == one.p_adjusted
    assert found.best in str(found) and "corrected" in str(found)


def test_compare_many_models_and_no_queries():
    found = compare([Ridge(), RankRLSCV([1.0]), RankSVM(), Ridge(100)], X, Y, random_state=0)
    assert sorted(found.names) == ["RankRLSCV", "RankSVM", "Ridge", "Ridge 2"]
    assert len(found.differences) == 6 and found.by_query is None
    p = [d.p_value for d in found.differences]
    assert p == sorted(p) and all(d.p_adjusted >= d.p_value for d in found.differences)
    twins = compare([RankRLS(), RankRLS()], X, B)
    assert twins.how == "leave-pair-out" and twins.differences[0].p_value == 1.0
    assert_allclose(twins.score, reference.leave_pair_out_auc(RankRLS(), X, B))


@pytest.mark.parametrize(
    ("models", "message"),
    [([RankRLS()], "two models or more"), (3, "must be a dict"), ([RankRLS(), "x"], "estimator")],
)
def test_compare_bad_models(models, message):
    with pytest.raises(ValueError, match=message):
        compare(models, X, Y)


def test_nested_score_by_hand():
    search = RankRLSCV([0.1, 1000.0])
    folds = [(np.setdiff1d(np.arange(24), np.flatnonzero(q == QID)), q == QID) for q in "abcdef"]
    expected, chosen = [], []
    for train, test in folds:
        model = RankRLSCV([0.1, 1000.0]).fit(X[train], Y[train], qid=QID[train])
        expected.append(metrics.concordance(Y[test], model.predict(X[test])))
        chosen.append(model.alpha_)
    found = nested_score(search, X, Y, QID)
    assert_allclose(found.score, np.mean(expected))
    assert_allclose(found.score_se, np.std(expected, ddof=1) / np.sqrt(6))
    assert found.chosen == chosen
    assert_allclose(found.selected_score, search.fit(X, Y, qid=QID).best_score_)
    assert_allclose(found.optimism, found.selected_score - found.score)
    assert found.interval[0] < found.score < found.interval[1]
    assert "±" in str(found)


def test_nested_score_of_other_searches():
    grid = GridSearchCV(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1, 10.0]})
    found = nested_score(grid, X, Y, cv=4)
    assert [set(choice) for choice in found.chosen] == [{"ridge__alpha"}] * 4
    assert 0 <= found.score <= 1
    assert nested_score(LogisticRegression(), X, B, cv=3).selected_score is None


def test_nested_score_where_a_fold_takes_all_positives():
    rare = np.zeros(24)
    rare[[2, 3]] = 1
    folds = [np.arange(4), np.arange(4, 24)]
    found = nested_score(RankRLSCV([0.1, 1.0]), X, rare, cv=folds)
    assert found.chosen[0] is None and found.score == 0.5


def test_a_search_by_query_inside_queries():
    """With metadata routing a GridSearchCV is handed the queries of each outer fold."""
    grid = GridSearchCV(RankRLS(), {"alpha": [0.1, 1000.0]}, cv=GroupKFold(4))
    with config_context(enable_metadata_routing=True):
        found = nested_score(grid, X, Y, QID)
        train = np.flatnonzero(QID != "a")
        grid.fit(X[train], Y[train], qid=QID[train], groups=QID[train])
    assert found.chosen[0] == grid.best_params_
    assert len(found.chosen) == 6 and 0 <= found.score <= 1


def test_regularisation_curve():
    grid = [0.1, 1.0, 10.0]
    closed = regularisation_curve(RankRLS(kernel="rbf"), X, Y, QID, alphas=grid)
    model = RankRLSCV(grid, kernel="rbf").fit(X, Y, qid=QID)
    assert_allclose(closed.score, model.cv_results_["score"])
    assert_allclose(closed.score_se, model.cv_results_["score_se"])
    assert closed.best == model.alpha_
    slow = regularisation_curve(
        make_pipeline(RankRLS(kernel="rbf")),
        X,
        Y,
        QID,
        alphas=grid,
        parameter="rankrls__alpha",
        cv="leave-query-out",
    )
    assert_allclose(slow.score, closed.score, atol=1e-12)
    assert_allclose(slow.score_se, closed.score_se, atol=1e-12)
    assert regularisation_curve(RankSVM(), X, B, alphas=grid, cv=3).name == "alpha"
    with pytest.raises(ValueError, match="neither alpha nor C"):
        regularisation_curve(make_pipeline(Ridge()), X, Y)
    with pytest.raises(ValueError, match="no parameter 'gama'"):
        regularisation_curve(Ridge(), X, Y, parameter="gama")


@pytest.mark.parametrize("qid", [None, np.repeat(np.arange(40), 3)], ids=["items", "queries"])
def test_learning_curve(qid, tmp_path):
    rng = np.random.default_rng(7)
    x = rng.normal(size=(120, 20))
    y = x @ np.ones(20) + rng.normal(size=120)
    curve = learning_curve(RankRLS(0.1), x, y, qid, random_state=0)
    assert curve.score[-1] > curve.score[0]
    assert curve.training is not None and np.all(curve.score_se >= 0)
    assert curve.x[-1] == (32 if qid is not None else 96)
    picture = curve.save(tmp_path / "curve.png")
    assert picture.stat().st_size > 1000 and list(tmp_path.iterdir()) == [picture]
    sized = learning_curve(Ridge(), x, y, qid, sizes=[0.5, 1.0], folds=3, repeats=2)
    assert len(sized.x) == 2 and sized.x[1] == 2 * sized.x[0]
    with pytest.raises(ValueError, match="what a fold leaves"):
        learning_curve(RankRLS(), x, y, qid, sizes=[500])


def test_bad_input():
    with pytest.raises(ValueError, match="y holds only one value"):
        permutation_test(RankRLS(), X, np.ones(24))
    with pytest.raises(ValueError, match="no query holds two values"):
        compare([RankRLS(), RLS()], X, np.unique(QID, return_inverse=True)[1], QID)
    with pytest.raises(ValueError, match="positive integer"):
        permutation_test(RankRLS(), X, Y, n_permutations=0)
    with pytest.raises(ValueError, match="as many rows"):
        permutation_test(RankRLS(), X[:5], Y)
    with pytest.raises(ValueError, match="no scikit-learn estimator"):
        nested_score("svm", X, Y)
    with pytest.raises(ValueError, match="row 3"):
        learning_curve(RankRLS(), X, np.where(np.arange(24) == 3, np.nan, Y))
