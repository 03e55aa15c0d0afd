import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from rankwise import ConditionalRanker, ConditionalRankerCV
from rankwise.exceptions import GridWarning
from rankwise.metrics import conditional_error, ranking_error
from rankwise.selection import ColumnSplit, EdgeSplit, RowColumnSplit, RowSplit

SETTINGS = {"edges": EdgeSplit, "rows": RowSplit, "columns": ColumnSplit, "both": RowColumnSplit}
ALPHAS = [0.01, 1.0, 100.0]


def make_relation(rng, two_domains, noise=0.5):
    A = rng.normal(size=(14, 3))
    B = rng.normal(size=(12, 3)) if two_domains else A
    Y = A @ rng.normal(size=(3, 3)) @ B.T
    return A, B, Y + noise * rng.normal(size=Y.shape)


@pytest.mark.parametrize("condition", ["row", "column"])
@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("two_domains", [True, False])
@pytest.mark.parametrize("setting", SETTINGS)
def test_folds_equal_refitting(setting, two_domains, complete, condition):
    rng = np.random.default_rng(0)
    A, B, Y = make_relation(rng, two_domains)
    X = (A, B) if two_domains else A
    if not complete:
        Y[rng.uniform(size=Y.shape) < 0.1] = np.nan
    ranker = ConditionalRanker(kernel="rbf", condition=condition, tol=1e-9)
    search = ConditionalRankerCV(ranker, alphas=ALPHAS, setting=setting, cv=2, random_state=1)
    search.fit(X, Y)
    edges = np.argwhere(~np.isnan(Y))
    y = Y[tuple(edges.T)]
    one_domain = not two_domains and setting != "edges"
    splits = list(SETTINGS[setting](2, 1, one_domain=one_domain).split(edges))
    for alpha, score in zip(search.cv_results_["alpha"], search.cv_results_["score"]):
        errors = []
        for train, test in splits:
            model = ConditionalRanker(alpha, **_without_alpha(ranker))
            model.fit(X, y[train], edges=edges[train])
            scores = model.predict_edges(A, B, edges[test])
            by = edges[test, 0 if condition == "row" else 1]
            errors.append(ranking_error(y[test], scores, by))
        assert score == pytest.approx(1 - np.mean(errors), abs=1e-12)
    best = search.cv_results_["alpha"][np.argmax(search.cv_results_["score"])]
    assert search.alpha_ == best == search.best_estimator_.alpha
    np.testing.assert_array_equal(search.predict(A, B), search.best_estimator_.predict(A, B))


def _without_alpha(ranker):
    return {name: value for name, value in ranker.get_params().items() if name != "alpha"}


@pytest.mark.parametrize("setting", SETTINGS)
def test_leave_one_out(setting):
    rng = np.random.default_rng(2)
    A, B, Y = make_relation(rng, True)
    search = ConditionalRankerCV(alphas=ALPHAS, setting=setting, cv="leave-one-out").fit((A, B), Y)
    name = {"edges": "edge", "rows": "row", "columns": "column", "both": "both"}[setting]
    for alpha, score in zip(search.cv_results_["alpha"], search.cv_results_["score"]):
        held_out = getattr(ConditionalRanker(alpha).fit((A, B), Y), f"leave_{name}_out")()
        assert score == pytest.approx(1 - conditional_error(Y, held_out))


def test_auto_leaves_out_whole_conditions_of_two_domains():
    rng = np.random.default_rng(3)
    A, B, Y = make_relation(rng, True)
    auto = ConditionalRankerCV(alphas=ALPHAS, setting="rows").fit((A, B), Y)
    loo = ConditionalRankerCV(alphas=ALPHAS, setting="rows", cv="leave-one-out").fit((A, B), Y)
    np.testing.assert_array_equal(auto.cv_results_["score"], loo.cv_results_["score"])


def test_relations_splitters_and_delegation():
    rng = np.random.default_rng(4)
    A, _, Y = make_relation(rng, False)
    Y = np.stack([Y + Y.T, Y.T + Y + 1], axis=-1)
    ranker = ConditionalRanker(relation="symmetric")
    search = ConditionalRankerCV(ranker, cv=RowColumnSplit(2, 0, one_domain=True)).fit(A, Y)
    assert len(search.cv_results_["alpha"]) == 31
    assert search.score(A, None, Y) > 0.8
    assert search.rank(A[0], A, k=2)[0].shape == (2, 2)
    assert search.predict_edges(A, A, [(0, 1)]).shape == (1, 2)
    assert ranker.get_params()["alpha"] == 1.0


def test_bad_arguments():
    rng = np.random.default_rng(5)
    A, _, Y = make_relation(rng, False)
    cases = [
        ({"setting": "nodes"}, "setting must be one of"),
        ({"alphas": []}, "non-empty"),
        ({"alphas": [0.0]}, "alphas must be"),
        ({"cv": "loo"}, "cv must be one of"),
        ({"cv": 2.5}, "cv must be 'auto'"),
    ]
    for parameters, message in cases:
        with pytest.raises(ValueError, match=message):
            ConditionalRankerCV(**parameters).fit(A, Y)
    Y[0, 0] = np.nan
    with pytest.raises(ValueError, match="complete graph"):
        ConditionalRankerCV(cv="leave-one-out").fit(A, Y)


@pytest.mark.parametrize("setting", ["edges", "rows", "columns", "both"])
def test_the_chosen_model_has_converged(setting):
    """Folds that would need more than max_iter iterations end silently, the refit goes on."""
    rng = np.random.default_rng(6)
    A, B = rng.normal(size=(40, 3)), rng.normal(size=(30, 3))
    truth = np.sin(A @ rng.normal(size=(3, 3)) @ B.T)
    edges = np.argwhere(rng.random(truth.shape) < 0.3)
    ranker = ConditionalRanker(kernel="rbf", max_iter=30, tol=1e-4)
    search = ConditionalRankerCV(
        ranker, alphas=[1e-3, 1e-2, 0.1, 1.0], setting=setting, cv=3, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        warnings.simplefilter("ignore", GridWarning)
        search.fit((A, B), truth[tuple(edges.T)], edges=edges)
    assert search.best_estimator_.max_iter == 300


def test_a_grid_of_parameters_shares_the_folds():
    rng = np.random.default_rng(7)
    A, B = rng.normal(size=(9, 3)), rng.normal(size=(8, 3))
    Y = rng.normal(size=(9, 8))
    grid = {"pairwise": ["kronecker", "cartesian", "kronecker"], "item_effect": [0.5]}
    search = ConditionalRankerCV(
        ConditionalRanker(kernel="rbf"), alphas=[0.1, 1.0, 10.0], grid=grid, setting="edges", cv=3
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GridWarning)
        search.fit((A, B), Y)
    first, _, third = search.grid_results_
    assert first["score"] == third["score"] and first["alpha"] == third["alpha"]
    assert search.best_estimator_.item_effect == 0.5
    assert search.best_params_["pairwise"] == search.best_estimator_.pairwise
