"""read_table: named columns of CSV, TSV and Parquet, and what is said about odd files."""

import builtins
import gzip
import io

import numpy as np
import pytest

import rankwise as rw
from rankwise.datasets import read_table

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
        ("a,b\n1,2,3\n", {}, 2, None, "expected 2 columns, but found 3"),
        ("a,a\n1,2\n", {}, 1, None, "two columns are called 'a'"),
        ("\na,a\n\n1,2\n", {}, 2, None, "two columns are called 'a'"),
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
