"""Every hold-out shortcut against the only proof there is: refitting without the items."""

from zlib import crc32

import numpy as np
import pytest

from rankwise import RLS, Preferences, RankRLS
from rankwise.supervision.queries import Queries
from rankwise.supervision.supervision import ScoredItems, pairs_within

M = 12
COSTS = {
    "magnitude": {},
    "magnitude, ties dropped": {"ties": "drop"},
    "unit": {"loss": "unit"},
    "relative": {"loss": "relative"},
    "magnitude by query": {"query_weight": "queries"},
    "ties dropped by query": {"ties": "drop", "query_weight": "queries"},
    "unit by query": {"loss": "unit", "query_weight": "queries"},
    "relative by query": {"loss": "relative", "query_weight": "queries"},
    "magnitude by size": {"query_weight": "size"},
    "ties dropped by size": {"ties": "drop", "query_weight": "size"},
    "pointwise": None,
}
SPACES = {
    "linear": {},
    "linear, more features than items": {"n": 25},
    "rbf": {"kernel": "rbf", "gamma": 0.3},
    "precomputed": {"kernel": "precomputed"},
    "reduced rbf": {"kernel": "rbf", "gamma": 0.3, "basis": [0, 3, 5, 7, 10]},
    "reduced poly": {"kernel": "poly", "degree": 2, "basis": [1, 2, 3, 4, 5, 6]},
    "reduced linear, singular": {"basis": [0, 1, 2, 4, 6, 7, 9]},
}


class Problem:
    """A model on all items, and the models on what stays when some leave."""

    def __init__(self, cost, space, *, queries, weights, k, seed):
        rng = np.random.default_rng(seed)
        space = dict(space)
        self.X = rng.normal(size=(M, space.pop("n", 4)))
        self.basis = space.pop("basis", None)
        self.kernel = space.get("kernel", "linear")
        if self.kernel == "precomputed":
            self.X = self.X @ self.X.T + 0.5 * np.eye(M)
        self.y = rng.integers(0, 4, size=(M, k)).astype(float)
        self.y[:4] = np.arange(4)[:, None]
        self.y = self.y[:, 0] if k == 1 else self.y
        self.qid = rng.permutation(np.arange(M) % 3) if queries else None
        self.weight = {
            None: None,
            "some zero": rng.integers(0, 3, M).astype(float),
            "real": rng.uniform(0.2, 2.0, M),
        }[weights]
        if weights == "some zero":
            self.weight[:3] = 1.0
        self.make = (
            (lambda **basis: RLS(0.7, **space, **basis))
            if cost is None
            else (lambda **basis: RankRLS(0.7, **space, **cost, **basis))
        )
        self.model = self.fit(np.arange(M))

    def fit(self, items):
        basis = {}
        if self.basis is not None:
            basis = {"basis": [list(items).index(b) for b in self.basis if b in items]}
        X = self.X[np.ix_(items, items)] if self.kernel == "precomputed" else self.X[items]
        return self.make(**basis).fit(
            X,
            self.y[items],
            qid=None if self.qid is None else self.qid[items],
            sample_weight=None if self.weight is None else self.weight[items],
        )

    def without(self, held):
        staying = np.setdiff1d(np.arange(M), held)
        columns = staying if self.kernel == "precomputed" else slice(None)
        try:
            model = self.fit(staying)
        except ValueError as error:
            assert "at least one item" in str(error) or "weight is zero" in str(error)
            return np.zeros(np.shape(self.y[held]))
        return model.predict(self.X[held][:, columns])


def assert_close(found, expected):
    scale = max(np.abs(expected).max(), 1e-3)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7 * scale)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("queries", [False, True])
@pytest.mark.parametrize("weights", [None, "some zero", "real"])
def test_hold_outs_equal_refitting(cost, space, queries, weights, monkeypatch):
    # what stays may hold no preference in some output: the zero model, not an error
    monkeypatch.setattr(ScoredItems, "check", lambda self: None)
    seed = crc32(f"{cost} {space} {queries} {weights}".encode()) % 1000
    k = 1 + seed % 2
    setting = {"queries": queries, "weights": weights, "k": k, "seed": seed}
    problem = Problem(COSTS[cost], SPACES[space], **setting)
    model = problem.model
    for held in ([3], [0, 5, 9], [1, 2, 3, 4, 11]):
        assert_close(model.holdout(held), problem.without(np.array(held)))
    each = [problem.without(np.array([i]))[0] for i in range(M)]
    assert_close(model.leave_one_out(), np.array(each))
    pairs = pairs_within(Queries.from_labels(problem.qid, M))
    found = model.leave_pair_out()
    assert len(found) == len(pairs)
    for row in np.random.default_rng(seed).choice(len(pairs), 6, replace=False):
        assert_close(found[row], problem.without(pairs[row]))
    chosen = np.array([[0, 1], [7, 2]])
    assert_close(model.leave_pair_out(chosen), np.array([problem.without(p) for p in chosen]))
    if queries:
        left_out = model.leave_query_out()
        for query in range(3):
            held = np.flatnonzero(problem.qid == query)
            assert_close(left_out[held], problem.without(held))


@pytest.mark.parametrize("loss", ["magnitude", "unit", "relative"])
@pytest.mark.parametrize("space", ["linear", "rbf", "reduced rbf"])
def test_preference_lists_equal_refitting(loss, space):
    rng = np.random.default_rng(5)
    options = dict(SPACES[space])
    basis = options.pop("basis", None)
    X = rng.normal(size=(M, 4))
    winner = rng.integers(0, M, 18)
    loser = (winner + rng.integers(1, 4, 18)) % M
    preferences = Preferences(winner, loser, rng.uniform(0.5, 2, 18), rng.uniform(0.5, 2, 18))

    def fit(items):
        kept = (
            {} if basis is None else {"basis": [list(items).index(b) for b in basis if b in items]}
        )
        model = RankRLS(0.5, loss=loss, **options, **kept)
        return model.fit(X[items], preferences=preferences.take(items, M))

    model = fit(np.arange(M))
    for held in ([2], [0, 1], [3, 4, 8]):
        staying = np.setdiff1d(np.arange(M), held)
        assert_close(model.holdout(held), fit(staying).predict(X[held]))


def test_whole_grid_without_queries_of_many_sizes():
    """The compiled leave-block-out against one refit a query and alpha."""
    rng = np.random.default_rng(2)
    m, alphas = 150, 2.0 ** np.arange(-6, 7)
    X, y = rng.normal(size=(m, 12)), rng.normal(size=(m, 2))
    qid = rng.choice(["a", "b", "c", "d", "e", "f"], m, p=[0.4, 0.3, 0.1, 0.1, 0.06, 0.04])
    for make in (RankRLS, RLS):
        model = make().fit(X, y, qid=qid)
        found = model.training_problem.leave_groups_out(
            list(model.training_problem.supervision.queries), alphas
        )
        for i in (0, 5, 12):
            for label in "abcdef":
                held = qid == label
                rest = make(alphas[i]).fit(X[~held], y[~held], qid=qid[~held])
                assert_close(found[i][held], rest.predict(X[held]))


def test_large_hold_outs_take_the_side_of_the_features():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    held = rng.permutation(200)[:120]
    staying = np.setdiff1d(np.arange(200), held)
    for make in (RankRLS, RLS):
        expected = make(0.3).fit(X[staying], y[staying]).predict(X[held])
        assert_close(make(0.3).fit(X, y).holdout(held), expected)


def test_small_alpha_keeps_its_digits():
    """Leverages close to 1: the residual operator must not be formed by cancellation."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(25, 3)), rng.normal(size=25)
    options = {"kernel": "rbf", "gamma": 0.5}
    model = RankRLS(1e-6, **options).fit(X, y)
    for held in ([3], [4, 7]):
        staying = np.setdiff1d(np.arange(25), held)
        expected = RankRLS(1e-6, **options).fit(X[staying], y[staying]).predict(X[held])
        np.testing.assert_allclose(model.holdout(held), expected, rtol=1e-6)


def test_nothing_left_predicts_zero():
    X, y = np.eye(4), np.arange(4.0)
    model = RankRLS().fit(X, y)
    np.testing.assert_array_equal(model.holdout(np.arange(4)), 0.0)
    np.testing.assert_array_equal(model.holdout([]), np.zeros(0))


def test_leave_query_out_needs_queries():
    with pytest.raises(ValueError, match="two or more queries"):
        RankRLS().fit(np.eye(3), [1.0, 2.0, 3.0]).leave_query_out()
