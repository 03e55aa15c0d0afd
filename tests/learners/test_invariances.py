"""What must not change a model: order, names, scores shifted by query, copies for weights."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankwise import RankRLS

COSTS = [
    ("magnitude", "keep"),
    ("magnitude", "drop"),
    ("unit", "keep"),
    ("relative", "keep"),
]


@st.composite
def problems(draw):
    """Items with queries, weights and a cost; at least one preference."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, n = draw(st.integers(2, 12)), draw(st.integers(1, 5))
    y = rng.integers(0, 4, m).astype(float)
    qid = rng.integers(0, draw(st.integers(1, 3)), m)
    y[:2], qid[:2] = (0.0, 1.0), 0
    loss, ties = draw(st.sampled_from(COSTS))
    options = {"loss": loss, "ties": ties, "kernel": draw(st.sampled_from(["linear", "rbf"]))}
    options["query_weight"] = draw(st.sampled_from(["pairs", "size", "queries"]))
    return rng, rng.normal(size=(m, n)), y, qid, options


def predictions(X, y, qid, weight, options, new):
    return RankRLS(0.5, **options).fit(X, y, qid=qid, sample_weight=weight).predict(new)


@settings(max_examples=60, deadline=None)
@given(problems())
def test_order_and_names_do_not_matter(problem):
    rng, X, y, qid, options = problem
    weight = rng.uniform(0.1, 2, len(y))
    expected = predictions(X, y, qid, weight, options, X)
    turn = rng.permutation(len(y))
    names = np.array(["z", "", "query 7"])[qid]
    found = predictions(X[turn], y[turn], names[turn], weight[turn], options, X)
    assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(problems())
def test_only_differences_within_queries_matter(problem):
    rng, X, y, qid, options = problem
    shift = rng.integers(-50, 50, 3)
    expected = predictions(X, y, qid, None, options, X)
    found = predictions(X, y + shift[qid], qid, None, options, X)
    assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    if options["kernel"] == "linear":
        moved = X + rng.normal(size=(3, X.shape[1]))[qid]
        assert_allclose(predictions(moved, y, qid, None, options, X), expected, atol=1e-7)


@settings(max_examples=60, deadline=None)
@given(problems())
def test_weight_two_is_the_item_twice(problem):
    rng, X, y, qid, options = problem
    if options["query_weight"] == "queries" and options["loss"] == "magnitude":
        options["ties"] = "drop"
    copies = rng.integers(0, 4, len(y))
    copies[:2] = np.maximum(copies[:2], 1)
    expected = predictions(X, y, qid, copies.astype(float), options, X)
    again = np.repeat(np.arange(len(y)), copies)
    found = predictions(X[again], y[again], qid[again], None, options, X)
    assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
