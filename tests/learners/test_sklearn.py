"""The learners as scikit-learn citizens: checks, pipelines, searches, frames, pickles."""

import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from rankwise import RLS, KernelMap, Preferences, RankRLS, RankRLSCV, metrics

RNG = np.random.default_rng(8)
X = RNG.normal(size=(40, 3))
QID = RNG.permutation(np.repeat(list("abcdefgh"), 5))
Y = X[:, 0] + 0.5 * RNG.normal(size=40) + 10 * (np.unique(QID, return_inverse=True)[1])
GRID = {"alpha": [0.01, 1.0, 100.0]}
LEARNERS = [RankRLS(), RLS(), RankRLSCV([0.1, 1.0, 10.0]), KernelMap()]


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@parametrize_with_checks(
    [
        *LEARNERS,
        RankRLS(kernel="rbf"),
        RankRLS(solver="cg"),
        RankRLSCV([0.1, 1.0], cv=2, kernel="rbf"),
    ]
)
def test_check_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", LEARNERS, ids=lambda e: type(e).__name__)
def test_clone_and_unchanged_parameters(estimator):
    before = {name: repr(value) for name, value in estimator.get_params().items()}
    fitted = clone(estimator).fit(X, Y)
    assert {name: repr(value) for name, value in fitted.get_params().items()} == before
    use = "transform" if isinstance(estimator, KernelMap) else "predict"
    with pytest.raises(NotFittedError):
        getattr(clone(fitted), use)(X)


def by_hand(alpha, make=RankRLS):
    """Mean over folds of the score on held-out queries."""
    scores = []
    for train, test in GroupKFold(4).split(X, groups=QID):
        model = make(alpha).fit(X[train], Y[train], qid=QID[train])
        scores.append(metrics.concordance(Y[test], model.predict(X[test]), QID[test]))
    return np.mean(scores)


@pytest.mark.parametrize("scoring", [None, metrics.scorer("concordance")], ids=["own", "scorer"])
@pytest.mark.parametrize("make", [RankRLS, RLS])
def test_search_by_query_with_routing(routing, scoring, make):
    search = GridSearchCV(make(), GRID, cv=GroupKFold(4), scoring=scoring, error_score="raise")
    search.fit(X, Y, qid=QID, groups=QID)
    expected = [by_hand(alpha, make) for alpha in GRID["alpha"]]
    assert_allclose(search.cv_results_["mean_test_score"], expected)
    assert_allclose(search.score(X, Y, qid=QID), search.best_estimator_.score(X, Y, qid=QID))


def test_pipeline_search_with_routing(routing):
    pipe = make_pipeline(StandardScaler(), RankRLS())
    grid = {"rankrls__alpha": GRID["alpha"]}
    search = GridSearchCV(pipe, grid, cv=GroupKFold(4), error_score="raise")
    if parse_version(sklearn.__version__) < parse_version("1.8"):  # it drops qid before score
        with pytest.raises(ValueError, match="score needs qid"):
            search.fit(X, Y, qid=QID, groups=QID)
        return
    search.fit(X, Y, qid=QID, groups=QID)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    scaled = StandardScaler().fit_transform(X)
    expected = RankRLS(search.best_params_["rankrls__alpha"]).fit(scaled, Y, qid=QID)
    assert_allclose(search.predict(X), expected.predict(scaled))
    pipe.fit(X, Y, qid=QID)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        pipe.score(X, Y)


def test_cross_validation_with_routing(routing):
    params = {"qid": QID, "groups": QID}
    scores = cross_val_score(RankRLS(), X, Y, cv=GroupKFold(4), params=params, error_score="raise")
    assert_allclose(scores.mean(), by_hand(1.0))
    found = cross_validate(RankRLSCV([1.0, 10.0]), X, Y, cv=GroupKFold(4), params=params)
    assert np.isfinite(found["test_score"]).all()


def test_weights_are_routed_on_request(routing):
    model = RankRLS().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
    search = GridSearchCV(model, GRID, cv=GroupKFold(4), error_score="raise")
    search.fit(X, Y, qid=QID, groups=QID, sample_weight=np.arange(40.0))
    expected = clone(search.best_estimator_).fit(X, Y, qid=QID, sample_weight=np.arange(40.0))
    assert_allclose(search.best_estimator_.coef_, expected.coef_)


def test_search_without_routing():
    """qid reaches fit but not score, which refuses rather than compare across queries."""
    search = GridSearchCV(RankRLS(), GRID, cv=GroupKFold(4), error_score="raise")
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        search.fit(X, Y, qid=QID, groups=QID)
    own = GridSearchCV(RankRLS(), GRID, cv=KFold(4), error_score="raise").fit(X, Y)
    assert np.isfinite(own.cv_results_["mean_test_score"]).all()
    grouped = GridSearchCV(RankRLS(), GRID, cv=GroupKFold(4)).fit(X, Y, groups=QID)
    assert np.isfinite(grouped.cv_results_["mean_test_score"]).all()


def test_search_without_routing_by_a_scorer_of_single_values():
    search = GridSearchCV(RankRLS(), GRID, cv=GroupKFold(4), scoring="r2", error_score="raise").fit(
        X, Y, groups=QID, qid=QID
    )
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("make", [RankRLS, RLS, lambda: RankRLSCV([1.0, 2.0])])
def test_score_without_qid_is_refused(make):
    model = make().fit(X, Y, qid=QID)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        model.score(X, Y)
    assert model.score(X, Y, qid=QID) == pytest.approx(
        metrics.concordance(Y, model.predict(X), QID)
    )
    assert make().fit(X, Y).score(X, Y) == pytest.approx(
        metrics.concordance(Y, make().fit(X, Y).predict(X))
    )
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        pickle.loads(pickle.dumps(model)).score(X, Y)


def test_precomputed_kernels_are_split_on_both_sides():
    K = rbf_kernel(X)
    given = cross_val_score(RankRLS(kernel="precomputed"), K, Y, cv=KFold(4))
    assert_allclose(given, cross_val_score(RankRLS(kernel="rbf"), X, Y, cv=KFold(4)))


def test_search_refuses_preferences_of_other_rows():
    preferences = Preferences.from_scores(Y, QID)
    search = GridSearchCV(RankRLS(), GRID, error_score="raise")
    with pytest.raises((ValueError, TypeError)):
        search.fit(X, preferences=preferences)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("estimator", LEARNERS, ids=lambda e: type(e).__name__)
def test_frames(frame, estimator):
    items = frame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    told = {} if isinstance(estimator, KernelMap) else {"qid": frame({"q": QID})["q"]}
    model = clone(estimator).fit(items, frame({"y": Y})["y"], **told)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.n_features_in_ == 3
    plain = clone(estimator).fit(X, Y, **({"qid": QID} if told else {}))
    use = "transform" if isinstance(estimator, KernelMap) else "predict"
    assert_allclose(getattr(model, use)(items), getattr(plain, use)(X))
    turned = frame({"b": X[:, 1], "other": X[:, 1], "a": X[:, 0], "c": X[:, 2]})
    assert_allclose(getattr(model, use)(turned), getattr(plain, use)(X))
    lacking = frame({"b": X[:, 1], "c": X[:, 2], "other": X[:, 0]})
    with pytest.raises(ValueError, match=r"(?s)feature names.*yet now missing:\n- a"):
        getattr(model, use)(lacking)
    with pytest.raises(ValueError, match="2 features"):
        getattr(plain, use)(X[:, :2])


def test_pandas_index_is_ignored():
    index = RNG.permutation(40) + 1000
    frame, y = pd.DataFrame(X, index=index), pd.Series(Y, index=index)
    qid, weight = pd.Series(QID, index=index), pd.Series(np.arange(40.0), index=index)
    model = RankRLS(kernel="rbf").fit(frame, y, qid=qid, sample_weight=weight)
    plain = RankRLS(kernel="rbf").fit(X, Y, qid=QID, sample_weight=np.arange(40.0))
    assert_allclose(model.leave_one_out(), plain.leave_one_out())
    assert_allclose(model.score(frame, y, qid=qid), plain.score(X, Y, qid=QID))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": "rbf"},
        {"kernel": "rbf", "basis": 6},
        {"kernel": "rbf", "basis": 6, "random_state": 3},
        {"kernel": "rbf", "basis": 6, "random_state": np.random.RandomState(0)},
        {"loss": "relative", "solver": "cg"},
    ],
    ids=lambda options: " ".join(options) or "plain",
)
@pytest.mark.parametrize("through", ["pickle", "joblib"])
def test_stored_models_are_the_same(options, through, tmp_path):
    model = RankRLS(**options).fit(X, Y, qid=QID)
    if through == "pickle":
        again = pickle.loads(pickle.dumps(model))
    else:
        joblib.dump(model, tmp_path / "model")
        again = joblib.load(tmp_path / "model")
    assert_allclose(again.predict(X), model.predict(X))
    assert_allclose(again.holdout([0, 7]), model.holdout([0, 7]), atol=1e-10)
    assert_allclose(again.leave_query_out(), model.leave_query_out(), atol=1e-10)
    assert_allclose(again.path([0.5, 2.0]), model.path([0.5, 2.0]), atol=1e-10)


def fit_and_leave_out(alpha, X, y, qid):
    model = RankRLS(alpha, kernel="rbf").fit(X, y, qid=qid)
    return model.leave_query_out(), RankRLSCV([alpha]).fit(X, y).cv_results_["score"]


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib_and_memory_maps(backend):
    tasks = [joblib.delayed(fit_and_leave_out)(alpha, X, Y, QID) for alpha in (0.1, 1.0, 5.0)]
    found = joblib.Parallel(2, backend=backend, max_nbytes=100)(tasks)
    for alpha, result in zip((0.1, 1.0, 5.0), found):
        for value, expected in zip(result, fit_and_leave_out(alpha, X, Y, QID)):
            assert_allclose(value, expected, rtol=1e-9)


def test_parallel_search(routing):
    search = GridSearchCV(RankRLS(), GRID, cv=GroupKFold(4), n_jobs=2, error_score="raise")
    with joblib.parallel_config(backend="threading"):
        search.fit(X, Y, qid=QID, groups=QID)
    assert_allclose(search.cv_results_["mean_test_score"], [by_hand(a) for a in GRID["alpha"]])
