"""Large files through pyarrow: the same columns as the plain reader, and the same errors."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwise as rw
from rankwise.datasets import read_table
from rankwise.io import arrow_tables
from rankwise.io.source import Source
from rankwise.io.tables import read_columns

pytest.importorskip("pyarrow")


@pytest.fixture
def fast(monkeypatch):
    monkeypatch.setattr(arrow_tables, "FAST_FROM", 0)


def both(data: bytes, **options):
    """What the plain reader and the fast one return, or the errors that they raise."""
    results = []
    for smallest in (10**9, 0):
        before, arrow_tables.FAST_FROM = arrow_tables.FAST_FROM, smallest
        try:
            results.append(read_table(io.BytesIO(data), **options))
        except ValueError as error:
            results.append(str(error))
        finally:
            arrow_tables.FAST_FROM = before
    return results


def assert_same(data: bytes, **options):
    plain, fast = both(data, **options)
    if isinstance(plain, str) or isinstance(fast, str):
        assert plain == fast
        return
    for name in ("X", "y", "qid", "comments"):
        np.testing.assert_array_equal(plain[name], fast[name])
        if plain[name] is not None and name == "qid":
            assert plain[name].dtype.kind == fast[name].dtype.kind
    assert plain.feature_names == fast.feature_names and plain.columns == fast.columns


HOSTILE = [
    "a,b\n1,2\n3,4\n",
    "a,b\r\n1,2\r\n3,4\r\n",
    "a,b\n1,2\n3,4",
    "\ufeffa,b\n1,2\n",
    "\n\na,b\n\n1,2\n\n\n3,4\n\n",
    "a,b\n1,2\n , \n,\n3,4\n",
    "a,b\n 1 , 2\n3,4 \n",
    'a,b\n"1","2"\n"3","4"\n',
    'a,b\n"1\n",2\n3,x\n',
    'a,b\n"1""",2\n',
    'a,b\n"1"x,2\n',
    'a,b\n1,"2\n3,4\n',
    'a,b\nx"1,2\n',
    'a,"b c"\n1,2\n',
    'a,"b\nc"\n1,2\n',
    "a,b\n1,2\r3,4\n",
    "a,b\n1,2,3\n",
    "a,b\n1\n",
    "a,a\n1,2\n",
    "a,b\n",
    "",
    "\n",
    "a,b\n1,1e400\n",
    "a,b\n1,\u22122\n",
    "a,b\n1,1 2\n",
    "a,b\n1,1_0\n",
    "a,b\n1,nan\n2,NA\n",
    "a,b\n1,inf\n",
    "a,b\n1,\x002\n",
    "a,b\n1,+2\n",
    "a;b\n1,5;2\n3;4\n",
    "a\tb\n1\t2\n",
    "1,2\n3,4\n",
    "1 2\n3 4\n",
    "a,b\n1,true\n2,False\n",
    "a,b\n1,5%\n2,6%\n",
    "a,b\n1,2024-01-01\n2,2024-01-02\n",
    "a,b\n1,\n2,3\n",
    "a\n1\n\n2\n",
    "é,b\n1,2\n",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("missing", ["error", "nan"])
def test_both_readers_agree(text, missing):
    assert_same(text.encode(), missing=missing)
    assert_same(text.encode(), missing=missing, query="a", target=None)
    assert_same(b"\xff" + text.encode())


@settings(max_examples=150, deadline=None)
@given(st.text('ab01.5,;\t\n\r" -%xé', max_size=60))
def test_both_readers_agree_on_anything(text):
    assert_same(("a,b\n" + text).encode(), missing="nan")
    assert_same(text.encode(), missing="nan")


def test_errors_of_large_files_name_the_line(fast):
    lines = ["id,x,y"] + [f"r{i},{i},{i / 7}" for i in range(5000)]
    lines[1234] = '"a\n\nb",x1,2'
    lines.insert(50, "")
    text = "\n".join(lines)
    with pytest.raises(rw.ReadError, match="'x1' is not a number") as caught:
        read_table(io.BytesIO(text.encode()), comments="id")
    assert (caught.value.line, caught.value.column) == (1238, "x")
    columns = read_columns(Source("t", text.replace("x1", "1").encode()))
    assert callable(columns.lines) and columns.line(0) == 2 and columns.line(49) == 52
    plain = text.replace("x1", "")
    with pytest.raises(rw.ReadError, match="line 1238, column 'x': a value is missing"):
        read_table(io.BytesIO(plain.encode()), comments="id")


def test_numbers_are_the_nearest_doubles(fast):
    rng = np.random.default_rng(0)
    values = rng.normal(size=2000) * 10.0 ** rng.integers(-300, 300, 2000)
    text = "x\n" + "\n".join(map(repr, values.tolist())) + "\n"
    np.testing.assert_array_equal(read_table(io.BytesIO(text.encode())).X[:, 0], values)


def test_labels_of_large_files(fast):
    text = "q,x\n" + "".join(f"{q},1\n" for q in ("007", "8 ", " 9", "é"))
    assert read_table(io.BytesIO(text.encode()), query="q").qid.tolist() == ["007", "8", "9", "é"]
    with pytest.raises(rw.ReadError, match="line 3, column 'q': a label is missing"):
        read_table(io.BytesIO(b"q,x\n1,1\n,2\n"), query="q")


def test_kinds_of_parquet_columns(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "flag": [True, False],
            "day": pd.to_datetime(["1970-01-02", "1970-01-03"]),
            "share": ["5%", "10%"],
            "comma": ["1,5", "2"],
            "city": pd.Categorical(["Bonn", "Rome"]),
            "half": np.array([0.5, 2], dtype=np.float16).astype(np.float32),
        }
    )
    frame.to_parquet(tmp_path / "t")
    found = read_table(tmp_path / "t", categorical=["city"])
    assert found.X.tolist() == [[1, 1, 0.05, 1.5, 1, 0, 0.5], [0, 2, 0.1, 2, 0, 1, 2]]
    assert [column.kind for column in found.columns][1:5] == [
        *("date", "percent", "number", "category")
    ]
