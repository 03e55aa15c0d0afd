"""Every space: what solvers see, what new items look like, and the model agree with the kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from rankwise.spaces.kernels import Kernel
from rankwise.spaces.space import Features, Gram, build_space

RNG = np.random.default_rng(2)
X, NEW = RNG.normal(size=(15, 4)), RNG.normal(size=(6, 4))
TWINS = np.vstack((X, X[:3]))
BASIS = np.array([11, 2, 5, 7])


def own(A, B):
    return (1.0 + A @ B.T) ** 2


CASES = {
    "linear": (X, NEW, Kernel("linear"), None, lambda A, B: A @ B.T),
    "linear, sparse": (
        sparse.csr_array(X),
        sparse.csr_array(NEW),
        Kernel("linear"),
        None,
        lambda A, B: A @ B.T,
    ),
    "linear, more features than items": (X[:3], NEW, Kernel("linear"), None, lambda A, B: A @ B.T),
    "rbf": (X, NEW, Kernel("rbf", 0.3), None, lambda A, B: rbf_kernel(A, B, 0.3)),
    "rbf, twins": (TWINS, NEW, Kernel("rbf", 0.3), None, lambda A, B: rbf_kernel(A, B, 0.3)),
    "poly": (X, NEW, Kernel("poly", 0.5, 2), None, lambda A, B: polynomial_kernel(A, B, 2, 0.5)),
    "callable": (X, NEW, Kernel(own), None, own),
    "reduced rbf": (X, NEW, Kernel("rbf", 0.3), BASIS, lambda A, B: rbf_kernel(A, B, 0.3)),
    "reduced linear": (X, NEW, Kernel("linear"), BASIS, lambda A, B: A @ B.T),
    "precomputed": (X @ X.T, NEW @ X.T, Kernel("precomputed"), None, None),
    "reduced precomputed": (X @ X.T, NEW @ X.T, Kernel("precomputed"), BASIS, None),
}


def gram_of(case):
    """K of the training items and of new items to them, restricted to the span of a basis."""
    items, new, kernel, basis, function = CASES[case]
    if kernel.is_precomputed:
        K, K_new = items, new
    else:
        dense, dense_new = (A.toarray() if sparse.issparse(A) else A for A in (items, new))
        K, K_new = function(dense, dense), function(dense_new, dense)
    if basis is None:
        return K, K_new
    inverse = np.linalg.pinv(K[np.ix_(basis, basis)])
    return (A[:, basis] @ inverse @ K[basis] for A in (K, K_new))


@pytest.mark.parametrize("as_features", [False, True])
@pytest.mark.parametrize("case", CASES)
class TestEverySpace:
    def test_inner_products_are_the_kernel(self, case, as_features):
        items, _, kernel, basis, _ = CASES[case]
        space = build_space(items, kernel, basis, as_features=as_features)
        K, _ = gram_of(case)
        assert_allclose(space.matrix.gram().K, K, atol=1e-9)
        assert isinstance(space.matrix, Features | Gram)
        if as_features:
            assert "features" in space.matrix.offers

    def test_new_items_score_as_the_expansion_says(self, case, as_features):
        """Solve a ridge problem on what solvers see, and compare with kernel ridge regression."""
        items, new, kernel, basis, _ = CASES[case]
        space = build_space(items, kernel, basis, as_features=as_features)
        K, K_new = gram_of(case)
        y, m = RNG.normal(size=(len(K), 2)), len(K)
        a = np.linalg.solve(K + 0.5 * np.eye(m), y)
        solution = a if isinstance(space.matrix, Gram) else np.asarray(space.matrix.F.T @ a)
        model = space.to_model(solution)
        assert_allclose(np.asarray(space.represent(items) @ model), K @ a, atol=1e-7)
        assert_allclose(np.asarray(space.represent(new) @ model), K_new @ a, atol=1e-7)
        everyone = np.arange(m)
        assert_allclose(space.matrix.scores(everyone[:4], everyone, solution), K[:4] @ a, atol=1e-7)

    def test_taken_items_keep_their_distances(self, case, as_features):
        items, _, kernel, basis, _ = CASES[case]
        space = build_space(items, kernel, basis, as_features=as_features)
        K, _ = gram_of(case)
        some, apart = np.array([2, 0]), np.array([1.0, -1.0])
        taken, expected = space.matrix.take(some).gram().K, K[np.ix_(some, some)]
        # Items may be moved to the origin together, which pairs of them do not see.
        assert_allclose(apart @ taken @ apart, apart @ expected @ apart, atol=1e-9)


def test_basis_items_are_marked():
    space = build_space(X, Kernel("rbf", 0.3), BASIS)
    np.testing.assert_array_equal(np.flatnonzero(space.matrix.in_basis), np.sort(BASIS))
    normals, _ = space.matrix.constraints_without(BASIS[:1])
    assert normals.shape[1] == 1
    assert space.matrix.constraints_without(np.array([0]))[0] is None
