"""Sums over blocks of rows: long queries keep their digits, and sums show what is not finite."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise import RLS, Preferences, RankRLS
from rankwise.losses import gram_sums
from tests.problems import quadratic_of, scored

RNG = np.random.default_rng(4)


@pytest.mark.parametrize("ties", ["keep", "drop"])
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("order", ["C", "F"])
def test_long_queries_far_from_the_origin(ties, offset, order):
    """Rows are shifted by a guess of their mean, so that a large offset costs no digits."""
    m = 5000
    X = RNG.normal(size=(m, 3))
    y, qid = RNG.integers(0, 4, m).astype(float), (np.arange(m) > 4000).astype(int)
    weight = RNG.uniform(0.5, 2.0, m)
    quadratic = quadratic_of(scored(y, qid, weight), ties=ties)
    given = np.asarray(X + offset, order=order)
    gram, moments = quadratic.laplacian.gram(given, quadratic.target)
    expected = X.T @ quadratic.laplacian.apply(X)
    assert_allclose(gram, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
    b = X.T @ quadratic.target.b
    assert_allclose(moments, b, atol=1e-8 * np.abs(b).max())


def test_threads_change_nothing(monkeypatch):
    X, y = RNG.normal(size=(9000, 5)), RNG.normal(size=9000)
    quadratic = quadratic_of(scored(y, np.arange(9000) // 4000))
    monkeypatch.setenv("RANKWISE_THREADS", "1")
    one = quadratic.laplacian.gram(X, quadratic.target)
    monkeypatch.setenv("RANKWISE_THREADS", "3")
    for single, several in zip(one, quadratic.laplacian.gram(X, quadratic.target)):
        assert (single == several).all()


def test_blocks_hold_every_item_once():
    starts = np.cumsum([0, 1, 900, 3, 3, 300, 2, 0, 5])
    blocks = list(gram_sums._blocks(starts, 256))
    covered = np.concatenate([np.arange(block.start, block.stop) for block in blocks])
    assert covered.tolist() == list(range(starts[-1]))
    assert max(block.stop - block.start for block in blocks) <= 256


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(
    ("row", "options"),
    [
        (3, {}),
        (5, {"sample_weight": np.r_[np.ones(5), 0.0, np.ones(14)]}),
        (0, {"qid": np.r_[0, np.ones(19)]}),
        (3, {"preferences": Preferences([0, 1], [1, 2])}),
    ],
    ids=["plain", "weight 0", "query of one item", "item without preferences"],
)
@pytest.mark.parametrize("n", [4, 30])
@pytest.mark.parametrize("solver", ["auto", "spectral", "cholesky", "cg"])
def test_values_that_are_not_finite_are_named(value, row, options, n, solver):
    """Nothing looks at X beforehand where its sums tell; the error is the same."""
    X, y = RNG.normal(size=(20, n)), RNG.normal(size=20)
    X[row, 2] = value
    y = None if "preferences" in options else y
    with pytest.raises(ValueError, match=f"X contains (NaN|infinity) .*row {row}, column 2"):
        RankRLS(solver=solver).fit(X, y, **options)
    if not options:
        with pytest.raises(ValueError, match=f"row {row}, column 2"):
            RLS(solver=solver).fit(X, y)
        with pytest.raises(ValueError, match=f"row {row}, column 2"):
            RankRLS(kernel="rbf", basis=[1, 2]).fit(X, y)
