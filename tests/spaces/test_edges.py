import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.spaces.edges import Edges

shapes = st.tuples(
    st.integers(1, 9), st.integers(1, 7), st.integers(1, 5), st.integers(1, 60), st.integers(0, 999)
)


@given(shapes, st.booleans())
@settings(max_examples=60, deadline=None)
def test_edge_products(shape, dense):
    """Both routes against plain loops, for any multiset of edges."""
    p_a, p_b, d, q, seed = shape
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(p_a, size=q), rng.integers(p_b, size=q)
    edges = Edges(rows, columns, (p_a, p_b))
    edges.dense = dense
    v = rng.normal(size=q)
    V = np.zeros((p_a, p_b))
    for e in range(q):
        V[rows[e], columns[e]] += v[e]
    in_order = v[edges.order]
    B, P, R = (rng.normal(size=(p, d)) for p in (p_b, p_a, p_b))
    np.testing.assert_allclose(edges.matrix(in_order), V, atol=1e-12)
    np.testing.assert_allclose(edges.times(in_order, B), V @ B, atol=1e-12)
    expected = [P[rows[e]] @ R[columns[e]] for e in edges.order]
    np.testing.assert_allclose(edges.sampled(P, R), expected, atol=1e-12)
    centred = [v[e] - v[rows == rows[e]].mean() for e in edges.order]
    np.testing.assert_allclose(edges.centre(in_order), centred, atol=1e-12)
