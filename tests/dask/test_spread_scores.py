"""RankSVM counts the pairs of queries that lie in several partitions on the client, exactly."""

import dask.array as da
import numpy as np
import pytest
from dask import delayed
from numpy.testing import assert_allclose
from scipy import sparse

import rankwise
import rankwise.dask as distributed_rankers
from rankwise import Censored
from rankwise.dask import spread_scores
from rankwise.exceptions import TooLarge
from tests.dask_cases import REDUCED, as_delayed, ranking_data

TIGHT = {"hinge": 1e-6, "squared_hinge": 1e-10}


def censored(y, seed=3):
    rng = np.random.default_rng(seed)
    return Censored(rng.random(len(y)) < 0.7, np.round(np.exp(0.5 * y) * 5))


def agree(found, local, X):
    """Objectives agree within both gaps, and so do predictions within what gaps allow: w is at most
    the root of gap/alpha away from the minimiser."""
    slack = found.gap_ + local.gap_ + 1e-12
    assert np.all(np.abs(found.objective_ - local.objective_) <= slack)
    distance = np.sqrt(2 * np.max(slack) / found.alpha)
    longest = np.linalg.norm(X, axis=1).max() if found.basis is None else 1.0
    assert_allclose(found.predict(X), local.predict(X), atol=distance * longest)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("space", [{}, REDUCED], ids=["x", "rbf"])
@pytest.mark.parametrize("told", ["scores", "outputs", "outcomes"])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_query_over_all_partitions(loss, space, told, weighted):
    X, y, _, weight = ranking_data(m=130, outputs=2 if told == "outputs" else None)
    y = censored(y) if told == "outcomes" else y
    given = {"sample_weight": weight} if weighted else {}
    options = {"loss": loss, "tol": TIGHT[loss], **space}
    local = rankwise.RankSVM(0.01, **options).fit(X, y, **given)
    found = distributed_rankers.RankSVM(0.01, **options)
    agree(found.fit(da.from_array(X, chunks=(30, -1)), y, **given), local, X)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("query_weight", ["pairs", "size", "queries"])
@pytest.mark.parametrize("told", ["scores", "outcomes"])
def test_named_queries_beside_whole_ones(loss, query_weight, told):
    X, y, qid, weight = ranking_data(m=160, n_queries=8)
    names = np.array([f"stratum {q}" for q in qid])
    y = censored(y) if told == "outcomes" else y
    lazy = da.from_array(X, chunks=((0, 45, 45, 45, 25), -1))
    spread = [f"stratum {q}" for q in range(8)]
    for labels in (spread, spread[1:7] + spread[:1] * 3 + spread[7:]):
        options = {"loss": loss, "query_weight": query_weight, "tol": TIGHT[loss]}
        local = rankwise.RankSVM(0.01, **options).fit(X, y, qid=names, sample_weight=weight)
        found = distributed_rankers.RankSVM(0.01, **options)
        found.fit(lazy, y, qid=names, sample_weight=weight, spread=labels)
        agree(found, local, X)
    cut = [name for name in spread if len(np.unique(np.flatnonzero(names == name) // 45)) > 1]
    assert 0 < len(cut) < 8
    found.fit(lazy, y, qid=names, sample_weight=weight, spread=cut)
    agree(found, local, X)


def test_one_label_everywhere_empty_partitions_and_csr_blocks():
    X, y, _, _ = ranking_data(m=90)
    label = np.full(90, "x")
    blocks = as_delayed([0, 30, 0, 40, 20, 0], sparse.csr_matrix(X), y, label)
    local = rankwise.RankSVM(0.01, loss="squared_hinge", tol=1e-9).fit(X, y)
    found = distributed_rankers.RankSVM(0.01, loss="squared_hinge", tol=1e-9)
    agree(found.fit(blocks[0], blocks[1], qid=blocks[2]), local, X)
    assert found.trained_on == (90, 1)
    agree(found.fit(blocks[0], blocks[1]), local, X)
    only = as_delayed([0, 90], X, y)
    agree(found.fit(*only), local, X)


def test_lists_of_censored_partitions_and_a_warm_start():
    X, y, _, _ = ranking_data(m=90)
    y = censored(y)
    parts = [slice(0, 50), slice(50, 51), slice(51, 90)]
    found = distributed_rankers.RankSVM(0.01, loss="squared_hinge", tol=1e-9, warm_start=True)
    told = [delayed(y[part], traverse=False) for part in parts]
    found.fit([delayed(X[part]) for part in parts], told)
    agree(found, rankwise.RankSVM(0.01, loss="squared_hinge", tol=1e-9).fit(X, y), X)
    lazy = da.from_array(X, chunks=(25, -1))
    assert found.fit(lazy, y).n_iter_ == 0
    assert found.to_local().score(X, y) == pytest.approx(found.score(lazy, y))


def test_a_partition_without_weight_or_pairs_and_an_output_of_ties():
    X, y, _, weight = ranking_data(m=120, n_queries=2)
    weight[:40] = 0.0
    y[80:] = 1.0
    lazy = da.from_array(X, chunks=(40, -1))
    options = {"loss": "squared_hinge", "tol": 1e-9}
    local = rankwise.RankSVM(0.01, **options).fit(X, y, sample_weight=weight)
    found = distributed_rankers.RankSVM(0.01, **options)
    agree(found.fit(lazy, y, sample_weight=weight), local, X)
    outputs = np.column_stack((y, np.ones(120)))
    with pytest.raises(ValueError, match="no single preference in column 1"):
        found.fit(lazy, outputs)
    with pytest.raises(ValueError, match="no single preference"):
        found.fit(lazy, Censored(np.zeros(120, dtype=bool), np.arange(120.0)))


def test_what_is_refused_says_why(monkeypatch):
    X, y, qid, _ = ranking_data(m=120, n_queries=3)
    lazy = da.from_array(X, chunks=(50, -1))
    model = distributed_rankers.RankSVM()
    with pytest.raises(distributed_rankers.SplitQuery, match=r"spread=\[label\]"):
        model.fit(lazy, y, qid=qid)
    for learner in (model, distributed_rankers.RankRLS()):
        with pytest.raises(ValueError, match="99, which is no label in qid"):
            learner.fit(lazy, y, qid=qid, spread=[0, 1, 2, 99])
        with pytest.raises(ValueError, match="spread names queries: give qid"):
            learner.fit(lazy, y, spread=[1])
        with pytest.raises(ValueError, match="must be a list of query labels, got 'x'"):
            learner.fit(lazy, y, qid=qid, spread="x")
        with pytest.raises(ValueError, match="must be a list of query labels: unhashable"):
            learner.fit(lazy, y, qid=qid, spread=[[1]])
        with pytest.raises(ValueError, match="spread is for scores"):
            learner.fit(lazy, qid=qid, spread=[1], preferences=rankwise.Preferences([0], [1]))
    mixed = [delayed(censored(y)[:50], traverse=False), delayed(y[50:])]
    with pytest.raises(ValueError, match="censored outcomes in some partitions"):
        model.fit([delayed(X[:50]), delayed(X[50:])], mixed)
    monkeypatch.setattr(spread_scores, "available_memory", lambda: 20000)
    with pytest.raises(TooLarge, match=r"120 items together.*0\.0 GB are free.*RankRLS"):
        model.fit(lazy, y)
    monkeypatch.setattr(spread_scores, "available_memory", lambda: None)
    model.fit(lazy, y)


def test_a_query_named_twice_counts_once():
    X, y, qid, _ = ranking_data(m=120, n_queries=3)
    lazy = da.from_array(X, chunks=(50, -1))
    found = distributed_rankers.RankRLS().fit(lazy, y, qid=qid, spread=[0, 1, 1, 2, 0])
    assert_allclose(found.coef_, rankwise.RankRLS().fit(X, y, qid=qid).coef_, rtol=1e-8)
