"""MPRank in closed form, its leave-one-out error over pairs, its bound and the choice of C."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel

from rankwise import metrics
from rankwise.holdout.pairwise_loo import proposition2
from rankwise.learners.mprank import MPRank
from rankwise.learners.mprank_cv import MPRankCV
from tests import reference_magnitude as slow

RNG = np.random.default_rng(5)
M, N = 14, 3
X = RNG.normal(size=(M, N)) + 1.0
Y = X @ [1.0, -2.0, 0.5] + RNG.normal(size=M) + 4.0
QID = RNG.permutation([0] * 6 + [1] * 5 + [2] * 2 + [3])
K = rbf_kernel(X, gamma=0.3)
RBF = {"kernel": "rbf", "gamma": 0.3}
ROOT = np.linalg.cholesky(K + 1e-14 * np.eye(M))
QUERIES = pytest.mark.parametrize("qid", [None, QID], ids=["one query", "queries"])


class TestClosed:
    @QUERIES
    @pytest.mark.parametrize("C", [0.01, 1.0, 50.0])
    def test_equals_the_normal_equations_of_all_ordered_pairs(self, C, qid):
        assert_allclose(MPRank(C).fit(X, Y, qid=qid).coef_, slow.mprank(X, Y, C, qid))

    def test_is_ridge_regression_with_an_intercept(self):
        assert_allclose(MPRank(3.0).fit(X, Y).coef_, Ridge(M / 6.0).fit(X, Y).coef_)

    @QUERIES
    def test_primal_and_dual_agree(self, qid):
        wide = np.hstack([X, np.zeros((M, 30))])
        dual, primal = MPRank(2.0).fit(wide, Y, qid=qid), MPRank(2.0).fit(X, Y, qid=qid)
        assert_allclose(dual.coef_[:N], primal.coef_)

    def test_equations_11_and_13(self):
        C, K_new = 3.0, rbf_kernel(X[:4] + 0.3, X, gamma=0.3)
        D, z = X - X.mean(axis=0), Y - Y.mean()
        W = 2 * C / M * np.linalg.solve(np.eye(N) + 2 * C / M * D.T @ D, D.T @ z)
        assert_allclose(MPRank(C).fit(X, Y).coef_, W)
        found = MPRank(C, **RBF).fit(X, Y).predict(X[:4] + 0.3)
        assert_allclose(found, slow.equation_13(K, K_new, Y, C))

    @QUERIES
    def test_kernels(self, qid):
        expected = ROOT @ slow.mprank(ROOT, Y, 2.0, qid)
        for model, items in (
            (MPRank(2.0, **RBF), X),
            (MPRank(2.0, kernel="precomputed"), K),
            (MPRank(2.0, **RBF, basis=np.arange(M)), X),
        ):
            assert_allclose(model.fit(items, Y, qid=qid).predict(items), expected, atol=1e-6)

    @QUERIES
    def test_reduced_set(self, qid):
        basis = [1, 4, 7, 9]
        F = K[:, basis] @ np.linalg.inv(np.linalg.cholesky(K[np.ix_(basis, basis)])).T
        found = MPRank(2.0, **RBF, basis=basis).fit(X, Y, qid=qid).predict(X)
        assert_allclose(found, F @ slow.mprank(F, Y, 2.0, qid))

    def test_weights_are_copies(self):
        weight = RNG.integers(1, 4, M)
        copies = np.repeat(np.arange(M), weight)
        weighted = MPRank(2.0).fit(X, Y, qid=QID, sample_weight=weight)
        assert_allclose(
            weighted.coef_, MPRank(2.0).fit(X[copies], Y[copies], qid=QID[copies]).coef_
        )
        assert_allclose(weighted.coef_, slow.mprank(X, Y, 2.0, QID, weight))

    def test_outputs_and_sparse(self):
        both = np.column_stack([Y, -(Y**2)])
        model = MPRank(2.0).fit(sparse.csr_array(X), both)
        assert model.coef_.shape == (2, N)
        for j in range(2):
            assert_allclose(model.coef_[j], slow.mprank(X, both[:, j], 2.0))


class TestLeavePairOut:
    @QUERIES
    @pytest.mark.parametrize("C", [0.1, 5.0])
    def test_exact_equals_refitting(self, C, qid):
        assert_allclose(
            MPRank(C).fit(X, Y, qid=qid).pairwise_loo(), slow.pairwise_loo(X, Y, C, qid)
        )

    @pytest.mark.parametrize("qid", [None, QID])
    @pytest.mark.parametrize("options", [{}, RBF])
    @pytest.mark.parametrize("C", [0.01, 5.0, 1e4])
    def test_retraining_is_a_new_fit_without_the_pair(self, C, options, qid):
        costs = []
        for i, j in zip(*np.triu_indices(M, 1)):
            if qid is not None and qid[i] != qid[j]:
                continue
            rest = np.setdiff1d(np.arange(M), [i, j])
            model = MPRank(C, **options)
            model.fit(X[rest], Y[rest], qid=None if qid is None else qid[rest])
            h = model.predict(X[[i, j]])
            costs.append(((h[1] - h[0]) - (Y[j] - Y[i])) ** 2)
        fitted = MPRank(C, **options).fit(X, Y, qid=qid)
        assert_allclose(fitted.pairwise_loo(retrain=True), np.mean(costs), rtol=1e-6)
        with pytest.raises(ValueError, match="retrain"):
            MPRank(C, **options).fit(X, Y).pairwise_loo(exact=False, retrain=True)

    def test_with_a_kernel_and_several_outputs(self):
        both = np.column_stack([Y, Y**2])
        found = MPRank(5.0, **RBF).fit(X, both).pairwise_loo()
        assert_allclose(found, [slow.pairwise_loo(ROOT, y, 5.0) for y in both.T], rtol=1e-6)

    def test_a_reduced_set_loses_the_basis_items_held_out(self):
        basis, C, costs = np.array([1, 4, 7, 9]), 5.0, []
        for i, j in slow.ordered_pairs(np.zeros(M)):
            if i != j:
                rest, left = np.setdiff1d(np.arange(M), [i, j]), np.setdiff1d(basis, [i, j])
                inverse_root = np.linalg.inv(np.linalg.cholesky(K[np.ix_(left, left)])).T
                F = K[:, left] @ inverse_root
                factor, query = np.full(M - 2, 2 * C / M), np.zeros(M - 2)
                h = F @ slow.ridge_by_query(F[rest], Y[rest], factor, query)
                costs.append(((h[j] - h[i]) - (Y[j] - Y[i])) ** 2)
        found = MPRank(C, **RBF, basis=basis).fit(X, Y).pairwise_loo()
        assert_allclose(found, np.mean(costs), rtol=1e-6)

    def test_proposition_2_is_exact_given_the_means_without_the_pair(self):
        C, means = 4.0, np.zeros((M, M))
        for i, j in slow.ordered_pairs(np.zeros(M)):
            rest = np.setdiff1d(np.arange(M), [i, j])
            if i != j:
                means[i, j] = (X @ Ridge(M / (2 * C)).fit(X[rest], Y[rest]).coef_).mean()
        model = MPRank(C).fit(X, Y)
        ((_, fit),) = model._least_squares().parts
        costs = proposition2(fit, M**2 / (2 * C), means)
        assert_allclose(costs.sum() / (M * (M - 1)), model.pairwise_loo())

    @pytest.mark.parametrize("C", [0.1, 4.0, 100.0])
    def test_the_approximation_is_the_papers(self, C):
        linear, rbf = MPRank(C).fit(X, Y), MPRank(C, **RBF).fit(X, Y)
        assert_allclose(linear.pairwise_loo(exact=False), slow.approximate_loo(X @ X.T, Y, C))
        assert_allclose(rbf.pairwise_loo(exact=False), slow.approximate_loo(K, Y, C))

    def test_the_approximation_nears_the_exact_error_as_items_are_added(self):
        gaps = []
        for m in (10, 40, 160):
            rng = np.random.default_rng(0)
            items = rng.normal(size=(m, 3)) + 1.0
            y = items.sum(axis=1) + rng.normal(size=m)
            model = MPRank(5.0).fit(items, y)
            exact = model.pairwise_loo()
            gaps.append(abs(model.pairwise_loo(exact=False) - exact) / exact)
        assert gaps[0] > gaps[1] > gaps[2]
        assert gaps[2] < 1e-3

    def test_what_has_no_such_error(self):
        with pytest.raises(ValueError, match="norm=2"):
            MPRank(norm=1).fit(X, Y).pairwise_loo()
        with pytest.raises(ValueError, match="exact=True"):
            MPRank().fit(X, Y, qid=QID).pairwise_loo(exact=False)
        with pytest.raises(ValueError, match="sample_weight"):
            MPRank().fit(X, Y, sample_weight=np.arange(M)).pairwise_loo()


class TestStability:
    @pytest.mark.parametrize("norm", [1, 2])
    def test_corollary_1(self, norm):
        C, kappa, bound_M, delta = 0.3, 5.0, 20.0, 0.1
        model = MPRank(C, norm=norm).fit(X, Y)
        found = model.stability_bound(delta, kappa=kappa, M=bound_M)
        root = np.sqrt(2 / M * np.log(2 / delta))
        if norm == 1:  # equation 65
            extra = 8 * kappa**2 * C / M + 2 * (2 * kappa**2 * C + bound_M) * root
        else:  # equation 66
            extra = 128 * kappa**2 * C * bound_M**2 / M
            extra += 4 * bound_M**2 * (16 * kappa**2 * C + 1) * root
        empirical = metrics.pair_cost(Y, model.predict(X), "MP", power=norm)
        assert_allclose(found["empirical"], empirical)
        admissibility = 1 if norm == 1 else 4 * bound_M  # Lemma 1
        beta = 4 * C * admissibility**2 * kappa**2 / M  # Proposition 3
        assert_allclose(found["stability"], beta)
        theorem_1 = 2 * beta + (beta * M + (2 * bound_M) ** norm) * root
        assert_allclose(found["bound"], empirical + theorem_1)
        assert_allclose(found["bound"], empirical + extra)
        assert "on trust" not in found["assumptions"]

    @pytest.mark.parametrize("norm", [1, 2])
    def test_no_item_left_out_changes_a_cost_by_more_than_the_stability(self, norm):
        """Definition 1, on the training items; the sums over S⁻ᵏ keep 1/m² (equation 44)."""
        C = 0.5
        whole = MPRank(C, norm=norm, tol=1e-9).fit(X, Y)
        rest = [np.delete(np.arange(M), k) for k in range(M)]
        smaller = MPRank(C * (M - 1) ** 2 / M**2, norm=norm, tol=1e-9)
        models = [whole, *(smaller.fit(X[kept], Y[kept]).coef_ for kept in rest)]
        residuals = np.array([X @ getattr(w, "coef_", w) - Y for w in models])
        beta = whole.stability_bound(M=np.abs(residuals).max())["stability"]
        costs = np.abs(residuals[:, :, None] - residuals[:, None, :]) ** norm
        assert np.abs(costs[1:] - costs[0]).max() <= beta

    def test_says_when_it_says_nothing(self):
        assert "says nothing" in MPRank(100.0).fit(X, Y).stability_bound()["assumptions"]
        items = RNG.random((4000, 1))
        small = MPRank(0.05, norm=1).fit(items, items[:, 0] + RNG.normal(size=4000))
        assert "says something" in small.stability_bound()["assumptions"]

    def test_measures_kappa_and_M_or_refuses_smaller_ones(self):
        model = MPRank(**RBF).fit(X, Y)
        found = model.stability_bound()
        M_seen = np.abs(model.predict(X) - Y).max()
        assert_allclose(found["stability"], 4 * (4 * M_seen) ** 2 / M)
        for bad in ({"kappa": 0.5}, {"M": M_seen / 2}, {"delta": 1.0}):
            with pytest.raises(ValueError, match=next(iter(bad))):
                model.stability_bound(**bad)
        with pytest.raises(ValueError, match="without qid"):
            MPRank().fit(X, Y, qid=QID).stability_bound()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"C": 0.0}, "C must"),
        ({"C": -1.0}, "C must"),
        ({"norm": 3}, "norm must"),
        ({"norm": 1.5}, "norm must"),
        ({"solver": "newton"}, "solver must"),
        ({"norm": 1, "solver": "closed"}, "norm=2"),
        ({"tol": 0.0}, "tol must"),
        ({"max_iter": 0}, "max_iter must"),
        ({"cache_size": -1}, "cache_size must"),
        ({"kernel": "spline"}, "kernel must"),
    ],
    ids=str,
)
def test_bad_parameters(options, named):
    with pytest.raises(ValueError, match=named):
        MPRank(**options).fit(X, Y)


def test_nothing_to_learn_is_refused():
    with pytest.raises(ValueError, match="no single preference"):
        MPRank().fit(X, np.ones(M))


class TestChoosingC:
    GRID = (0.01, 0.3, 1.0, 10.0, 300.0)

    @QUERIES
    def test_takes_the_least_error_and_its_model(self, qid):
        found = MPRankCV(self.GRID, **RBF).fit(X, Y, qid=qid)
        costs = [MPRank(C, **RBF).fit(X, Y, qid=qid).pairwise_loo() for C in self.GRID]
        assert_allclose(found.cv_results_["cost"], costs)
        assert self.GRID[int(np.argmin(costs))] == found.C_
        best = MPRank(found.C_, **RBF).fit(X, Y, qid=qid)
        assert_allclose(found.predict(X), best.predict(X))

    def test_by_the_approximation(self):
        found = MPRankCV(self.GRID, exact=False).fit(X, Y)
        costs = [MPRank(C).fit(X, Y).pairwise_loo(exact=False) for C in self.GRID]
        assert_allclose(found.cv_results_["cost"], costs)

    @pytest.mark.parametrize("grid", [[], [1.0, -1.0], [[1.0]]], ids=str)
    def test_bad_grids(self, grid):
        with pytest.raises(ValueError, match="Cs"):
            MPRankCV(grid).fit(X, Y)
