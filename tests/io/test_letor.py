"""read_letor and write_letor: exact, equal to scikit-learn, clear about what cannot be read."""

import bz2
import gzip
import io
import lzma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_svmlight_file

import rankwise as rw
from rankwise.datasets import make_ranking, read_letor, write_letor
from rankwise.io import letor
from tests.io.test_decimal import DECIMALS, bits_of


def _read(text, **options):
    data = text if isinstance(text, bytes) else text.encode()
    return read_letor(io.BytesIO(data), **options)


@given(st.lists(st.lists(DECIMALS, min_size=1, max_size=4), min_size=1, max_size=6))
def test_values_are_python_floats_bit_for_bit(rows):
    text = "\n".join(
        f"{row[0]} " + " ".join(f"{j}:{v}" for j, v in enumerate(row, 1)) for row in rows
    )
    expected = [[float(v) for v in row] for row in rows]
    if any(abs(v) == np.inf for row in expected for v in row):
        with pytest.raises(rw.ReadError, match="beyond the range"):
            _read(text)
        return
    found = _read(text, dense=False)
    assert found.y.tolist() == [row[0] for row in expected]
    assert [bits_of(v) for v in found.X.data] == [bits_of(v) for row in expected for v in row]


@pytest.mark.parametrize("part_bytes", [1, 200, 1 << 22])
def test_equals_scikit_learn_however_it_is_cut(part_bytes, monkeypatch, tmp_path):
    monkeypatch.setattr(letor, "PART_BYTES", part_bytes)
    data = make_ranking(20, (1, 9), 8, density=0.4, random_state=0)
    write_letor(tmp_path / "data", data.X, data.y, data.qid)
    X, y, qid = load_svmlight_file(str(tmp_path / "data"), query_id=True, n_features=8)
    found = read_letor(tmp_path / "data", n_features=8)
    dense = found.X if isinstance(found.X, np.ndarray) else found.X.toarray()
    np.testing.assert_array_equal(dense, X.toarray())
    np.testing.assert_array_equal(found.y, y)
    np.testing.assert_array_equal(found.qid, qid)
    assert found.qid.dtype == np.int64


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".bz2"])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_round_trip_is_exact(suffix, is_sparse, tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 5)) * 10.0 ** rng.integers(-300, 300, size=(40, 5))
    X[3, 2], X[4, 1] = -0.0, 5e-324
    data = sparse.csr_matrix(X * (rng.uniform(size=X.shape) < 0.15)) if is_sparse else X
    y, qid = rng.normal(size=40), rng.choice(["a", "ß:1", "007"], 40)
    comments = [f"docid = {i} # ü" for i in range(40)]
    write_letor(tmp_path / f"d{suffix}", data, y, qid, comments)
    found = read_letor(tmp_path / f"d{suffix}", n_features=5)
    assert sparse.issparse(found.X) == is_sparse
    dense = [A.toarray() if is_sparse else A for A in (found.X, data)]
    assert dense[0].tobytes() == dense[1].tobytes()
    assert found.y.tobytes() == y.tobytes()
    assert found.qid.tolist() == qid.tolist()
    assert found.comments.tolist() == comments
    assert [p.name for p in tmp_path.iterdir()] == [f"d{suffix}"]


def test_packed_files_are_known_by_content(tmp_path):
    text = b"1 qid:3 1:2\n0 qid:3 1:5\n"
    for pack in (gzip.compress, lzma.compress, bz2.compress):
        (tmp_path / "plain.txt").write_bytes(pack(text))
        assert read_letor(tmp_path / "plain.txt").X.tolist() == [[2.0], [5.0]]
        with pytest.raises(rw.ReadError, match="damaged or cut"):
            _read(pack(text)[:-6])


def test_standard_input_and_open_files(monkeypatch, tmp_path):
    text = "1 1:2\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))
    assert read_letor("-").X.tolist() == [[2.0]]
    assert read_letor(io.StringIO(text)).X.tolist() == [[2.0]]
    (tmp_path / "x").write_text(text, encoding="utf-8")
    with open(tmp_path / "x", "rb") as stream:
        assert read_letor(stream).X.tolist() == [[2.0]]
    with pytest.raises(FileNotFoundError):
        read_letor(tmp_path / "absent")
    with pytest.raises(IsADirectoryError):
        read_letor(tmp_path)


def test_forms_that_people_write():
    found = _read(
        "\ufeff+1 qid:a  1:2\t3:.5 #d1\r\n\r\n# all comment\n-1e0 qid:b 2:1.#\n  0 qid:b\n"
    )
    assert found.y.tolist() == [1.0, -1.0, 0.0]
    assert found.qid.tolist() == ["a", "b", "b"]
    assert found.comments.tolist() == ["d1", "", ""]
    assert found.X.tolist() == [[2.0, 0.0, 0.5], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    assert _read("1 3:1 1:2").X.tolist() == [[2.0, 0.0, 1.0]]
    assert _read("1 0:1 1:2").X.tolist() == [[1.0, 2.0]]
    assert _read("1 1:2", zero_based=True).X.tolist() == [[0.0, 2.0]]
    assert _read("1 1:2", n_features=3, dense=True).X.tolist() == [[2.0, 0.0, 0.0]]
    assert _read("1 qid:007 1:1\n1 qid:7 1:1").qid.tolist() == ["007", "7"]
    assert sparse.issparse(_read("1 9:1\n0 1:1").X)
    assert not sparse.issparse(_read("1 9:1\n0 1:1", dense=True).X)
    assert _read("1 1:0.1000000000000000055511151231257827021181583404541015625").X[0, 0] == 0.1


BAD = {
    "1 qid:1 1:2 x:3": (1, 13, "feature number before ':'"),
    "1 1:1\na 1:2": (2, 1, "expected the score"),
    "1,2 1:3": (1, 1, "expected the score"),
    "nan 1:2": (1, 1, "expected the score"),
    "1 1:nan": (1, 5, "expected a number"),
    "1 1:-inf": (1, 5, "expected a number"),
    "1 1:": (1, 5, "found ''"),
    "1 1:1_0": (1, 5, "expected a number"),
    "1 1:0x1": (1, 5, "expected a number"),
    "1 :3": (1, 3, "feature number before ':'"),
    "1 -1:3": (1, 3, "feature number before ':'"),
    "1 5": (1, 3, "expected feature:value"),
    "1 1:2 qid:3": (1, 7, "directly after the score"),
    "1 qid:1 qid:2": (1, 9, "directly after the score"),
    "1 qid: 1:2": (1, 3, "qid: has no label"),
    "1 1:2\n1 qid:1 1:2": (1, 1, "no qid"),
    "1 qid:1 1:2\n1 1:2": (2, 1, "no qid"),
    "1 1:2 1:3": (1, 7, "twice"),
    "1 2:1 1:2 2:3": (1, 1, "feature 2 occurs twice"),
    "1 1:1e999": (1, 5, "beyond the range"),
    "1e400": (1, 1, "beyond the range"),
    "1 1000000000000000000:1": (1, 3, "above the largest"),
    "1 2147483647:1": (1, 3, "above the largest"),
    "1 # ü\n1 1:2 ü": (2, 7, "expected feature:value"),
    "1e-308 1:1.E400": (1, 10, "beyond the range"),
    "1 1:1e-320 2:x": (1, 14, "expected a number"),
    "1 1:2\x00": (1, 6, "binary"),
    "": (None, None, "no item"),
    "\n# only\n": (None, None, "no item"),
}


@pytest.mark.parametrize("text", BAD)
def test_errors_name_line_and_column(text):
    line, column, reason = BAD[text]
    with pytest.raises(rw.ReadError, match="the open file") as caught:
        _read(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert reason in str(caught.value)


def test_errors_in_later_parts_count_all_lines(monkeypatch):
    monkeypatch.setattr(letor, "PART_BYTES", 10)
    with pytest.raises(rw.ReadError, match=r"line 51, column 3: "):
        _read("1 1:2\n" * 50 + "1 x\n" + "1 y\n" * 20)


def test_options_are_checked():
    with pytest.raises(rw.ReadError, match=r"line 2, column 7: feature number 9, but n_features=4"):
        _read("1 1:1\n1 2:1 9:1", n_features=4)
    for options in ({"n_features": 0}, {"zero_based": 1}, {"dense": "no"}):
        with pytest.raises(ValueError, match=next(iter(options))):
            _read("1 1:1", **options)
    with pytest.raises(rw.ReadError, match="zero_based"):
        _read("1 0:1", zero_based=False)
    assert _read("1 1:1".encode("utf-16")).X.tolist() == [[1.0]]
    with pytest.raises(rw.ReadError, match="UTF-16"):
        _read("1 1:1".encode("utf-16-le"))


def test_query_sizes_in_a_file_beside(tmp_path):
    (tmp_path / "rank.train.gz").write_bytes(gzip.compress(b"1 1:2\n0 1:3\n1 1:4\n"))
    (tmp_path / "rank.train.query").write_text("2\n1\n", encoding="utf-8")
    assert read_letor(tmp_path / "rank.train.gz").qid.tolist() == [0, 0, 1]
    assert read_letor(tmp_path / "rank.train.gz", query_sizes=None).qid is None
    assert read_letor(tmp_path / "rank.train.gz", query_sizes=[1, 2]).qid.tolist() == [0, 1, 1]
    with pytest.raises(ValueError, match="have 4 items, the data have 3"):
        read_letor(tmp_path / "rank.train.gz", query_sizes=[4])
    (tmp_path / "rank.train.query").write_text("2\nx\n", encoding="utf-8")
    with pytest.raises(rw.ReadError, match=r"rank\.train\.query, line 2"):
        read_letor(tmp_path / "rank.train.gz")
    with pytest.raises(ValueError, match="do not give query_sizes"):
        _read("1 qid:1 1:1", query_sizes=[1])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"qid": ["a b"]}, "blanks or #"),
        ({"qid": [1, 2]}, "one entry per item"),
        ({"comments": ["two\nlines"]}, "one line"),
        ({"y": [np.inf]}, "y contains infinity"),
        ({"X": [[np.nan]]}, "X contains NaN"),
    ],
)
def test_what_cannot_be_written(change, reason, tmp_path):
    with pytest.raises(ValueError, match=reason):
        write_letor(tmp_path / "x", **{"X": [[1.0]], "y": [1.0], **change})
    assert not list(tmp_path.iterdir())


def test_errors_survive_pickling():
    import pickle

    error = rw.ReadError("why", "file", 3, "column")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
