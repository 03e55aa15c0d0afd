"""Streams of RLS and RankRLS against refits of all that is there."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import rankwise
from rankwise import RLS, Preferences, RankRLS
from rankwise.solvers import updated_inverse

RNG = np.random.default_rng(0)
M = 48
X = RNG.normal(size=(M, 5))
Y = np.column_stack([X @ RNG.normal(size=5) + 0.2 * RNG.normal(size=M), RNG.normal(size=M)])
QID, WEIGHT = np.repeat(np.arange(12), 4), RNG.uniform(0.5, 2.0, size=M)
RBF = {"kernel": "rbf", "gamma": 0.3, "basis": [0, 3, 7, 9]}
OPTIONS = {"linear": {}, "rbf": RBF, "linear basis": {"basis": [1, 2, 4]}}
PARTS = [np.arange(16), np.arange(16, 20), np.arange(20, M)]


@pytest.fixture(autouse=True, params=[2, 500], ids=["updated", "factorised"])
def updates_of_few_features(request, monkeypatch):
    monkeypatch.setattr(updated_inverse, "UPDATED_FROM", request.param)


def told(items, y, weighted):
    given = {"qid": QID[items]}
    return (X[items], y[items]), given | ({"sample_weight": WEIGHT[items]} if weighted else {})


def refit(make, items, y, weighted, **options):
    data, labels = told(items, y, weighted)
    return make(**options).fit(*data, **labels).predict(X)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("begin", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    "make, y", [(RLS, Y), (RankRLS, Y), (RankRLS, Y[:, 0])], ids=["RLS", "outputs", "RankRLS"]
)
def test_items_come_and_go(make, y, begin, weighted, options):
    model = make(**OPTIONS[options])
    for number, items in enumerate(PARTS):
        data, labels = told(items, y, weighted)
        getattr(model, begin if number == 0 else "partial_fit")(*data, **labels)
    expected = refit(make, np.arange(M), y, weighted, **OPTIONS[options])
    assert_allclose(model.predict(X), expected, rtol=1e-8, atol=1e-10)
    data, labels = told(PARTS[1], y, weighted)
    staying = np.delete(np.arange(M), PARTS[1])
    for _ in range(3):
        model.remove_items(*data, **labels)
        expected = refit(make, staying, y, weighted, **OPTIONS[options])
        assert_allclose(model.predict(X), expected, rtol=1e-8, atol=1e-10)
        model.partial_fit(*data, **labels)


@pytest.mark.parametrize("loss", ["unit", "relative"])
def test_other_losses_and_sparse_items(loss):
    y = np.round(Y)
    model = RankRLS(loss=loss).partial_fit(sparse.csr_array(X[:24]), y[:24], qid=QID[:24])
    model.partial_fit(sparse.csr_array(X[24:]), y[24:], qid=QID[24:])
    model.remove_items(X[:4], y[:4], qid=QID[:4])
    expected = RankRLS(loss=loss).fit(X[4:], y[4:], qid=QID[4:])
    assert_allclose(model.coef_, expected.coef_, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("make", [RLS, RankRLS])
def test_basis_items_come_and_go(make):
    model = make(**RBF).fit(X, Y, qid=QID)
    changes = [("add_basis", [20, 30, 41]), ("remove_basis", 3), ("remove_basis", [20, 0])]
    for name, index in [*changes, ("add_basis", 3)]:
        getattr(model, name)(index)
        basis = model.basis_index_
        expected = make(**{**RBF, "basis": basis}).fit(X, Y, qid=QID)
        assert_allclose(model.dual_coef_, expected.dual_coef_, rtol=1e-6)
        assert_allclose(model.predict(X), expected.predict(X), rtol=1e-8, atol=1e-10)
        assert_allclose(model.leave_query_out(), expected.leave_query_out(), rtol=1e-7, atol=1e-9)
    assert model.basis_index_.tolist() == [7, 9, 30, 41, 3]
    model.partial_fit(X[:4], Y[:4], qid=[99] * 4)
    more = np.r_[np.arange(M), np.arange(4)]
    expected = make(**{**RBF, "basis": basis}).fit(X[more], Y[more], qid=[*QID, *[99] * 4])
    assert_allclose(model.predict(X), expected.predict(X), rtol=1e-8, atol=1e-10)


def test_a_stream_loses_basis_items_and_goes_on():
    model = RankRLS(**RBF).partial_fit(X[:16], Y[:16], qid=QID[:16])
    model.remove_basis(7).partial_fit(X[16:], Y[16:], qid=QID[16:])
    expected = RankRLS(**{**RBF, "basis": [0, 3, 9]}).fit(X, Y, qid=QID)
    assert_allclose(model.predict(X), expected.predict(X), rtol=1e-8, atol=1e-10)
    with pytest.raises(ValueError, match="holds no training items"):
        model.add_basis(5)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("make", [RLS, RankRLS])
def test_streams_go_on_after_a_file_and_after_a_pickle(make, options, tmp_path):
    model = make(**OPTIONS[options]).partial_fit(X[:16], Y[:16], qid=QID[:16])
    model.partial_fit(X[16:20], Y[16:20], qid=QID[16:20])
    rankwise.save(model, tmp_path / "model.rw")
    expected = make(**OPTIONS[options]).fit(X, Y, qid=QID).predict(X)
    for again in (rankwise.load(tmp_path / "model.rw"), pickle.loads(pickle.dumps(model))):
        again.partial_fit(X[20:], Y[20:], qid=QID[20:])
        assert_allclose(again.predict(X), expected, rtol=1e-8, atol=1e-10)


def test_alpha_may_change_and_nothing_else():
    model = RLS().partial_fit(X[:20], Y[:20]).set_params(alpha=7.0)
    model.partial_fit(X[20:22], Y[20:22])
    assert_allclose(model.coef_, RLS(7.0).fit(X[:22], Y[:22]).coef_, rtol=1e-9)
    stream = RankRLS(**RBF).partial_fit(X[:20], Y[:20])
    with pytest.raises(ValueError, match="gamma must not change"):
        stream.set_params(gamma=0.5).partial_fit(X[20:], Y[20:])


def test_refusals():
    model = RankRLS().fit(X, Y[:, 0], qid=QID)
    with pytest.raises(ValueError, match="'3' was seen before"):
        model.partial_fit(X[:2], Y[:2, 0], qid=[3, 3])
    with pytest.raises(ValueError, match="'77' was never learnt"):
        model.remove_items(X[:2], Y[:2, 0], qid=[77, 77])
    with pytest.raises(ValueError, match="cannot have been learnt"):
        RLS().fit(X, Y).remove_items(100 * X[:2], Y[:2])
    with pytest.raises(ValueError, match="keep the shape"):
        model.partial_fit(X[:2], Y[:2], qid=[88, 88])
    for name in ("partial_fit", "remove_items", "add_basis"):
        assert not hasattr(RankRLS(kernel="rbf"), name)
        assert not hasattr(RLS(kernel="precomputed", basis=3), name)
    assert not hasattr(RLS(), "add_basis")
    with_basis = RLS(**RBF).fit(X, Y)
    for wrong, reason in ((3, "already"), (99, "not a row"), ([1, 1], "twice")):
        with pytest.raises(ValueError, match=reason):
            with_basis.add_basis(wrong)
    with pytest.raises(ValueError, match="is no basis item"):
        with_basis.remove_basis(1)
    with pytest.raises(ValueError, match="a model needs one"):
        with_basis.remove_basis(RBF["basis"])
    before = with_basis.predict(X)
    twin = np.vstack([X, X[3:4]])
    other = RLS(**RBF).fit(twin, np.vstack([Y, Y[3:4]]))
    with pytest.raises(ValueError, match="adds nothing"):
        other.add_basis([5, M])
    assert_allclose(other.predict(X), RLS(**RBF).fit(twin, np.vstack([Y, Y[3:4]])).predict(X))
    assert_allclose(with_basis.predict(X), before)
    preferences = RankRLS().fit(X, preferences=Preferences([0, 1], [2, 3]))
    with pytest.raises(ValueError, match="not from explicit preferences"):
        preferences.partial_fit(X, Y[:, 0], qid=QID)


def test_everything_may_leave():
    model = RLS().partial_fit(X, Y).remove_items(X, Y)
    assert_allclose(model.coef_, 0, atol=1e-12)
