"""Simulated hybrid search: reproducible, and each signal helps."""

import numpy as np
import pytest

from rankwise.datasets import make_hybrid_search
from rankwise.metrics import concordance


def test_the_signals_help():
    data = make_hybrid_search(100, 20, 16, random_state=0)
    assert data.query.shape == data.document.shape == (2000, 16)
    assert data.query.dtype == np.float32 and set(data.y) == {0, 1, 2, 3}
    cosine = (data.query * data.document).sum(axis=1)
    for signal in (data.bm25, cosine):
        assert 0.6 < concordance(data.y, signal, data.qid) < 0.85
    again = make_hybrid_search(100, 20, 16, random_state=0)
    np.testing.assert_array_equal(data.bm25, again.bm25)
    for options in ({"n_queries": 0}, {"dimensions": -1}, {"noise": -1.0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            make_hybrid_search(**options)
