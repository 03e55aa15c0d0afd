from itertools import product

import numpy as np
import pytest

from rankwise import ConditionalRanker
from tests import reference_conditional as reference


def test_features_route_is_sound_for_tiny_alpha():
    """Three features as in rock-paper-scissors: against least squares on explicit edge features."""
    rng = np.random.default_rng(4)
    X = np.exp(0.1 * rng.normal(size=(40, 3)))
    X /= X.sum(axis=1, keepdims=True)
    edges = rng.integers(40, size=(300, 2))
    y = rng.choice([-1.0, 0.0, 1.0], size=300)
    F = (X[edges[:, 0], :, None] * X[edges[:, 1], None, :]).reshape(300, 9)
    L = reference.loss_matrix(edges, "ranking", "row")
    expected = np.linalg.lstsq(L @ F, L @ y, rcond=1e-10)[0].reshape(3, 3)
    for alpha in (0.0, 2.0**-30):
        model = ConditionalRanker(alpha).fit(X, y, edges=edges)
        np.testing.assert_allclose(model.coef_, expected, rtol=0, atol=1e-5 * abs(expected).max())
    Y = rng.normal(size=(40, 40))
    F = np.einsum("ia,jb->ijab", X, X).reshape(1600, 9)
    expected = np.linalg.lstsq(F, Y.ravel(), rcond=None)[0].reshape(3, 3)
    model = ConditionalRanker(2.0**-40, objective="regression").fit(X, Y)
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-7)


@pytest.mark.parametrize("relation, sign", [("symmetric", 1), ("reciprocal", -1)])
def test_mirrored_ranking_for_tiny_alpha(relation, sign):
    """Differences within a row keep all digits, although the features span the constant."""
    rng = np.random.default_rng(5)
    X = rng.dirichlet([5, 5, 5], size=20)
    Y = rng.normal(size=(20, 20))
    F = np.einsum("ia,jb->ijab", X, X)
    F = (F + sign * F.swapaxes(2, 3)) / 2
    centred = (F - F.mean(axis=1, keepdims=True)).reshape(400, 9)
    target = (Y - Y.mean(axis=1, keepdims=True)).ravel()
    W = np.linalg.lstsq(centred, target, rcond=1e-10)[0]
    with pytest.warns(UserWarning, match=f"not {relation}"):
        found = ConditionalRanker(2.0**-40, relation=relation).fit(X, Y).predict(X)
    found -= found.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(found.ravel(), centred @ W, rtol=0, atol=1e-7)


def test_singular_kernels_and_constant_relations():
    rng = np.random.default_rng(6)
    X = np.repeat(rng.normal(size=(4, 2)), 2, axis=0)
    for kernel, objective in product(("rbf", "linear"), reference.OBJECTIVES):
        model = ConditionalRanker(1e-3, kernel=kernel, objective=objective)
        assert np.isfinite(model.fit(X, rng.normal(size=(8, 8))).predict(X)).all()
        constant = model.fit(X, np.ones((8, 8))).predict(X)
        if objective == "ranking":
            np.testing.assert_allclose(constant, 0, atol=1e-12)
        zero = model.fit(np.zeros((8, 2)), np.ones((8, 8))).predict(X)
        assert np.isfinite(zero).all()


def test_edges_of_a_complete_subgraph_are_solved_in_closed_form():
    rng = np.random.default_rng(7)
    A, B = rng.normal(size=(8, 3)), rng.normal(size=(7, 3))
    edges = np.array([(u, v) for u in (1, 4, 5, 6) for v in (0, 2, 3, 6)])[rng.permutation(16)]
    y = rng.normal(size=16)
    for kernel in ("linear", "rbf"):
        model = ConditionalRanker(0.1, kernel=kernel).fit((A, B), y, edges=edges)
        assert model.solver_ == "closed"
        other = ConditionalRanker(0.1, kernel=kernel, solver="cg", tol=1e-10)
        expected = other.fit((A, B), y, edges=edges).predict(A, B)
        np.testing.assert_allclose(model.predict(A, B), expected, atol=1e-8)
