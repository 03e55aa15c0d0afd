"""Judgements and runs: what is read, what is refused with its line, and what is written."""

import gzip
import io
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.datasets import read_qrels, read_run, write_run

QRELS = "q1 0 d1 2\nq1\t0\td2  -1\r\n\nq2 Q0 d1 0\n"
RUN = "q1 Q0 d2 1 9.5 mine\nq2 Q0 d1 1 -1e3 mine\nq1 Q0 d1 2 9.5 mine\n"


def _file(text):
    return io.BytesIO(text.encode())


def test_judgements_are_read(tmp_path):
    (tmp_path / "q.gz").write_bytes(gzip.compress(QRELS.encode()))
    found = read_qrels(tmp_path / "q.gz")
    assert found.qid.tolist() == ["q1", "q1", "q2"] and found.docid.tolist() == ["d1", "d2", "d1"]
    assert found.relevance.tolist() == [2, -1, 0]
    short = read_qrels(_file("query-id\tcorpus-id\tscore\n07\td1\t1\n"))
    assert (short.qid[0], short.docid[0], short.relevance[0]) == ("07", "d1", 1)


def test_runs_are_read_in_any_order():
    found = read_run(_file(RUN))
    assert found.docid.tolist() == ["d2", "d1", "d1"] and found.score.tolist() == [9.5, -1e3, 9.5]
    assert found.rank.tolist() == [1, 1, 2] and found.tag == "mine"


@pytest.mark.parametrize(
    ("reader", "text", "line", "reason"),
    [
        (read_qrels, "q 0 d 1\nq 0 d\n", 2, "expected 4 columns"),
        (read_qrels, "q 0 d 1\n\nq 0 e 0.5\n", 3, "'0.5' is not an integer"),
        (read_qrels, "q 0 d 1\nq 0 e 0\nq 1 d 0\n", 3, "judged twice, first in line 1"),
        (read_qrels, "query-id corpus-id score\n", None, "no judgements"),
        (read_qrels, " \n", None, "empty"),
        (read_run, "q Q0 d 1 2.0\n", 1, "expected 6 columns"),
        (read_run, "q Q0 d 1 2 t\nq Q0 e x 2 t\n", 2, "rank 'x'"),
        (read_run, "q Q0 d 1 nan t\n", 1, "not a finite number"),
        (read_run, "q Q0 d 1 1e999 t\n", 1, "not a finite number"),
        (read_run, "q Q0 d 1 1_0 t\n", 1, "not a finite number"),
        (read_run, "q Q0 d 1 2 t\nq Q0 d 2 1 t\n", 2, "ranked twice, first in line 1"),
        (read_run, "", None, "empty"),
        (read_run, "q Q0 d\x00 1 2 t\n", 1, "binary"),
    ],
)
def test_lines_that_cannot_be_read(reader, text, line, reason):
    with pytest.raises(rw.ReadError, match=reason) as caught:
        reader(_file(text))
    assert caught.value.line == line


def test_half_a_packed_file_is_refused():
    packed = gzip.compress(RUN.encode() * 50)
    for reader in (read_run, read_qrels):
        with pytest.raises(rw.ReadError, match="damaged or cut short"):
            reader(io.BytesIO(packed[: len(packed) // 2]))


def test_ranks_that_contradict_the_scores_are_told():
    with pytest.warns(UserWarning, match=r"line 2: rank 2 of query 'q'"):
        read_run(_file("q Q0 d 1 1 t\nq Q0 e 2 2 t\n"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_run(_file("q Q0 e 2 1 t\nq Q0 d 1 2 t\nr Q0 x 5 9 t\nq Q0 f 3 1 t\n"))


def test_what_is_written_is_read_again(tmp_path):
    qid, docid = ["a b", "a_b", "a b"], ["x", "y z", "日本\u3000語"]
    write_run(tmp_path / "r.run.gz", qid, docid, [0.1, 1 / 3, 2.0], tag="my run")
    found = read_run(tmp_path / "r.run.gz")
    assert found.qid.tolist() == ["a%20b", "a%20b", "a_b"]
    assert found.docid.tolist() == ["日本%E3%80%80語", "x", "y%20z"]
    assert found.score.tolist() == [2.0, 0.1, 1 / 3] and found.tag == "my%20run"
    with pytest.raises(ValueError, match="'a b' and 'a%20b' would both be written"):
        write_run(tmp_path / "s", ["a b", "a%20b"], ["x", "x"], [1, 2])
    with pytest.raises(ValueError, match="'x' occurs twice in query 'q'"):
        write_run(tmp_path / "s", ["q", "q"], ["x", "x"], [1, 2])
    with pytest.raises(ValueError, match=r"score\[1\] is nan"):
        write_run(tmp_path / "s", None, ["x", "y"], [1, np.nan])
    with pytest.raises(ValueError, match="one entry per document"):
        write_run(tmp_path / "s", ["q"], ["x", "y"], [1, 2])
    assert not (tmp_path / "s").exists()


@given(st.lists(st.tuples(st.text(max_size=4), st.text(max_size=4)), unique=True, min_size=1))
def test_no_two_names_become_one(tmp_path_factory, pairs):
    path = tmp_path_factory.mktemp("run") / "r"
    qid, docid = zip(*pairs)
    try:
        write_run(path, qid, docid, np.arange(len(pairs)))
    except ValueError as error:
        assert "would both be written" in str(error)
        return
    found = read_run(path)
    assert len(set(zip(found.qid, found.docid))) == len(pairs)
    assert len(set(found.qid)) == len(set(qid))
