"""Permutation tests against models cross-validated on each permutation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline

from rankwise import RLS, RankRLS, RankRLSCV
from rankwise.evaluation import permutation_test
from tests.evaluation.small_data import QID, B, X, Y


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
