import numpy as np
import pytest

from rankwise import ConditionalRanker
from rankwise.holdout.mirrored_nodes import MirroredNodes, Spectral
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.nodes import Nodes

P = 11


@pytest.mark.filterwarnings("ignore:Y is not")
@pytest.mark.parametrize("relation, sign", [("symmetric", 1), ("reciprocal", -1)])
@pytest.mark.parametrize("objective", ["regression", "ranking"])
@pytest.mark.parametrize("kernel, n", [("linear", 3), ("linear", 20), ("rbf", 3)])
@pytest.mark.parametrize("alpha", [1e-9, 1e-3, 0.1, 10.0, 1e6])
def test_rows_and_edges_equal_refits(relation, sign, objective, kernel, n, alpha):
    rng = np.random.default_rng(0)
    A, Y = rng.normal(size=(P, n)), rng.normal(size=(P, P))
    options = {"kernel": kernel, "relation": relation, "objective": objective}
    model = ConditionalRanker(alpha, **options).fit(A, Y)
    rows, both = model.leave_row_out(), model.leave_both_out()
    for u in range(0, P, 4):
        kept = np.delete(np.arange(P), u)
        part = ConditionalRanker(alpha, **options).fit(A[kept], Y[np.ix_(kept, kept)])
        expected = part.predict(A[[u]], A)[0]
        np.testing.assert_allclose(rows[u], expected, rtol=0, atol=1e-8 * abs(expected).max())
        for v in range(0, P, 3):
            kept = np.delete(np.arange(P), [u, v])
            part = ConditionalRanker(alpha, **options).fit(A[kept], Y[np.ix_(kept, kept)])
            expected = part.predict(A[[u]], A[[v]])[0, 0]
            assert both[u, v] == pytest.approx(expected, rel=1e-7, abs=1e-8 * abs(both).max())
    np.testing.assert_allclose(both, sign * both.T, atol=1e-12 * abs(both).max())
    np.testing.assert_allclose(model.leave_column_out(), sign * rows.T)


@pytest.mark.parametrize("ranking", [False, True])
def test_some_nodes_are_those_of_all_nodes(ranking):
    rng = np.random.default_rng(1)
    A, Y = rng.normal(size=(P, 4)), rng.normal(size=(P, P))
    nodes = Nodes.build(A, Kernel("rbf"), "nodes")
    graph = MirroredNodes(Spectral.of(nodes), Y, 1, ranking)
    every = graph.rows(0.5, graph.without(0.5, np.arange(P)))
    some = graph.rows(0.5, graph.without(0.5, np.array([7, 2])))
    np.testing.assert_allclose(some, every[[7, 2]], atol=1e-11)


def test_a_tiny_alpha_of_the_ranking_loss_is_left_to_refits():
    rng = np.random.default_rng(2)
    nodes = Nodes.build(rng.normal(size=(P, 4)), Kernel("rbf"), "nodes")
    graph = MirroredNodes(Spectral.of(nodes), rng.normal(size=(P, P)), 1, True)
    assert graph.without(1e-12, np.arange(P)) is None
