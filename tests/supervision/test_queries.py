"""Query labels of any kind, in any order, give the same partition."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rankwise import RankRLS
from rankwise.supervision.queries import Queries

RNG = np.random.default_rng(4)
CODES = RNG.integers(0, 4, 30)
X = RNG.normal(size=(30, 3))
Y = RNG.normal(size=30)


def objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def label(names):
    return [names[code] for code in CODES]


LABELS = {
    "integers": CODES,
    "negative": -CODES,
    "unsigned": CODES.astype(np.uint8),
    "floats": CODES / 7,
    "strings": label(["b", "", "a b", "ü"]),
    "bytes": np.array(label([b"b", b"", b"c", b"a"])),
    "mixed": label([1, "a", 2.5, "b"]),
    "numbers and their names": label([1, "1", 2.0, "2.0"]),
    "objects": objects(label([1, "1", (1,), frozenset()])),
    "datetimes": np.array(label(["2020-01-01", "2019-01-01", "2021-05-05", "1970-01-01"]), "M8[D]"),
    "dates": objects(label([datetime.date(2000, 1, day) for day in (1, 2, 3, 4)])),
    "timedeltas": CODES.astype("m8[s]"),
    "pandas": pd.Series(CODES, index=np.arange(30)[::-1] * 3),
    "pandas strings": pd.Series(label(list("zyxw")), dtype="string"),
    "pandas nullable": pd.array(CODES, dtype="Int64"),
    "pandas categorical": pd.Categorical(label(list("abcd")), categories=list("dxcba")),
    "pandas datetimes": pd.Series(pd.to_datetime(label(["2020", "2021", "2022", "2023"]))),
    "pandas frame": pd.DataFrame({"q": CODES}),
    "polars": pl.Series(CODES),
    "polars strings": pl.Series(label(list("zyxw"))),
    "polars categorical": pl.Series(label(list("zyxw"))).cast(pl.Categorical),
    "column": CODES[:, None],
    "list": CODES.tolist(),
    "tuple": tuple(CODES.tolist()),
}


def expected_partition():
    return {frozenset(np.flatnonzero(code == CODES).tolist()) for code in range(4)}


@pytest.mark.parametrize("kind", LABELS)
def test_any_labels_any_order(kind):
    queries = Queries.from_labels(LABELS[kind], 30)
    assert {frozenset(members.tolist()) for members in queries} == expected_partition()
    for members in queries:
        assert_array_equal(members, np.sort(members))
    model = RankRLS().fit(X, Y, qid=LABELS[kind])
    plain = RankRLS().fit(X, Y, qid=CODES)
    assert_allclose(model.coef_, plain.coef_, rtol=1e-9)
    assert_allclose(model.leave_query_out(), plain.leave_query_out(), rtol=1e-7, atol=1e-9)
    assert model.score(X, Y, qid=LABELS[kind]) == pytest.approx(plain.score(X, Y, qid=CODES))


def test_none_is_one_query():
    queries = Queries.from_labels(None, 5)
    assert len(queries) == 1
    assert_array_equal(queries.members(0), np.arange(5))
    same = RankRLS().fit(X, Y, qid=["only"] * 30)
    assert_allclose(same.coef_, RankRLS().fit(X, Y).coef_)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-2, 2), min_size=1, max_size=15), st.data())
def test_take_is_the_partition_of_the_subset(labels, data):
    labels = np.array(labels)
    index = np.array(data.draw(st.permutations(range(len(labels)))))
    index = index[: data.draw(st.integers(1, len(labels)))]
    taken = Queries.from_labels(labels, len(labels)).take(index)
    direct = Queries.from_labels(labels[index], len(index))
    assert {tuple(sorted(a.tolist())) for a in taken} == {tuple(sorted(a.tolist())) for a in direct}
    assert sorted(taken.labels.tolist()) == sorted(set(labels[index].tolist()))
    assert taken.n_items == len(index)
    for number, members in enumerate(taken):
        assert (labels[index][members] == taken.labels[number]).all()


MISSING = {
    "nan": [1.0, np.nan, 2.0],
    "nan among strings": ["a", np.nan, "b"],
    "None": ["a", None, "b"],
    "NaT": np.array(["2020-01-01", "NaT", "2020-01-02"], dtype="M8[D]"),
    "timedelta NaT": np.array([1, "NaT", 2], dtype="m8[s]"),
    "pandas NA": pd.array([1, None, 2], dtype="Int64"),
    "pandas string NA": pd.array(["a", None, "b"], dtype="string"),
    "object pd.NA": objects(["a", pd.NA, "b"]),
    "pandas NaT": pd.Series(pd.to_datetime(["2020-01-01", None, "2020-01-02"])),
    "categorical": pd.Categorical(["a", None, "b"]),
    "polars": pl.Series(["a", None, "b"]),
    "polars integers": pl.Series([1, None, 2]),
    "polars dates": pl.Series([datetime.date(2020, 1, 1), None, datetime.date(2020, 1, 2)]),
}


@pytest.mark.parametrize("kind", MISSING)
def test_missing_labels_name_the_item(kind):
    with pytest.raises(ValueError, match="qid is missing for item 1"):
        Queries.from_labels(MISSING[kind], 3)


@pytest.mark.parametrize(
    "qid",
    [[1, 2], 3, "abc", np.zeros((3, 2)), np.zeros((1, 3)), objects([[1], [2], [1]]), {1, 2, 3}],
    ids=["short", "scalar", "a string", "two columns", "a row", "unhashable", "a set"],
)
def test_wrong_labels_are_named(qid):
    with pytest.raises(ValueError, match="qid"):
        Queries.from_labels(qid, 3)


@pytest.mark.parametrize("qid", [np.array([1j, 2j]), [1j, 2]])
def test_complex_labels_are_refused(qid):
    with pytest.raises(ValueError, match="qid holds complex numbers: give integers or text"):
        Queries.from_labels(qid, 2)


@pytest.mark.parametrize("qid", [["u", ("a", 1)], [("b", 1), ("a", 1)][::-1], [0, ("a", 1, 2)]])
def test_a_label_of_several_parts_in_a_list_is_named(qid):
    with pytest.raises(ValueError, match=r"that of item \d is \('a', 1.*Join its parts"):
        Queries.from_labels(qid, 2)


@pytest.mark.parametrize("kind, bits", [(np.float16, 11), (np.float32, 24), (np.float64, 53)])
def test_floats_that_stand_for_several_whole_numbers_are_refused(kind, bits):
    largest = np.array([2**bits - 1, 0], dtype=kind)
    assert len(Queries.from_labels(largest, 2)) == 2
    with pytest.raises(ValueError, match=rf"from 2\*\*{bits} on.*integers or text"):
        Queries.from_labels(largest + kind(1), 2)
