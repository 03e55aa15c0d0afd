"""RankRLSCV's choice of alpha, its defaults, and what it refuses."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import rbf_kernel

from rankwise import RankRLSCV, UndefinedMetric, metrics

M = 18
RNG = np.random.default_rng(11)
X = RNG.normal(size=(M, 4))
Y = np.column_stack((X[:, 0] + RNG.normal(size=M), RNG.integers(0, 3, M), RNG.normal(size=M)))
ALPHAS = [30.0, 0.01, 1.0]


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
