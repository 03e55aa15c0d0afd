"""Own strengths add δ to the diagonal of the kernel of the training items, in every space."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from rankwise.spaces.kernels import Kernel
from rankwise.spaces.own_strengths import SpannedSpace, strength_space

RNG = np.random.default_rng(2)
X = RNG.normal(size=(9, 3))
WIDE = RNG.normal(size=(9, 20))


@pytest.mark.parametrize("effect", [0.0, 0.5])
@pytest.mark.parametrize(
    ("items", "kernel", "basis", "K"),
    [
        (X, Kernel("linear"), None, X @ X.T),
        (sparse.csr_array(X), Kernel("linear"), None, X @ X.T),
        (WIDE, Kernel("linear"), None, WIDE @ WIDE.T),
        (sparse.csr_array(WIDE), Kernel("linear"), None, WIDE @ WIDE.T),
        (X, Kernel("rbf", 0.3), None, rbf_kernel(X, X, 0.3)),
        (None, Kernel("linear"), None, np.eye(9)),
    ],
)
def test_kernel(items, kernel, basis, K, effect):
    space = strength_space(items, 9, kernel, effect, basis)
    phi = space.features.toarray() if sparse.issparse(space.features) else space.features
    assert_allclose(phi @ phi.T, K + effect * np.eye(9), atol=1e-9)
    w = RNG.normal(size=phi.shape[1])
    scores = space.own(w)
    if space.space is not None:
        model = space.space.to_model(space.features_part(w)[:, None])[:, 0]
        scores = scores + space.space.represent(items) @ model
    assert_allclose(scores, phi @ w, atol=1e-7)


def test_held_out_basis_items_leave_the_features():
    space = strength_space(X, 9, Kernel("rbf", 0.3), 0.5, np.array([1, 4, 6]))
    phi = space.features_without(np.array([4])).toarray()
    K, basis = rbf_kernel(X, X, 0.3), [1, 6]
    reduced = K[:, basis] @ np.linalg.inv(K[np.ix_(basis, basis)]) @ K[basis]
    assert_allclose(phi @ phi.T, reduced + 0.5 * np.eye(9), atol=1e-9)


def test_wide_features_become_coordinates():
    assert isinstance(strength_space(WIDE, 9, Kernel("linear"), 0.0).space, SpannedSpace)
    few = strength_space(WIDE, 9, Kernel("linear"), 0.0, few=5).space
    assert not isinstance(few, SpannedSpace)
