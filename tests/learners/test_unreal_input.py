"""Values that a conversion to float64 would change silently, in every argument of every door."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from rankwise import (
    RLS,
    ConditionalRanker,
    KernelMap,
    MPRank,
    MPRankCV,
    Preferences,
    RankBoost,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
    SVRank,
    metrics,
)
from rankwise.datasets import write_letor
from rankwise.evaluation import confidence_interval, cross_val_auc, permutation_test
from rankwise.kernels import repair_kernel
from rankwise.scaling import ItemScaler
from rankwise.supervision.queries import Queries

RNG = np.random.default_rng(0)
X, Y, QID = RNG.normal(size=(12, 3)), RNG.normal(size=12), np.repeat([0, 1, 2], 4)
WEIGHT = RNG.uniform(1, 2, 12)
LEARNERS = {
    "RankRLS": RankRLS(),
    "RankRLS, rbf": RankRLS(kernel="rbf"),
    "RLS": RLS(),
    "RankRLSCV": RankRLSCV([1.0, 2.0]),
    "RankSVM": RankSVM(),
    "RankSVMCV": RankSVMCV([1.0, 2.0], cv=3),
    "MPRank": MPRank(),
    "MPRank, online": MPRank(solver="online"),
    "MPRankCV": MPRankCV([1.0, 2.0]),
    "SVRank": SVRank(),
    "RankBoost": RankBoost(3),
}
every_learner = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)


def masked(values):
    """The values with the entry of row 2 (column 1) masked."""
    array = np.ma.array(values, mask=False)
    array[(2, 1)[: array.ndim]] = np.ma.masked
    return array


def unmasked(values):
    return np.ma.array(values, mask=False)


def with_weight(learner):
    return "sample_weight" in type(learner).fit.__code__.co_varnames


@every_learner
def test_masks_are_refused_in_every_argument(learner):
    with pytest.raises(ValueError, match=r"X is a masked array.* row 2, column 1"):
        clone(learner).fit(masked(X), Y, qid=QID)
    with pytest.raises(ValueError, match=r"y is a masked array.* row 2"):
        clone(learner).fit(X, masked(Y), qid=QID)
    with pytest.raises(ValueError, match=r"qid is a masked array.* row 2"):
        clone(learner).fit(X, Y, qid=masked(QID))
    if with_weight(learner):
        with pytest.raises(ValueError, match=r"sample_weight is a masked array.* row 2"):
            clone(learner).fit(X, Y, sample_weight=masked(WEIGHT))
    model = clone(learner).fit(X, Y, qid=QID)
    with pytest.raises(ValueError, match="X is a masked array"):
        model.predict(masked(X))
    with pytest.raises(ValueError, match="y is a masked array"):
        model.score(X, masked(Y), qid=QID)


@every_learner
def test_an_empty_mask_is_no_obstacle(learner):
    plain = clone(learner).fit(X, Y, qid=QID)
    found = clone(learner).fit(unmasked(X), unmasked(Y), qid=unmasked(QID))
    assert_array_equal(found.predict(unmasked(X)), plain.predict(X))


def days(values):
    return np.asarray(values, dtype=float).astype("M8[D]")


def hours(values):
    return np.asarray(values, dtype=float).astype("m8[h]")


@every_learner
@pytest.mark.parametrize("unreal", [days, hours, lambda values: values + 1j], ids=["M", "m", "c"])
def test_dates_and_complex_numbers_are_refused(learner, unreal):
    reason = "dates or durations|Complex data not supported"
    with pytest.raises(ValueError, match=reason):
        clone(learner).fit(unreal(X), Y)
    with pytest.raises(ValueError, match=reason):
        clone(learner).fit(X, unreal(Y))
    if with_weight(learner):
        with pytest.raises(ValueError, match=reason):
            clone(learner).fit(X, Y, sample_weight=unreal(WEIGHT))
    with pytest.raises(ValueError, match=reason):
        clone(learner).fit(X, Y).predict(unreal(X))


@every_learner
@pytest.mark.parametrize("library", [pd, pl])
def test_frames_with_dates_name_their_column(learner, library):
    columns = {"a": X[:, 0], "b": days(np.arange(12)).astype("M8[ms]"), "c": X[:, 2]}
    with pytest.raises(ValueError, match=r"X\['b'\] holds dates"):
        clone(learner).fit(library.DataFrame(columns), Y)


@every_learner
def test_two_columns_of_one_name_are_refused(learner):
    with pytest.raises(ValueError, match="two columns called 'b'"):
        clone(learner).fit(pd.DataFrame(X, columns=list("abb")), Y)


@every_learner
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, None, pd.NA])
def test_absent_values_name_their_row(learner, bad):
    def damaged(values):
        array = np.asarray(values).astype(object)
        array[(2, 1)[: array.ndim]] = bad
        if bad is not pd.NA:
            return array
        frame = pd.DataFrame(array) if array.ndim == 2 else pd.Series(array)
        return frame.astype("Float64")

    takes_missing = isinstance(learner, RankBoost) and (bad is None or np.all(pd.isna(bad)))
    if not takes_missing:
        with pytest.raises(ValueError, match="X"):
            clone(learner).fit(damaged(X), Y)
    with pytest.raises(ValueError, match=r"y .*row 2"):
        clone(learner).fit(X, damaged(Y))
    if with_weight(learner):
        with pytest.raises(ValueError, match=r"sample_weight .*row 2"):
            clone(learner).fit(X, Y, sample_weight=damaged(WEIGHT))
    with pytest.raises(ValueError, match="item 2"):
        labels = damaged(QID.astype(float))
        clone(learner).fit(X, Y, qid=labels.astype(float) if isinstance(bad, float) else labels)


@every_learner
@pytest.mark.parametrize("shaped", [lambda a: a[0], lambda a: a[:0], lambda a: a[:-1]])
def test_wrong_shapes_are_value_errors(learner, shaped):
    with pytest.raises(ValueError):
        clone(learner).fit(X, shaped(Y))
    with pytest.raises(ValueError):
        clone(learner).fit(shaped(X), Y)
    with pytest.raises(ValueError, match="qid"):
        clone(learner).fit(X, Y, qid=shaped(QID))
    if with_weight(learner) and np.ndim(shaped(WEIGHT)):
        with pytest.raises(ValueError, match="sample_weight"):
            clone(learner).fit(X, Y, sample_weight=shaped(WEIGHT))


@every_learner
@pytest.mark.parametrize(
    "written",
    [
        lambda values: values.astype(np.longdouble),
        lambda values: values.astype(object),
        lambda values: np.vectorize(repr)(values.astype(object)),
        lambda values: values.astype(">f8"),
        lambda values: np.where(values > 100, -0.0, values),
    ],
    ids=["long double", "object", "text", "big-endian", "negative zero"],
)
def test_the_same_numbers_written_otherwise_give_the_same_model(learner, written):
    plain = clone(learner).fit(X, Y, qid=QID)
    found = clone(learner).fit(written(X), written(Y), qid=QID)
    assert_allclose(found.predict(written(X)), plain.predict(X), rtol=1e-12)


@every_learner
def test_sparse_matrices_with_stored_nan_are_refused(learner):
    A = sparse.csr_array(X)
    A.data[4] = np.inf
    with pytest.raises(ValueError):
        clone(learner).fit(A, Y)
    with pytest.raises(ValueError, match="Complex"):
        clone(learner).fit(sparse.csr_array(X + 1j), Y)


def test_other_doors_refuse_masks_too(tmp_path):
    K = X @ X.T
    relation = ConditionalRanker()
    calls = {
        "X": [
            lambda: KernelMap().fit(masked(X)),
            lambda: KernelMap().fit(X).transform(masked(X)),
            lambda: ItemScaler().fit(masked(X)),
            lambda: RankRLS(kernel="precomputed").fit(masked(K), Y),
            lambda: relation.fit(masked(X), K),
            lambda: relation.fit(X, K).predict(masked(X)),
            lambda: cross_val_auc(RankRLS(kernel="precomputed"), masked(K), Y > 0),
            lambda: write_letor(tmp_path / "a.letor", masked(X), Y),
        ],
        "A": [lambda: relation.fit((masked(X), X), K)],
        "B": [lambda: relation.fit((X, masked(X)), K)],
        "K": [lambda: repair_kernel(masked(K))],
        "Y": [
            lambda: relation.fit(X, masked(K)),
            lambda: metrics.conditional_error(masked(K), K),
        ],
        "S": [lambda: metrics.conditional_error(K, masked(K))],
        "edges": [lambda: relation.fit(X, [1.0] * 3, edges=masked([[0, 1], [1, 2], [2, 0]]))],
        "winner": [lambda: Preferences(masked([1, 2, 3]), [0, 0, 0])],
        "loser": [lambda: Preferences([1, 2, 3], masked([0, 0, 0]))],
        "magnitude": [lambda: Preferences([1, 2, 3], [0, 0, 0], masked([1.0, 2.0, 3.0]))],
        "weight": [lambda: Preferences([1, 2, 3], [0, 0, 0], weight=masked([1.0, 2.0, 3.0]))],
        "y": [
            lambda: Preferences.from_scores(masked(Y)),
            lambda: metrics.concordance(masked(Y), Y),
            lambda: metrics.ndcg(masked(abs(Y)), Y),
            lambda: metrics.kendall_tau_b(masked(Y), Y),
            lambda: confidence_interval(masked(Y), Y),
            lambda: permutation_test(RankRLS(), X, masked(Y), n_permutations=9),
        ],
        "s": [lambda: metrics.concordance(Y, masked(Y))],
        "qid": [lambda: metrics.concordance(Y, Y, masked(QID))],
        "index": [lambda: RankRLS().fit(X, Y).holdout(masked([0, 1, 2]))],
        "pairs": [lambda: RankRLS().fit(X, Y).leave_pair_out(masked([[0, 1], [1, 2], [2, 3]]))],
        "alphas": [lambda: RankRLS().fit(X, Y).path(masked([1.0, 2.0, 3.0]))],
    }
    for name, doors in calls.items():
        for door in doors:
            with pytest.raises(ValueError, match=f"{name} is a masked array"):
                door()


def test_complex_measures_and_preferences_are_refused():
    for call in (
        lambda: metrics.concordance(Y + 1j, Y),
        lambda: metrics.concordance(Y, days(Y)),
        lambda: Preferences([1, 2], [0, 0], np.array([1.0, 2.0]) + 1j),
        lambda: Preferences.from_scores(Y + 1j),
        lambda: Preferences.from_scores(days(Y)),
    ):
        with pytest.raises(ValueError, match=r"Complex|dates"):
            call()


@pytest.mark.parametrize(
    "labels",
    [
        [2**53, 2**53 + 1, 2**53, 2**53 + 1],
        [2**63, -1, 2**63 + 1, -1],
        [2**64, 2**64 + 1, 1, 2],
        [0.5, 2**53 + 1, 2**53, 3],
        [2.0**53, 2**53 + 1, "a", 2**53],
        (1, 1.5, 2**60 + 1, 2**60),
    ],
)
def test_large_labels_stay_apart(labels):
    assert len(Queries.from_labels(labels, 4)) == len(set(labels))
    assert len(Queries.from_labels(np.array(labels, dtype=object), 4)) == len(set(labels))


@pytest.mark.parametrize("large", [2.0**53, -(2.0**60), np.inf])
def test_large_floats_are_no_labels(large):
    with pytest.raises(ValueError, match="qid of item 1 is the float"):
        RankRLS().fit(X[:3], Y[:3], qid=np.array([0.0, large, 1.0]))
