"""Tables, preferences, edges, ratings: what comes out, and what a stranger's odd file is told."""

import builtins
import gzip
import io

import numpy as np
import pytest

import rankwise as rw
from rankwise.datasets import (
    make_ranking,
    read_edges,
    read_preferences,
    read_ratings,
    read_table,
)

TABLE = "id,query,width,height,score\nd1,q 1,1.5,2,3\nd2,q 1,-1e3,0.1,1\n\nd3,q2,0,4,2\n"


def _file(text):
    return io.BytesIO(text.encode())


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_tables_by_named_columns(delimiter, tmp_path):
    (tmp_path / "t.csv").write_bytes(gzip.compress(TABLE.replace(",", delimiter).encode()))
    found = read_table(tmp_path / "t.csv", target="score", query="query", comments="id")
    assert found.X.tolist() == [[1.5, 2.0], [-1000.0, 0.1], [0.0, 4.0]]
    assert found.y.tolist() == [3.0, 1.0, 2.0]
    assert found.qid.tolist() == ["q 1", "q 1", "q2"]
    assert found.comments.tolist() == ["d1", "d2", "d3"]
    assert found.feature_names == ["width", "height"]


def test_tables_with_chosen_columns():
    found = read_table(_file(TABLE), features=["height", "width"])
    assert found.X[0].tolist() == [2.0, 1.5]
    assert (found.y, found.qid, found.comments) == (None, None, None)
    assert read_table(_file(TABLE), "score", drop=["id", "query"]).X.shape == (3, 2)
    quoted = read_table(_file('"a, b","c"\n" 1 ",true\n"2",False\n'))
    assert quoted.feature_names == ["a, b", "c"]
    assert quoted.X.tolist() == [[1.0, 1.0], [2.0, 0.0]]
    assert read_table(_file("1 2\n 3  4 \n"), target="2").X.tolist() == [[1.0], [3.0]]
    assert read_table(_file("1,2\n3,4\n"), target="2").X.tolist() == [[1.0], [3.0]]
    assert np.isnan(read_table(_file("a,b\nNA,1\n"), missing="nan").X[0, 0])
    assert read_table(_file("q,a\n1,1\n02,3\n"), query="q").qid.tolist() == ["1", "02"]
    assert read_table(_file("q,a\n1,1\n2,3\n"), query="q").qid.dtype == np.int64


@pytest.mark.parametrize(
    ("text", "options", "line", "column", "reason"),
    [
        ("a,b\n1,x\n", {}, 2, "b", r"drop=\['b'\]"),
        ("a,b\n1,2\n\n,2\n", {}, 4, "a", "missing"),
        ("a,b\n1,2\n3,\n", {"target": "b"}, 3, "b", "missing"),
        ("a,b\n1,2\n3,\n", {"query": "b"}, 3, "b", "missing"),
        ("a,b\n1,inf\n", {}, 2, "b", "not a finite number"),
        ("a,b\n1,1_000\n", {}, 2, "b", "not a number"),
        ("a,b\n1,1e999\n", {}, 2, "b", "not a finite number"),
        ("a,b\n1,2,3\n", {}, 2, None, "expected 2 columns, found 3"),
        ("a,a\n1,2\n", {}, 2, None, "two columns are called 'a'"),
        ("a,b\n", {}, None, None, "no rows"),
        ("", {}, None, None, "empty"),
        (",,\n", {}, None, None, "empty"),
        ('a,b\n"1,2\n', {}, 2, None, "not a table"),
        ("a\n1\n", {"target": "a"}, None, None, "no column is left"),
        ("a,b\n1,\x00\n", {}, 2, 3, "binary"),
    ],
)
def test_tables_that_cannot_be_read(text, options, line, column, reason):
    with pytest.raises(rw.ReadError, match=reason) as caught:
        read_table(_file(text), **options)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_table_options_are_checked():
    with pytest.raises(ValueError, match=r"no column 'x' \(target\); it has 'id', 'query'"):
        read_table(_file(TABLE), target="x")
    with pytest.raises(ValueError, match="missing must be"):
        read_table(_file(TABLE), missing="drop")
    with pytest.raises(ValueError, match="list of columns"):
        read_table(_file(TABLE), drop="id")
    with pytest.raises(rw.ReadError, match="0xff is not UTF-8"):
        read_table(io.BytesIO(b"a,b\n1,\xff\n"))


def test_parquet_equals_csv(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.read_csv(io.StringIO(TABLE))
    frame["flag"], frame["count"] = [True, False, True], [1, 2, 3]
    frame.to_parquet(tmp_path / "t")
    frame.to_csv(tmp_path / "t.csv", index=False)
    options = {"target": "score", "query": "query", "comments": "id"}
    parquet, text = (read_table(tmp_path / name, **options) for name in ("t", "t.csv"))
    for name in ("X", "y", "qid", "comments"):
        np.testing.assert_array_equal(parquet[name], text[name])
    frame.loc[1, "width"] = np.nan
    frame.to_parquet(tmp_path / "t")
    with pytest.raises(rw.ReadError, match="line 2, column 'width': a value is missing"):
        read_table(tmp_path / "t", **options)


def test_parquet_without_pyarrow_says_what_to_install(monkeypatch):
    original = builtins.__import__

    def without(name, *arguments, **keywords):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return original(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ValueError, match=r"rankwise\[frames\]"):
        read_table(io.BytesIO(b"PAR1...."))
    assert read_table(_file("a,b\n1,2\n")).X.tolist() == [[1.0, 2.0]]


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
        ("1 2 3 4 5\n", 1, None, "5 columns"),
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
    with pytest.raises(rw.ReadError, match="'plum' is not among items"):
        read_preferences(_file("pear plum\n"), items=["pear", "apple"])
    with pytest.raises(ValueError, match="items names an object twice"):
        read_preferences(_file("a b\n"), items=["a", "a"])


def test_edges_by_number_and_by_name():
    found = read_edges(_file("0 1 2.5\n3 0 -1\n"))
    assert found.edges.tolist() == [[0, 1], [3, 0]]
    assert found.y.tolist() == [2.5, -1.0]
    assert found.row_names is None
    named = read_edges(_file("drug,target,value\nb,t9,1\na,t1,2\n"))
    assert named.edges.tolist() == [[1, 1], [0, 0]]
    assert named.row_names.tolist() == ["a", "b"]
    given = read_edges(_file("b,t9,1\n"), rows=["b", "a"], columns=["t1", "t9"])
    assert given.edges.tolist() == [[0, 1]]
    shared = read_edges(_file("b c\na b\n"), one_domain=True)
    assert shared.edges.tolist() == [[1, 2], [0, 1]]
    assert shared.y is None
    with pytest.raises(rw.ReadError, match="line 1, column 'column': 't9' is not among columns"):
        read_edges(_file("b,t9,1\n"), columns=["t1"])
    with pytest.raises(rw.ReadError, match="line 2, column 'value': 'x' is not a number"):
        read_edges(_file("a b 1\nb a x\n"))


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


def test_made_rankings_are_what_was_asked_for():
    data = make_ranking(300, (2, 9), 6, n_informative=2, signal_to_noise=4.0, random_state=0)
    assert set(np.bincount(data.qid)) == set(range(2, 10))
    assert (data.coef != 0).tolist() == [True, True] + [False] * 4
    signal = data.X @ data.coef
    model = rw.RankRLS().fit(data.X, data.y, qid=data.qid)
    np.testing.assert_allclose(model.coef_, data.coef, atol=0.15)
    noise = make_ranking(300, 20, 6, query_shift=0.0, signal_to_noise=4.0, random_state=0)
    ratio = np.var(noise.X @ noise.coef) / np.var(noise.y - noise.X @ noise.coef)
    assert 3.5 < ratio < 4.5
    exact = make_ranking(5, 4, query_shift=0.0, signal_to_noise=np.inf, random_state=1)
    np.testing.assert_allclose(exact.y, exact.X @ exact.coef)
    assert signal.std() > 0


def test_made_grades_and_sparse_features():
    data = make_ranking(200, 10, 30, grades=4, density=0.2, random_state=0)
    shares = np.bincount(data.y.astype(int)) / len(data.y)
    np.testing.assert_allclose(shares, [0.5, 0.25, 0.125, 0.125], atol=0.02)
    assert abs(data.X.nnz / (2000 * 30) - 0.2) < 0.01
    again = make_ranking(200, 10, 30, grades=4, density=0.2, random_state=0)
    assert (again.X != data.X).nnz == 0
    for options in ({"n_items": (5, 2)}, {"grades": 1}, {"density": 2.0}, {"n_queries": 0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            make_ranking(**options)
