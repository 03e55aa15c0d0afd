"""Interactions of embeddings: the features written plainly, and what a linear model of them is."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import rankwise as rw
from rankwise.features import Interactions

RNG = np.random.default_rng(0)
U, V, EXTRA = RNG.normal(size=(60, 4)), RNG.normal(size=(60, 4)), RNG.normal(size=(60, 2))
X = np.hstack([U, V, EXTRA])
QID = np.repeat(np.arange(6), 10)
Y = np.einsum("ia,ab,ib->i", U, RNG.normal(size=(4, 4)), V) + 0.1 * RNG.normal(size=60)


def test_features_written_plainly():
    every = Interactions(4, include=("cosine", "product", "outer"), rank=2).fit(X)
    found = every.transform(X)
    u, v = (one / np.linalg.norm(one, axis=1, keepdims=True) for one in (U, V))
    np.testing.assert_allclose(found[:, 0], (u * v).sum(axis=1))
    np.testing.assert_allclose(found[:, 1:5], u * v)
    P, Q = every.query_directions_, every.document_directions_
    np.testing.assert_allclose(P @ P.T, np.eye(2), atol=1e-12)
    values = np.linalg.svd(u)[1]
    assert np.linalg.norm(u @ P.T) ** 2 == pytest.approx((values[:2] ** 2).sum())
    outer = [np.outer(P @ a, Q @ b).ravel() for a, b in zip(u, v)]
    np.testing.assert_allclose(found[:, 5:9], outer)
    np.testing.assert_array_equal(found[:, 9:], EXTRA)
    names = list(every.get_feature_names_out())
    assert names[:2] == ["cosine", "product 0"] and names[5:] == [
        *("outer 0 0", "outer 0 1", "outer 1 0", "outer 1 1", "x8", "x9")
    ]
    plain = Interactions(4, include=("product",), normalize=False).fit_transform(X)
    np.testing.assert_allclose(plain[:, :4], U * V)


def test_the_whole_rank_is_the_whole_outer_product():
    """Orthogonal directions turn the outer product, which a ridge penalty cannot see."""
    halves = np.hstack([U, V])
    map_ = Interactions(include=("outer",), rank=4, normalize=False)
    model = make_pipeline(map_, rw.RankRLS(2.0))
    model.fit(halves, Y, rankrls__qid=QID)
    outer = np.einsum("ia,ib->iab", U, V).reshape(60, 16)
    expected = rw.RankRLS(2.0).fit(outer, Y, qid=QID).predict(outer)
    np.testing.assert_allclose(model.predict(halves), expected, rtol=1e-8)
    wider = Interactions(include=("outer",), rank=99).fit(halves)
    assert wider.transform(halves).shape == (60, 16)


def test_embeddings_of_different_length_and_scale():
    wide = np.hstack([U, V[:, :3]])
    assert Interactions((4, 3), include=("outer",), rank=3).fit_transform(wide).shape == (60, 9)
    with pytest.raises(ValueError, match="4 and 3 dimensions"):
        Interactions((4, 3)).fit(wide)
    for scale in (1e-150, 1e150):
        every = Interactions(4, include=("cosine", "product", "outer"), rank=2)
        expected = every.fit_transform(X[:, :8])
        np.testing.assert_allclose(every.fit_transform(scale * X[:, :8]), expected, rtol=1e-9)
    zero = X[:, :8].copy()
    zero[0, :4] = 0
    assert (Interactions().fit_transform(zero)[0] == 0).all()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "no two halves"),
        ({"dimensions": 5}, "needs 10 columns, but X has 9"),
        ({"dimensions": 0}, "positive integer"),
        ({"dimensions": (1, 2, 3)}, "positive integer"),
        ({"dimensions": 4, "include": "cosine"}, "include must be some of"),
        ({"dimensions": 4, "include": ("sum",)}, "include must be some of"),
        ({"dimensions": 4, "include": ()}, "include must be some of"),
        ({"dimensions": 4, "include": ("cosine", "cosine")}, "twice"),
        ({"dimensions": 4, "include": ("outer",), "rank": 0}, "rank"),
    ],
)
def test_arguments_are_checked(options, reason):
    with pytest.raises(ValueError, match=reason):
        Interactions(**options).fit(X[:, :9])
    with pytest.raises(ValueError, match="X"):
        Interactions().fit([[1.0, np.nan]])


def test_saved_with_its_pipeline(tmp_path):
    model = make_pipeline(Interactions(4, include=("cosine", "outer"), rank=3), rw.RankRLS())
    model.fit(X, Y)
    rw.save(model, tmp_path / "m.rw")
    np.testing.assert_array_equal(rw.load(tmp_path / "m.rw").predict(X), model.predict(X))


def test_the_order_of_documents_needs_an_interaction():
    """A linear model of both embeddings ranks documents alike for all queries."""
    data = rw.datasets.make_hybrid_search(60, 20, 6, noise=0.3, random_state=0)
    both = np.hstack([data.query, data.document])
    plain = rw.RankRLSCV().fit(both, data.y, qid=data.qid).best_score_
    crossed = Interactions().fit_transform(both)
    learnt = rw.RankRLSCV().fit(crossed, data.y, qid=data.qid).best_score_
    assert plain < 0.6 < 0.65 < learnt


def test_scikit_learns_checks():
    """All checks but one: a single column cannot be two embeddings, and the error says so."""
    check_estimator(
        Interactions((1, 1), include=("outer",)),
        expected_failed_checks={"check_fit2d_1feature": "needs two columns"},
        on_skip=None,
    )
