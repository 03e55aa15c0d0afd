"""Preferences about rows of several partitions give the models of the local classes."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

import rankwise
import rankwise.dask as distributed_rankers
from rankwise import Preferences
from tests.dask_cases import COSTS, REDUCED, as_dask, as_delayed, ranking_data


def statements(rng, m, l=300, qid=None):
    """Statements with ties, magnitudes and weights, about items of the same query if there are
    queries; some of the items are in none."""
    winner, loser = rng.integers(0, m - 5, (2, l))
    kept = winner != loser
    if qid is not None:
        kept &= qid[winner] == qid[loser]
    winner, loser = winner[kept], loser[kept]
    n = len(winner)
    return Preferences(
        winner, loser, rng.random(n) + 0.1, rng.integers(0, 3, n), m, tie=rng.random(n) < 0.2
    )


@pytest.mark.parametrize("space", [{}, REDUCED], ids=["linear", "rbf"])
@pytest.mark.parametrize("cost", COSTS, ids=lambda cost: "-".join(cost.values()))
def test_rank_rls_without_queries(cost, space):
    X, _, _, weight = ranking_data(m=120)
    P = statements(np.random.default_rng(1), 120)
    local = rankwise.RankRLS(0.3, **cost, **space).fit(X, preferences=P, sample_weight=weight)
    found = distributed_rankers.RankRLS(0.3, **cost, **space)
    found.fit(da.from_array(X, chunks=(17, -1)), preferences=P, sample_weight=weight)
    assert_allclose(found.predict(X), local.predict(X), rtol=1e-8, atol=1e-8)
    found.set_alpha(10.0)
    local = rankwise.RankRLS(10.0, **cost, **space).fit(X, preferences=P, sample_weight=weight)
    assert_allclose(found.predict(X), local.predict(X), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("cost", COSTS[::2], ids=lambda cost: "-".join(cost.values()))
def test_rank_rls_with_queries(cost):
    X, _, qid, weight = ranking_data(m=120, n_queries=8)
    P = statements(np.random.default_rng(1), 120, 2000, qid)
    local = rankwise.RankRLS(0.3, **cost)
    local.fit(X, preferences=P, qid=qid, sample_weight=weight)
    found = distributed_rankers.RankRLS(0.3, **cost)
    found.fit(as_dask(X, qid, 2), preferences=P, qid=qid, sample_weight=weight)
    assert_allclose(found.coef_, local.coef_, rtol=1e-8)
    assert found.trained_on == (120, len(np.unique(qid)))


@pytest.mark.parametrize("query_weight", ["pairs", "size", "queries"])
@pytest.mark.parametrize("has_queries", [False, True], ids=["one query", "queries"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_rank_svm(loss, has_queries, query_weight):
    X, _, labels, weight = ranking_data(m=120, n_queries=8)
    qid = labels if has_queries else None
    P = statements(np.random.default_rng(1), 120, 2000 if has_queries else 300, qid)
    options = {"loss": loss, "query_weight": query_weight, "tol": 1e-7}
    told = {"preferences": P, "qid": qid, "sample_weight": weight}
    local = rankwise.RankSVM(0.01, **options).fit(X, **told)
    found = distributed_rankers.RankSVM(0.01, **options).fit(as_dask(X, labels, 2), **told)
    assert found.objective_ == pytest.approx(local.objective_, abs=2e-7)
    assert_allclose(found.predict(X), local.predict(X), atol=0.01)


def test_sparse_rows_frames_lists_and_conjugate_gradients():
    X, _, _, _ = ranking_data(m=120)
    X[np.abs(X - 2) < 1] = 0.0
    P = statements(np.random.default_rng(1), 120)
    expected = rankwise.RankRLS(0.3).fit(X, preferences=P).coef_
    frame = pd.DataFrame(X, columns=list("abcde"))
    (rows,) = as_delayed((40, 0, 50, 30), sparse.csr_array(X))
    for lazy in (dd.from_pandas(frame, npartitions=4), rows):
        found = distributed_rankers.RankRLS(0.3).fit(lazy, preferences=P)
        assert_allclose(found.coef_, expected, rtol=1e-8)
    for weight in ("pairs", "queries"):
        options = {"solver": "cg", "tol": 1e-10, "query_weight": weight}
        found = distributed_rankers.RankRLS(0.3, **options).fit(rows, preferences=P)
        local = rankwise.RankRLS(0.3, query_weight=weight).fit(X, preferences=P)
        assert_allclose(found.coef_, local.coef_, rtol=1e-6)


@settings(max_examples=15)
@given(m=st.integers(8, 40), chunk=st.integers(1, 20), seed=st.integers(0, 10**6))
def test_any_statements_and_cuts(m, chunk, seed):
    rng = np.random.default_rng(seed)
    X, P = rng.normal(size=(m, 3)), statements(rng, m, 30)
    cost, lazy = COSTS[seed % len(COSTS)], da.from_array(X, chunks=(chunk, -1))
    try:
        local = rankwise.RankRLS(**cost).fit(X, preferences=P)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)[:40]):
            distributed_rankers.RankRLS(**cost).fit(lazy, preferences=P)
        return
    found = distributed_rankers.RankRLS(**cost).fit(lazy, preferences=P)
    assert_allclose(found.coef_, local.coef_, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("learner", ["RankRLS", "RankSVM"])
def test_bad_statements_are_named(learner):
    X, y, qid, _ = ranking_data(m=120, n_queries=8)
    lazy, fit = as_dask(X, qid, 2), getattr(distributed_rankers, learner)().fit
    with pytest.raises(ValueError, match="either y or preferences"):
        fit(lazy, y, preferences=Preferences([0], [1]))
    with pytest.raises(ValueError, match=r"preference 0, item 0 over item 119.*different"):
        fit(lazy, preferences=Preferences([0], [119]), qid=qid)
    other = int(np.flatnonzero(qid != qid[0])[0])
    with pytest.raises(ValueError, match="different queries"):
        fit(lazy, preferences=Preferences([0], [other]), qid=qid)
    with pytest.raises(ValueError, match="120"):
        fit(lazy, preferences=Preferences([0], [120]))
    nothing = np.where(np.arange(120) < 2, 0.0, 1.0)
    with pytest.raises(ValueError, match="positive weight"):
        fit(lazy, preferences=Preferences([0], [1]), sample_weight=nothing)
    with pytest.raises(distributed_rankers.SplitQuery):
        fit(da.from_array(X, chunks=(7, -1)), preferences=Preferences([0], [1]), qid=qid)


def test_what_preferences_do_not_offer_says_so():
    X, _, qid, _ = ranking_data(m=120, n_queries=8)
    P = Preferences([0, 1], [1, 2])
    with pytest.raises(ValueError, match="spread is for scores"):
        distributed_rankers.RankRLS().fit(as_dask(X, qid), preferences=P, qid=qid, spread=[1])
    model = distributed_rankers.RankRLS().fit(as_dask(X, qid), preferences=P)
    with pytest.raises(ValueError, match="is for scores"):
        model.leave_query_out()
    assert isinstance(model.to_local(), rankwise.RankRLS)
