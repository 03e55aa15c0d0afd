"""Counts of comparable pairs in the right order, against loops over the pairs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankwise import Censored
from rankwise.losses.item_concordance import comparable_items, comparable_pairs
from rankwise.supervision.queries import Queries
from tests.reference_survival import comparable

ITEM = st.tuples(
    st.booleans(), st.integers(0, 5), st.integers(0, 4), st.integers(0, 2), st.floats(0, 3)
)


@given(st.lists(ITEM, min_size=1, max_size=14), st.booleans())
def test_items_and_queries(items, weighted):
    event, time, s, qid, weight = (np.array(part) for part in zip(*items))
    m, s = len(items), s.astype(float)
    weight = weight if weighted else np.ones(m)
    counted, right = np.zeros(m), np.zeros(m)
    for h, j in comparable(event, time, qid):
        for item in (h, j):
            counted[item] += weight[j]
            right[item] += weight[j] * (0.5 + 0.5 * np.sign(s[h] - s[j]))
    outcome, queries = Censored(event, time), Queries.from_labels(qid, m)
    given_weight = weight if weighted else None
    found = comparable_items(outcome, s, queries, given_weight)
    assert_allclose(found, (counted, right), atol=1e-12)
    S = np.column_stack((s, -s, 0 * s))
    pairs, hits = comparable_pairs(outcome, S, queries, given_weight)
    for number, label in enumerate(queries.labels):
        members = qid == label
        total, ordered = counted[members].sum() / 2, right[members].sum() / 2
        assert_allclose(pairs[number], total, atol=1e-12)
        assert_allclose(hits[number], [ordered, total - ordered, total / 2], atol=1e-12)
