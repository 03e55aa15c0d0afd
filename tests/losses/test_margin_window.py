import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.losses import margin_window as window
from rankwise.losses.margin_window import ScoreRanks
from rankwise.supervision.queries import Queries
from tests import reference_svm as reference


def open_window(y, p, qid=None):
    return ScoreRanks(y, Queries.from_labels(qid, len(y))).window(p)


@st.composite
def ranked_items(draw):
    """Scores with ties, predictions with ties and on the margin's edge, queries in any order."""
    m = draw(st.integers(1, 40))
    numbers = st.integers(-6, 6).map(lambda k: k / 2)
    y, p = (np.array(draw(st.lists(numbers, min_size=m, max_size=m))) for _ in range(2))
    qid = draw(st.none() | st.lists(st.integers(0, 4), min_size=m, max_size=m))
    return y, p, qid


@settings(max_examples=200, deadline=None)
@given(ranked_items())
def test_counts_are_those_of_equations_5_and_6(case):
    y, p, qid = case
    c, d = open_window(y, p, qid).counts()
    expected_c, expected_d = reference.pair_counts(y, p, qid)
    np.testing.assert_array_equal(c, expected_c)
    np.testing.assert_array_equal(d, expected_d)


@settings(max_examples=100, deadline=None)
@given(ranked_items(), st.integers(0, 2**32 - 1))
def test_sums_are_over_the_rivals_in_the_window(case, seed):
    y, p, qid = case
    v = np.random.default_rng(seed).standard_normal(len(y))
    expected = reference.rival_sums(y, p, v, qid)
    np.testing.assert_allclose(open_window(y, p, qid).sums(v), expected, atol=1e-12)


@settings(max_examples=100, deadline=None)
@given(ranked_items(), st.integers(0, 2**32 - 1))
def test_weighted_counts_are_sums_over_all_pairs(case, seed):
    y, p, qid = case
    rng = np.random.default_rng(seed)
    v, weight = rng.standard_normal(len(y)), rng.choice([0.0, 0.3, 1.0, 7.0], len(y))
    queries = Queries.from_labels(qid, len(y))
    scores = ScoreRanks(y, queries, weight)
    c, d = scores.window(p).counts()
    same = queries.codes[:, None] == queries.codes
    above = same & (y[:, None] < y) & (p[:, None] > p - 1)
    np.testing.assert_allclose(c, above @ weight, atol=1e-12)
    np.testing.assert_allclose(d, above.T @ weight, atol=1e-12)
    expected = reference.rival_sums(y, p, weight * v, qid)
    np.testing.assert_allclose(scores.window(p).sums(v), expected, atol=1e-12)
    pairs = weight[:, None] * weight * (same & (y[:, None] < y))
    expected = [pairs[items].sum() for items in queries]
    np.testing.assert_allclose(scores.pairs, expected, atol=1e-12)


@pytest.mark.parametrize("levels", [2, 3, 50, None])
def test_counts_on_many_items(levels):
    rng = np.random.default_rng(levels)
    y = rng.standard_normal(700) if levels is None else rng.integers(0, levels, 700) * 0.3
    p = 2 * rng.standard_normal(700)
    for qid in (None, rng.integers(0, 30, 700), np.array(list("ab"))[rng.integers(0, 2, 700)]):
        for found, expected in zip(
            open_window(y, p, qid).counts(), reference.pair_counts(y, p, qid)
        ):
            np.testing.assert_array_equal(found, expected)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-3, 3), min_size=2, max_size=30), st.integers(0, 2**32 - 1))
def test_both_counts_name_the_same_pairs_despite_rounding(base, seed):
    """p_j − 1 and p_i + 1 round differently; a pair counted on one side only would break (7)."""
    rng = np.random.default_rng(seed)
    p = np.concatenate([base, np.array(base) + 1])
    c, d = open_window(rng.integers(0, 3, len(p)).astype(float), p).counts()
    assert c.sum() == d.sum()


def test_pairs_are_counted_by_query():
    y = np.array([1.0, 2.0, 2.0, 5.0, 5.0, 7.0])
    ranked = ScoreRanks(y, Queries.from_labels(["b", "a", "b", "a", "a", "c"], 6))
    assert dict(zip(ranked.queries.labels, ranked.pairs)) == {"a": 2, "b": 1, "c": 0}
    assert ScoreRanks(y, Queries.from_labels(None, 6)).pairs.tolist() == [13]


def test_neither_blocks_nor_threads_change_the_result(monkeypatch):
    rng = np.random.default_rng(0)
    y, p, v = rng.standard_normal((3, 3000))
    qid = rng.integers(0, 200, 3000)
    c, d = open_window(y, p, qid).counts()
    monkeypatch.setattr(window, "BLOCK_ITEMS", 100)
    sums = open_window(y, p, qid).sums(v)
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("RANKWISE_THREADS", threads)
        view = open_window(y, p, qid)
        np.testing.assert_array_equal(view.counts()[0], c)
        np.testing.assert_array_equal(view.counts()[1], d)
        np.testing.assert_array_equal(view.sums(v), sums)


@settings(max_examples=50, deadline=None)
@given(ranked_items(), st.sampled_from([0.0, 0.3, 0.5, 1.5]))
def test_another_margin_shares_what_was_sorted(case, margin):
    y, p, qid = case
    scores = ScoreRanks(y, Queries.from_labels(qid, len(y)))
    first = scores.window(p)
    for found, expected in zip(
        first.with_margin(margin).counts(), scores.window(p, margin).counts()
    ):
        np.testing.assert_array_equal(found, expected)
    for found, expected in zip(first.counts(), scores.window(p).counts()):
        np.testing.assert_array_equal(found, expected)
