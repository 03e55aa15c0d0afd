import numpy as np
import pytest

from rankwise import ConditionalRanker
from rankwise.spaces.kernels import Kernel
from tests import reference_conditional as reference


@pytest.mark.parametrize("relation, two_domains", reference.CASES)
@pytest.mark.parametrize("objective", reference.OBJECTIVES)
@pytest.mark.parametrize("condition", reference.CONDITIONS)
@pytest.mark.parametrize("kernel, n", [("linear", 2), ("rbf", 3)])
def test_holdouts_equal_refitting(objective, relation, two_domains, condition, kernel, n):
    rng = np.random.default_rng(2)
    A, B, shape = reference.make_nodes(rng, two_domains, n, p=5, new=0)
    K_A, K_B = Kernel(kernel).matrix(A, A), Kernel(kernel).matrix(B, B)
    edges = reference.all_edges(*shape)
    y = rng.normal(size=len(edges))
    parameters = {"objective": objective, "relation": relation, "condition": condition}
    model = ConditionalRanker(0.1, kernel=kernel, **parameters)
    reference.fit(model, A, B, shape, y.reshape(shape))

    def refit(held_out, u, v):
        if relation == "general":
            at_row, at_column = edges[:, 0] == u, edges[:, 1] == v
            rule = {"row": at_row, "column": at_column, "both": at_row | at_column}
            dropped = rule.get(held_out, at_row & at_column)
        else:
            nodes = {"row": [u], "column": [v], "both": [u, v]}[held_out]
            dropped = np.isin(edges, nodes).any(axis=1)
        kept, at = ~dropped, np.array([[u, v]])
        return reference.scores(K_A, K_B, edges[kept], y[kept], 0.1, at=at, **parameters)[0]

    kinds = ("row", "column", "both") + (("edge",) if relation == "general" else ())
    for held_out in kinds:
        found = getattr(model, f"leave_{held_out}_out")()
        expected = np.reshape([refit(held_out, u, v) for u, v in edges], shape)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * abs(expected).max())


def test_a_complete_graph_of_some_nodes_is_refused_with_the_way_out():
    rng = np.random.default_rng(3)
    edges = reference.all_edges(5, 5)
    model = ConditionalRanker().fit(rng.normal(size=(7, 2)), rng.normal(size=25), edges=edges)
    assert model.solver_ == "closed"
    with pytest.raises(ValueError, match=r"complete graph fitted in closed form.*selection"):
        model.leave_row_out()
