import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from rankwise.exceptions import InvalidKernel
from rankwise.learners.rank_svm import RankSVM
from rankwise.learners.rank_svm_cv import RankSVMCV
from rankwise.losses.hinge import ScoreHinge
from rankwise.metrics import concordance
from rankwise.supervision.preferences import Preferences
from tests import reference_svm as reference

LOSSES = ("hinge", "squared_hinge")
POWER = {"hinge": 1, "squared_hinge": 2}


def data(seed=0, m=60, n=4, n_queries=5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    y = np.round(X @ rng.standard_normal(n) + 0.5 * rng.standard_normal(m), 1)
    return X, y, rng.integers(0, n_queries, m)


def value(model, K, y, qid, alpha, loss):
    """The objective from dual coefficients alone: risk of K b, alpha bᵀK b."""
    b = np.zeros(len(y))
    b[model.basis_index_] = model.dual_coef_
    return reference.risk(K @ b, *reference.pair_list(y, qid), POWER[loss]) + alpha * b @ K @ b


@pytest.mark.parametrize(
    "estimator",
    [
        RankSVM(),
        RankSVM(loss="squared_hinge"),
        RankSVM(kernel="rbf", basis=3, random_state=0),
        RankSVMCV([0.01, 1.0], cv=2),
    ],
)
def test_scikit_learn_finds_nothing_to_object_to(estimator):
    drawn = {}
    if estimator.basis is not None:
        reason = "the basis is drawn among the rows, and repeated rows draw another one"
        name = "check_sample_weight_equivalence_on_{}_data"
        drawn = {name.format(kind): reason for kind in ("dense", "sparse")}
    results = check_estimator(estimator, expected_failed_checks=drawn, on_fail=None, on_skip=None)
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("with_queries", [False, True])
def test_the_model_minimises_the_documented_objective(loss, with_queries):
    X, y, qid = data()
    qid = qid if with_queries else None
    model = RankSVM(0.01, loss=loss, tol=1e-7, max_iter=5000).fit(X, y, qid=qid)
    pairs = reference.pair_list(y, qid)
    found = reference.objective(model.coef_, X, *pairs, 0.01, POWER[loss])
    best = reference.objective(
        reference.minimum(X, *pairs, 0.01, POWER[loss]), X, *pairs, 0.01, POWER[loss]
    )
    assert model.objective_ == pytest.approx(found, abs=1e-9)
    assert found <= best + 1e-6 and found - model.gap_ <= best + 1e-9
    assert model.history_["objective"][-1] == pytest.approx(found)
    assert len(model.history_["gap"]) >= model.n_iter_ >= 1


def test_the_order_and_the_names_of_queries_do_not_matter():
    X, y, qid = data(1)
    order = np.random.default_rng(0).permutation(len(y))
    names = np.array([f"query {q}" for q in qid])
    first = RankSVM(0.01, tol=1e-8, max_iter=5000).fit(X, y, qid=qid)
    again = RankSVM(0.01, tol=1e-8, max_iter=5000).fit(X[order], y[order], qid=names[order])
    np.testing.assert_allclose(again.coef_, first.coef_, atol=2e-3)
    assert again.objective_ == pytest.approx(first.objective_, abs=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_every_kernel_route_reaches_the_same_minimum(loss):
    X, y, qid = data(2, m=50)
    settings = {"loss": loss, "tol": 1e-7, "max_iter": 5000}
    K = polynomial_kernel(X, X, degree=2, gamma=0.5, coef0=1.0)
    parameters = {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0}
    models = [
        RankSVM(0.1, **parameters, **settings).fit(X, y, qid=qid),
        RankSVM(0.1, kernel="precomputed", **settings).fit(K, y, qid=qid),
        RankSVM(0.1, basis=np.arange(50), **parameters, **settings).fit(X, y, qid=qid),
        RankSVM(
            0.1,
            kernel=lambda A, B: polynomial_kernel(A, B, degree=2, gamma=0.5, coef0=1.0),
            **settings,
        ).fit(X, y, qid=qid),
    ]
    for model in models:
        assert model.objective_ == pytest.approx(models[0].objective_, abs=1e-5)
        assert value(model, K, y, qid, 0.1, loss) == pytest.approx(model.objective_, abs=1e-5)
    assert len(models[0].basis_index_) == 15, "a singular kernel needs its rank many items"
    np.testing.assert_allclose(models[0].predict(X), models[1].predict(K), atol=5e-3)


def test_kernel_predictions_are_those_of_the_features():
    X, y, _ = data(3)
    X_new = np.random.default_rng(9).standard_normal((7, X.shape[1]))
    model = RankSVM(0.1, kernel="rbf", gamma=0.3).fit(X, y)
    K = rbf_kernel(X_new, X[model.basis_index_], gamma=0.3)
    np.testing.assert_allclose(model.predict(X_new), K @ model.dual_coef_)
    linear = RankSVM(0.1, tol=1e-8).fit(X, y)
    dual = RankSVM(0.1, kernel="precomputed", tol=1e-8).fit(X @ X.T, y)
    np.testing.assert_allclose(dual.predict(X_new @ X.T), linear.predict(X_new), atol=1e-3)


def test_a_reduced_set_restricts_the_expansion():
    X, y, qid = data(4)
    model = RankSVM(0.1, kernel="rbf", basis=10, random_state=0).fit(X, y, qid=qid)
    assert len(model.basis_index_) == len(model.dual_coef_) == 10
    exact = RankSVM(0.1, kernel="rbf").fit(X, y, qid=qid)
    assert model.objective_ >= exact.objective_ - 1e-3
    linear = RankSVM(0.1, basis=[0, 1, 2, 3, 4, 5]).fit(X, y)
    np.testing.assert_allclose(linear.predict(X), X @ linear.coef_)


@pytest.mark.parametrize("loss", LOSSES)
def test_preferences_in_place_of_scores(loss):
    X, y, _ = data(5)
    settings = {"loss": loss, "tol": 1e-7, "max_iter": 5000}
    by_scores = RankSVM(0.01, **settings).fit(X, y)
    by_list = RankSVM(0.01, **settings).fit(X, preferences=Preferences.from_scores(y))
    assert by_list.objective_ == pytest.approx(by_scores.objective_, abs=1e-6)
    twice = Preferences([0, 0, 2], [1, 1, 3])
    weighted = Preferences([0, 2], [1, 3], weight=[2.0, 1.0])
    models = [RankSVM(0.01, **settings).fit(X, preferences=p) for p in (twice, weighted)]
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, atol=0.01)


def test_many_outputs_are_single_ones_side_by_side():
    X, y, qid = data(6)
    Y = np.column_stack([y, -y, np.round(y)])
    model = RankSVM(0.1).fit(X, Y, qid=qid)
    assert model.coef_.shape == (3, X.shape[1]) and model.predict(X).shape == Y.shape
    assert model.gap_.shape == model.n_iter_.shape == (3,) and len(model.history_) == 3
    for j in range(3):
        np.testing.assert_array_equal(model.coef_[j], RankSVM(0.1).fit(X, Y[:, j], qid=qid).coef_)
    dual = RankSVM(0.1, kernel="rbf").fit(X, Y, qid=qid)
    assert dual.predict(X).shape == Y.shape
    assert 0.5 < dual.score(X, Y, qid=qid) <= 1.0


@pytest.mark.parametrize("loss", LOSSES)
def test_dense_sparse_and_single_precision_agree(loss):
    X, y, qid = data(7, m=200, n=10)
    X[np.abs(X) < 0.5] = 0.0
    models = [
        RankSVM(0.01, loss=loss, tol=1e-6).fit(form, y, qid=qid)
        for form in (X, sparse.csr_matrix(X), sparse.csr_array(X), X.astype(np.float32))
    ]
    single = sparse.csr_array(X, dtype=np.float32)
    models.append(RankSVM(0.01, loss=loss, tol=1e-6).fit(single, y, qid=qid))
    for model in models:
        assert model.coef_.dtype == np.float64
        np.testing.assert_allclose(model.coef_, models[0].coef_, atol=0.02)  # 2 √(gap/alpha)
    np.testing.assert_allclose(models[0].predict(single), X @ models[0].coef_, atol=1e-5)


def test_single_precision_data_are_not_copied():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10_000, 400)).astype(np.float32)
    y = X[:, 0] + rng.standard_normal(10_000)
    RankSVM().fit(X[:50], y[:50])
    tracemalloc.start()
    RankSVM(0.1).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.6 * X.nbytes


def test_threads_do_not_change_the_model(monkeypatch):
    X, y, qid = data(8, m=3000, n=30)
    models = []
    for threads in ("1", "2", "4"):
        monkeypatch.setenv("RANKWISE_THREADS", threads)
        models.append(RankSVM(0.01).fit(sparse.csr_array(X), y, qid=qid))
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    np.testing.assert_array_equal(models[0].coef_, models[2].coef_)


def test_warm_start_continues_from_the_last_solution():
    X, y, qid = data(9, m=300)
    model = RankSVM(1e-3, warm_start=True).fit(X, y, qid=qid)
    first = model.n_iter_
    assert model.fit(X, y, qid=qid).n_iter_ < first
    model.set_params(alpha=1e-4).fit(X, y, qid=qid)
    cold = RankSVM(1e-4).fit(X, y, qid=qid)
    assert model.objective_ == pytest.approx(cold.objective_, abs=1e-3)
    model.fit(X[:, :2], y, qid=qid)
    kernel = RankSVM(0.01, kernel="rbf", warm_start=True).fit(X, y, qid=qid)
    assert kernel.fit(X, y, qid=qid).n_iter_ <= 3


def test_running_out_of_iterations_warns_with_the_gap():
    X, y, qid = data(10)
    with pytest.warns(ConvergenceWarning, match=r"after 2 iterations.*within .* of the minimum"):
        model = RankSVM(1e-5, max_iter=2).fit(X, y, qid=qid)
    assert model.gap_ > 1e-3 and model.n_iter_ == 2


def test_an_interrupt_keeps_the_best_model_with_a_warning(monkeypatch):
    X, y, qid = data(11)
    calls, evaluate = [], ScoreHinge.at

    def interrupted(self, p):
        calls.append(p)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return evaluate(self, p)

    monkeypatch.setattr(ScoreHinge, "at", interrupted)
    with pytest.warns(ConvergenceWarning, match="was interrupted"):
        model = RankSVM(1e-5, tol=1e-9).fit(X, y, qid=qid)
    assert model.score(X, y, qid=qid) > 0.7
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        RankSVMCV(tol=1e-9).fit(X, y, qid=qid)


def test_verbose_prints_progress(capsys):
    X, y, _ = data()
    RankSVM(verbose=1).fit(X, y)
    assert "gap" in capsys.readouterr().out


def test_frames_pipelines_clones_and_pickles():
    X, y, qid = data(12)
    names = list("abcd")
    model = RankSVM(0.01).fit(pd.DataFrame(X, columns=names), y, qid=pd.Series(qid))
    assert list(model.feature_names_in_) == names
    frame = pd.DataFrame(X, columns=names)
    np.testing.assert_allclose(model.predict(frame), X @ model.coef_)
    frame = pl.DataFrame(X, schema=names)
    other = RankSVM(0.01).fit(frame, pl.Series(y), qid=pl.Series(qid))
    np.testing.assert_allclose(other.coef_, model.coef_, atol=0.05)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert clone(model).get_params() == model.get_params()
    assert make_pipeline(StandardScaler(), RankSVM()).fit(X, y).predict(X).shape == y.shape


def test_a_model_with_queries_refuses_to_be_scored_without_them():
    X, y, qid = data(13)
    model = RankSVM().fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        model.score(X, y)
    assert model.score(X, y, qid=qid) == pytest.approx(concordance(y, model.predict(X), qid))


def test_grid_search_routes_queries():
    X, y, qid = data(14, m=120)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(RankSVM(), {"alpha": [1e-3, 1.0]}, cv=GroupKFold(3))
        search.fit(X, y, qid=qid, groups=qid)
    assert search.best_score_ > 0.6


@pytest.mark.parametrize("loss", LOSSES)
def test_cross_validation_equals_refitting_every_fold(loss):
    X, y, qid = data(15, m=120)
    alphas = np.array([1e-3, 1.0, 1e-1])
    model = RankSVMCV(alphas, cv=3, loss=loss, tol=1e-6, max_iter=5000).fit(X, y, qid=qid)
    for alpha, found in zip(alphas, model.cv_results_["score"]):
        scores = []
        for train, test in GroupKFold(3).split(X, groups=np.unique(qid, return_inverse=True)[1]):
            one = RankSVM(alpha, loss=loss, tol=1e-6, max_iter=5000)
            s = one.fit(X[train], y[train], qid=qid[train]).predict(X[test])
            scores += [concordance(y[test][rows], s[rows]) for rows in _queries(qid[test])]
        assert found == pytest.approx(np.mean(scores), abs=2e-3)
    assert model.alpha_ in alphas and model.best_score_ == model.cv_results_["score"].max()
    refit = RankSVM(model.alpha_, loss=loss, tol=1e-6, max_iter=5000).fit(X, y, qid=qid)
    assert model.objective_ == pytest.approx(refit.objective_, abs=1e-5)
    assert model.score(X, y, qid=qid) == pytest.approx(refit.score(X, y, qid=qid), abs=1e-2)


def _queries(qid):
    return [np.flatnonzero(qid == q) for q in np.unique(qid)]


@pytest.mark.parametrize("basis", [None, np.arange(0, 60, 3)])
def test_kernel_folds_never_see_held_out_items(basis):
    """Held-out basis items are removed, so folds equal refits on the training part alone."""
    X, y, _ = data(16, m=60)
    train, test = np.arange(40), np.arange(40, 60)
    settings = {"kernel": "rbf", "gamma": 0.2, "tol": 1e-7, "max_iter": 5000}
    model = RankSVMCV([0.1], cv=[(train, test)], basis=basis, **settings).fit(X, y)
    kept = None if basis is None else basis[basis < 40]
    alone = RankSVM(0.1, basis=kept, **settings).fit(X[train], y[train])
    expected = concordance(y[test], alone.predict(X[test]))
    assert model.cv_results_["score"][0] == pytest.approx(expected, abs=0.01)


def test_cross_validation_by_left_out_queries_and_other_measures():
    X, y, qid = data(17)
    model = RankSVMCV([0.01, 0.1], cv="leave-query-out", scoring="ndcg").fit(X, np.abs(y), qid=qid)
    assert model.alpha_ in (0.01, 0.1)
    with pytest.raises(ValueError, match="RankRLSCV"):
        RankSVMCV(cv="leave-pair-out").fit(X, y)
    Y = np.column_stack([y, y**2])
    assert RankSVMCV([0.01, 0.1], cv=3).fit(X, Y, qid=qid).coef_.shape == (2, 4)


BAD_ARGUMENTS = [
    ({"alpha": 0}, "alpha"),
    ({"alpha": -1.0}, "alpha"),
    ({"alpha": np.nan}, "alpha"),
    ({"loss": "logistic"}, "loss"),
    ({"solver": "sgd"}, "solver"),
    ({"solver": "newton"}, "squared_hinge"),
    ({"tol": 0}, "tol"),
    ({"max_iter": 0}, "max_iter"),
    ({"max_iter": 1.5}, "max_iter"),
    ({"kernel": "polynomal"}, "kernel"),
    ({"kernel": "rbf", "gamma": -1.0}, "gamma"),
    ({"kernel": "rbf", "gamma": "scale"}, "gamma"),
    ({"kernel": "poly", "degree": -1}, "degree"),
    ({"kernel": "poly", "coef0": None}, "coef0"),
    ({"basis": 0, "kernel": "rbf"}, "basis"),
    ({"basis": [0, 99], "kernel": "rbf"}, "basis"),
]


@pytest.mark.parametrize("arguments, named", BAD_ARGUMENTS)
def test_bad_arguments_are_named(arguments, named):
    X, y, _ = data()
    with pytest.raises(ValueError, match=named):
        RankSVM(**arguments).fit(X, y)


def test_bad_data_are_named():
    X, y, qid = data()
    broken = X.copy()
    broken[3, 1] = np.nan
    with pytest.raises(ValueError, match="row 3"):
        RankSVM().fit(broken, y)
    with pytest.raises(ValueError, match="row 3"):
        RankSVM().fit(sparse.csr_array(broken), y)
    with pytest.raises(ValueError, match="y contains infinity"):
        RankSVM().fit(X, np.where(np.arange(60) == 5, np.inf, y))
    with pytest.raises(ValueError, match="rows"):
        RankSVM().fit(X, y[:-1])
    with pytest.raises(ValueError, match="qid"):
        RankSVM().fit(X, y, qid=qid[:-1])
    with pytest.raises(ValueError, match="no single preference"):
        RankSVM().fit(X, np.ones(60))
    with pytest.raises(ValueError, match="no single preference"):
        RankSVM().fit(X, qid * 2.0, qid=qid)
    with pytest.raises(ValueError, match="output 1"):
        RankSVM().fit(X, np.column_stack([y, np.ones(60)]))
    with pytest.raises(ValueError, match="features"):
        RankSVM().fit(X, y).predict(X[:, :3])
    with pytest.raises(ValueError, match="y is None"):
        RankSVM().fit(X)
    with pytest.raises(InvalidKernel, match="repair_kernel"):
        RankSVM(kernel="precomputed").fit(np.triu(X @ X.T), y)
    with pytest.raises(InvalidKernel, match="repair_kernel"):
        RankSVM(kernel="precomputed").fit(X @ X.T - np.eye(60), y)
    with pytest.raises(InvalidKernel, match="'sigmoid' is indefinite"):
        RankSVM(kernel="sigmoid", gamma=3.0, coef0=-2.0).fit(X, y)


def test_bad_preferences_are_named():
    X, y, _ = data()
    with pytest.raises(ValueError, match="not both"):
        RankSVM().fit(X, y, preferences=Preferences([0], [1]))
    with pytest.raises(ValueError, match="not a row"):
        RankSVM().fit(X, preferences=Preferences([0], [77]))
    with pytest.raises(ValueError, match="speak of 3 items"):
        RankSVM().fit(X, preferences=Preferences([0], [1], n_items=3))
    with pytest.raises(ValueError, match="no single preference"):
        RankSVM().fit(X, preferences=Preferences([], []))
    with pytest.raises(ValueError, match="different queries"):
        RankSVM().fit(X, preferences=Preferences([0], [1]), qid=np.arange(60))


@pytest.mark.parametrize("loss", LOSSES)
def test_leaving_the_floating_point_range_is_an_error_not_a_nan(loss):
    X, y, _ = data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="non-finite"):
            RankSVM(loss=loss).fit(X * 1e250, y)


@pytest.mark.parametrize("loss", LOSSES)
def test_an_alpha_in_single_precision_costs_the_certificate_no_digits(loss):
    X, y, qid = data()
    found = RankSVM(np.float32(0.1), loss=loss).fit(X, y, qid=qid)
    assert found.gap_ == RankSVM(float(np.float32(0.1)), loss=loss).fit(X, y, qid=qid).gap_


def test_a_new_fit_leaves_nothing_of_an_earlier_kernel():
    X, y, _ = data()
    model = RankSVM(kernel="rbf").fit(X, y).set_params(kernel="linear").fit(X, y)
    assert not {"dual_coef_", "basis_index_", "_X_basis"} & set(vars(model))
    assert not hasattr(model.set_params(kernel="rbf").fit(X, y), "coef_")


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_large_alpha_never_gives_an_empty_model(loss, kernel):
    X, y, qid = data()
    expected = RankSVM(1e4, loss=loss, kernel=kernel).fit(X, y, qid=qid)
    for alpha in (1e3, 1e9, 1e60):
        model = RankSVM(alpha, loss=loss, kernel=kernel).fit(X, y, qid=qid)
        assert model.predict(X).any()
        assert model.score(X, y, qid=qid) == pytest.approx(expected.score(X, y, qid=qid), abs=0.01)
        assert expected.score(X, y, qid=qid) > 0.6
