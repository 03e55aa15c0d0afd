"""Integers that no float64 equals, cells of text, grids that are no grids, and models to save."""

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.model_selection import KFold

import rankwise as rw
from rankwise import metrics

BIG = 2**53
X = np.random.default_rng(0).normal(size=(12, 3))
Y = np.arange(12)


class Proportional:
    """A loss of one's own: z = difference, w = 1."""

    def pairs(self, difference):
        return difference, np.ones_like(difference)


FRAMES = {
    "array": np.asarray,
    "unsigned": lambda values: np.asarray(values, dtype=np.uint64),
    "objects": lambda values: np.asarray(values, dtype=object),
    "list": lambda values: np.asarray(values).tolist(),
    "sparse": sparse.csr_array,
    "pandas": lambda values: pd.DataFrame(values, columns=list("abc")),
    "nullable": lambda values: pd.DataFrame(values, columns=list("abc")).astype("Int64"),
    "polars": lambda values: pl.DataFrame(values, schema=list("abc")),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_large_integers_in_X_are_named(kind):
    items = np.arange(36).reshape(12, 3)
    items[4, 2], items[5, 2] = BIG + 1, BIG
    given = FRAMES[kind](items)
    with pytest.raises(
        ValueError, match=f"X holds the integer {BIG + 1} at row 4, column 2.*offset"
    ):
        rw.RankRLS().fit(given, Y)
    items[4, 2] = BIG + 2  # as a float it is still itself
    rw.RankRLS().fit(FRAMES[kind](items), Y)


@pytest.mark.parametrize("kind", [np.asarray, list, pd.Series, pl.Series])
def test_large_integers_in_scores_are_named(kind):
    y = kind([BIG + int(i) for i in range(12)])
    for call in (
        lambda: rw.RankRLS().fit(X, y),
        lambda: rw.RankBoost().fit(X, y),
        lambda: metrics.ranking_error(y, np.arange(12)),
        lambda: rw.Preferences.from_scores(y),
    ):
        with pytest.raises(ValueError, match=f"y holds the integer {BIG + 1} at row 1"):
            call()
    with pytest.raises(ValueError, match=f"s holds the integer {BIG + 1} at row 1"):
        metrics.concordance(np.arange(12), y)
    assert metrics.ranking_error(np.asarray(y) - BIG, np.arange(12)) == 0


def test_integers_beyond_64_bits_are_named():
    with pytest.raises(ValueError, match=r"y holds the integer 10+ at row 2"):
        metrics.ranking_error([1, 2, 10**400], [1, 2, 3])


@pytest.mark.parametrize("learner", [rw.RankRLS(), rw.RankSVM(), rw.RankBoost()])
@pytest.mark.parametrize("kind", ["objects", "list", "pandas", "polars"])
def test_a_cell_of_text_is_named(learner, kind):
    items = X.astype(object)
    items[:, 1] = [str(value) for value in items[:, 1]]
    items[3, 1] = "abc"
    with pytest.raises(ValueError, match=r"'abc' at row 3.*OneHotEncoder"):
        learner.fit(FRAMES[kind](items), Y)


def test_infinite_features_of_rank_boost_are_named():
    items = X.copy()
    items[2, 0], items[4, 2] = np.nan, np.inf
    model = rw.RankBoost(5).fit(X, Y)
    for call in (lambda: rw.RankBoost().fit(items, Y), lambda: model.predict(items)):
        with pytest.raises(ValueError, match=r"infinity \(the first at row 4, column 2"):
            call()


@pytest.mark.parametrize("grid", [["1"], np.array(["1", "2"]), "1", 5.0, True, [True], [1, "2"]])
def test_a_grid_that_is_none_is_refused(grid):
    for search, name in (
        (rw.RankRLSCV(grid), "alphas"),
        (rw.RankSVMCV(grid), "alphas"),
        (rw.MPRankCV(grid), "Cs"),
    ):
        with pytest.raises(ValueError, match=name):
            search.fit(X, Y)


class TestWaysOutOfSaving:
    def test_cv_and_scoring_are_replaced_by_names(self, tmp_path):
        own = {"cv": KFold(3), "scoring": lambda y, s: float(np.corrcoef(y, s)[0, 1])}
        model = rw.RankRLSCV([0.1, 1.0, 10.0], **own).fit(X, X[:, 0])
        with pytest.raises(ValueError, match="set_params before saving"):
            rw.save(model, tmp_path / "model.rw")
        rw.save(model.set_params(cv=3, scoring=None), tmp_path / "model.rw")
        assert (rw.load(tmp_path / "model.rw").predict(X) == model.predict(X)).all()

    def test_a_loss_of_ones_own_is_kept_by_joblib(self, tmp_path):
        model = rw.RankRLS(loss=Proportional()).fit(X, Y)
        with pytest.raises(ValueError, match=r"loss is a .* of your own.*joblib\.dump"):
            rw.save(model, tmp_path / "model.rw")
        joblib.dump(model, tmp_path / "model.joblib")
        assert (joblib.load(tmp_path / "model.joblib").predict(X) == model.predict(X)).all()
