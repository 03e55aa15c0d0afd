"""Φ w and Φᵀ g for every form of Φ."""

import threading
import time

import numpy as np
import pytest
from scipy import sparse

from rankwise.numerics import products
from rankwise.numerics.products import Products, add_squares


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


@pytest.mark.parametrize("without_lock", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (3, 7), (300, 40), (0, 4)])
@pytest.mark.parametrize("factor", [1.0, 0.25])
def test_the_lower_triangle_gains_the_squares(shape, factor, without_lock, monkeypatch):
    if not without_lock:
        monkeypatch.setattr(products, "_dsyrk_without_lock", lambda: None)
    rng = np.random.default_rng(0)
    A, n = rng.normal(size=shape), shape[1]
    start = rng.normal(size=(n, n))
    G = np.array(start, order="F")
    add_squares(G, A, factor)
    np.testing.assert_allclose(np.tril(G), np.tril(start + factor * A.T @ A), atol=1e-12)
    add_squares(G, A[::-1], factor)  # rows of another order, whose steps are negative
    np.testing.assert_allclose(np.tril(G), np.tril(start + 2 * factor * A.T @ A), atol=1e-12)


def test_other_threads_work_meanwhile():
    if products._dsyrk_without_lock() is None:
        pytest.skip("SciPy's BLAS takes integers of another size here")
    A, G = np.ones((2000, 1500)), np.zeros((1500, 1500), order="F")
    stopped, seen = threading.Event(), []

    def watch() -> None:
        while not stopped.is_set():
            seen.append(time.perf_counter())
            time.sleep(1e-4)

    watcher = threading.Thread(target=watch)
    watcher.start()
    begin = time.perf_counter()
    for _ in range(5):
        add_squares(G, A)
    end = time.perf_counter()
    stopped.set()
    watcher.join()
    assert sum(begin < moment < end for moment in seen) > 5
