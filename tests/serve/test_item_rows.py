"""Items of requests as matrices: what is taken, what is refused, and in which words."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.serve.item_rows import framed_rows, missing_values, numeric_rows

NUMBER = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False)
)


@given(st.lists(st.tuples(NUMBER, NUMBER), min_size=1, max_size=5))
def test_every_number_arrives_as_it_was_or_is_refused(rows):
    items = [{"a": a, "other": "text", "b": b} for a, b in rows]
    exact = [v is None or isinstance(v, float) or int(float(v)) == v for row in rows for v in row]
    if not all(exact):
        with pytest.raises(ValueError, match="float64"):
            numeric_rows(items, ["a", "b"])
        return
    expected = np.array([[math.nan if v is None else float(v) for v in row] for row in rows])
    assert np.array_equal(numeric_rows(items, ["a", "b"]), expected, equal_nan=True)


def test_one_feature_and_gaps():
    assert numeric_rows([{"a": 1}, {"a": 2.5}], ["a"]).tolist() == [[1.0], [2.5]]
    assert np.isnan(numeric_rows([{"a": 1}, {}], ["a"])).tolist() == [[False], [True]]


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([{"a": 1}], "lack 1 of the model's 2 features: 'b'"),
        ([{}], "lack 2 of the model's 2 features: 'a', 'b'"),
        ([{"a": 1, "b": 2}, {"a": "x", "b": 1}], r"items\[1\]: 'a' holds 'x', which is not"),
        ([{"a": "1", "b": 2}], "'a' holds '1'"),
        ([{"a": [1], "b": 2}], "'a' holds a list"),
        ([{"a": {"c": 1}, "b": 2}], "'a' holds an object"),
        ([{"a": [1, 2], "b": 2}, {"a": 1, "b": 1}], "a list"),
        ([{"a": "y" * 5000, "b": 2}], "'a' holds 'y{58}…"),
    ],
)
def test_refused_with_row_name_and_value(items, message):
    with pytest.raises(ValueError, match=message):
        numeric_rows(items, ["a", "b"])


def test_missing_values_by_item_and_column():
    items = [{"a": 0, "b": ""}, {"b": " "}, {"a": None, "b": False}]
    assert missing_values(items, ["a", "b"]) == [(1, "a"), (2, "a")]
    assert missing_values(items, ["b", "a"], {"b"}) == [(0, "b"), (1, "b"), (1, "a"), (2, "a")]


def test_frames_keep_text():
    pytest.importorskip("pandas")
    frame = framed_rows([{"b": "x", "a": 1}, {"a": None}], ["a", "b"])
    assert list(frame.columns) == ["a", "b"] and frame["b"][0] == "x"
    for items in ([{"a": 1}], [{"a": [1], "b": 2}]):
        with pytest.raises(ValueError, match=r"lack 1|a list"):
            framed_rows(items, ["a", "b"])
