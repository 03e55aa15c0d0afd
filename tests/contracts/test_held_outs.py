"""Every HeldOut predicts what a refit without the held-out items predicts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise import RLS, KernelMap, Preferences, RankRLS, RankRLSCV, RankSVM
from rankwise.holdout.protocol import HeldOut
from rankwise.holdout.risk_holdouts import RiskHoldouts
from rankwise.losses.losses_by_name import hinge_risks
from rankwise.solvers.newton import NewtonSolver
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.space import build_space
from rankwise.supervision.supervision import pairs_within
from tests.problems import compared, scored

RNG = np.random.default_rng(4)
M, ALPHAS = 12, [0.3, 5.0]
X = RNG.normal(size=(M, 3))
Y = np.column_stack((np.round(X[:, 0] + RNG.normal(size=M)), X[:, 1] + RNG.normal(size=M)))
QID = np.array([0, 1] * 6)
BASIS = [1, 4, 6, 9]


def svm_path(phi, risk, alphas):
    return [NewtonSolver(phi, risk).solve(alpha, tol=1e-9) for alpha in alphas]


def svm(kernel, basis=None):
    space = build_space(X, kernel, basis, as_features=True)
    risks = lambda supervision: hinge_risks("squared_hinge", supervision)  # noqa: E731
    return RiskHoldouts(space, scored(Y, QID), risks, svm_path)


def refit_of(make):
    def refit(train, alpha):
        return make(alpha).fit(X[train], Y[train], qid=QID[train])

    return refit


def reduced(train):
    return np.flatnonzero(np.isin(train, BASIS))


RBF = {"kernel": "rbf", "gamma": 0.3}
SVM = {"loss": "squared_hinge", "tol": 1e-9}
# name: the hold-outs, and a model refitted on the items that are left
MEMBERS = {
    "RLS": (lambda: RLS().hold_outs(X, Y, qid=QID), refit_of(RLS)),
    "RankRLS": (lambda: RankRLS().hold_outs(X, Y, qid=QID), refit_of(RankRLS)),
    "RankRLS rbf": (
        lambda: RankRLS(**RBF).hold_outs(X, Y, qid=QID),
        refit_of(lambda alpha: RankRLS(alpha, **RBF)),
    ),
    "RankRLS unit": (
        lambda: RankRLS(loss="unit").hold_outs(X, Y, qid=QID),
        refit_of(lambda alpha: RankRLS(alpha, loss="unit")),
    ),
    "RankRLS cg": (
        lambda: RankRLS(solver="cg", tol=1e-12).hold_outs(X, Y, qid=QID),
        refit_of(RankRLS),
    ),
    "RankRLS reduced": (
        lambda: RankRLS(basis=BASIS, **RBF).hold_outs(X, Y, qid=QID),
        lambda train, alpha: RankRLS(alpha, basis=reduced(train), **RBF).fit(
            X[train], Y[train], qid=QID[train]
        ),
    ),
    "RankRLSCV": (lambda: RankRLSCV().hold_outs(X, Y, qid=QID), refit_of(RankRLS)),
    "RankSVM": (lambda: svm(Kernel("linear")), refit_of(lambda alpha: RankSVM(alpha, **SVM))),
    "RankSVM reduced": (
        lambda: svm(Kernel("rbf", 0.3), BASIS),
        lambda train, alpha: RankSVM(alpha, basis=reduced(train), **RBF, **SVM).fit(
            X[train], Y[train], qid=QID[train]
        ),
    ),
}


@pytest.mark.parametrize("name", MEMBERS)
class TestEveryHeldOut:
    def expected(self, name, held):
        held = np.asarray(held)
        train = np.setdiff1d(np.arange(M), held)
        return np.stack([MEMBERS[name][1](train, alpha).predict(X[held]) for alpha in ALPHAS])

    def test_without(self, name):
        held_out: HeldOut = MEMBERS[name][0]()
        assert held_out.n_items == M and held_out.supervision.n_outputs == 2
        for held in ([0], [1, 4], [2, 3, 7, 8], np.flatnonzero(QID == 1)):
            found = held_out.without(np.asarray(held), ALPHAS)
            assert_allclose(found, self.expected(name, held), atol=1e-6)

    def test_leave_groups_out(self, name):
        groups = [np.array([0, 5, 2]), np.array([1, 3]), np.array([4, 6, 7, 8, 9, 10, 11])]
        found = MEMBERS[name][0]().leave_groups_out(groups, ALPHAS)
        for items in groups:
            assert_allclose(found[:, items], self.expected(name, items), atol=1e-6)

    def test_leave_each_out(self, name):
        found = MEMBERS[name][0]().leave_each_out(ALPHAS)
        for item in range(M):
            assert_allclose(found[:, [item]], self.expected(name, [item]), atol=1e-6)

    def test_leave_pairs_out(self, name):
        held_out = MEMBERS[name][0]()
        pairs = np.vstack((pairs_within(held_out.supervision.queries)[::6], [[0, 1], [4, 9]]))
        found = held_out.leave_pairs_out(pairs, ALPHAS)
        for row, pair in enumerate(pairs):
            assert_allclose(found[:, row], self.expected(name, pair), atol=1e-6)

    def test_judged_pairs_are_those_of_the_predictions(self, name):
        held_out = MEMBERS[name][0]()
        if isinstance(held_out, RiskHoldouts):
            with pytest.raises(ValueError, match="refit for every pair"):
                held_out.judge_pairs([1.0])
            return
        alpha, queries = ALPHAS[0], held_out.supervision.queries
        counted, right = np.zeros((M, 2)), np.zeros((M, 2))
        pairs = pairs_within(queries)
        scores = held_out.leave_pairs_out(pairs, [alpha])[0]
        for (i, j), (s_i, s_j) in zip(pairs, scores):
            for k in range(2):
                if Y[i, k] != Y[j, k]:
                    agree = 0.5 + 0.5 * np.sign(Y[i, k] - Y[j, k]) * np.sign(s_i[k] - s_j[k])
                    counted[[i, j], k] += 1
                    right[[i, j], k] += agree
        judged = held_out.judge_pairs([7.0, alpha])
        assert_allclose(judged.counted[1], counted)
        assert_allclose(judged.right[1], right)


COMPARED = Preferences(
    [0, 1, 2, 2, 4, 5, 6, 0, 7, 8, 1, 9], [2, 3, 4, 0, 6, 7, 8, 6, 9, 10, 5, 1], n_items=M
)


def compared_svm(kernel, basis=None):
    space = build_space(X, kernel, basis, as_features=True)
    risks = lambda supervision: hinge_risks("squared_hinge", supervision)  # noqa: E731
    return RiskHoldouts(space, compared(COMPARED, M), risks, svm_path)


def compared_rls(**options):
    make = lambda alpha: RankRLS(alpha, **options)  # noqa: E731
    return lambda: make(1.0).hold_outs(X, preferences=COMPARED), make


# name: the hold-outs of preferences, and the model with a given alpha
OF_PREFERENCES = {
    "RankRLS": compared_rls(),
    "RankRLS unit": compared_rls(loss="unit", query_weight="queries"),
    "RankRLS rbf": compared_rls(**RBF),
    "RankRLS cg": compared_rls(solver="cg", tol=1e-12),
    "RankRLS reduced": compared_rls(basis=BASIS, **RBF),
    "RankSVM": (lambda: compared_svm(Kernel("linear")), lambda alpha: RankSVM(alpha, **SVM)),
    "RankSVM reduced": (
        lambda: compared_svm(Kernel("rbf", 0.3), BASIS),
        lambda alpha: RankSVM(alpha, basis=BASIS, **RBF, **SVM),
    ),
}


@pytest.mark.parametrize("name", OF_PREFERENCES)
class TestEveryHeldOutOfPreferences:
    def expected(self, name, statements):
        kept = COMPARED.subset(np.setdiff1d(np.arange(len(COMPARED)), statements))
        scores = [
            OF_PREFERENCES[name][1](alpha).fit(X, preferences=kept).predict(X) for alpha in ALPHAS
        ]
        winner, loser = COMPARED.winner[statements], COMPARED.loser[statements]
        return np.stack([(f[winner] - f[loser])[:, None] for f in scores])

    def test_without_statements(self, name):
        held_out: HeldOut = OF_PREFERENCES[name][0]()
        for statements in (np.array([3]), np.array([1, 5, 6]), np.arange(2, 11)):
            found = held_out.without_statements(statements, ALPHAS)
            assert_allclose(found, self.expected(name, statements), atol=1e-6)

    def test_leave_preferences_out(self, name):
        held_out: HeldOut = OF_PREFERENCES[name][0]()
        found = held_out.leave_preferences_out(ALPHAS)
        assert_allclose(found, HeldOut.leave_preferences_out(held_out, ALPHAS), atol=1e-7)
        assert_allclose(found[:, [0, 3]], self.expected(name, np.array([0, 3])), atol=1e-6)

    def test_scores_have_no_statements(self, name):
        scores = MEMBERS["RankSVM" if "SVM" in name else "RankRLS"][0]()
        with pytest.raises(ValueError, match="only explicit preferences"):
            scores.without_statements(np.array([0]), ALPHAS)
        with pytest.raises(ValueError, match="only explicit preferences"):
            scores.leave_preferences_out(ALPHAS)


def test_folds_of_a_map_are_hold_outs_too():
    mapped = KernelMap("rbf", gamma=0.3, basis=BASIS).fit(X)
    held = np.array([1, 2, 3])
    train = np.setdiff1d(np.arange(M), held)
    ((F, G),) = mapped.folds([held])
    for alpha, found in zip(ALPHAS, MEMBERS["RankRLS reduced"][0]().without(held, ALPHAS)):
        model = RankRLS(alpha).fit(F, Y[train], qid=QID[train])
        assert_allclose(model.predict(G), found, atol=1e-7)
