"""Kernels that are none: parameters without meaning, asymmetric and indefinite matrices."""

import numpy as np
import pytest
from scipy import sparse

from rankwise import RLS, InvalidKernel, KernelMap, RankRLS, RankRLSCV
from rankwise.spaces.definiteness import check_gram, repair_kernel

RNG = np.random.default_rng(9)
X = RNG.normal(size=(12, 3))
Y = np.arange(12.0)


def spoil(array, place, value):
    array = np.array(array, dtype=float)
    array[place] = value
    return array


def refused(message, error=ValueError):
    return pytest.raises(error, match=message)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian", "chi2"])
@pytest.mark.parametrize("gamma", [np.nan, np.inf, -1.0, "scale", [1.0]], ids=str)
def test_gamma(kernel, gamma):
    """Negative gamma makes an indefinite kernel, nan makes a model of nan."""
    for make in (RankRLS, KernelMap):
        with refused("gamma"):
            make(kernel=kernel, gamma=gamma).fit(np.abs(X), Y)


@pytest.mark.parametrize(("name", "value"), [("degree", "2"), ("degree", np.nan), ("coef0", "x")])
def test_parameters_of_the_polynomial_kernel(name, value):
    with refused(name):
        RankRLS(kernel="poly", **{name: value}).fit(np.abs(X), Y)


def test_gamma_none_is_one_over_n_for_every_kernel():
    for kernel in ("rbf", "poly", "laplacian", "chi2"):
        default = RankRLS(kernel=kernel).fit(np.abs(X), Y)
        given = RankRLS(kernel=kernel, gamma=1 / 3).fit(np.abs(X), Y)
        np.testing.assert_allclose(default.predict(np.abs(X)), given.predict(np.abs(X)))


@pytest.mark.parametrize("kernel", ["sigmoid", "additive_chi2"])
def test_named_kernels_that_are_indefinite(kernel):
    """On these items their matrices have clearly negative eigenvalues."""
    with refused("indefinite", InvalidKernel):
        RankRLS(kernel=kernel, gamma=1.0).fit(np.abs(X), Y)


def test_asymmetric_kernels():
    K = X @ X.T
    for make in (RankRLS, RLS, RankRLSCV, KernelMap):
        with refused(r"not symmetric: K\[\d+, \d+\].*repair_kernel", InvalidKernel):
            make(kernel="precomputed").fit(spoil(K, (2, 5), K[2, 5] + 0.1), Y)
        with refused("square", ValueError):
            make(kernel="precomputed").fit(K[:, :11], Y)
    RankRLS(kernel="precomputed").fit(spoil(K, (2, 5), K[2, 5] * (1 + 1e-12)), Y)


@pytest.mark.parametrize("m", [12, 80])
def test_indefinite_kernels(m):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(m, m)))[0]
    eigenvalues = np.linspace(0, 1, m)
    for smallest, fine in ((-1e-3, False), (-1e-7, False), (-1e-10, True), (-1e-13, True)):
        eigenvalues[0] = smallest
        K = (Q * eigenvalues) @ Q.T
        K = (K + K.T) / 2
        for make in (RankRLS, KernelMap):
            if fine:
                make(kernel="precomputed").fit(K, np.arange(m))
                continue
            with refused("indefinite.*smallest eigenvalue.*repair_kernel", InvalidKernel):
                make(kernel="precomputed").fit(K, np.arange(m))
        repaired = repair_kernel(K)
        RankRLS(kernel="precomputed").fit(repaired, np.arange(m))
    with refused("indefinite", InvalidKernel):
        RankRLS(kernel="precomputed").fit(-np.eye(m), np.arange(m))
    with refused("callable kernel is indefinite", InvalidKernel):
        RankRLS(kernel=lambda A, B: -(A @ B.T)).fit(X, Y)
    with refused("finite", InvalidKernel):
        RankRLS(kernel=lambda A, B: A @ B.T * np.nan).fit(X, Y)


def test_repaired_kernel_is_the_projection():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(9, 9))
    repaired = repair_kernel(A)
    eigenvalues, Q = np.linalg.eigh((A + A.T) / 2)
    np.testing.assert_allclose(repaired, (Q * np.maximum(eigenvalues, 0)) @ Q.T, atol=1e-12)
    np.testing.assert_array_equal(repaired, repaired.T)
    with refused("square"):
        repair_kernel(A[:3])


def test_a_kernel_whose_rows_sum_to_zero():
    """Difference kernels are positive semi-definite: 30 blocks [[1, −1], [−1, 1]]."""
    K = np.kron(np.eye(30), [[1.0, -1.0], [-1.0, 1.0]])
    model = RankRLS(kernel="precomputed").fit(K, np.arange(60))
    assert np.isfinite(model.predict(K)).all()


def test_polynomial_kernels_with_a_negative_constant_are_looked_at():
    with refused("indefinite", InvalidKernel):
        RankRLS(kernel="poly", degree=2, coef0=-2.0).fit(X, Y)


def test_sparse_duplicates_are_summed():
    doubled = sparse.csr_array(np.hstack([X, X]))
    doubled.indices = doubled.indices % X.shape[1]
    given = sparse.csr_array((doubled.data, doubled.indices, doubled.indptr), shape=X.shape)
    assert not given.has_canonical_format
    found = RankRLS(kernel="rbf").fit(given, Y).dual_coef_
    np.testing.assert_allclose(found, RankRLS(kernel="rbf").fit(2 * X, Y).dual_coef_)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_kernel_checked_in_place_is_what_it_was(order):
    Z = np.random.default_rng(0).normal(size=(300, 5))
    K = np.asarray(Z @ Z.T, order=order)
    before = K.copy()
    assert check_gram(K, own=True) is K
    np.testing.assert_array_equal(K, before)
    K[7, 7] -= 100.0
    before = K.copy()
    with pytest.raises(InvalidKernel, match="indefinite"):
        check_gram(K, own=True)
    np.testing.assert_array_equal(K, before)
