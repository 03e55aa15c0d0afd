"""Scaling of items against scikit-learn and plain formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from rankwise.learners.item_scaler import ItemScaler
from tests.cli_files import made_items


def test_standard_scaling_is_scikit_learns():
    X, _, _ = made_items()
    X[:, 2] = 7.0
    np.testing.assert_allclose(
        ItemScaler().fit_transform(X), StandardScaler().fit_transform(X), atol=1e-12
    )


@given(st.integers(0, 10**6), st.booleans())
def test_scaling_by_query_is_scaling_every_query_alone(seed, is_sparse):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 30))
    X = rng.integers(-2, 3, size=(m, 3)).astype(float)
    qid = rng.integers(0, 5, size=m)
    given_X = sparse.csr_matrix(X) if is_sparse else X
    found = ItemScaler("query").fit(given_X).transform(given_X, qid)
    found = found.toarray() if is_sparse else found
    for label in np.unique(qid):
        part = X[qid == label]
        deviation = part.std(axis=0)
        deviation[deviation == 0] = 1.0
        centred = part if is_sparse else part - part.mean(axis=0)
        np.testing.assert_allclose(found[qid == label], centred / deviation, atol=1e-9)


def test_missing_values_take_the_training_median():
    X = np.array([[1.0, np.nan], [3.0, 4.0], [np.nan, 8.0], [5.0, np.nan]])
    found = ItemScaler("none", missing="median").fit_transform(X)
    np.testing.assert_array_equal(found, [[1, 6], [3, 4], [3, 8], [5, 6]])
    with pytest.raises(ValueError, match="row 0, column 1"):
        ItemScaler("none").fit(X)


def test_scaling_by_query_needs_the_queries():
    X, _, qid = made_items()
    scaler = ItemScaler("query").fit(X, qid=qid)
    with pytest.raises(ValueError, match="qid is required"):
        scaler.transform(X)
    one_query = ItemScaler("query").fit(X)
    np.testing.assert_allclose(one_query.transform(X), ItemScaler().fit_transform(X))
    assert not scaler.transform(X[:1]).any()


def test_columns_are_matched_by_name():
    pd = pytest.importorskip("pandas")
    X, _, _ = made_items()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    scaler = ItemScaler().fit(frame)
    np.testing.assert_array_equal(
        scaler.transform(frame.assign(d=1.0)[["d", "c", "a", "b"]]), scaler.transform(frame)
    )


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_squares_of_features_need_not_be_numbers(scale, is_sparse):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)) + np.array([0.0, 3.0, 0.0])
    X[:, 2] = np.where(rng.random(30) < 0.5, 0.0, X[:, 2])
    form = sparse.csr_matrix if is_sparse else np.asarray
    found, expected = (ItemScaler().fit_transform(form(X * c)) for c in (scale, 1.0))
    if is_sparse:
        found, expected = found.toarray(), expected.toarray()
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_sparse_features_far_from_zero_keep_their_deviation():
    X = 1e9 + np.random.default_rng(0).normal(size=(30, 1))
    found = ItemScaler().fit(sparse.csr_matrix(X))
    assert found.deviation_[0] == pytest.approx(X.std(), rel=1e-6)
