import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import rankwise
from rankwise import TwoStepRanker, TwoStepRankerCV
from rankwise.exceptions import GridWarning, KernelRepairWarning
from rankwise.metrics import concordance, conditional_error
from rankwise.selection import EdgeSplit, RowColumnSplit, RowSplit

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(14, 3)), RNG.normal(size=(11, 2))
Y = A[:, :2] @ B.T + 0.8 * RNG.normal(size=(14, 11))
SQUARE = A @ A.T + RNG.normal(size=(14, 14))
METHODS = {"edges": "edge", "rows": "row", "columns": "column", "both": "both"}
GRIDS = ([0.1, 1.0, 10.0], [0.5, 5.0])
ignored = pytest.mark.filterwarnings("ignore:the best candidate", "ignore:Y is not")


@ignored
@pytest.mark.parametrize("setting", METHODS)
@pytest.mark.parametrize("condition", ["row", "column"])
@pytest.mark.parametrize("missing", [False, True])
def test_scores_are_those_of_the_hold_outs(setting, condition, missing):
    labels = Y.copy()
    if missing:
        labels[[0, 5], [3, 4]] = np.nan
    options = {"kernel": ("rbf", "linear"), "condition": condition, "fill": "mean"}
    search = TwoStepRankerCV(GRIDS, setting, **options).fit((A, B), labels)
    assert search.cv_results_["alpha"].shape == (6, 2)
    for alpha, score in zip(search.cv_results_["alpha"], search.cv_results_["score"]):
        model = TwoStepRanker(tuple(alpha), **options).fit((A, B), labels)
        held_out = getattr(model, f"leave_{METHODS[setting]}_out")()
        assert score == pytest.approx(1 - conditional_error(labels, held_out, condition))
    best = np.argmax(search.cv_results_["score"])
    assert search.alpha_ == tuple(search.cv_results_["alpha"][best])
    assert search.best_score_ == search.cv_results_["score"][best]
    assert (search.cv_results_["score_se"] > 0).all()
    chosen = TwoStepRanker(search.alpha_, **options).fit((A, B), labels)
    np.testing.assert_array_equal(search.predict(A, B), chosen.predict(A, B))
    edges = np.array([[1, 2]])
    assert search.predict_edges(A, B, edges) == chosen.predict_edges(A, B, edges)
    u, V = (A[0], B) if condition == "row" else (B[0], A)
    np.testing.assert_array_equal(search.rank(u, V, 3)[0], chosen.rank(u, V, 3)[0])
    assert search.score(A, B, Y) == chosen.score(A, B, Y)


@ignored
@pytest.mark.parametrize("relation", ["symmetric", "reciprocal"])
@pytest.mark.parametrize("setting", METHODS)
def test_mirrored_relations_have_one_alpha(relation, setting):
    labels = SQUARE + (1 if relation == "symmetric" else -1) * SQUARE.T
    search = TwoStepRankerCV([0.1, 1.0], setting, relation=relation).fit(A, labels)
    assert search.alpha_[0] == search.alpha_[1]
    np.testing.assert_array_equal(search.cv_results_["alpha"], [[0.1, 0.1], [1.0, 1.0]])
    for alpha, score in zip([0.1, 1.0], search.cv_results_["score"]):
        model = TwoStepRanker(alpha, relation=relation).fit(A, labels)
        held_out = getattr(model, f"leave_{METHODS[setting]}_out")()
        assert score == pytest.approx(1 - conditional_error(labels, held_out))
    default = TwoStepRankerCV(setting=setting, relation=relation).fit(A, labels)
    assert len(default.alphas_[0]) >= 31


@ignored
@pytest.mark.parametrize("fill", [None, "model", "mean"])
@pytest.mark.parametrize("split", [RowSplit, EdgeSplit, RowColumnSplit])
def test_folds_equal_refits_on_the_training_nodes(split, fill):
    splitter = split(3, 1)
    search = TwoStepRankerCV(GRIDS, kernel="rbf", cv=splitter, fill=fill).fit((A, B), Y)
    edges = np.argwhere(np.isfinite(Y))
    for alpha, score in zip(search.cv_results_["alpha"], search.cv_results_["score"]):
        folds = []
        for train, test in splitter.split(edges):
            rows, columns = np.unique(edges[train, 0]), np.unique(edges[train, 1])
            labels = np.full(Y.shape, np.nan)
            labels[tuple(edges[train].T)] = Y[tuple(edges[train].T)]
            model = TwoStepRanker(tuple(alpha), kernel="rbf", fill=fill or "model")
            model.fit((A[rows], B[columns]), labels[np.ix_(rows, columns)])
            s = model.predict_edges(A, B, edges[test])
            folds.append(concordance(Y[tuple(edges[test].T)], s, edges[test, 0]))
        assert score == pytest.approx(np.mean(folds), abs=1e-9)


@ignored
def test_cells_filled_by_the_model_are_searched_by_folds():
    labels = Y.copy()
    labels[[0, 5], [3, 4]] = np.nan
    search = TwoStepRankerCV([0.1, 1.0], fill="model", random_state=3).fit((A, B), labels)
    folds = TwoStepRankerCV([0.1, 1.0], fill="model", cv=5, random_state=3).fit((A, B), labels)
    np.testing.assert_array_equal(search.cv_results_["score"], folds.cv_results_["score"])
    with pytest.raises(ValueError, match="2 cells are not observed"):
        TwoStepRankerCV([0.1, 1.0], fill="model", cv="leave-one-out").fit((A, B), labels)


@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e60])
def test_the_default_grid_follows_the_scale_of_the_features(scale):
    search = TwoStepRankerCV(setting="rows").fit((scale * A, B), Y)
    plain = TwoStepRankerCV(setting="rows").fit((A, B), Y)
    assert search.best_score_ == pytest.approx(plain.best_score_, abs=0.02)
    assert min(map(len, search.alphas_)) >= 11


def test_the_default_grid_grows():
    noise = np.random.default_rng(5).normal(size=Y.shape)
    search = TwoStepRankerCV(setting="rows", kernel="rbf").fit((A, B), noise)
    assert all(grid[0] <= alpha <= grid[-1] for alpha, grid in zip(search.alpha_, search.alphas_))


def test_an_end_of_a_given_grid_warns():
    with pytest.warns(GridWarning, match="alphas of the"):
        TwoStepRankerCV([1e5, 1e6]).fit((A, B), Y)


@ignored
def test_other_measures_and_conventions():
    search = TwoStepRankerCV([0.1, 1.0], scoring="tau", random_state=0)
    fitted = clone(search).fit((A, B), Y)
    assert fitted.get_params() == search.get_params()
    assert -1 <= fitted.best_score_ <= 1
    with pytest.raises(NotFittedError):
        search.predict(A, B)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"setting": "cells"}, "setting"),
        ({"cv": "folds"}, "cv"),
        ({"cv": 2.5}, "cv must be"),
        ({"alphas": [0.0, 1.0]}, "alphas"),
        ({"alphas": ([1.0, 2.0], [-1.0, 1.0])}, "alphas"),
        ({"relation": "symmetric", "alphas": ([1.0, 2.0], [1.0, 3.0])}, "one grid"),
    ],
)
@pytest.mark.filterwarnings("ignore:Y is not")
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        TwoStepRankerCV(**options).fit(A, SQUARE)


def test_a_search_repairs_and_tells_it_once(tmp_path):
    rng = np.random.default_rng(5)
    K = rng.normal(size=(12, 12))
    K, labels = K + K.T, rng.normal(size=(12, 9))
    search = TwoStepRankerCV([0.1, 1.0], "rows", kernel=("precomputed", "linear"), repair="clip")
    with pytest.warns(KernelRepairWarning) as told:
        search.fit((K, rng.normal(size=(9, 2))), labels)
    assert len([one for one in told if one.category is KernelRepairWarning]) == 1
    assert search.repairs_ == search.best_estimator_.repairs_ and len(search.repairs_) == 1
    rankwise.save(search, tmp_path / "search.rw")
    assert rankwise.load(tmp_path / "search.rw").repairs_ == search.repairs_
