"""Bad input is a ValueError that names the argument, the place and the way out."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from rankwise import (
    RLS,
    KernelMap,
    MPRankCV,
    Preferences,
    RankRLS,
    RankRLSCV,
    RankSVM,
    SVRank,
    TooLarge,
)

RNG = np.random.default_rng(9)
X = RNG.normal(size=(12, 3))
Y = np.arange(12.0)
QID = np.repeat(["u", "v", "w"], 4)
LEARNERS = [RankRLS(), RLS(), RankRLSCV([1.0, 2.0]), RankRLS(kernel="rbf"), RankRLS(solver="cg")]
by_name = pytest.mark.parametrize("learner", LEARNERS, ids=repr)


def spoil(array, place, value):
    array = np.array(array, dtype=float)
    array[place] = value
    return array


def refused(message, error=ValueError):
    return pytest.raises(error, match=message)


@by_name
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf")])
def test_values_that_are_not_finite(learner, value, word):
    bad = spoil(X, (7, 1), value)
    with refused(f"X contains {word}.*row 7, column 1"):
        learner.fit(bad, Y)
    with refused(f"X contains {word}.*row 7, column 1"):
        learner.fit(sparse.csr_array(bad), Y)
    with refused(f"y contains {word}.*row 5"):
        learner.fit(X, spoil(Y, 5, value))
    with refused(f"y contains {word}.*row 5, column 1"):
        learner.fit(X, spoil(np.c_[Y, Y], (5, 1), value))
    with refused(f"sample_weight contains {word}.*row 3"):
        learner.fit(X, Y, sample_weight=spoil(Y, 3, value))
    learner.fit(X, Y)
    with refused(f"X contains {word}.*row 7"):
        learner.predict(bad)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("parameters", [{}, {"ties": "drop"}, {"query_weight": "queries"}])
def test_values_that_are_not_finite_are_refused_in_any_item(value, parameters):
    """Also if the item has no weight, no partner or no preference."""
    alone = np.r_[np.zeros(11), 1]
    for row, qid, weight in ((7, None, None), (11, alone, None), (0, None, alone + 0.5)):
        if weight is not None:
            weight = np.where(np.arange(12) == row, 0.0, weight)
        with refused(f"row {row}, column 1"):
            model = RankRLS(**parameters)
            model.fit(spoil(X, (row, 1), value), Y, qid=qid, sample_weight=weight)
    with refused("row 0, column 1"):
        RankRLS(**parameters).fit(spoil(X[:2], (0, 1), value), Y[:2])


@by_name
def test_wrong_lengths(learner):
    with refused("X has 12, y has 11"):
        learner.fit(X, Y[:-1])
    with refused(r"qid.*\(12,\).*\(11,\)"):
        learner.fit(X, Y, qid=QID[:-1])
    with refused(r"sample_weight.*\(12,\).*\(11,\)"):
        learner.fit(X, Y, sample_weight=Y[:-1])
    with refused("y"):
        learner.fit(X, np.zeros((12, 2, 2)))
    with refused("requires y"):
        learner.fit(X, None)
    learner.fit(X, Y, qid=QID)
    with refused("qid"):
        learner.score(X, Y, qid=QID[:-1])
    with refused("y"):
        learner.score(X, Y[:-1], qid=QID)


@pytest.mark.parametrize("alpha", [0, -1.0, np.nan, np.inf, "1", None, True, [1.0], 1j])
def test_alpha(alpha):
    for make in (RankRLS, RLS):
        with refused("alpha must be a finite number, positive"):
            make(alpha).fit(X, Y)


@pytest.mark.parametrize("alpha", [0, -1.0, np.nan, np.inf, "x", None, [1.0], 1j])
def test_grids_of_alphas(alpha):
    with refused("alpha"):
        RankRLSCV([1.0, alpha]).fit(X, Y)
    with refused("alpha"):
        RankRLS().fit(X, Y).path([2.0, alpha])


@pytest.mark.parametrize(
    ("name", "value", "listed"),
    [
        ("loss", "hinge", "'magnitude', 'unit', 'relative'"),
        ("loss", None, "'magnitude'"),
        ("ties", "maybe", "'keep', 'drop'"),
        ("query_weight", "items", "'pairs', 'size', 'queries'"),
        ("solver", "lbfgs", "'auto', 'cholesky', 'spectral', 'cg'"),
        ("kernel", "rbg", "rbf"),
        ("kernel", None, "rbf"),
        ("kernel", ["rbf"], "rbf"),
    ],
)
def test_unknown_names(name, value, listed):
    for make in (RankRLS, RankRLSCV):
        with refused(f"{name} must be one of.*{listed}"):
            make(**{name: value}).fit(X, Y)
    if name == "kernel":
        with refused("kernel must be one of"):
            KernelMap(value).fit(X)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tol", 0.0),
        ("tol", "x"),
        ("max_iter", 0),
        ("max_iter", 1.5),
        ("max_iter", None),
        ("basis", 13),
        ("basis", 0),
        ("basis", -2),
        ("basis", [0, 12]),
        ("basis", [1, 1]),
        ("basis", 2.5),
        ("basis", "all"),
        ("basis", []),
    ],
)
def test_other_parameters(name, value):
    for make in (RankRLS, RLS):
        with refused(name):
            make(**{name: value}).fit(X, Y)


def test_no_single_preference():
    with refused("no single preference"):
        RankRLS().fit(X, np.ones(12))
    with refused("no single preference in column 1"):
        RankRLS().fit(X, np.c_[Y, np.ones(12)])
    with refused("no single preference"):
        RankRLS().fit(X, np.repeat([1.0, 2, 3], 4), qid=QID)
    with refused("no single preference"):
        RankRLS().fit(X, Y, qid=np.arange(12))
    with refused("no single preference"):
        RankRLS().fit(X[:1], Y[:1])
    with refused("no single preference"):
        RankRLS().fit(X, Y, sample_weight=np.eye(12)[0])
    with refused("no single preference"):
        RankRLSCV().fit(X, np.ones(12))
    with refused("sample_weight is zero"):
        RankRLS().fit(X, Y, sample_weight=np.zeros(12))
    with refused("sample_weight is negative at row 2"):
        RankRLS().fit(X, Y, sample_weight=spoil(np.ones(12), 2, -1))
    for words in (["a"] * 12, [[1.0], [1.0, 2.0]] * 6):
        with refused("sample_weight must hold numbers"):
            RankRLS().fit(X, Y, sample_weight=words)


def test_preferences():
    for preferences, message in [
        (Preferences([0, 12], [1, 2]), r"winner\[1\] = 12.*0 to 11"),
        (Preferences([0], [1], n_items=9), "9 items but X has 12 rows"),
        (Preferences([], []), "no single preference"),
    ]:
        with refused(message):
            RankRLS().fit(X, preferences=preferences)
    with refused("preference 1: loser is -1, which is no row number"):
        Preferences([0, 3], [1, -1])
    with refused("preference 1: an item cannot be preferred over itself"):
        Preferences([0, 4], [1, 4])


@by_name
def test_other_features_than_in_training(learner):
    learner.fit(X, Y)
    with refused("X has 2 features, but .* is expecting 3"):
        learner.predict(X[:, :2])
    with refused("X has 4 features"):
        learner.score(np.c_[X, Y], Y)
    with refused("2D array"):
        learner.predict(X[0])


def test_precomputed_kernel_of_other_items():
    model = RankRLS(kernel="precomputed").fit(X @ X.T, Y)
    with refused("5 features"):
        model.predict(X @ X[:5].T)


def test_matrices_that_do_not_fit_in_memory(monkeypatch):
    monkeypatch.setattr("rankwise.numerics.memory.available_memory", lambda: 10_000)
    items = np.random.default_rng(0).normal(size=(1000, 4))
    for learner in (RankRLS(kernel="rbf"), RLS(kernel="rbf"), RankRLSCV([1.0], kernel="rbf")):
        with refused(r"1000 x 1000 would take 0\.0 GB.*basis=", TooLarge):
            learner.fit(items, items[:, 0])
    with refused("1000 x 1000.*basis=", TooLarge):
        KernelMap("rbf").fit(items)
    with refused("1000 x 300.*basis=", TooLarge):
        KernelMap("rbf", basis=300).fit(items)
    with refused("200 x 200.*cg", TooLarge):
        RankRLS().fit(np.ones((200, 200)) * items[:200, :1], items[:200, 0])
    with refused("1000 x 1000.*magnitude", TooLarge):
        RankRLS(loss="relative").fit(items, items[:, 0])
    with refused("GB", TooLarge):
        RankRLS(kernel=lambda A, B: A @ B.T).fit(items, items[:, 0])


def test_predicting_many_items_does_not_need_the_whole_kernel(monkeypatch):
    """The kernel between new and training items is refused, or cut, where it would not fit."""
    model = RankRLS(kernel="rbf").fit(X, Y)
    monkeypatch.setattr("rankwise.numerics.memory.available_memory", lambda: 10_000)
    many = np.zeros((5000, 3))
    try:
        assert np.isfinite(model.predict(many)).all()
    except ValueError as error:
        assert isinstance(error, TooLarge)


def test_holdout_indices():
    model = RankRLS().fit(X, Y, qid=QID)
    for index, message in [
        ([12], "12.*0 to 11"),
        ([-1], "-1"),
        ([1, 1], "twice"),
        ([0.5], "row numbers"),
        (["a"], "row numbers"),
        (np.ones(5, bool), "mask"),
        ([[1, 2]], "one-dimensional"),
    ]:
        with refused(message):
            model.holdout(index)
    for pairs, message in [
        ([[0, 12]], "0 to 11"),
        ([[3, 3]], "item 3 twice"),
        ([0, 1], "pairs"),
        ([[0.5, 1]], "pairs"),
        ([[0, 1, 2]], "pairs"),
    ]:
        with refused(message):
            model.leave_pair_out(pairs)
    with refused("two or more queries"):
        RankRLS().fit(X, Y).leave_query_out()


def test_solver_cg_is_for_linear_models():
    with refused("linear"):
        RankRLS(kernel="rbf", solver="cg").fit(X, Y)
    with refused("basis"):
        RankRLS(basis=3, solver="cg").fit(X, Y)


@pytest.mark.parametrize("text", [["a"] * 12, np.array(["1", "x"] * 6, dtype=object)])
def test_scores_that_are_no_numbers(text):
    with refused("y must hold numbers"):
        RankRLS().fit(X, text)


def test_scores_whose_squares_overflow():
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match="overflow"):
        MPRankCV().fit(X, 1e200 * X[:, 0])
    with pytest.raises(ValueError, match="scores y"):
        SVRank(epsilon=1.0, norm=2).fit(X, 1e200 * X[:, 0])


def test_basis_of_another_kind():
    for basis in (0.5, True, "some"):
        with pytest.raises(ValueError, match="basis must be None, an int or an array"):
            RankRLS(kernel="rbf", basis=basis).fit(np.eye(4), np.arange(4.0))


@pytest.mark.parametrize("model", [RankRLS(), RankSVM(), RankRLSCV([1.0, 2.0])])
class TestFramesNameTheirColumns:
    frame = pd.DataFrame({"size": [1.0, 2, 3, 4], "colour": ["3", "red", "7", "red"]})
    y = np.arange(4.0)

    def test_text(self, model):
        with pytest.raises(ValueError, match=r"column 'colour' of X holds text \('red' at row 1\)"):
            clone(model).fit(self.frame, self.y)
        with pytest.raises(ValueError, match="OneHotEncoder"):
            clone(model).fit(self.frame.astype({"colour": "category"}), self.y)

    def test_missing_values(self, model):
        frame = pd.DataFrame({"size": [1.0, 2, 3, 4], "weight": [1.0, np.nan, 2, 0]})
        with pytest.raises(ValueError, match=r"contains NaN .*row 1, column 1, 'weight'"):
            clone(model).fit(frame, self.y)
        fitted = clone(model).fit(frame.fillna(0.0), self.y)
        with pytest.raises(ValueError, match="column 1, 'weight'"):
            fitted.predict(frame)

    def test_the_way_out_works(self, model):
        encoder = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
        found = make_pipeline(encoder, clone(model)).fit(self.frame, self.y)
        assert np.isfinite(found.predict(self.frame)).all()
