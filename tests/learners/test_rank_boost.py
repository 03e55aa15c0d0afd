"""RankBoost against boosting over an explicit list of pairs."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import make_blobs

from rankwise import metrics
from rankwise.learners.rank_boost import RankBoost
from rankwise.solvers.boosting import PairDistribution, ThresholdRankers
from rankwise.supervision.queries import Queries
from tests import reference_magnitude as slow

RNG = np.random.default_rng(7)
M, N = 24, 4
X = RNG.normal(size=(M, N))
NOISY = X @ [1.0, -0.5, 0.2, 0.0] + RNG.normal(size=M)
QID = RNG.permutation(np.repeat([0, 1, 2], [10, 9, 5]))
LEVELS = {
    "two": (NOISY > 0).astype(float),
    "four": np.digitize(NOISY, [-1.0, 0.0, 1.0]).astype(float),
    "all": NOISY,
}


def holes(X):
    X = X.copy()
    X[RNG.random(X.shape) < 0.2] = np.nan
    return X


def centred(scores, qid):
    """Scores up to a constant, which no pair of a query sees."""
    return np.concatenate([scores[qid == q] - scores[qid == q].mean() for q in np.unique(qid)])


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("items", [X, holes(X)], ids=["complete", "missing values"])
@pytest.mark.parametrize("qid", [None, QID], ids=["one query", "queries"])
def test_equals_boosting_over_explicit_pairs(levels, items, qid):
    y, rounds = LEVELS[levels], 12
    history = slow.rank_boost(items, y, rounds, qid)
    groups = np.zeros(M) if qid is None else qid
    staged = list(RankBoost(rounds).fit(items, y, qid=qid).staged_predict(items))
    for t in (1, 2, rounds):
        model = RankBoost(t).fit(items, y, qid=qid)
        assert len(model.rankers_) == len(model.weights_) == t
        found = centred(model.predict(items), groups)
        assert_allclose(found, centred(history[t - 1], groups), atol=1e-9)
        assert_allclose(found, centred(staged[t - 1], groups), atol=1e-9)


@given(
    st.integers(2, 9).flatmap(
        lambda m: st.tuples(
            st.lists(st.integers(0, 3), min_size=m, max_size=m),
            st.lists(st.integers(0, 1), min_size=m, max_size=m),
            st.lists(st.integers(1, 3), min_size=m, max_size=m),
            st.lists(st.integers(-2, 2), min_size=m, max_size=m),
            st.lists(
                st.lists(st.sampled_from([0.0, 1.0, 2.0, np.nan]), min_size=2, max_size=2),
                min_size=m,
                max_size=m,
            ),
        )
    )
)
@settings(max_examples=80, deadline=None)
def test_potentials_and_the_best_threshold_by_enumeration(data):
    """Any levels, queries, weights, scores so far and missing values."""
    y, qid, weight, H, items = (np.array(part, dtype=float) for part in data)
    m = len(y)
    pairs = [(i, j) for i in range(m) for j in range(m) if qid[i] == qid[j] and y[i] > y[j]]
    assume(pairs)
    D = np.array([weight[i] * weight[j] * np.exp(H[j] - H[i]) for i, j in pairs])
    expected = np.zeros(m)
    for (i, j), share in zip(pairs, D / D.sum()):
        expected[i] += share
        expected[j] -= share
    distribution = PairDistribution(y, Queries.from_labels(qid, m), weight)
    potential, log_total = distribution.potentials(H)
    assert_allclose(potential, expected, atol=1e-12)
    assert_allclose(log_total, np.log(D.sum()))
    best = 0.0
    for x in items.T:
        for cut in (-np.inf, 0.5, 1.5):
            for missing in (0.0, 1.0):
                best = max(best, abs(expected @ np.where(np.isnan(x), missing, x > cut)))
    threshold, advantage = ThresholdRankers(items).best(potential)
    x = items[:, threshold.feature]
    ranks = np.where(np.isnan(x), threshold.missing, x > threshold.threshold)
    assert_allclose(abs(advantage), best, atol=1e-9)
    assert_allclose(advantage, expected @ ranks, atol=1e-9)
    assert_allclose(threshold.ranks(items), ranks)


def test_learning_rate_and_weights():
    weight = RNG.integers(1, 4, M)
    y = LEVELS["four"]
    model = RankBoost(8, learning_rate=0.3).fit(X, y, qid=QID, sample_weight=weight)
    expected = slow.rank_boost(X, y, 8, QID, weight, 0.3)[-1]
    assert_allclose(centred(model.predict(X), QID), centred(expected, QID), atol=1e-9)
    some = np.where(np.arange(M) < 4, 0, weight)
    without = RankBoost(8).fit(X[4:], y[4:], sample_weight=weight[4:])
    assert_allclose(RankBoost(8).fit(X, y, sample_weight=some).predict(X), without.predict(X))


def test_potentials_survive_scores_that_overflow_exp():
    y, queries = np.array([0.0, 0.0, 1.0, 1.0, 2.0]), Queries.from_labels(None, 5)
    pairs = PairDistribution(y, queries, np.ones(5))
    for H in (np.array([-2000.0, -2001, 0, 3, 2000]), np.array([2000.0, 2001, 0, 3, -2000])):
        potential, total = pairs.potentials(H)
        assert np.isfinite(total)
        assert_allclose(potential.sum(), 0.0, atol=1e-12)
        assert_allclose(np.abs(potential).sum(), 2.0, atol=1.0)
    assert potential[4] == pytest.approx(1.0)


def test_the_bound_on_the_training_error_holds():
    """The misranked share is at most the mean of exp(f(x₀) − f(x₁)), which boosting lowers."""
    y = LEVELS["two"]
    errors = []
    for rounds in (1, 5, 20, 60):
        scores = RankBoost(rounds).fit(X, y).predict(X)
        errors.append(metrics.misranking(y, scores))
        exponential = np.mean(np.exp(scores[y == 0][:, None] - scores[y == 1]))
        assert errors[-1] <= exponential + 1e-12
    assert errors[-1] < errors[0]


@pytest.mark.parametrize("scale", [1e-200, 1e-3, 1e200])
def test_weights_of_any_scale(scale):
    model = RankBoost(10).fit(X, LEVELS["two"], sample_weight=np.full(M, scale))
    assert np.isfinite(model.weights_).all()
    assert model.score(X, LEVELS["two"]) > 0.9


def test_sparse_items_are_dense_ones():
    items = np.where(np.abs(X) < 0.5, 0.0, X)
    gaps = RankBoost(10).fit(sparse.csr_array(items), NOISY)
    dense = RankBoost(10).fit(items, NOISY)
    assert_allclose(gaps.predict(sparse.csr_array(items)), dense.predict(items))


def test_missing_values_alone_can_rank():
    items = np.array([[np.nan], [np.nan], [3.0], [3.0]])
    model = RankBoost(1).fit(items, [0, 0, 1, 1])
    assert model.rankers_["threshold"][0] == -np.inf
    assert model.score(items, [0, 0, 1, 1]) == 1.0


def test_stops_where_no_threshold_helps():
    constant = RankBoost(5).fit(np.ones((4, 2)), [0, 1, 2, 3])
    assert constant.n_rounds_ == 0
    assert_allclose(constant.predict(np.ones((2, 2))), 0.0)


def test_a_perfect_ranker_has_a_finite_weight():
    model = RankBoost(3).fit(np.arange(6.0)[:, None], [0, 0, 0, 1, 1, 1])
    assert np.isfinite(model.weights_).all()
    assert model.rankers_["threshold"][0] == 2.5


@pytest.mark.parametrize("with_queries", [False, True])
def test_rounds_are_chosen_on_held_out_data(with_queries):
    items, classes = make_blobs(300, 5, centers=2, cluster_std=8.0, random_state=0)
    qid = np.arange(300) % 10 if with_queries else None
    options = {"validation_fraction": 0.3, "random_state": 0}
    model = RankBoost(60, **options).fit(items, classes, qid=qid)
    scores = model.validation_scores_
    assert len(scores) == 60
    assert model.n_rounds_ == int(np.argmax(scores)) + 1
    again = RankBoost(model.n_rounds_).fit(items, classes, qid=qid)
    assert_allclose(model.predict(items), again.predict(items))


def test_threads_change_nothing(monkeypatch):
    items = RNG.normal(size=(3000, 30))
    y = items[:, 0] + RNG.normal(size=3000)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("RANKWISE_THREADS", threads)
        found.append(RankBoost(5).fit(items, y).predict(items))
    assert np.array_equal(*found)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"n_rounds": 0}, "n_rounds"),
        ({"n_rounds": 2.5}, "n_rounds"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"learning_rate": 1.5}, "learning_rate"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
        ({"validation_fraction": 0}, "validation_fraction"),
    ],
    ids=str,
)
def test_bad_parameters(options, named):
    with pytest.raises(ValueError, match=named):
        RankBoost(**options).fit(X, LEVELS["two"])


def test_a_single_class_is_refused():
    with pytest.raises(ValueError, match="no single preference"):
        RankBoost().fit(X, np.ones(M))
    with pytest.raises(ValueError, match="no single preference"):
        RankBoost().fit(X, QID, qid=QID)
    with pytest.raises(ValueError, match="validation_fraction"):
        RankBoost(validation_fraction=0.01).fit(X, LEVELS["two"])
    with pytest.raises(ValueError, match="validation_fraction"):
        RankBoost(validation_fraction=0.97).fit(X, LEVELS["two"])
    with pytest.raises(ValueError, match="infinity"):
        RankBoost().fit(np.where(X > 2, np.inf, X) + np.inf, LEVELS["two"])
