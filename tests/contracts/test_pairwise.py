"""Every pairwise kernel is a kernel: what solvers multiply with equals the explicit matrix."""

import numpy as np
import pytest

from rankwise.solvers.closed_pairs import SPECTRA, SUMS
from rankwise.spaces.edges import Edges
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.nodes import Nodes
from rankwise.spaces.pair_function import PairFunction
from rankwise.spaces.pairwise_kernels import PAIRWISE, Grams
from tests import reference_pairwise as plain

SIGNS = {"general": 0, "symmetric": 1, "reciprocal": -1}
FORMS = [
    (name, relation, two_domains)
    for name in PAIRWISE
    for relation in SIGNS
    for two_domains in (False, True)
    if plain.exists(name, relation, two_domains) and not (two_domains and SIGNS[relation])
]


def made(two_domains):
    rng = np.random.default_rng(0)
    A, new = rng.normal(size=(6, 2)), rng.normal(size=(3, 2))
    B = rng.normal(size=(5, 2)) if two_domains else A
    rows = Nodes.build(A, Kernel("rbf", 0.4), "the nodes", recognises=True, as_kernel=True)
    columns = rows
    if two_domains:
        columns = Nodes.build(B, Kernel("rbf", 0.4), "nodes", recognises=True, as_kernel=True)
    picked = np.column_stack([rng.integers(6, size=20), rng.integers(len(B), size=20)])
    edges = Edges(picked[:, 0], picked[:, 1], (6, len(B)))
    given = np.column_stack([edges.rows, edges.columns])
    return rng, (rows, columns), (np.vstack([A, new]), np.vstack([B, new])), edges, given


def test_the_reference_knows_all_members():
    assert tuple(PAIRWISE) == plain.KERNELS
    assert all(kernel in PAIRWISE.values() for kernel in (*SPECTRA, *SUMS))


@pytest.mark.parametrize("name, relation, two_domains", FORMS)
def test_products_and_functions_equal_the_explicit_kernel(name, relation, two_domains):
    rng, nodes, (U, V), edges, given = made(two_domains)
    kernel, sign = PAIRWISE[name], SIGNS[relation]
    w = rng.normal(size=len(edges))
    K, G = (Kernel("rbf", 0.4).matrix(X, X) for X in (U, V))
    known = len(nodes[0]), len(nodes[1])
    R = plain.edge_kernel(name, K, G, given, given, sign, known)
    held = kernel.held(edges, kernel.holder_of(edges, sign), w, sign)
    for dense in (True, False):
        edges.dense = held.edges.dense = dense
        found = kernel.at_edges(held, Grams(kernel, *nodes), [edges, edges])
        np.testing.assert_allclose(found, np.tile(R @ w, 2), atol=1e-12 * np.abs(R @ w).max())
    np.testing.assert_allclose(R, R.T, atol=1e-12)
    assert np.linalg.eigvalsh(R)[0] > -1e-10 * np.linalg.eigvalsh(R)[-1]
    function = PairFunction(*nodes, held.matrix()[:, :, None], kernel)
    pairs = np.argwhere(np.ones((len(U), len(V))))
    expected = plain.edge_kernel(name, K, G, pairs, given, sign, known) @ w
    size = np.abs(expected).max()
    np.testing.assert_allclose(function.scores(U, V).ravel(), expected, atol=1e-12 * size)
    np.testing.assert_allclose(
        function.transposed().scores(V, U)[:, :, 0].T.ravel(), expected, atol=1e-12 * size
    )
    trained = function.at_training_nodes(edges, np.arange(known[0]), np.arange(known[1]))
    np.testing.assert_allclose(trained[edges.order, 0], R @ w, atol=1e-12 * np.abs(R @ w).max())
