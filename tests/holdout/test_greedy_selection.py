"""Greedy selection against the plain loop of refits: losses × ties × queries × weights × cv."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from rankwise import Censored, GreedyRankRLS, RankRLS
from rankwise.holdout import greedy_holdouts
from tests.reference_greedy import held_out_error, naive_selection

QID = np.repeat([3, 1, 2, 0], [4, 3, 2, 2])
THIRDS = [np.arange(i, 11, 3) for i in range(3)]
SCHEMES = {
    "queries": ("auto", "leave-query-out", QID),
    "pairs": ("auto", "leave-pair-out", None),
    "pairs in queries": ("leave-pair-out", "leave-pair-out", QID),
    "folds": (THIRDS, THIRDS, None),
    "folds that split queries": (THIRDS, THIRDS, QID),
}


class GapWeighted:
    def pairs(self, difference):
        return difference, np.sqrt(difference)


def small_data(seed=1):
    """11 items, 6 columns: two equal ones, a zero column, and one that is constant in queries."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(11, 6))
    X[:, 3], X[:, 4], X[:, 5] = X[:, 1], 0.0, QID
    y = np.round(2 * X[:, 1] + X[:, 0] + rng.normal(size=11))
    return X, y, rng.integers(1, 4, size=11).astype(float)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("query_weight", ["pairs", "size", "queries"])
@pytest.mark.parametrize(
    "loss, ties",
    [("magnitude", "keep"), ("magnitude", "drop"), ("unit", "keep"), ("relative", "keep")],
)
def test_equal_to_the_loop_of_refits(loss, ties, query_weight, scheme):
    X, y, weight = small_data()
    cv, plain_cv, qid = SCHEMES[scheme]
    options = {"loss": loss, "ties": ties, "query_weight": query_weight}
    for v in (None, weight):
        model = GreedyRankRLS(3, 0.7, cv=cv, **options).fit(X, y, qid=qid, sample_weight=v)
        selected, errors = naive_selection(X, y, 3, 0.7, plain_cv, qid=qid, weight=v, **options)
        assert model.selected_.tolist() == selected
        assert_allclose(model.criterion_, errors, rtol=1e-9)
        refit = RankRLS(0.7, **options).fit(X[:, selected], y, qid=qid, sample_weight=v)
        assert_allclose(model.coef_[selected], refit.coef_, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("scheme", ["queries", "pairs", "folds"])
def test_a_loss_of_your_own(scheme):
    X, y, _ = small_data()
    cv, plain_cv, qid = SCHEMES[scheme]
    model = GreedyRankRLS(3, 0.7, cv=cv, loss=GapWeighted()).fit(X, y, qid=qid)
    selected, errors = naive_selection(X, y, 3, 0.7, plain_cv, qid=qid, loss=GapWeighted())
    assert model.selected_.tolist() == selected
    assert_allclose(model.criterion_, errors, rtol=1e-9)


@pytest.mark.parametrize("scheme", ["queries", "pairs", "folds"])
@pytest.mark.parametrize(
    "loss, ties", [("magnitude", "keep"), ("magnitude", "drop"), ("unit", "keep")]
)
@pytest.mark.parametrize("query_weight", ["pairs", "queries"])
def test_censored_outcomes(loss, ties, query_weight, scheme):
    X, y, weight = small_data()
    outcome = Censored(event=np.arange(11) % 3 > 0, time=y - y.min())
    cv, plain_cv, qid = SCHEMES[scheme]
    options = {"loss": loss, "ties": ties, "query_weight": query_weight}
    model = GreedyRankRLS(3, 0.7, cv=cv, **options)
    model.fit(X, outcome, qid=qid, sample_weight=weight)
    plain = naive_selection(X, outcome, 3, 0.7, plain_cv, qid=qid, weight=weight, **options)
    assert model.selected_.tolist() == plain[0]
    assert_allclose(model.criterion_, plain[1], rtol=1e-9)
    assert 0 <= model.score(X, outcome, qid=qid) <= 1


def test_censored_outcomes_with_the_relative_loss():
    X, _, weight = small_data()
    outcome = Censored(event=np.arange(11) % 3 > 0, time=np.arange(11) % 5)
    model = GreedyRankRLS(2, loss="relative").fit(X, outcome, qid=QID, sample_weight=weight)
    options = {"qid": QID, "weight": weight, "loss": "relative"}
    plain = naive_selection(X, outcome, 2, 1.0, "leave-query-out", **options)
    assert model.selected_.tolist() == plain[0]
    assert_allclose(model.criterion_, plain[1], rtol=1e-9)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    alpha=st.sampled_from([1e-9, 1e-3, 1.0, 1e4]),
    kind=st.sampled_from(["dense", "sparse", "one query each"]),
    loss=st.sampled_from(["magnitude", "unit"]),
)
def test_leave_query_out_of_any_data(seed, alpha, kind, loss):
    """Sparse columns that live in one query have all their leverage there."""
    rng = np.random.default_rng(seed)
    qid = np.sort(rng.integers(0, 5, size=24))
    X = rng.normal(size=(24, 9))
    if kind != "dense":
        X *= rng.uniform(size=X.shape) < 0.2
    if kind == "one query each":
        X *= qid[:, None] == rng.integers(0, 5, size=9)
        X[:, 0] += 1e-3 * (qid == 4) * rng.normal(size=24)
    y = X[:, :3].sum(axis=1) + 0.3 * rng.normal(size=24)
    given_X = X if kind == "dense" else sparse.csr_array(X)
    model = GreedyRankRLS(5, alpha, loss=loss).fit(given_X, y, qid=qid)
    for k in range(1, 6):
        error = held_out_error(
            X[:, model.selected_[:k]], y, alpha, "leave-query-out", qid=qid, loss=loss
        )
        assert_allclose(model.criterion_[k - 1], error, rtol=1e-6)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), alpha=st.sampled_from([1e-12, 1e-6, 1.0, 1e4]))
def test_leave_pair_out_of_any_data(seed, alpha):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9, 8)) * (rng.uniform(size=(9, 8)) < 0.5)
    y = X[:, 0] + rng.normal(size=9)
    model = GreedyRankRLS(6, alpha).fit(X, y)
    for k in (1, 3, 6):
        error = held_out_error(X[:, model.selected_[:k]], y, alpha, "leave-pair-out")
        assert_allclose(model.criterion_[k - 1], error, rtol=2e-5 if alpha < 1e-9 else 1e-7)


@pytest.mark.parametrize("scheme", ["queries", "folds"])
def test_tiles_that_do_not_fit_in_memory_are_made_again(scheme, monkeypatch):
    X, y, _ = small_data()
    cv, _, qid = SCHEMES[scheme]
    kept = GreedyRankRLS(5, cv=cv).fit(X, y, qid=qid)
    monkeypatch.setattr(greedy_holdouts, "available_memory", lambda: 1)
    again = GreedyRankRLS(5, cv=cv).fit(X, y, qid=qid)
    assert again.selected_.tolist() == kept.selected_.tolist()
    assert_allclose(again.criterion_, kept.criterion_, rtol=1e-12)


@pytest.mark.parametrize("scheme", ["queries", "pairs", "folds"])
def test_the_number_of_threads_changes_nothing(scheme, monkeypatch):
    rng = np.random.default_rng(3)
    X, y, qid = rng.normal(size=(60, 300)), rng.normal(size=60), np.arange(60) % 7
    options = {"qid": qid} if scheme == "queries" else {}
    cv = 4 if scheme == "folds" else "auto"
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("RANKWISE_THREADS", threads)
        found.append(GreedyRankRLS(4, cv=cv).fit(X, y, **options))
    assert np.array_equal(found[0].criterion_, found[1].criterion_)
    assert np.array_equal(found[0].selected_, found[1].selected_)
