"""partial_fit adds whole queries exactly, refuses what it cannot add, and forgets nothing.

That pieces equal one fit for every cost is checked beside the other fits, in test_rank_rls.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise import RankRLS

M = 17
RNG = np.random.default_rng(7)
X = RNG.normal(size=(M, 5))
Y = RNG.integers(0, 4, size=(M, 3)).astype(float)
QID = RNG.permutation(list("bacbacbacbacbacba"))


def test_partial_fit_refuses_a_query_seen_before():
    model = RankRLS().partial_fit(X[:8], Y[:8, 0], qid=[1, 1, 1, 1, 2, 2, 2, 2])
    coef = model.coef_.copy()
    with pytest.raises(ValueError, match=r"2.*seen before"):
        model.partial_fit(X[8:], Y[8:, 0], qid=[2] * 5 + [3] * 4)
    assert_allclose(model.coef_, coef)
    model.partial_fit(X[8:], Y[8:, 0], qid=[4] * 5 + [3] * 4)
    fitted = RankRLS().fit(X, Y[:, 0], qid=[1] * 4 + [2] * 4 + [4] * 5 + [3] * 4)
    assert_allclose(model.coef_, fitted.coef_, rtol=1e-9)
    with pytest.raises(ValueError, match="partial_fit"):
        model.leave_one_out()
    with pytest.raises(ValueError, match="seen before"):
        fitted.partial_fit(X[:3], Y[:3, 0], qid=[9, 9, 4])


def test_partial_fit_is_for_linear_models():
    assert not hasattr(RankRLS(kernel="rbf"), "partial_fit")
    assert not hasattr(RankRLS(basis=3), "partial_fit")


def test_partial_fit_takes_a_query_of_ties():
    """Its items are to score alike: with ties kept that is information, as in one fit."""
    tied = np.where(np.arange(M) < 5, 2.0, Y[:, 0] + np.arange(M))
    qid = np.where(np.arange(M) < 5, "ties", "rest")
    model = RankRLS().partial_fit(X[5:], tied[5:], qid=qid[5:])
    model.partial_fit(X[:5], tied[:5], qid=qid[:5])
    assert_allclose(model.coef_, RankRLS().fit(X, tied, qid=qid).coef_, rtol=1e-9)


def test_partial_fit_after_fit_from_a_reused_buffer():
    """A stream reads every chunk into one array; what was learnt must not change with it."""
    buffer = X[:8].copy()
    model = RankRLS().fit(buffer, Y[:8, 0])
    buffer[:] = X[8:16]
    model.partial_fit(buffer, Y[8:16, 0])
    whole = RankRLS().fit(X[:16], Y[:16, 0], qid=[0] * 8 + [1] * 8)
    assert_allclose(model.coef_, whole.coef_, rtol=1e-9)


def test_refused_partial_fit_does_not_forget_the_queries():
    model = RankRLS().partial_fit(X, Y[:, 0], qid=QID)
    with pytest.raises(ValueError):
        model.partial_fit(X, np.full(M, np.nan))
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        model.score(X, Y[:, 0])
