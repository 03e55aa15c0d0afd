"""Hold-outs of censored outcomes equal refits, whatever the space, the weights and the strata."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise import Censored, RankRLS
from rankwise.holdout import censored_holdouts
from rankwise.supervision.supervision import pairs_within

SPACES = {
    "linear": {},
    "rbf": {"kernel": "rbf", "gamma": 0.3},
    "reduced": {"kernel": "rbf", "gamma": 0.3, "basis": np.array([0, 3, 5, 8])},
}


def problem(seed, m=13, strata=2, weighted=True, offset=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3)) + offset
    y = Censored(rng.random(m) < 0.7, rng.integers(1, 9, m))
    weight = rng.uniform(0.3, 2.0, m) if weighted else np.ones(m)
    return X, y, np.arange(m) % strata, weight


def refit(options, X, y, qid, weight, held):
    rest = np.setdiff1d(np.arange(len(y)), held)
    options = dict(options)
    if "basis" in options:
        options["basis"] = np.flatnonzero(np.isin(rest, options["basis"]))
    try:
        model = RankRLS(**options).fit(X[rest], y[rest], qid=qid[rest], sample_weight=weight[rest])
    except ValueError as error:
        assert "no single preference" in str(error)
        return np.zeros(len(held))
    return model.predict(X[held])


@pytest.mark.parametrize("query_weight", ["pairs", "size", "queries"])
@pytest.mark.parametrize("strata", [1, 3])
@pytest.mark.parametrize(
    ("loss", "ties"), [("unit", "keep"), ("magnitude", "keep"), ("magnitude", "drop")]
)
@pytest.mark.parametrize("space", SPACES)
def test_hold_outs_equal_refits(space, loss, ties, strata, query_weight):
    options = {"alpha": 0.4, "loss": loss, "ties": ties, "query_weight": query_weight}
    options |= SPACES[space]
    told = problem(strata, strata=strata)
    X, y, qid, weight = told
    model = RankRLS(**options).fit(X, y, qid=qid, sample_weight=weight)

    def expected(held):
        return refit(options, *told, np.asarray(held))

    each = np.concatenate([expected([i]) for i in range(len(y))])
    assert_allclose(model.leave_one_out(), each, rtol=1e-7, atol=1e-9)
    crossing = [[0, 1], [2, 4], [5, 9]]
    pairs = np.vstack((pairs_within(model.training_problem.supervision.queries)[::4], crossing))
    found = model.leave_pair_out(pairs)
    assert_allclose(found, [expected(pair) for pair in pairs], rtol=1e-7, atol=1e-9)
    for held in ([1, 2, 7], [0, 3, 6, 9, 12]):
        assert_allclose(model.holdout(held), expected(held), rtol=1e-7, atol=1e-9)
    if strata > 1:
        found = model.leave_query_out()
        for q in range(strata):
            held = np.flatnonzero(qid == q)
            assert_allclose(found[held], expected(held), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("query_weight", ["pairs", "queries"])
def test_few_items_are_summed_at_once(query_weight, monkeypatch):
    monkeypatch.setattr(censored_holdouts, "ENTRIES", 50)
    told = problem(5, m=17)
    X, y, qid, weight = told
    options = {"alpha": 0.4, "query_weight": query_weight}
    model = RankRLS(**options).fit(X, y, qid=qid, sample_weight=weight)
    pairs = pairs_within(model.training_problem.supervision.queries)
    some = slice(None, None, 9)
    found = model.leave_pair_out(pairs)[some]
    assert_allclose(found, [refit(options, *told, pair) for pair in pairs[some]], rtol=1e-7)
    each = np.concatenate([refit(options, *told, np.array([i])) for i in range(17)])
    assert_allclose(model.leave_one_out(), each, rtol=1e-7)


def test_strata_that_lose_their_last_pair():
    """Without one item a stratum has no pair, or next to none: its scale is no rounding error."""
    X = np.random.default_rng(0).normal(size=(9, 2))
    y = Censored([1, 0, 1, 1, 0, 1, 1, 1, 0], [1, 2, 1, 2, 3, 5, 1, 2, 2])
    qid = np.array(list("aabbbcddd"))
    weight = np.array([1, 1, 1, 1e-9, 1, 1, 0, 1, 1])
    options = {"alpha": 0.4, "query_weight": "queries"}
    model = RankRLS(**options).fit(X, y, qid=qid, sample_weight=weight)
    for i in range(9):
        found = refit(options, X, y, qid, weight, np.array([i]))
        assert_allclose(model.leave_one_out()[i], found[0], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_small_alphas_and_offsets_keep_their_digits(offset):
    told = problem(7, m=12, strata=1, offset=offset)
    X, y, _, weight = told
    for alpha in (1e-12, 1e-4, 1e8):
        options = {"alpha": alpha}
        model = RankRLS(**options).fit(X, y, sample_weight=weight)
        found = model.leave_one_out()
        expected = np.array([refit(options, *told, np.array([i]))[0] for i in range(12)])
        assert_allclose(found, expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())


def test_an_item_with_all_the_leverage_is_refitted():
    """One item alone varies in a feature: without it that direction is unknown."""
    X, y, qid, weight = problem(8, strata=1)
    X[:, 2] = 0.0
    X[4, 2] = 1e8
    told = (X, y, qid, weight)
    model = RankRLS(1e-6).fit(X, y, sample_weight=weight)
    expected = np.array([refit({"alpha": 1e-6}, *told, np.array([i]))[0] for i in range(len(y))])
    assert_allclose(model.leave_one_out(), expected, rtol=1e-6, atol=1e-6)
