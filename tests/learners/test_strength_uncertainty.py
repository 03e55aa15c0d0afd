"""Intervals, probabilities and rank intervals of scores: identities, and coverage in small."""

import itertools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from rankwise import Preferences, PreferenceWarning, RankLogistic
from rankwise.learners.informative_pairs import (
    expected_information,
    most_informative,
    times_differences,
)
from rankwise.learners.simultaneous_ranks import critical_value, rank_bounds

RNG = np.random.default_rng(1)
M, L = 8, 200
TRUTH = np.linspace(-1, 1, M)


def drawn(rng, l=L, m=M, truth=TRUTH):
    a = rng.integers(0, m, l)
    b = (a + rng.integers(1, m, l)) % m
    won = rng.logistic(size=l) < truth[a] - truth[b]
    return Preferences(np.where(won, a, b), np.where(won, b, a), n_items=m)


VOTES = drawn(RNG)
MODEL = RankLogistic(0.01).fit(None, preferences=VOTES)


def test_probability_of_the_order_and_intervals():
    pairs = np.array(list(itertools.permutations(range(M), 2)))
    P = MODEL.order_proba(None, pairs)
    C, f = MODEL.score_covariance(), MODEL.predict()
    for (i, j), p in zip(pairs, P):
        deviation = np.sqrt(C[i, i] + C[j, j] - 2 * C[i, j])
        assert p == pytest.approx(stats.norm.cdf((f[i] - f[j]) / deviation), abs=1e-9)
    centred = np.eye(M) - 1 / M
    width = 1.959964 * np.sqrt(np.diag(centred @ C @ centred))
    assert_allclose(MODEL.score_intervals(), np.column_stack((f - width, f + width)), rtol=1e-5)
    wider = MODEL.score_intervals(level=0.99)
    assert (wider[:, 0] < MODEL.score_intervals()[:, 0]).all()


def test_alpha_zero_keeps_the_digits_of_differences():
    free, tiny = (RankLogistic(a).fit(None, preferences=VOTES) for a in (0.0, 1e-7))
    assert_allclose(free.score_intervals(), tiny.score_intervals(), rtol=1e-5, atol=1e-6)


def test_shrinkage_is_said():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MODEL.score_intervals()
    with pytest.warns(PreferenceWarning, match="smaller alpha"):
        RankLogistic(20.0).fit(None, preferences=VOTES).score_intervals()


def test_rank_bounds_by_hand():
    f = np.array([3.0, 0.0, 2.9, -5.0])
    bounds = rank_bounds(f, np.eye(4) / 2, 2.0)  # differences have standard error 1
    assert bounds.tolist() == [[1, 2], [3, 3], [1, 2], [4, 4]]


def test_critical_value_of_independent_scores_is_the_studentised_range():
    """max |z_i − z_j|/√2 of independent normal errors has a known distribution."""
    for n, level in ((2, 0.95), (5, 0.9), (30, 0.95)):
        expected = stats.studentized_range.ppf(level, n, np.inf) / np.sqrt(2)
        assert critical_value(np.eye(n), level, None, None) == pytest.approx(expected, rel=0.03)
    t = stats.studentized_range.ppf(0.95, 4, 6) / np.sqrt(2)
    assert critical_value(np.eye(4), 0.95, 6, 1) == pytest.approx(t, rel=0.05)
    many = critical_value(np.eye(1200), 0.95, None, None)
    assert many > stats.studentized_range.ppf(0.95, 1000, np.inf) / np.sqrt(2)


def test_twins_are_never_told_apart():
    X = np.array([[1.0], [1.0], [0.0]])
    model = RankLogistic(0.1).fit(X, preferences=Preferences([0, 1] * 50, [2, 2] * 50))
    assert model.rank_intervals(X).tolist() == [[1, 2], [1, 2], [3, 3]]
    assert_allclose(model.order_proba(X, [[0, 1]]), 0.5)


def test_simulated_coverage():
    """In small what benchmarks/papers/votes_coverage.py shows with many repetitions."""
    rng = np.random.default_rng(0)
    true_rank = np.arange(M, 0, -1)
    covered, differences, together, repeats = 0.0, 0.0, 0.0, 150
    for _ in range(repeats):
        model = RankLogistic(0.01).fit(None, preferences=drawn(rng, 400))
        intervals = model.score_intervals()
        covered += np.mean((intervals[:, 0] <= TRUTH) & (intervals[:, 1] >= TRUTH)) / repeats
        P = model.order_proba(None, [[M - 1, 0], [4, 3]])
        differences += np.mean(P > 0.5) / repeats
        ranks = model.rank_intervals()
        together += np.all((ranks[:, 0] <= true_rank) & (true_rank <= ranks[:, 1])) / repeats
    assert 0.92 < covered < 0.98
    assert together > 0.92
    assert differences > 0.8


class TestJudges:
    def test_sandwich_by_hand(self):
        """H⁻¹ (Σ_k g_k g_kᵀ) H⁻¹ J/(J − 1), from the statements one by one."""
        X = RNG.normal(size=(M, 2))
        judges = RNG.integers(0, 7, L)
        alpha = 0.5
        model = RankLogistic(alpha).fit(X, preferences=VOTES, groups=judges)
        D = X[VOTES.winner] - X[VOTES.loser]
        p = 1 / (1 + np.exp(-D @ model.coef_))
        H = (D * (p * (1 - p))[:, None]).T @ D + 2 * alpha * np.eye(2)
        G = np.stack([(-(1 - p) * (judges == k)) @ D for k in range(7)])
        inverse = np.linalg.inv(H)
        expected = X @ inverse @ G.T @ G @ inverse @ X.T * 7 / 6
        assert_allclose(model.score_covariance(X), expected, rtol=1e-7)
        assert_allclose(model.score_covariance(X, robust=False), X @ inverse @ X.T, rtol=1e-7)

    def test_effects_are_eliminated(self):
        """With an order effect and ties: the block of the sandwich of all parameters."""
        rng = np.random.default_rng(3)
        a = rng.integers(0, M, L)
        b = (a + rng.integers(1, M, L)) % M
        said = rng.choice(["a", "b", "tie"], L)
        names = [f"n{i}" for i in range(M)]
        votes = Preferences.from_votes([names[i] for i in a], [names[i] for i in b], said, names)
        judges = rng.integers(0, 9, L)
        options = {"order_effect": True, "ties": "davidson"}
        model = RankLogistic(0.3, **options).fit(None, preferences=votes, groups=judges)
        f, eta, theta = model.predict(), model.order_effect_, np.log(model.tie_effect_)
        x = np.concatenate((f, [eta, theta]))

        def value(x, s):
            d = x[a[s]] - x[b[s]] + x[-2]
            terms = np.exp(np.array([d / 2, -d / 2, x[-1]]))
            return -np.log(terms[["a", "b", "tie"].index(said[s])] / terms.sum())

        def gradient(x, s):
            steps = 1e-30j * np.eye(M + 2)
            return np.array([value(x + step, s).imag for step in steps]) / 1e-30

        G = np.zeros((9, M + 2))
        for s in range(L):
            G[judges[s]] += gradient(x, s)
        H, h = np.diag(np.append(np.full(M, 0.6), [0, 0])), 1e-5
        for k, e in enumerate(h * np.eye(M + 2)):
            up, down = (sum(gradient(x + side, s) for s in range(L)) for side in (e, -e))
            H[:, k] += (up - down) / (2 * h)
        inverse = np.linalg.inv(H)
        expected = (inverse @ G.T @ G @ inverse * 9 / 8)[:M, :M]
        assert_allclose(model.score_covariance(), expected, rtol=1e-4, atol=1e-7)

    def test_judges_who_repeat_themselves_are_not_believed(self):
        """Ten times the same statements of ten judges say no more than once each."""
        judges = np.repeat(np.arange(L // 4), 4)
        many = Preferences(np.tile(VOTES.winner, 10), np.tile(VOTES.loser, 10), n_items=M)
        once = RankLogistic(0.001).fit(None, preferences=VOTES, groups=judges)
        ten = RankLogistic(0.01).fit(None, preferences=many, groups=np.tile(judges, 10))
        assert_allclose(ten.score_intervals(), once.score_intervals(), rtol=1e-6)
        narrow = np.ptp(ten.score_intervals(robust=False), axis=1)
        assert (narrow < 0.5 * np.ptp(ten.score_intervals(), axis=1)).all()

    def test_mistakes(self):
        with pytest.raises(ValueError, match="two judges"):
            RankLogistic().fit(None, preferences=VOTES, groups=np.zeros(L))
        with pytest.raises(ValueError, match="robust=True needs"):
            MODEL.score_covariance(robust=True)
        with pytest.raises(ValueError, match="level"):
            MODEL.rank_intervals(level=95)


class TestNextPairs:
    def variance(self, S):
        return sum(
            S[i, i] + S[j, j] - 2 * S[i, j] for i, j in itertools.combinations(range(len(S)), 2)
        )

    def test_the_first_is_the_best_of_all(self):
        """By adding each candidate's information to the inverse of the covariance."""
        S, f = MODEL.score_covariance(), MODEL.predict()
        H = np.linalg.inv(S)
        left = {}
        for i, j in itertools.combinations(range(M), 2):
            e = np.eye(M)[i] - np.eye(M)[j]
            w = expected_information(np.array([f[i] - f[j]]), np.array([e @ S @ e]))[0]
            left[i, j] = self.variance(np.linalg.inv(H + w * np.outer(e, e)))
        assert tuple(MODEL.next_pairs(n=1)[0]) == min(left, key=left.get)

    def test_greedy_updates_equal_new_matrices(self):
        S, f = MODEL.score_covariance(), MODEL.predict()
        pairs = np.array(list(itertools.combinations(range(M), 2)))
        for top in (None, 3):
            matters = times_differences(np.eye(M), f, top)
            found = most_informative(f, S, top, pairs, 12)
            H, asked = np.linalg.inv(S), []
            for _ in range(12):
                new, current = [], np.linalg.inv(H)
                for i, j in pairs:
                    e = np.eye(M)[i] - np.eye(M)[j]
                    w = expected_information(np.array([f[i] - f[j]]), np.array([e @ current @ e]))
                    new.append(H + w[0] * np.outer(e, e))
                left = [np.trace(matters @ np.linalg.inv(A)) for A in new]
                best = min((k for k in range(len(pairs)) if k not in asked), key=left.__getitem__)
                asked.append(best)
                H = new[best]
            assert found.tolist() == asked

    def test_expected_information(self):
        x = np.random.default_rng(0).normal(size=200_000)
        for d, variance in ((0.0, 0.0), (1.0, 0.5), (3.0, 4.0), (-2.0, 9.0)):
            p = 1 / (1 + np.exp(-(d + np.sqrt(variance) * x)))
            found = expected_information(np.array([d]), np.array([variance]))[0]
            assert found == pytest.approx(np.mean(p * (1 - p)), rel=0.1)

    def test_top_differences(self):
        matters = times_differences(np.eye(3), np.array([1.0, 5.0, 3.0]), 1)
        assert matters.tolist() == [[1, -1, 0], [-1, 2, -1], [0, -1, 1]]

    def test_candidates(self):
        allowed = np.array([[3, 1], [1, 3], [0, 7]])
        found = MODEL.next_pairs(n=2, candidates=allowed)
        assert sorted(map(tuple, found.tolist())) == [(0, 7), (3, 1)]
        assert len(MODEL.next_pairs(n=5, candidates=allowed)) == 5
        everything = MODEL.next_pairs(n=M * (M - 1) // 2)
        assert len({tuple(sorted(pair)) for pair in everything.tolist()}) == len(everything)

    def test_unconnected_items_come_first(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PreferenceWarning)
            apart = RankLogistic(0.1).fit(
                None, preferences=Preferences([0, 1, 2] * 20, [1, 2, 0] * 20, n_items=4)
            )
        assert 3 in apart.next_pairs(n=1)[0]

    def test_new_items(self):
        X = RNG.normal(size=(M, 2))
        model = RankLogistic(ties="davidson").fit(X, preferences=VOTES)
        found = model.next_pairs(RNG.normal(size=(5, 2)), n=3)
        assert found.shape == (3, 2) and found.max() < 5

    def test_mistakes(self):
        for options in ({"n": 0}, {"n": 1.5}, {"top": 0}, {"candidates": [[0, 0]]}):
            with pytest.raises(ValueError):
                MODEL.next_pairs(**options)
        model = RankLogistic().fit(np.eye(M), preferences=VOTES, qid=np.zeros(M))
        with pytest.raises(ValueError, match="candidates="):
            model.next_pairs()
