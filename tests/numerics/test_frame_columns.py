"""Columns by name, in pandas and in polars."""

import numpy as np
import pytest

from rankwise.numerics.frame_columns import column_names, matched_columns, require_columns


@pytest.fixture(params=["pandas", "polars"])
def frame(request):
    library = pytest.importorskip(request.param)
    return library.DataFrame({"b": [1, 2], "a": [3, 4], "c": ["x", "y"]})


def test_columns_come_in_the_order_asked_for(frame):
    assert column_names(frame).tolist() == ["b", "a", "c"]
    assert list(matched_columns(frame, ["a", "b"]).columns) == ["a", "b"]
    assert matched_columns(frame, ["b", "a", "c"]) is frame
    assert matched_columns(frame, None) is frame
    assert list(matched_columns(frame, np.array(["z", "c"], dtype=object)).columns) == ["c"]
    with pytest.raises(ValueError, match="the frame lacks 2 of the model's 3 features: 'y', 'z'"):
        require_columns(frame, ["y", "a", "z"], "the frame")


def test_arrays_and_columns_without_names_stay():
    pd = pytest.importorskip("pandas")
    X = np.ones((2, 2))
    assert matched_columns(X, ["a", "b"]) is X and column_names(X) is None
    numbered = pd.DataFrame(X)
    assert matched_columns(numbered, ["a", "b"]) is numbered and column_names(numbered) is None
    twice = pd.DataFrame(X, columns=["a", "a"])
    assert matched_columns(twice, ["a"]) is twice
