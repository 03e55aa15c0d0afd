"""Judgements, runs and features as one table to train on."""

import io

import numpy as np
import pytest

from rankwise.datasets import read_qrels, read_run, read_table, training_table


def _file(text):
    return io.BytesIO(text.encode())


QRELS = read_qrels(_file("1 0 a 2\n1 0 b 0\n1 0 c 1\n2 0 a 1\n2 0 z 0\n"))
BM25 = read_run(_file("1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n1 Q0 u 3 1 t\n2 Q0 z 1 5 t\n2 Q0 a 2 4 t\n"))
DENSE = read_run(_file("1 Q0 c 1 0.9 t\n1 Q0 a 2 0.8 t\n"))


def test_runs_become_features():
    found = training_table({"bm25": BM25, "dense": DENSE}, QRELS)
    assert found.feature_names == ["bm25", "bm25 rr", "dense", "dense rr"]
    assert list(zip(found.qid, found.docid)) == [
        *(("1", "a"), ("1", "b"), ("1", "c")),
        *(("2", "a"), ("2", "z")),
    ]
    assert found.y.tolist() == [2, 0, 1, 1, 0]
    np.testing.assert_allclose(found.X[0], [3, 1 / 61, 0.8, 1 / 62])
    np.testing.assert_allclose(found.X[2], [1, 0, 0.9, 1 / 61])  # bm25 did not find c: its lowest
    np.testing.assert_allclose(found.X[3], [4, 1 / 62, 0, 0])  # dense lacks the query
    every = training_table({"bm25": BM25}, QRELS, unjudged="zero")
    assert ("1", "u", 0.0) in list(zip(every.qid, every.docid, every.y))
    first = training_table({"bm25": BM25}, QRELS, depth=1)
    assert list(first.docid) == ["a", "z"]
    assert training_table({"bm25": BM25}).y is None


def test_features_are_joined_by_query_and_document():
    table = read_table(_file("q,d,len\n1,a,10\n1,b,20\n2,a,30\n2,z,40\n"), query="q", comments="d")
    found = training_table({"bm25": BM25}, QRELS, features=table)
    assert found.X[:, 2].tolist() == [10, 20, 30, 40] and found.feature_names[2] == "len"
    documents = read_table(_file("d,len\na,1\nb,2\nz,3\n"), comments="d")
    assert training_table({"bm25": BM25}, QRELS, features=documents).X[:, 2].tolist() == [
        1,
        2,
        1,
        3,
    ]
    with pytest.raises(ValueError, match="lack document 'c'"):
        training_table({"dense": DENSE}, QRELS, features=documents)
    twice = read_table(_file("d,len\na,1\na,2\n"), comments="d")
    with pytest.raises(ValueError, match="'a' twice"):
        training_table({"bm25": BM25}, QRELS, features=twice)
    with pytest.raises(ValueError, match="names of documents"):
        training_table({"bm25": BM25}, features=read_table(_file("len\n1\n")))
    with pytest.raises(ValueError, match="called 'len'"):
        training_table({"len": BM25}, QRELS, features=documents)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="dict of names"):
        training_table([BM25], QRELS)
    with pytest.raises(ValueError, match="unjudged"):
        training_table({"bm25": BM25}, QRELS, unjudged="keep")
    with pytest.raises(ValueError, match="depth"):
        training_table({"bm25": BM25}, depth=0)
    with pytest.raises(ValueError, match="no document of the runs is judged"):
        training_table({"bm25": BM25}, read_qrels(_file("9 0 a 1\n")))
