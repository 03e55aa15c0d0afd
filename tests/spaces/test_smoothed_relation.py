import numpy as np
import pytest

from rankwise.spaces.kernels import Kernel
from rankwise.spaces.nodes import Nodes
from rankwise.spaces.smoothed_relation import SmoothedRelation

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(7, 2)), RNG.normal(size=(5, 2))
Y = RNG.normal(size=(7, 5, 2))
SEEN = (RNG.uniform(size=Y.shape) < 0.7).astype(float)


@pytest.mark.parametrize("shares", [(1, 0, 0, 0), (0.1, 0.2, 0.3, 0.4)])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_weighted_means_written_plainly(shares, kernel):
    sides = [Nodes.build(X, Kernel(kernel), "nodes") for X in (A, B)]
    function = SmoothedRelation(*sides, Y * SEEN, SEEN, lambda K, own: np.maximum(K, 0), shares)
    U, V = RNG.normal(size=(3, 2)), RNG.normal(size=(4, 2))
    left, right = (np.maximum(Kernel(kernel).matrix(N, X), 0) for N, X in ((U, A), (V, B)))
    expected = np.empty((3, 4, 2))
    for u in range(3):
        for v in range(4):
            for k in range(2):
                y, seen = Y[..., k], SEEN[..., k]
                total = 0.0
                ones = np.ones(7), np.ones(5)
                for share, (l, r) in zip(
                    shares,
                    ((left[u], right[v]), (left[u], ones[1]), (ones[0], right[v]), ones),
                ):
                    w = np.outer(l, r) * seen
                    mean = (w * y).sum() / w.sum() if w.sum() > 0 else y[seen > 0].mean()
                    total += share * mean
                expected[u, v, k] = total
    np.testing.assert_allclose(function.scores(U, V), expected, atol=1e-12)
    edges = np.array([[2, 3], [0, 0], [2, 1], [2, 3]])
    np.testing.assert_allclose(function.at_edges(U, V, edges), expected[tuple(edges.T)], atol=1e-12)
    np.testing.assert_allclose(
        function.transposed().scores(V, U), np.swapaxes(expected, 0, 1), atol=1e-12
    )
    index, scores = (found[0] for found in function.best(U[:1], V, 2))
    np.testing.assert_allclose(scores, -np.sort(-expected[0], axis=0)[:2], atol=1e-12)
    np.testing.assert_allclose(np.take_along_axis(expected[0], index, axis=0), scores, atol=1e-12)
