"""RankSVM on partitions has the objective of the local class, within both gaps."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

import rankwise
import rankwise.dask as distributed_rankers
from rankwise import Preferences
from tests.dask_cases import REDUCED, as_dask, ranking_data


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("space", [{}, REDUCED], ids=["x", "rbf"])
@pytest.mark.parametrize("outputs", [None, 2])
def test_rank_svm_equals_the_local_class_within_the_gap(loss, space, outputs):
    X, y, qid, _ = ranking_data(outputs=outputs)
    local = rankwise.RankSVM(0.01, loss=loss, **space).fit(X, y, qid=qid)
    model = distributed_rankers.RankSVM(0.01, loss=loss, **space)
    model.fit(as_dask(X, qid), y, qid=qid)
    slack = local.gap_ + model.gap_ + 1e-12
    assert np.all(np.abs(local.objective_ - model.objective_) <= slack)
    exact = rankwise.RankSVM(0.01, loss=loss, tol=1e-7, **space).fit(X, y, qid=qid)
    fine = distributed_rankers.RankSVM(0.01, loss=loss, tol=1e-7, **space)
    fine.fit(as_dask(X, qid), y, qid=qid)
    assert_allclose(fine.predict(X), exact.predict(X), atol=3e-3)
    assert_allclose(fine.objective_, exact.objective_, atol=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("query_weight", ["pairs", "size", "queries"])
def test_weights_are_those_of_the_local_class(loss, query_weight):
    X, y, qid, weight = ranking_data()
    weight[qid < 5] = 0.0  # a partition without weight
    options = {"loss": loss, "query_weight": query_weight, "tol": 1e-7}
    local = rankwise.RankSVM(0.01, **options).fit(X, y, qid=qid, sample_weight=weight)
    model = distributed_rankers.RankSVM(0.01, **options)
    model.fit(as_dask(X, qid), y, qid=qid, sample_weight=weight)
    assert_allclose(model.objective_, local.objective_, atol=1e-6)
    assert_allclose(model.predict(X), local.predict(X), atol=3e-3)


def test_rank_svm_starts_warm():
    X, y, qid, _ = ranking_data()
    model = distributed_rankers.RankSVM(0.01, loss="squared_hinge", warm_start=True)
    model.fit(as_dask(X, qid), y, qid=qid)
    assert model.fit(as_dask(X, qid), y, qid=qid).n_iter_ == 0


POLY = {"kernel": "poly", "gamma": 0.25, "degree": 2}


@pytest.mark.parametrize(
    "far, alpha, space, expected",
    [
        (1e7, 1.0, POLY | {"basis": np.arange(40)}, "refused"),
        (1e6, 1e-2, POLY | {"basis": [0, 3, 5, 60, 100]}, "warned"),
        (1e6, 1e12, POLY | {"basis": [0, 3, 5, 60, 100]}, "fitted"),
        (0.0, 1.0, {"kernel": "rbf", "gamma": 1e-15, "basis": np.arange(5)}, "refused"),
        (0.0, 1e-16, {"kernel": "rbf", "gamma": 1e-10, "basis": np.arange(5)}, "warned"),
        (0.0, 1e-8, {"kernel": "rbf", "gamma": 1e-10, "basis": np.arange(5)}, "fitted"),
    ],
)
@pytest.mark.parametrize("told", ["scores", "preferences"])
def test_digits_of_reduced_sets_are_checked_as_in_the_local_class(
    far, alpha, space, expected, told
):
    X, y, qid, _ = ranking_data()
    X = X + far
    what = {"y": y} if told == "scores" else {"preferences": Preferences.from_scores(y, qid)}
    for module, given in ((rankwise, X), (distributed_rankers, as_dask(X, qid))):
        model = module.RankSVM(alpha, loss="squared_hinge", **space)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            try:
                model.fit(given, qid=qid, **what)
                found = "fitted"
            except ValueError as error:
                assert "rounding errors of the kernel decide" in str(error)
                found = "refused"
        if any("nearly equal" in str(warning.message) for warning in caught):
            found = "warned"
        assert found == expected


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("scale", [1e-140, 1e-9, 1e140])
@pytest.mark.parametrize("whole", [True, False])
def test_units_of_features_do_not_matter(loss, scale, whole):
    X, y, qid, _ = ranking_data()
    told = {"qid": qid} if whole else {}
    local = rankwise.RankSVM(0.01, loss=loss, tol=1e-8).fit(X, y, **told)
    model = distributed_rankers.RankSVM(0.01 * scale**2, loss=loss, tol=1e-8, warm_start=True)
    lazy = as_dask(X * scale, qid)
    model.fit(lazy, y, **told)
    assert_allclose(model.predict(X * scale), local.predict(X), atol=5e-3)
    assert_allclose(model.objective_, local.objective_, atol=1e-7)
    if loss == "squared_hinge":
        assert model.fit(lazy, y, **told).n_iter_ == 0
