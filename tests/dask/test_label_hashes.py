"""Equal labels have equal hashes, and labels that only share a hash are told apart."""

import numpy as np
from numpy.testing import assert_allclose

import rankwise
import rankwise.dask as distributed_rankers
from rankwise.dask.label_hashes import label_hashes
from tests.dask_cases import as_delayed, ranking_data


def test_equal_labels_of_different_types_hash_alike():
    assert len({int(label_hashes(np.array([x]))[0]) for x in (1, 1.0, np.float32(1), True)}) == 1
    objects = np.array([1, 1.0, "a", b"a", (1, 2), 2.5, 2**70], dtype=object)
    assert label_hashes(objects)[0] == label_hashes(objects)[1] == label_hashes(np.array([1]))[0]
    assert label_hashes(objects)[2] == label_hashes(np.array(["a"]))[0]
    assert len(set(label_hashes(objects).tolist())) == 5
    many = label_hashes(np.arange(100_000))
    assert len(np.unique(many)) == 100_000
    assert np.bincount((many % np.uint64(10)).astype(int)).min() > 9_000


def test_labels_that_share_a_hash_are_no_split_query():
    assert label_hashes(np.array(["a"])) == label_hashes(np.array([b"a"]))
    X, y, _, _ = ranking_data(m=20)
    qid = np.array(["a"] * 10 + [b"a"] * 10, dtype=object)
    blocks = as_delayed([10, 10], X, y, qid)
    model = distributed_rankers.RankRLS().fit(blocks[0], blocks[1], qid=blocks[2])
    assert_allclose(model.coef_, rankwise.RankRLS().fit(X, y, qid=qid).coef_, rtol=1e-8)
