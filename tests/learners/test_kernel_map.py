"""The empirical kernel map: inner products of features are kernel values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.model_selection import KFold

from rankwise import KernelMap, RankRLS

RNG = np.random.default_rng(5)
X = RNG.normal(size=(24, 3))
X_NEW = RNG.normal(size=(6, 3))
BASIS = np.array([20, 1, 7, 8, 15])


def nystroem(K, basis):
    """K_MR K_RR⁺ K_RM."""
    return K[:, basis] @ np.linalg.pinv(K[np.ix_(basis, basis)], rcond=1e-12) @ K[basis]


def test_exact_map_reproduces_the_kernel():
    mapped = KernelMap("rbf", gamma=0.4).fit(X)
    K = rbf_kernel(X, gamma=0.4)
    assert_allclose(mapped.embedding_ @ mapped.embedding_.T, K, atol=1e-12)
    assert_allclose(
        mapped.transform(X_NEW) @ mapped.embedding_.T, rbf_kernel(X_NEW, X, 0.4), atol=1e-7
    )
    assert_allclose(mapped.transform(X), mapped.embedding_, atol=1e-6)
    assert_allclose(mapped.fit_transform(X), mapped.embedding_)
    assert mapped.basis_index_.tolist() == list(range(24))


def test_reduced_map_is_nystroem():
    mapped = KernelMap("rbf", basis=BASIS).fit(X)
    K, K_new = rbf_kernel(X), rbf_kernel(X_NEW, X)
    F, F_new = mapped.embedding_, mapped.transform(X_NEW)
    assert F.shape == (24, 5)
    assert_allclose(F @ F.T, nystroem(K, BASIS), atol=1e-10)
    inverse = np.linalg.inv(K[np.ix_(BASIS, BASIS)])
    assert_allclose(F_new @ F.T, K_new[:, BASIS] @ inverse @ K[BASIS], atol=1e-10)
    assert_allclose((F @ F.T)[BASIS], K[BASIS], atol=1e-10)


def test_random_basis_is_reproducible():
    first, second = (KernelMap(basis=6, random_state=3).fit(X) for _ in range(2))
    assert first.basis_index_.tolist() == second.basis_index_.tolist()
    assert len(set(first.basis_index_.tolist())) == 6
    assert KernelMap(basis=24).fit(X).basis_index_.tolist() == list(range(24))


@pytest.mark.parametrize("basis", [None, BASIS], ids=["exact", "reduced"])
@pytest.mark.parametrize("held", [[7], [1, 20], [0, 2], [1, 2, 7, 8], [1, 7, 8, 15, 20], []])
def test_without_equals_recomputation(basis, held):
    mapped = KernelMap("rbf", basis=basis).fit(X)
    K = rbf_kernel(X)
    left = np.setdiff1d(mapped.basis_index_, held)
    F = mapped.without(held)
    expected = nystroem(K, left) if len(left) else np.zeros_like(K)
    assert_allclose(F @ F.T, expected, atol=1e-8)
    assert F.shape == (24, len(left))
    assert_allclose(mapped.embedding_, KernelMap("rbf", basis=basis).fit(X).embedding_)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 10), st.data())
def test_without_on_singular_kernels(seed, m, data):
    """Few features, duplicate and zero items: K_RR is singular, often after removal too."""
    rng = np.random.default_rng(seed)
    items = rng.integers(-1, 2, (m, 2)).astype(float)
    basis = np.array(data.draw(st.permutations(range(m))))[: data.draw(st.integers(1, m))]
    held = np.array(data.draw(st.permutations(range(m))), dtype=int)[: data.draw(st.integers(0, m))]
    K = items @ items.T
    mapped = KernelMap("linear", basis=basis).fit(items)
    assert_allclose(mapped.embedding_ @ mapped.embedding_.T, nystroem(K, basis), atol=1e-8)
    left = np.setdiff1d(basis, held)
    F = mapped.without(held)
    expected = nystroem(K, left) if len(left) else np.zeros_like(K)
    assert_allclose(F @ F.T, expected, atol=1e-8)


def test_duplicate_items_leave_the_rank():
    twice = np.vstack((X[:4], X[:4]))
    mapped = KernelMap("rbf").fit(twice)
    assert mapped.embedding_.shape == (8, 4)
    one_of_twins = mapped.without([0])
    assert_allclose(one_of_twins @ one_of_twins.T, rbf_kernel(twice), atol=1e-8)
    both = mapped.without([0, 4])
    assert_allclose(both @ both.T, nystroem(rbf_kernel(twice), [1, 2, 3, 5, 6, 7]), atol=1e-8)


@pytest.mark.parametrize("basis", [None, BASIS], ids=["exact", "reduced"])
def test_to_dual(basis):
    mapped = KernelMap("poly", basis=basis, degree=2).fit(X)
    K_new = polynomial_kernel(X_NEW, X[mapped.basis_index_], degree=2)
    w = np.random.default_rng(0).normal(size=(mapped.embedding_.shape[1], 2))
    assert_allclose(K_new @ mapped.to_dual(w), mapped.transform(X_NEW) @ w, rtol=1e-6, atol=1e-7)
    assert mapped.to_dual(w[:, 0]).shape == (len(mapped.basis_index_),)


def test_linear_learner_on_the_map_is_the_kernel_learner():
    y = RNG.normal(size=24)
    mapped = KernelMap("rbf", basis=BASIS).fit(X)
    linear = RankRLS(0.3).fit(mapped.embedding_, y)
    kernel = RankRLS(0.3, kernel="rbf", basis=BASIS).fit(X, y)
    assert_allclose(kernel.dual_coef_, mapped.to_dual(linear.coef_), rtol=1e-7)


def test_folds_hold_test_items_out_of_the_basis():
    y = RNG.normal(size=24)
    mapped, K = KernelMap("rbf", basis=BASIS).fit(X), rbf_kernel(X)
    splits = list(KFold(4).split(X))
    folds = mapped.folds(splits)
    assert iter(folds) is folds
    for (train, test), (F_train, F_test) in zip(splits, folds, strict=True):
        left = np.setdiff1d(BASIS, test)
        exact = nystroem(K, left)
        assert_allclose(F_train @ F_train.T, exact[np.ix_(train, train)], atol=1e-9)
        assert_allclose(F_test @ F_train.T, exact[np.ix_(test, train)], atol=1e-9)
        found = Ridge(0.5).fit(F_train, y[train]).predict(F_test)
        again = KernelMap("rbf", basis=np.searchsorted(train, left)).fit(X[train])
        expected = Ridge(0.5).fit(again.embedding_, y[train]).predict(again.transform(X[test]))
        assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("basis", [None, BASIS], ids=["exact", "reduced"])
def test_precomputed_and_callable(basis):
    K, K_new = laplacian_kernel(X), laplacian_kernel(X_NEW, X)
    expected = KernelMap("laplacian", basis=basis).fit(X)
    given = KernelMap("precomputed", basis=basis).fit(K)
    called = KernelMap(laplacian_kernel, basis=basis).fit(X)
    for mapped, new in ((given, K_new), (called, X_NEW)):
        F, F_new = mapped.embedding_, mapped.transform(new)
        assert_allclose(F @ F.T, expected.embedding_ @ expected.embedding_.T, atol=1e-10)
        assert_allclose(F_new @ F.T, expected.transform(X_NEW) @ expected.embedding_.T, atol=1e-9)


@pytest.mark.parametrize("basis", [None, BASIS], ids=["exact", "reduced"])
def test_sparse_items(basis):
    dense = KernelMap("rbf", basis=basis).fit(X)
    mapped = KernelMap("rbf", basis=basis).fit(sparse.csr_array(X))
    assert_allclose(mapped.embedding_ @ mapped.embedding_.T, dense.embedding_ @ dense.embedding_.T)
    assert mapped.transform(sparse.csr_array(X_NEW)).shape == (6, dense.embedding_.shape[1])


@pytest.mark.parametrize("basis", [None, BASIS], ids=["exact", "reduced"])
def test_sparse_precomputed_kernel(basis):
    K = np.kron(np.eye(8), np.ones((3, 3))) + np.eye(24)
    dense = KernelMap("precomputed", basis=basis).fit(K)
    mapped = KernelMap("precomputed", basis=basis).fit(sparse.csr_array(K))
    assert_allclose(mapped.embedding_, dense.embedding_)
    assert_allclose(mapped.transform(sparse.csr_array(K)), dense.transform(K))


def test_bad_basis_is_named():
    for basis in (0, 25, [0, 0], [30], [], [0.5], "x"):
        with pytest.raises(ValueError, match="basis"):
            KernelMap(basis=basis).fit(X)
    with pytest.raises(ValueError, match="index"):
        KernelMap().fit(X).without([24])


def test_map_of_a_zero_kernel_has_no_features():
    mapped = KernelMap("linear").fit(np.zeros((3, 2)))
    assert mapped.embedding_.shape == (3, 0)
    assert mapped.transform(np.ones((2, 2))).shape == (2, 0)
    assert mapped.without([1]).shape == (3, 0)
