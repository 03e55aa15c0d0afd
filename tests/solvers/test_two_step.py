import numpy as np
import pytest

from rankwise.solvers.two_step import RidgeSide
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.nodes import Nodes

RNG = np.random.default_rng(0)
KINDS = {"features": ("linear", 3), "wide": ("linear", 9), "rbf": ("rbf", 3)}


def side_and_kernel(kind, lonely=False):
    kernel, n = KINDS[kind]
    X = RNG.normal(size=(7, n))
    if lonely:
        X[:, -1] = 0.0
        X[2] = 0.0
        X[2, -1] = 3.0
    return RidgeSide(Nodes.build(X, Kernel(kernel), "nodes")), Kernel(kernel).matrix(X, X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("alpha", [1e-6, 0.1, 1e4])
def test_matrices_of_one_side(kind, alpha):
    side, K = side_and_kernel(kind)
    Y = RNG.normal(size=(7, 4))
    H = K @ np.linalg.inv(K + alpha * np.eye(7))
    np.testing.assert_allclose(side.fitted(alpha, Y), H @ Y, atol=1e-8)
    np.testing.assert_allclose(side.residuals(alpha, Y), Y - H @ Y, atol=1e-8)
    np.testing.assert_allclose(side.hat(alpha), H, atol=1e-8)
    np.testing.assert_allclose(side.residual_maker(alpha), np.eye(7) - H, atol=1e-8)
    np.testing.assert_allclose(side.free(alpha), 1 - np.diag(H), atol=1e-8)
    weights = side.smoother_without([2, 5], alpha)
    kept = [0, 1, 3, 4, 6]
    k = np.linalg.solve(K[np.ix_(kept, kept)] + alpha * np.eye(5), K[np.ix_(kept, [2, 5])]).T
    np.testing.assert_allclose(weights[:, kept], k, atol=1e-7)
    assert not weights[:, [2, 5]].any()


@pytest.mark.parametrize("alpha", [1e-18, 1e-12, 1e-3])
def test_a_node_that_is_alone_is_predicted_as_zero_without_its_label(alpha):
    side, _ = side_and_kernel("features", lonely=True)
    Y = RNG.normal(size=(7, 4))
    np.testing.assert_allclose(side.left_out(alpha, Y)[2], 0.0, atol=1e-12)
    assert side.free(alpha)[2] == pytest.approx(alpha / (alpha + 9.0), rel=1e-9)
    R = side.residual_maker(alpha)
    np.testing.assert_allclose(R, R.T, atol=1e-12)


def test_the_scale_is_the_mean_diagonal_as_a_power_of_two():
    X = RNG.normal(size=(50, 4))
    side = RidgeSide(Nodes.build(X, Kernel("linear"), "nodes"))
    assert 0.5 <= side.scale / np.mean((X**2).sum(axis=1)) <= 2
    assert np.log2(side.scale) == np.round(np.log2(side.scale))
    nothing = RidgeSide(Nodes.build(np.zeros((5, 2)), Kernel("linear"), "nodes"))
    assert nothing.scale == 1.0
    assert not nothing.fitted(1.0, np.ones((5, 2))).any()
