"""Hold-outs of explicit preferences against refits: statements leave, or items with all theirs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from rankwise import Preferences, RankRLS
from rankwise.holdout.quadratic_holdouts import QuadraticHoldouts
from tests import reference
from tests.model_selection.test_preference_folds import statements

SPACES = {
    "linear": {},
    "linear, more features than items": {"n": 25},
    "rbf": {"kernel": "rbf", "gamma": 0.4},
    "precomputed": {"kernel": "precomputed"},
    "reduced rbf": {"kernel": "rbf", "gamma": 0.4, "basis": [0, 2, 3, 5, 8]},
    "reduced linear, singular": {"basis": [0, 1, 2, 4, 5, 6]},
}
LOSSES = ("magnitude", "unit", "relative")
WEIGHTS = ("pairs", "size", "queries")
MODELS = [
    RankRLS(),
    RankRLS(loss="unit", query_weight="queries"),
    RankRLS(kernel="rbf", gamma=0.3),
    RankRLS(kernel="rbf", basis=[0, 2, 5, 7]),
]
ALPHAS = [0.3, 5.0]


class Statements:
    """Random statements within queries: contradictions, repetitions, items never compared."""

    def __init__(self, space, seed, loss="magnitude", query_weight="pairs", alpha=0.5, m=10, l=25):
        rng = np.random.default_rng(seed)
        options = dict(SPACES[space])
        self.X = rng.normal(size=(m, options.pop("n", 3)))
        if options.get("kernel") == "precomputed":
            self.X = self.X @ self.X.T + 0.3 * np.eye(m)
        self.qid = rng.permutation(np.arange(m) % int(rng.integers(1, 4)))
        pairs = rng.integers(0, m - 1, (l, 2))  # the last item is never compared
        winner, loser = pairs[
            (pairs[:, 0] != pairs[:, 1]) & (self.qid[pairs[:, 0]] == self.qid[pairs[:, 1]])
        ].T
        repeated = rng.integers(0, len(winner), 4)
        winner, loser = np.append(winner, loser[repeated]), np.append(loser, winner[repeated])
        weight = rng.choice([0.0, 1.0, 1.0, 2.5], len(winner))
        weight[:2] = 1.0
        magnitude = rng.uniform(0.3, 2.0, len(winner))
        self.preferences = Preferences(winner, loser, magnitude, weight, n_items=m)
        self.v = rng.choice([1.0, 0.5, 2.0], m)
        self.basis = options.pop("basis", None)
        self.make = lambda **more: RankRLS(
            alpha, loss=loss, query_weight=query_weight, **options, **more
        )
        self.alpha, self.loss, self.query_weight = alpha, loss, query_weight
        basis = {} if self.basis is None else {"basis": self.basis}
        told = {"qid": self.qid, "sample_weight": self.v}
        self.model = self.make(**basis).fit(self.X, preferences=self.preferences, **told)
        self.K = self.X if options.get("kernel") == "precomputed" else self.X @ self.X.T
        if options.get("kernel") == "rbf":
            self.K = np.exp(-0.4 * ((self.X[:, None] - self.X[None]) ** 2).sum(axis=2))

    def scores(self, kept, held=()):
        """(m,) scores by brute force from the statements `kept`, without the items `held`."""
        m, p = len(self.qid), self.preferences
        staying = np.setdiff1d(np.arange(m), held)
        kept = np.array(
            [i for i in kept if p.winner[i] in staying and p.loser[i] in staying], dtype=int
        )
        u = p.weight * self.v[p.winner] * self.v[p.loser]
        pairs = []
        for i in kept:
            same = staying[self.qid[staying] == self.qid[p.winner[i]]]
            of_query = kept[self.qid[p.winner[kept]] == self.qid[p.winner[i]]]
            c = reference.query_scale(self.query_weight, self.v[same].sum(), u[of_query].sum())
            z, w = reference.target_and_weight(self.loss, p.magnitude[i])
            pairs.append((p.winner[i], p.loser[i], z, c * u[i] * w**2))
        L, b = reference.laplacian_and_target(pairs, m)
        if self.basis is None:
            return self.K @ reference.dual_solution(self.K, L, b, self.alpha)
        basis = np.setdiff1d(self.basis, held)
        if not len(basis):
            return np.zeros(m)
        return self.K[:, basis] @ reference.reduced_solution(self.K, basis, L, b, self.alpha)

    def check(self, tolerance=1e-7):
        p, everything = self.preferences, np.arange(len(self.preferences))
        keys = [frozenset(pair) for pair in zip(p.winner, p.loser)]
        expected = np.empty(len(p))
        for i, key in enumerate(keys):
            f = self.scores([j for j in everything if keys[j] != key])
            expected[i] = f[p.winner[i]] - f[p.loser[i]]
        close(self.model.leave_preference_out(), expected, tolerance)
        m = len(self.qid)
        each = [self.scores(everything, [i])[i] for i in range(m)]
        close(self.model.leave_one_out(), each, tolerance)
        pairs = np.array([[i, j] for i in range(m) for j in range(i) if i % 3 == 0])
        expected = [self.scores(everything, pair)[pair] for pair in pairs]
        close(self.model.leave_pair_out(pairs), expected, tolerance)


def close(found, expected, tolerance):
    scale = max(np.abs(expected).max(), 1e-3)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("query_weight", WEIGHTS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("space", SPACES)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_hold_outs_equal_refitting(space, loss, query_weight, seed):
    Statements(space, seed, loss, query_weight).check()


@pytest.mark.parametrize("alpha", [1e-6, 1e-3, 1e6])
@pytest.mark.parametrize("space", ["linear", "rbf", "precomputed"])
def test_small_and_large_alpha(space, alpha):
    for seed in range(4):
        Statements(space, seed, alpha=alpha).check(1e-6 if alpha < 1e-3 else 1e-7)


@pytest.mark.parametrize("space", ["linear", "rbf"])
def test_a_tree_of_comparisons(space):
    """Every pair is a bridge: without its statements nothing connects the two sides."""
    problem = Statements(space, 1)
    m = len(problem.qid)
    preferences = Preferences(np.arange(m - 1), np.arange(1, m), n_items=m)
    model = problem.make().fit(problem.X, preferences=preferences)
    for i, found in enumerate(model.leave_preference_out()):
        rest = preferences.subset(np.delete(np.arange(m - 1), i))
        f = problem.make().fit(problem.X, preferences=rest).predict(problem.X)
        np.testing.assert_allclose(found, f[i] - f[i + 1], atol=1e-8)


def test_one_pair_alone_leaves_nothing():
    X = np.arange(6.0).reshape(3, 2)
    for options in ({}, {"kernel": "rbf"}, {"query_weight": "queries"}, {"basis": [0, 1]}):
        model = RankRLS(0.1, **options).fit(X, preferences=Preferences([0, 1, 0], [1, 0, 1]))
        np.testing.assert_allclose(model.leave_preference_out(), 0.0, atol=1e-12)
        np.testing.assert_allclose(model.leave_one_out()[:2], 0.0, atol=1e-12)


def test_sparse_players_and_the_order_of_statements():
    rng = np.random.default_rng(3)
    m, l = 120, 900
    winner, loser = rng.integers(0, m, (2, l))
    preferences = Preferences(winner[winner != loser], loser[winner != loser], n_items=m)
    X = sparse.identity(m, format="csr")
    model = RankRLS(0.7).fit(X, preferences=preferences)
    dense = RankRLS(0.7).fit(np.eye(m), preferences=preferences)
    found = model.leave_preference_out()
    np.testing.assert_allclose(found, dense.leave_preference_out(), atol=1e-9)
    order = rng.permutation(len(preferences))
    again = RankRLS(0.7).fit(X, preferences=preferences.subset(order)).leave_preference_out()
    np.testing.assert_allclose(again, found[order], atol=1e-9)


def test_scores_are_refused():
    with pytest.raises(ValueError, match="only explicit preferences"):
        RankRLS().fit(np.eye(3), [1.0, 2.0, 3.0]).leave_preference_out()


def test_well_posed_problems_are_not_refitted(monkeypatch):
    """A small alpha beside large eigenvalues loses no digits if the smallest are large too."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 4))
    winner, loser = rng.integers(0, 60, (2, 4000))
    preferences = Preferences(winner[winner != loser], loser[winner != loser], n_items=60)
    held_out = RankRLS().hold_outs(X, preferences=preferences)
    alphas = [1e-7, 1e-5, 1.0]
    expected = held_out.without_statements(np.flatnonzero(pair_mask(preferences)), alphas)
    monkeypatch.setattr(QuadraticHoldouts, "without_statements", None)
    found = held_out.leave_preferences_out(alphas)[:, pair_mask(preferences)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def pair_mask(preferences):
    """The statements about the two items of the first one."""
    first = {preferences.winner[0], preferences.loser[0]}
    return np.array([{w, l} == first for w, l in zip(preferences.winner, preferences.loser)])


def of(preferences, magnitude):
    return Preferences(
        *(preferences.winner, preferences.loser, magnitude, preferences.weight, 14),
        preferences.tie,
    )


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_turned_statements_equal_new_problems(model):
    X, preferences, groups = statements()
    magnitude = np.random.default_rng(1).uniform(0.5, 2, len(preferences))
    preferences = of(preferences, magnitude)
    pair_of, pairs = preferences.unordered_pairs(14)
    rng = np.random.default_rng(2)
    by_pair = rng.choice([-1.0, 1.0], (len(pairs), 3))[pair_of]
    alone = rng.choice([-1.0, 1.0], (len(preferences), 3))
    held = np.flatnonzero(groups == 0)
    turned = model.hold_outs(X, preferences=preferences).turned_statements()
    out = turned.leave_preferences_out(by_pair, ALPHAS)
    some = turned.without_statements(held, alone, ALPHAS)
    for column in range(3):
        problem = model.hold_outs(X, preferences=preferences.exchanged(by_pair[:, column] < 0))
        expected = problem.leave_preferences_out(ALPHAS)[..., 0] * by_pair[:, column]
        assert_allclose(out[..., column], expected, rtol=1e-7, atol=1e-9)
        problem = model.hold_outs(X, preferences=preferences.exchanged(alone[:, column] < 0))
        expected = problem.without_statements(held, ALPHAS)[..., 0] * alone[held, column]
        assert_allclose(some[..., column], expected, rtol=1e-7, atol=1e-9)


def test_what_has_no_closed_form_says_so():
    X, preferences, _ = statements()
    assert RankRLS(solver="cg").hold_outs(X, preferences=preferences).turned_statements() is None
    assert RankRLS().hold_outs(X, np.arange(14.0)).turned_statements() is None
    by_query = RankRLS(query_weight="queries").hold_outs(
        X, preferences=Preferences([0, 2, 8], [1, 3, 9], n_items=14), qid=np.arange(14) // 7
    )
    assert by_query.turned_statements().leave_preferences_out(np.ones((3, 1)), ALPHAS) is None
