"""read_preferences and read_ratings: the result, and what is said about odd files."""

import io

import numpy as np
import pytest

import rankwise as rw
from rankwise.datasets import read_preferences, read_ratings


def _file(text):
    return io.BytesIO(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "3 0\n1 2\n",
        "# comment\n3\t0\r\n1\t2\r\n",
        "3,0\n1,2",
        "loser;winner\n0;3\n2;1\n",
        "3::0\n1::2\n",
    ],
)
def test_preferences_in_any_separator(text):
    found = read_preferences(_file(text), n_items=4)
    assert found.winner.tolist() == [3, 1]
    assert found.loser.tolist() == [0, 2]
    assert found.n_items == 4
    assert rw.RankRLS().fit(np.eye(4), preferences=found).coef_[3] > 0


def test_preferences_by_name_with_magnitudes():
    text = "winner loser weight magnitude\npear apple 2 0.5\n"
    found = read_preferences(_file(text), items=["apple", "pear"])
    assert (found.winner[0], found.loser[0], found.n_items) == (1, 0, 2)
    assert (found.weight[0], found.magnitude[0]) == (2.0, 0.5)


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        ("1 2\n1 1\n", 2, "loser", "itself"),
        ("1 2\nx 1\n", 2, "winner", "items="),
        ("1 2\n1.5 1\n", 2, "winner", "row number"),
        ("1 -2\n", 1, "loser", "row number"),
        ("1 2 0\n", 1, "magnitude", "swap winner and loser"),
        ("1 2 1 -1\n", 1, "weight", "negative"),
        ("1 2 nan\n", 1, "magnitude", "missing"),
        ("1 2 3 4 0 6\n", 1, None, "6 columns"),
        ("1 2\n1\n", 2, None, "found 1"),
        ("1\n", 1, None, r"expected winner loser \[magnitude\] \[weight\]"),
        ("winner loser\n", None, None, "nothing else"),
        ("#\n", None, None, "empty"),
    ],
)
def test_preferences_that_cannot_be_read(text, line, column, reason):
    with pytest.raises(rw.ReadError, match=reason) as caught:
        read_preferences(_file(text))
    assert (caught.value.line, caught.value.column) == (line, column)


def test_unknown_names_are_refused():
    with pytest.raises(rw.ReadError, match="'plum' is not in items"):
        read_preferences(_file("pear plum\n"), items=["pear", "apple"])
    with pytest.raises(ValueError, match="items contains a name twice"):
        read_preferences(_file("a b\n"), items=["a", "a"])


@pytest.mark.parametrize(
    "text",
    [
        "7::30::4.5::99\n2::30::1::98\n",
        "7 30 4.5\n2 30 1\n",
        "userId,movieId,rating,timestamp\n7,30,4.5,99\n2,30,1,98\n",
        "rating\titem\tcolour\tuser\n4.5\t30\tred\t7\n1\t30\tblue\t2\n",
    ],
)
def test_ratings(text):
    found = read_ratings(_file(text))
    assert found.edges.tolist() == [[1, 0], [0, 0]]
    assert found.y.tolist() == [4.5, 1.0]
    assert (found.user_names.tolist(), found.item_names.tolist()) == ([2, 7], [30])


def test_ratings_that_cannot_be_read():
    with pytest.raises(rw.ReadError, match="expected user item rating"):
        read_ratings(_file("1 2\n"))
    with pytest.raises(rw.ReadError, match="line 2, column 'rating': a value is missing"):
        read_ratings(_file("1,2,3\n1,3,\n"))
