"""The tie rule: sums that cancel, twins, probabilities, and the same rule in compiled loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rankwise.metrics.ties import TIE, TieRule, tied, twins_of
from rankwise.numerics.compiled import compiled

PAIR = np.array([[0, 1]])


def right(rule, first, second):
    return rule.right(PAIR, np.array([[first, second]]), np.ones(1))[0]


def test_the_terms_of_the_difference_decide():
    assert tied(1e-13, 1.0) and not tied(1e-11, 1.0)
    assert tied(0.0, 0.0) and not tied(1e-300, 0.0)
    terms = np.array([1.0, 1e-13, -1.0])
    assert tied(terms.sum(), np.abs(terms).sum())


def test_compiled_loops_use_the_same_rule():
    @compiled
    def count(differences, sizes):
        total = 0
        for i in range(len(differences)):
            if tied(differences[i], sizes[i]):
                total += 1
        return total

    rng = np.random.default_rng(0)
    differences, sizes = rng.normal(size=200) * TIE, rng.random(200)
    assert count(differences, sizes) == tied(differences, sizes).sum() > 0


def test_the_scale_of_the_scores_does_not_matter():
    X, scores = np.eye(10), np.arange(1.0, 11.0)
    for scale in (1e-200, 1e-9, 1.0, 1e200):
        rule = TieRule.for_items(X, scale * scores)
        assert right(rule, scale * (1 + 1e-13), scale) == 0.5
        assert right(rule, scale * (1 + 1e-10), scale) == 1.0
        assert right(rule, -scale, scale) == 0.0


def test_no_score_counts_less_than_a_typical_one():
    rule = TieRule.for_items(np.eye(10), np.full(10, 100.0))
    assert right(rule, 1e-11, 0.0) == 0.5
    assert right(rule, 1e-9, 0.0) == 1.0


def test_twins_are_tied_whatever_their_scores():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 2.0]])
    rule = TieRule.for_items(X, np.ones(3))
    assert right(rule, 5.0, 3.0) == 0.5
    assert_array_equal(rule.levels(np.arange(3), np.array([5.0, 3.0, 4.0])), [1, 1, 0])
    assert_array_equal(rule.pooled_levels(np.array([5.0, 3.0, 4.0])), [2, 0, 1])


def test_probabilities_near_zero_and_one_stay_apart():
    rule = TieRule.for_items(np.eye(3), np.array([0.2, 0.9, 1.0]), probabilities=True)
    assert right(rule, 2e-30, 1e-30) == 1.0
    assert right(rule, 1 - 1e-14, 1 - 2e-14) == 1.0
    assert right(rule, 0.3, 0.3 * (1 + 1e-14)) == 0.5
    assert right(rule, 1.0, 1.0) == right(rule, 0.0, 0.0) == 0.5


def test_levels_are_ranks_with_ties():
    scores = np.array([3.0, 1.0, 3.0 + 1e-13, 2.0])
    levels = TieRule(None, 1.0).levels(np.arange(4), scores)
    assert_array_equal(levels, [2, 0, 2, 1])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csc_array, list])
def test_twins_of_equal_rows(container):
    X = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, 0.0]])
    assert_allclose(twins_of(container(X)), [0, 1, 0, 1, 2])


def test_rows_that_are_no_numbers_have_no_twins():
    assert twins_of(np.array([["a", "b"]])) is None
    assert twins_of(["a", "b"]) is None
    assert twins_of([[1, 2], [3]]) is None
