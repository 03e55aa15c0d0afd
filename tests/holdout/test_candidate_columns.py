import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rankwise.holdout.candidate_columns import CandidateColumns

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 7)) * (RNG.uniform(size=(20, 7)) < 0.2) * 10.0 ** np.arange(-3, 4)
ORDER = RNG.permutation(20)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_columns_keep_their_differences(form):
    columns = CandidateColumns(form(X), ORDER)
    rows = columns.rows(0, 7) * 2.0**columns.exponent
    assert_allclose(rows - rows[0], X[ORDER] - X[ORDER][0], atol=1e-12)
    assert (np.abs(columns.rows(0, 7)).max(axis=0) <= 1).all()
    assert_array_equal(columns.chosen(np.array([5, 2])), columns.rows(0, 7)[:, [5, 2]])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_products(form):
    columns = CandidateColumns(form(X), ORDER)
    rows, V = columns.rows(1, 6), RNG.normal(size=(20, 3))
    assert_allclose(columns.dot(1, 6, V), rows.T @ V)
    chosen, which = np.array([2, 4, 1]), np.array([0, 2, 2])
    assert_allclose(
        columns.pair_dots(chosen, V, which), (columns.rows(0, 7)[:, chosen] * V[:, which]).sum(0)
    )
    starts = np.array([0, 4, 4, 20])
    total, blocks = columns.block_dots(1, 6, V[:, 0], V[:, 1], starts)
    assert_allclose(total, rows.T @ V[:, 0])
    expected = [(rows[a:b].T @ V[a:b, 1]) for a, b in ((0, 4), (4, 4), (4, 20))]
    assert_allclose(blocks, np.transpose(expected))


def test_extreme_scales_offsets_and_constants():
    given = np.column_stack([np.full(20, 0.1), RNG.normal(size=20) * 1e-300, RNG.normal(size=20)])
    given[:, 2] = given[:, 2] * 1e300
    columns = CandidateColumns(given, np.arange(20))
    assert not columns.rows(0, 1).any()
    assert (np.abs(columns.rows(1, 3)).max(axis=0) >= 0.4).all()
    spread = given[:, 1] * 1e300
    offset = CandidateColumns(spread[:, None] + 1e9, np.arange(20)).rows(0, 1)[:, 0]
    assert np.corrcoef(offset, spread)[0, 1] > 1 - 1e-12
