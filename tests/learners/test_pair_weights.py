"""RankSVM's weighted mean of losses, against all pairs written out and a general optimiser."""

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV, GroupKFold

import rankwise
from rankwise import MPRank, Preferences, RankRLS, RankRLSCV, RankSVM, RankSVMCV, metrics
from tests import reference_svm as reference

M, N, ALPHA = 14, 3, 0.05
RNG = np.random.default_rng(3)
X = RNG.normal(size=(M, N))
Y = np.round(X[:, 0] + 0.7 * RNG.normal(size=M))
QID = RNG.permutation(np.repeat(list("abbc"), [2, 4, 3, 5]))
WEIGHT = RNG.choice([0.0, 0.5, 1.0, 3.0], M)
POWER = {"hinge": 1, "squared_hinge": 2}
LOSSES, QUERY_WEIGHTS = list(POWER), ["pairs", "size", "queries"]
KERNELS = {
    "linear": {},
    "rbf": {"kernel": "rbf", "gamma": 0.3},
    "reduced": {"kernel": "rbf", "gamma": 0.3, "basis": [1, 4, 6, 9, 12]},
}


def features(X, kernel):
    """F with F Fᵀ = K, or that of the reduced set."""
    if not kernel:
        return X
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    basis = kernel.get("basis", np.arange(len(X)))
    C = np.linalg.cholesky(K[np.ix_(basis, basis)] + 1e-13 * np.eye(len(basis)))
    return np.linalg.solve(C, K[:, basis].T).T


def told_as(form, qid, v):
    """Arguments of fit, and the pairs (h, j, weight of the statement) that they speak of."""
    labels = np.zeros(M) if qid is None else qid
    y, statement = Y, np.ones((M, M))
    if form == "statements":
        statement = np.random.default_rng(5).uniform(0.2, 2.0, (M, M))
        statement[::3] = 0.0
    same = labels[:, None] == labels[None]
    winner, loser = np.nonzero(same & (y[:, None] > y[None]) & (statement > 0))
    pairs = [(h, j, statement[h, j]) for h, j in zip(winner, loser)]
    told = {"qid": qid, "sample_weight": v}
    if form == "scores":
        return {"y": y, **told}, pairs
    weight = statement[winner, loser]
    return {"preferences": Preferences(winner, loser, weight=weight, n_items=M), **told}, pairs


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("with_weights", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("with_queries", [False, True], ids=["one query", "queries"])
@pytest.mark.parametrize("form", ["scores", "statements"])
@pytest.mark.parametrize("query_weight", QUERY_WEIGHTS)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_minimum_is_that_over_written_out_pairs(
    loss, query_weight, form, with_queries, with_weights, kernel
):
    qid, v = QID if with_queries else None, WEIGHT if with_weights else None
    told, pairs = told_as(form, qid, v)
    listed = reference.weighted_pairs(
        pairs, np.zeros(M) if qid is None else qid, np.ones(M) if v is None else v, query_weight
    )
    F = features(X, KERNELS[kernel])
    best = reference.minimum(F, *listed, ALPHA, POWER[loss])
    least = reference.objective(best, F, *listed, ALPHA, POWER[loss])
    options = {"loss": loss, "query_weight": query_weight, "tol": 1e-8}
    model = RankSVM(ALPHA, **options, **KERNELS[kernel]).fit(X, **told)
    assert model.objective_ == pytest.approx(least, rel=1e-6)
    found = np.linalg.lstsq(F, model.predict(X))[0]
    assert_allclose(F @ found, model.predict(X), atol=1e-8)
    value = reference.objective(found, F, *listed, ALPHA, POWER[loss])
    assert value == pytest.approx(least, rel=1e-6)
    assert_allclose(model.predict(X), F @ best, atol=2e-3)


@pytest.mark.parametrize("query_weight", QUERY_WEIGHTS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("qid", [None, QID], ids=["one query", "queries"])
def test_the_same_pairs_give_the_same_model_however_they_are_told(loss, query_weight, qid):
    options = {"loss": loss, "query_weight": query_weight}
    statements = Preferences.from_scores(Y, qid)
    for v in (None, WEIGHT):
        by_scores = RankSVM(ALPHA, **options).fit(X, Y, qid=qid, sample_weight=v)
        told = {"preferences": statements, "qid": qid, "sample_weight": v}
        by_statements = RankSVM(ALPHA, **options).fit(X, **told)
        assert_allclose(by_statements.coef_, by_scores.coef_, rtol=1e-6, atol=1e-9)
        rls = {"ties": "drop", "query_weight": query_weight}
        quadratic = RankRLS(ALPHA, **rls).fit(X, Y, qid=qid, sample_weight=v)
        assert_allclose(RankRLS(ALPHA, **rls).fit(X, **told).coef_, quadratic.coef_, rtol=1e-8)


@pytest.mark.parametrize("query_weight", QUERY_WEIGHTS)
@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_weight_two_is_the_item_twice_and_weight_zero_is_no_item(loss, query_weight, seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(3, 15))
    items, y = rng.normal(size=(m, 3)), rng.integers(0, 3, m).astype(float)
    qid = rng.integers(0, 2, m)
    y[:2], qid[:2] = (0.0, 1.0), 0
    copies = rng.integers(0, 4, m)
    copies[:2] = np.maximum(copies[:2], 1)
    kernel = {"kernel": "rbf"} if rng.integers(2) else {}
    model = RankSVM(
        10.0 ** rng.integers(-3, 2), loss=loss, query_weight=query_weight, tol=1e-6, **kernel
    )
    weighted = model.fit(items, y, qid=qid, sample_weight=copies).objective_
    scores = model.predict(items)
    again = np.repeat(np.arange(m), copies)
    repeated = model.fit(items[again], y[again], qid=qid[again])
    assert weighted == pytest.approx(repeated.objective_, abs=3e-6)
    assert_allclose(scores, repeated.predict(items), atol=2 * np.sqrt(2e-6 / model.alpha))
    statements = Preferences.from_scores(y, qid)
    told = model.fit(items, preferences=statements, qid=qid, sample_weight=copies)
    assert told.objective_ == pytest.approx(weighted, abs=3e-6)


@pytest.mark.parametrize("scale", [1e-149, 1e-30, 1e149])
def test_only_ratios_of_weights_matter(scale):
    for told in ({"y": Y}, {"preferences": Preferences.from_scores(Y, QID)}):
        usual = RankSVM(ALPHA).fit(X, qid=QID, sample_weight=WEIGHT, **told)
        scaled = RankSVM(ALPHA).fit(X, qid=QID, sample_weight=scale * WEIGHT, **told)
        assert_allclose(scaled.coef_, usual.coef_, rtol=1e-6)
        constant = RankSVM(ALPHA).fit(X, qid=QID, sample_weight=scale, **told)
        plain = RankSVM(ALPHA).fit(X, qid=QID, **told)
        assert_allclose(constant.coef_, plain.coef_, rtol=1e-6)


def test_a_query_of_many_pairs_counts_as_the_weighting_says():
    """One feature, two queries that disagree: ten items say up, two items say down."""
    items = np.concatenate([np.arange(10.0), [1.0, 0.0]])[:, None]
    y, qid = np.concatenate([np.arange(10.0), [0.0, 1.0]]), np.repeat([0, 1], [10, 2])
    slopes = {
        name: RankSVM(1e6, query_weight=name).fit(items, y, qid=qid).coef_[0] * 2e6
        for name in QUERY_WEIGHTS
    }
    up = sum(b - a for a in range(10) for b in range(a + 1, 10))
    assert slopes["pairs"] == pytest.approx((up - 1) / 46, rel=1e-6)
    assert slopes["size"] == pytest.approx((up / 10 - 0.5) / (4.5 + 0.5), rel=1e-6)
    assert slopes["queries"] == pytest.approx((up / 45 - 1) / 2, rel=1e-6)


def test_bad_weights_and_statements_across_queries_are_named():
    with pytest.raises(ValueError, match="'pairs', 'size', 'queries'"):
        RankSVM(query_weight="items").fit(X, Y)
    with pytest.raises(ValueError, match="negative at row 1"):
        RankSVM().fit(X, Y, sample_weight=np.where(np.arange(M) == 1, -1.0, 1.0))
    with pytest.raises(ValueError, match="sample_weight"):
        RankSVM().fit(X, Y, sample_weight=np.ones(M - 1))
    for scale in (1e-200, 1e200):
        for learner in (RankRLS(query_weight="queries"), RankRLS()):
            with pytest.raises(ValueError, match="divide all weights by the largest"):
                learner.fit(X, Y, sample_weight=scale * (WEIGHT + 1))
        for learner in (RankSVM(), MPRank()):  # only ratios of weights count
            expected = learner.fit(X, Y, sample_weight=WEIGHT + 1).predict(X)
            found = learner.fit(X, Y, sample_weight=scale * (WEIGHT + 1)).predict(X)
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    alone = np.zeros(M)
    alone[0] = 1.0
    with pytest.raises(ValueError, match="same score or no weight"):
        RankSVM().fit(X, Y, sample_weight=alone)
    with pytest.raises(ValueError, match="no single preference"):
        RankSVM().fit(X, preferences=Preferences([0], [1]), sample_weight=alone)
    labels = np.where(np.arange(M) < 5, "a", "b")
    for learner in (RankSVM(), RankRLS()):
        with pytest.raises(ValueError, match=r"preference 1, item 0 over item 7.*\(a and b\)"):
            learner.fit(X, preferences=Preferences([0, 0], [1, 7]), qid=labels)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_search_scores_folds_with_the_weights_of_their_training_items(loss):
    rng = np.random.default_rng(7)
    items = rng.normal(size=(60, 3))
    y = np.round(items[:, 0] + rng.normal(size=60))
    qid, v = np.arange(60) % 6, rng.choice([0.0, 1.0, 5.0], 60)
    options = {"loss": loss, "query_weight": "size", "tol": 1e-6}
    grid = [0.01, 1.0, 10.0]
    folds = list(GroupKFold(3).split(items, groups=qid))
    search = RankSVMCV(grid, cv=folds, **options).fit(items, y, qid=qid, sample_weight=v)
    by_hand = []
    for alpha in grid:
        values = []
        for train, test in folds:
            model = RankSVM(alpha, **options)
            model.fit(items[train], y[train], qid=qid[train], sample_weight=v[train])
            values += [
                metrics.concordance(y[test][of], model.predict(items[test][of]))
                for of in (qid[test] == label for label in np.unique(qid[test]))
            ]
        by_hand.append(np.mean(values))
    order = np.argsort(search.cv_results_["alpha"])
    assert_allclose(search.cv_results_["score"][order], by_hand, atol=1e-3)
    refit = RankSVM(search.alpha_, **options).fit(items, y, qid=qid, sample_weight=v)
    assert_allclose(search.coef_, refit.coef_, atol=2e-3)
    with sklearn.config_context(enable_metadata_routing=True):
        model = RankSVM(**options).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=False)
        routed = GridSearchCV(model, {"alpha": grid}, cv=GroupKFold(3))
        routed.fit(items, y, qid=qid, groups=qid, sample_weight=v)
    best = RankSVM(routed.best_params_["alpha"], **options)
    best.fit(items, y, qid=qid, sample_weight=v)
    assert_allclose(routed.best_estimator_.coef_, best.coef_, rtol=1e-9)


def test_a_saved_model_keeps_its_weighting(tmp_path):
    path = tmp_path / "model.rankwise"
    for learner in (RankSVM(query_weight="size"), RankSVMCV(cv=2, query_weight="size")):
        model = learner.fit(X, Y, qid=QID, sample_weight=WEIGHT + 0.1)
        rankwise.save(model, path)
        loaded = rankwise.load(path)
        assert loaded.query_weight == "size"
        assert_allclose(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize("kernel", ["linear", "laplacian"])
@pytest.mark.parametrize("seed", range(5))
def test_weights_of_very_different_size(kernel, seed):
    """The system of a held-out pair may be singular up to rounding: refit it, or refuse alpha."""
    rng = np.random.default_rng(seed)
    X, y, weight = rng.normal(size=(6, 3)), rng.normal(size=6), 10.0 ** rng.uniform(-57, 57, 6)
    try:
        RankRLSCV([1.0], cv="leave-pair-out", kernel=kernel).fit(X, y, sample_weight=weight)
        single = RankRLS(1.0, kernel=kernel).fit(X, y, sample_weight=weight)
        assert np.isfinite(single.leave_one_out()).all()
        assert np.isfinite(single.leave_pair_out()).all()
    except ValueError as refusal:
        assert "use a larger alpha" in str(refusal)
