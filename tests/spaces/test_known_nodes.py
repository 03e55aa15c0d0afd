import numpy as np
from scipy import sparse

from rankwise.spaces.known_nodes import KnownNodes


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
