import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from rankwise.spaces.kernels import Kernel
from rankwise.spaces.nodes import KnownNodes, Nodes, centre_kernel


@given(st.integers(1, 12), st.integers(1, 6), st.sampled_from(["linear", "rbf"]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_spectrum(p, n, kernel, centred):
    rng = np.random.default_rng(p * 10 + n)
    X, U = rng.normal(size=(p, n)), rng.normal(size=(4, n))
    nodes = Nodes.build(X, Kernel(kernel), "the nodes")
    assert nodes.through_features == (kernel == "linear" and n < p)
    K = Kernel(kernel).matrix(X, X)
    np.testing.assert_allclose(nodes.gram(), K, atol=1e-12)
    spectrum = nodes.spectrum(centred)
    Q, s = spectrum.Q, spectrum.s
    np.testing.assert_allclose(Q.T @ Q, np.eye(len(s)), atol=1e-5)
    C = np.eye(p) - 1 / p if centred else np.eye(p)
    np.testing.assert_allclose(centre_kernel(K) if centred else K, C @ K @ C, atol=1e-12)
    np.testing.assert_allclose((Q * s**2) @ Q.T, C @ K @ C, atol=1e-9)
    new = nodes.represent(U) @ spectrum.to_rows
    np.testing.assert_allclose(new @ (Q * s).T, Kernel(kernel).matrix(U, X) @ C, atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_some_of_the_nodes(kernel):
    X = np.random.default_rng(0).normal(size=(8, 3))
    kept = np.array([5, 1, 6, 2])
    part, whole = (Nodes.build(Z, Kernel(kernel), "the nodes") for Z in (X[kept], X))
    np.testing.assert_allclose(whole.take(kept).rows, part.rows)
    np.testing.assert_allclose(whole.take(kept).represent(X), part.represent(X))


def test_nodes_are_recognised_by_equal_rows():
    X = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [3.0, 1.0, 0.0]])
    U = np.array([[3.0, 1.0, 0.0], [1.0, -0.0, 2.0], [1.0, 1e-16, 2.0], [0.0, -0.0, 0.0]])
    expected = np.array([[0, 0, 1], [1, 0, 0], [0, 0, 0], [0, 1, 0]])
    for of_X in (X, sparse.csr_array(X)):
        known = KnownNodes(of_X)
        for of_U in (U, sparse.csr_array(U)):
            np.testing.assert_array_equal(known.recognise(of_U).toarray(), expected)
    stored_zero = sparse.csr_array(([0.0, 3.0, 1.0], [2, 0, 1], [0, 3]), shape=(1, 3))
    np.testing.assert_array_equal(KnownNodes(X).recognise(stored_zero).toarray(), [[0, 0, 1]])


def test_equal_training_nodes_share():
    X = np.array([[1.0], [2.0], [1.0]])
    found = KnownNodes(X).recognise(np.array([[1.0], [5.0]])).toarray()
    np.testing.assert_array_equal(found, [[0.5, 0.0, 0.5], [0.0, 0.0, 0.0]])
