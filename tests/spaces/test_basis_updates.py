import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from rankwise.spaces.basis_updates import with_basis_item, without_basis_item
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.nystrom_map import NystromMap

X = np.random.default_rng(0).normal(size=(20, 3))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_items_join_and_leave(form):
    items, kernel = form(X), Kernel("rbf", 0.3)
    start = NystromMap(kernel, np.array([1, 4, 7])).fit_basis(items[[1, 4, 7]])
    larger, c, rho = with_basis_item(start, 9, items[[9]])
    K = larger.kernel.between(items, larger.basis_index, larger.X_basis)
    F = K @ larger.basis_to_features
    expected = K @ np.linalg.inv(K[larger.basis_index]) @ K.T
    assert_allclose(F @ F.T, expected, atol=1e-10)
    assert_allclose(F[:, -1], (K[:, -1] - start.embed(items) @ c) / rho, atol=1e-12)
    assert_allclose(
        larger.scale[:, None] * larger.basis_features, F[larger.basis_index], atol=1e-12
    )
    smaller, v = without_basis_item(larger, 1)
    assert smaller.basis_index.tolist() == [1, 7, 9]
    fresh = NystromMap(kernel, smaller.basis_index).fit_basis(items[smaller.basis_index])
    G, H = smaller.embed(items), fresh.embed(items)
    assert_allclose(G @ G.T, H @ H.T, atol=1e-10)
    assert_allclose(G, (F - np.outer(F @ v, v) * (2 / (v @ v)))[:, :-1], atol=1e-10)


def test_what_adds_nothing_and_what_cannot_leave():
    kernel = Kernel("linear")
    full = NystromMap(kernel, np.array([1, 4, 7])).fit_basis(X[[1, 4, 7]])
    with pytest.raises(ValueError, match="item 9 is a combination"):
        with_basis_item(full, 9, X[[9]])
    singular = NystromMap(kernel, np.array([1, 4, 7, 9])).fit_basis(X[[1, 4, 7, 9]])
    with pytest.raises(ValueError, match="combinations of others"):
        without_basis_item(singular, 0)
