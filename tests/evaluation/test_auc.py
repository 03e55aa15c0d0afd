"""Cross-validated AUC: closed form, refitting and a plain loop say the same."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import RLS, EstimateWarning, RankBoost, RankRLS, RankRLSCV, RankSVM, UndefinedMetric
from rankwise.evaluation import cross_val_auc
from rankwise.evaluation.auc import auc_folds, mixed_pairs
from rankwise.evaluation.unseen_scores import ClosedFormScores, RefittedScores
from tests import reference_evaluation as reference

RNG = np.random.default_rng(0)
X = RNG.normal(size=(22, 4))
Y = (X[:, 0] + RNG.normal(size=22) > 0.3).astype(float)
METHODS = ("leave-pair-out", "pooled", "averaged")
CLOSED = [
    RLS(0.5),
    RLS(0.1, kernel="rbf"),
    RankRLS(2.0),
    RankRLS(0.3, kernel="rbf", gamma=0.2),
    RankRLS(0.3, loss="unit"),
    RankRLS(0.3, ties="drop", kernel="poly"),
    RankRLS(1.0, query_weight="queries"),
]
OTHERS = [
    RankRLSCV([0.1, 10.0]),
    RankSVM(0.01),
    RankBoost(5),
    RidgeClassifier(),
    GaussianNB(),
    make_pipeline(StandardScaler(), RankRLS(1.0)),
]


def quietly(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EstimateWarning)
        return cross_val_auc(*arguments, **options)


def naive(estimator, X, y, method, folds=5, tie=0.0):
    if method == "leave-pair-out":
        return reference.leave_pair_out_auc(estimator, X, y, tie)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EstimateWarning)
        tests = auc_folds(y == y.max(), folds, 3)
    return reference.folded_auc(estimator, X, y, tests, method == "pooled", tie)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("estimator", CLOSED + OTHERS, ids=repr)
def test_every_estimator_against_a_plain_loop(estimator, method):
    rows = slice(None) if type(estimator) in (RLS, RankRLS) else slice(0, 14)
    x, y = X[rows], Y[rows]
    found = quietly(estimator, x, y, method=method, folds=5, random_state=3)
    assert_allclose(found, naive(estimator, x, y, method), atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("learner", [RLS, RankRLS, RankSVM])
def test_precomputed_kernels(learner, method):
    K = rbf_kernel(X[:14])
    estimator = learner(0.2, kernel="precomputed")
    found = quietly(estimator, K, Y[:14], method=method, folds=4, random_state=3)
    assert_allclose(found, naive(estimator, K, Y[:14], method, 4), atol=1e-12)


@pytest.mark.parametrize("learner", [RLS, RankRLS])
def test_reduced_sets_lose_held_out_basis_items(learner):
    basis = np.array([0, 3, 4, 9, 15, 21])
    model = learner(0.2, kernel="rbf", basis=basis)
    total = 0.0
    pairs = mixed_pairs(Y == 1)
    for pair in pairs:
        stay = np.setdiff1d(np.arange(22), pair)
        kept = np.flatnonzero(np.isin(stay, basis))
        refitted = learner(0.2, kernel="rbf", basis=kept).fit(X[stay], Y[stay])
        total += reference.heaviside(*refitted.predict(X[pair]), 0.0)
    assert_allclose(quietly(model, X, Y), total / len(pairs), atol=1e-12)
    by_refitting = RefittedScores(model, X, Y, None)
    assert_allclose(
        by_refitting.pairs(pairs), ClosedFormScores(model, X, Y, None).pairs(pairs), atol=1e-9
    )


def test_sparse_input():
    assert_allclose(quietly(RankRLS(), sparse.csr_matrix(X), Y), quietly(RankRLS(), X, Y))


@pytest.mark.parametrize("method", ["pooled", "averaged"])
def test_leave_one_out_is_as_many_folds_as_items(method):
    if method == "averaged":
        with pytest.raises(UndefinedMetric, match="none of the 22 folds"):
            cross_val_auc(RankRLS(), X, Y, method=method, folds=22)
        return
    s = RankRLS().fit(X, Y).leave_one_out()
    H = (s[Y == 1][:, None] > s[Y == 0]).mean()
    assert_allclose(quietly(RankRLS(), X, Y, method=method, folds=22), H)


few_values = st.integers(6, 9).flatmap(
    lambda m: st.tuples(
        st.lists(st.lists(st.integers(-1, 2), min_size=2, max_size=2), min_size=m, max_size=m),
        st.lists(st.booleans(), min_size=m, max_size=m),
    )
)


@given(
    data=few_values,
    estimator=st.sampled_from(CLOSED),
    method=st.sampled_from(METHODS),
    scale=st.sampled_from([1e-5, 1.0, 1e5]),
    constant=st.booleans(),
)
def test_closed_form_is_refitting_with_ties(data, estimator, method, scale, constant):
    """Twins, constant features and predictions that cancel: tied in both, up to rounding."""
    x = np.array(data[0], dtype=float) * scale
    y = np.array(data[1], dtype=float)
    if constant:
        x[:, 1] = 3 * scale
    assume(2 <= y.sum() <= len(y) - 2)
    closed, slow = ClosedFormScores(estimator, x, y, None), RefittedScores(estimator, x, y, None)
    if method == "leave-pair-out":
        pairs = mixed_pairs(y == 1)
        right = [
            held.ties.right(pairs, held.pairs(pairs), np.ones(len(pairs)))
            for held in (closed, slow)
        ]
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EstimateWarning)
            tests = auc_folds(y == 1, 3, 0)
        right = [
            np.concatenate([held.ties.levels(test, held.without(test)) for test in tests])
            for held in (closed, slow)
        ]
    assert_allclose(*right)


def test_everything_tied_is_a_half():
    x = np.ones((9, 2))
    y = np.array([0.0, 1.0] * 4 + [1.0])
    for estimator in (RLS(), RankRLS(), RankRLS(1e-4, kernel="rbf"), RankRLS(loss="unit")):
        assert quietly(estimator, x, y) == 0.5
        assert quietly(estimator, x, y, method="averaged", folds=2) == 0.5
    assert quietly(DummyClassifier(), X, Y) == 0.5


def test_tiny_predictions_are_no_ties():
    """What matters is the size of a difference beside the scores, not the scores' own size."""
    assert quietly(RankRLS(1e14), X, Y) == quietly(RankRLS(1e6), X, Y) > 0.5
    assert quietly(RankRLS(1e-8), X * 1e-9, Y) == quietly(RankRLS(1e10), X, Y)


def test_labels_of_classifiers():
    labels = np.where(Y == 1, "yes", "no")
    assert_allclose(
        quietly(RidgeClassifier(), X, labels), quietly(RidgeClassifier(), X, Y), atol=1e-12
    )
    assert quietly(RankRLS(), X, Y == 1) == quietly(RankRLS(), X, Y)


def test_folds_are_stratified_where_they_can_be():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tests = auc_folds(Y == 1, 5, None)
    counts = [int(Y[test].sum()) for test in tests]
    assert max(counts) - min(counts) <= 1
    rare = np.arange(22) < 2
    with pytest.warns(EstimateWarning, match="only 2 items"):
        auc_folds(rare, 5, None)


def test_two_positives_in_many():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(500, 5))
    y = np.zeros(500)
    y[[3, 4]] = 1
    for method in METHODS:
        found = quietly(RankRLS(), x, y, method=method)
        assert 0 <= found <= 1
    with pytest.warns(EstimateWarning) as caught:
        cross_val_auc(RankRLS(), x, y, method="averaged")
    assert [word in str(caught[0].message) for word in ("stratified", "2 items")] == [True] * 2
    assert "varies wildly" in str(caught[1].message)


def test_a_training_set_of_one_class():
    """Both positives in one fold: what it leaves out is scored 0, refitted or not."""
    y = np.zeros(8)
    y[[0, 1]] = 1
    x = X[:8]
    tests = [np.array([0, 1, 2]), np.arange(3, 8)]
    for held in (
        ClosedFormScores(RankRLS(), x, y, None),
        RefittedScores(LogisticRegression(), x, y, None),
    ):
        assert not held.without(tests[0]).any()
        assert held.without(tests[1]).any()
        assert (held.untaught, held.trained) == (1, 2)


def test_warnings():
    with pytest.warns(EstimateWarning, match="pooling compares scores of different models"):
        cross_val_auc(RankRLS(), X, Y, method="pooled", folds=5)
    with pytest.warns(EstimateWarning, match="averaging compares"):
        cross_val_auc(RankRLS(), X, Y, method="averaged", folds=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cross_val_auc(RankRLS(), X, Y)
        many = np.tile(X, (5, 1)) + np.random.default_rng(0).normal(size=(110, X.shape[1]))
        cross_val_auc(RankRLS(), many, np.tile(Y, 5), method="averaged", folds=5)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((RankRLS(), X, np.ones(22)), {}, "only one value, 1.0"),
        ((RankRLS(), X, np.arange(22)), {}, "found a third"),
        ((RankRLS(), X, np.where(np.arange(22) == 5, np.nan, Y)), {}, "row 5"),
        ((RankRLS(), X[:5], Y), {}, "as many rows"),
        ((RankRLS(), X, Y), {"method": "bagged"}, "method must be one of"),
        ((RankRLS(), X, Y), {"method": "pooled", "folds": 1}, "between 2 and the 22 items"),
        ((RankRLS(), X, Y), {"method": "pooled", "folds": 2.5}, "folds must be an integer"),
        ((RankRLS(), X, (np.arange(22) == 4) * 1.0), {}, "two items or more"),
        ((LogisticRegression(), X, (np.arange(22) == 4) * 1.0), {}, "two items or more"),
        ((StandardScaler(), X, Y), {}, "needs decision_function or predict"),
        ((RankRLS, X, Y), {}, "not its class"),
        (("RankRLS", X, Y), {}, "no scikit-learn estimator"),
    ],
)
def test_bad_input(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        quietly(*arguments, **options)


def test_a_classifier_that_only_predicts_classes():
    class Only(Perceptron):
        decision_function = property()

    with pytest.raises(ValueError, match="only predicts classes"):
        cross_val_auc(Only(), X, Y)
