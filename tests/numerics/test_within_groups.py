"""Weighted squares and products of centred columns, against sums written plainly."""

import numpy as np
import pytest
from scipy import sparse

from rankwise.numerics import within_groups
from rankwise.numerics.within_groups import RowGroups, column_moments


def plain_products(X, weight, codes):
    total = np.zeros((X.shape[1], X.shape[1]))
    for group in np.unique(codes):
        rows, d = X[codes == group], weight[codes == group]
        mean = d @ rows / d.sum() if d.sum() > 0 else 0.0
        total += (rows - mean).T @ (d[:, None] * (rows - mean))
    return total


@pytest.mark.parametrize("block", [20, 300, 500_000])
@pytest.mark.parametrize("n_groups", [1, 2, 40])
def test_every_form_of_the_data_gives_the_plain_sums(monkeypatch, n_groups, block):
    rng = np.random.default_rng(n_groups)
    X = rng.standard_normal((200, 6)) * (rng.random((200, 6)) < 0.6) + [0, 0, 5, 0, 0, 0]
    weight = rng.random(200) * (rng.random(200) < 0.8)
    codes = rng.integers(0, n_groups, 200)
    if n_groups > 1:
        weight[codes == 1] = 0.0
    order = np.argsort(codes, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=n_groups))))
    expected = plain_products(X, weight, codes)
    monkeypatch.setattr(within_groups, "BLOCK_ENTRIES", block)
    for form in (X, sparse.csr_array(X), np.asfortranarray(X), X.astype(np.float32)):
        results = []
        for threads in ("1", "2", "3"):
            monkeypatch.setenv("RANKWISE_THREADS", threads)
            groups = RowGroups(form, order, starts)
            results.append((groups.products(weight), groups.squares(weight)))
            np.testing.assert_allclose(results[-1][0], expected, atol=1e-5)
            np.testing.assert_allclose(results[-1][1], expected.diagonal(), atol=1e-5)
            np.testing.assert_array_equal(results[-1][0], results[0][0])
            np.testing.assert_array_equal(results[-1][1], results[0][1])


def test_moments_of_columns():
    rng = np.random.default_rng(0)
    X, weight = sparse.random(50, 7, density=0.4, random_state=rng, format="csr"), rng.random(50)
    expected = [weight @ X.toarray(), weight @ X.toarray() ** 2]
    np.testing.assert_allclose(column_moments(X, weight), expected)


def test_a_large_offset_costs_no_digits_of_the_products():
    rng = np.random.default_rng(1)
    X, weight = rng.standard_normal((80, 3)), rng.random(80)
    order, starts = np.arange(80), np.array([0, 80])
    expected = RowGroups(X, order, starts).products(weight)
    found = RowGroups(X + 1e9, order, starts).products(weight)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
