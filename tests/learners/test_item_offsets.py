"""Items far from zero: pairs see differences of items only, so an offset costs no digits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from rankwise import Censored, MPRank, Preferences, RankRLS, RankRLSCV

COSTS = [("magnitude", "keep"), ("magnitude", "drop"), ("unit", "keep"), ("relative", "keep")]
OFFSETS = [30.0, 2.0**10, 2.0**20]


def eighths(rng, *shape):
    """Numbers to which the offsets are added without rounding."""
    return rng.integers(-32, 33, shape) / 8


def near_and_far(rng, m, n, offset, columns=slice(None)):
    near = eighths(rng, m, n)
    moved = np.zeros(n)
    moved[columns] = offset
    return near, near + moved


def scores_without(model, near, far, told, items):
    """Scores of far items by the model that was trained on the other items, near zero."""
    rest = np.setdiff1d(np.arange(len(near)), items)
    kept = {name: None if value is None else value[rest] for name, value in told.items()}
    return far[items] @ model.fit(near[rest], **kept).coef_


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("queries", [1, 2])
@pytest.mark.parametrize("alpha", [1e-2, 10.0])
def test_hold_outs_of_more_features_than_items(offset, cost, queries, alpha):
    rng = np.random.default_rng(queries)
    near, far = near_and_far(rng, 8, 11, offset)
    told = {
        "y": np.array([0.0, 1, 2, 2, 0, 3, 1, 3]),
        "qid": np.arange(8) % queries,
        "sample_weight": rng.uniform(0.5, 2, 8),
    }
    plain = RankRLS(alpha, loss=cost[0], ties=cost[1])
    model = RankRLS(alpha, loss=cost[0], ties=cost[1]).fit(far, **told)
    size = np.abs(model.predict(far)).max()
    each = np.concatenate([scores_without(plain, near, far, told, [i]) for i in range(8)])
    assert_allclose(model.leave_one_out(), each, atol=1e-6 * size)
    pairs = np.array([(0, 2), (1, 5), (2, 4)])
    together = [scores_without(plain, near, far, told, pair) for pair in pairs]
    assert_allclose(model.leave_pair_out(pairs), together, atol=1e-6 * size)
    some = np.array([0, 1, 5])
    expected = scores_without(plain, near, far, told, some)
    assert_allclose(model.holdout(some), expected, atol=1e-6 * size)
    plain.fit(near, **told)
    assert_allclose(model.coef_, plain.coef_, atol=1e-9 * np.abs(plain.coef_).max())
    assert_allclose(model.path([0.1, 1.0]), plain.path([0.1, 1.0]), atol=1e-8)


@pytest.mark.parametrize("offset", OFFSETS)
def test_one_far_column_of_sparse_items(offset):
    rng = np.random.default_rng(0)
    near, far = near_and_far(rng, 9, 20, offset, [3])
    near[:, 8:], far[:, 8:] = 0.0, 0.0
    told = {"y": rng.normal(size=9), "qid": None, "sample_weight": None}
    model = RankRLS(0.1).fit(sparse.csr_array(far), **told)
    each = np.concatenate([scores_without(RankRLS(0.1), near, far, told, [i]) for i in range(9)])
    assert_allclose(model.leave_one_out(), each, atol=1e-6 * np.abs(each).max())


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("n", [3, 12])
def test_preferences(offset, n):
    rng = np.random.default_rng(0)
    near, far = near_and_far(rng, 9, n, offset)
    winner = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 0])
    loser = np.array([1, 2, 3, 4, 0, 6, 7, 8, 5, 5])
    told = Preferences(winner, loser, n_items=9)
    far_model = RankRLS(0.1).fit(far, preferences=told)
    near_model = RankRLS(0.1).fit(near, preferences=told)
    assert_allclose(far_model.coef_, near_model.coef_, rtol=1e-8, atol=1e-10)
    found, expected = far_model.leave_preference_out(), near_model.leave_preference_out()
    assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())
    each = []
    for i in range(9):
        stay = (winner != i) & (loser != i)
        rest = Preferences(winner[stay], loser[stay], n_items=9)
        each.append(far[i] @ RankRLS(0.1).fit(near, preferences=rest).coef_)
    assert_allclose(far_model.leave_one_out(), each, atol=1e-6 * np.abs(each).max())


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("n", [3, 12])
def test_censored_outcomes(offset, n):
    rng = np.random.default_rng(1)
    near, far = near_and_far(rng, 10, n, offset)
    time, event = rng.permutation(10) + 1.0, np.array([1, 1, 0, 1, 1, 0, 1, 1, 1, 0], dtype=bool)
    model = RankRLS(0.1).fit(far, Censored(event, time))
    each = np.array(
        [
            far[i] @ RankRLS(0.1).fit(near[rest], Censored(event[rest], time[rest])).coef_
            for i in range(10)
            for rest in [np.delete(np.arange(10), i)]
        ]
    )
    assert_allclose(model.leave_one_out(), each, atol=1e-6 * np.abs(each).max())


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("queries", [1, 2])
def test_errors_over_pairs_of_mprank(offset, queries):
    rng = np.random.default_rng(2)
    near, far = near_and_far(rng, 10, 14, offset)
    y, qid = rng.normal(size=10), np.arange(10) % queries
    found = MPRank(3.0).fit(far, y, qid=qid).pairwise_loo()
    assert_allclose(found, MPRank(3.0).fit(near, y, qid=qid).pairwise_loo(), rtol=1e-6)


@pytest.mark.parametrize("cost", COSTS[:3])
def test_a_search_over_alphas(cost):
    rng = np.random.default_rng(3)
    near, far = near_and_far(rng, 10, 14, 2.0**20)
    y = np.array([0.0, 1, 2, 2, 0, 3, 1, 3, 2, 0])
    options = {"alphas": [0.01, 1.0, 100.0], "loss": cost[0], "ties": cost[1]}
    found, expected = (RankRLSCV(**options).fit(X, y).cv_results_["score"] for X in (far, near))
    assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("as_given", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("cost", COSTS)
def test_fits_and_hold_outs_of_more_items_than_features(offset, as_given, cost):
    rng = np.random.default_rng(4)
    near, far = near_and_far(rng, 9, 4, offset)
    told = {
        "y": np.array([0.0, 1, 2, 2, 0, 3, 1, 3, 1]),
        "qid": np.array([1, 0, 0, 1, 3, 1, 1, 2, 2]),
        "sample_weight": rng.uniform(0.5, 2, 9),
    }
    plain = RankRLS(1e-3, loss=cost[0], ties=cost[1])
    model = RankRLS(1e-3, loss=cost[0], ties=cost[1]).fit(as_given(far), **told)
    each = np.concatenate([scores_without(plain, near, far, told, [i]) for i in range(9)])
    assert_allclose(model.leave_one_out(), each, atol=1e-8 * np.abs(each).max())
    by_query = np.empty(9)
    for query in range(4):
        members = np.flatnonzero(told["qid"] == query)
        by_query[members] = scores_without(plain, near, far, told, members)
    assert_allclose(model.leave_query_out(), by_query, atol=1e-8 * np.abs(each).max())
    plain.fit(near, **told)
    assert_allclose(model.coef_, plain.coef_, atol=1e-11 * np.abs(plain.coef_).max())


@pytest.mark.parametrize("n", [3, 12])
def test_preferences_of_sparse_items(n):
    rng = np.random.default_rng(0)
    near, far = near_and_far(rng, 9, n, 2.0**20)
    told = Preferences([0, 1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 6, 7, 8], n_items=9)
    found = RankRLS(1e-3).fit(sparse.csr_array(far), preferences=told)
    expected = RankRLS(1e-3).fit(near, preferences=told)
    assert_allclose(found.coef_, expected.coef_, atol=1e-9 * np.abs(expected.coef_).max())


def test_a_small_query_that_alone_varies_in_some_direction():
    """Without it, only alpha says what the direction is worth, and the offset multiplies that."""
    near = np.zeros((6, 3))
    near[:4, 0], near[:4, 1] = [0, 1, 2, 4], [1, 0, 3, 1]
    near[4:, 2] = 0.0, 1.0
    near[4:, :2] = [[1, 2], [3, 1]]
    near, far = near, near + 2.0**20
    told = {"y": np.arange(6.0), "qid": np.array([0, 0, 0, 0, 1, 1]), "sample_weight": None}
    model = RankRLS(1e-6, loss="unit", ties="drop").fit(far, **told)
    plain = RankRLS(1e-6, loss="unit", ties="drop")
    each = np.concatenate([scores_without(plain, near, far, told, [i]) for i in range(6)])
    assert_allclose(model.leave_one_out(), each, atol=1e-6 * np.abs(each).max())
