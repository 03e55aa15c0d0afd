"""Φ w and Φᵀ g for every form of Φ."""

import numpy as np
from scipy import sparse

from rankwise.numerics import products
from rankwise.numerics.products import Products


def test_products_are_right_and_do_not_depend_on_threads(monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.random(300, 40, density=0.3, random_state=rng, format="csr")
    w, g = rng.standard_normal(40), rng.standard_normal(300)
    monkeypatch.setattr(products, "BLOCK_ENTRIES", 100)
    for form in (X, X.toarray(), X.toarray().astype(np.float32), X.astype(np.float32)):
        results = []
        for threads in ("1", "2", "3"):
            monkeypatch.setenv("RANKWISE_THREADS", threads)
            found = Products(form)
            results.append((found.scores(w), found.pullback(g)))
            np.testing.assert_allclose(results[-1][0], X @ w, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(results[-1][1], X.T @ g, rtol=1e-5, atol=1e-6)
            np.testing.assert_array_equal(results[-1][0], results[0][0])
            np.testing.assert_array_equal(results[-1][1], results[0][1])
